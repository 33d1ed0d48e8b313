"""SJ07's rule for cuts: the most violated cycle through every spin, one per round."""

from __future__ import annotations

import itertools

import numpy as np
import scipy

from planaris.kernels.relaxations import CycleCuts
from planaris.typing import FloatArray, IntArray

Step = tuple[int, int]
"""An edge, and 1 where the walk changes between the two copies of the graph."""


MIN_VIOLATION = 1e-3
"""Cycles violated by less are left out."""


def shortest_cycles(n: int, pairs: IntArray, x: FloatArray) -> CycleCuts:
    """Return the cycle of the shortest path of every spin, where it is violated.

    Every spin has two copies. An edge joins equal copies at the cost ``x = P(s_u != s_v)`` and
    different ones at ``1 - x``; a path between the copies of a spin that costs less than one is
    a violated cycle (SJ07 section 3).

    >>> triangle = np.array([[0, 1], [1, 2], [0, 2]], dtype=np.int32)
    >>> cuts = shortest_cycles(3, triangle, np.array([0.1, 0.1, 0.9]))
    >>> len(cuts), cuts.odd.tolist(), cuts.violation.round(3).tolist()
    (1, [0, 0, 1], [0.7])
    """
    u, v = pairs.astype(np.int32).T  # dijkstra of SciPy 1.14 takes no wider indices
    edge = np.arange(len(pairs))
    ends = [(u, v, 0), (u + n, v + n, 0), (u, v + n, 1), (u + n, v, 1)]
    rows = np.concatenate([a for a, _, _ in ends])
    columns = np.concatenate([b for _, b, _ in ends])
    cost = np.concatenate([np.clip(1 - x if cross else x, 1e-12, 1.0) for _, _, cross in ends])
    graph = scipy.sparse.coo_array((cost, (rows, columns)), shape=(2 * n, 2 * n)).tocsr()
    number = {(a, b): e for e, (a, b) in enumerate(zip(u.tolist(), v.tolist(), strict=True))}
    found: dict[frozenset[Step], tuple[float, list[Step]]] = {}
    if len(edge):
        length, before = scipy.sparse.csgraph.dijkstra(
            graph, directed=False, indices=np.arange(n), return_predecessors=True, limit=1.0
        )
        for i in np.flatnonzero(length[np.arange(n), n + np.arange(n)] < 1 - MIN_VIOLATION):
            walk = _simple(_walk(before[i], int(i), n), n)
            steps = _steps(walk, n, number)
            total = sum(1 - x[e] if cross else x[e] for e, cross in steps)
            if 1 - total > MIN_VIOLATION:
                found[frozenset(steps)] = 1 - float(total), steps
    kept = sorted(found.values(), key=lambda item: -item[0])
    flat = [step for _, steps in kept for step in sorted(steps)]
    return CycleCuts(
        np.cumsum([0, *(len(steps) for _, steps in kept)]).astype(np.int32),
        np.array([e for e, _ in flat], dtype=np.int32),
        np.array([cross for _, cross in flat], dtype=np.int8),
        np.array([violation for violation, _ in kept]),
        len(kept),
    )


def _walk(before: IntArray, i: int, n: int) -> list[int]:
    """Return the copies along the shortest path from spin i to its other copy."""
    walk = [n + i]
    while walk[-1] != i:
        walk.append(int(before[walk[-1]]))
    return walk


def _simple(walk: list[int], n: int) -> list[int]:
    """Return a part of the walk that is a cycle and still changes copies an odd number of times."""
    first: dict[int, int] = {}
    for k, at in enumerate(walk):
        spin = at % n
        if spin not in first:
            first[spin] = k
            continue
        inner = walk[first[spin] : k + 1]
        if inner[0] != inner[-1]:
            return inner  # ends in the other copy, and no spin came twice before
        return _simple([*walk[: first[spin]], *walk[k:]], n)
    return walk


def _steps(walk: list[int], n: int, number: dict[Step, int]) -> list[Step]:
    steps = []
    for a, b in itertools.pairwise(walk):
        s, t = a % n, b % n
        e = number[s, t] if (s, t) in number else number[t, s]
        steps.append((e, int((a < n) != (b < n))))
    return steps
