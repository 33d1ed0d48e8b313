"""Partitions of the spins into sets whose induced subgraphs are easy."""

from __future__ import annotations

import numpy as np

from planaris.typing import BoolArray, IntArray, LongArray

SCAN = 24
"""Candidates compared for every spin that joins a cluster."""


def grow_clusters(
    num_spins: int, edges: IntArray, width: int, roots: LongArray | None = None
) -> list[LongArray]:
    """Partition the spins into connected sets that the order of growth eliminates in ``width``.

    The spin that keeps the frontier (members with free neighbours) smallest joins next, while
    it has at most ``width`` members; that bounds the pathwidth. Width one gives trees.

    >>> path = np.array([(0, 1), (1, 2), (2, 3)], dtype=np.int32)
    >>> [c.tolist() for c in grow_clusters(4, path, 1)]
    [[0, 1, 2, 3]]
    """
    heads, begin = neighbours(num_spins, edges)
    label = np.full(num_spins, -1, dtype=np.int64)
    clusters: list[LongArray] = []
    for root in range(num_spins) if roots is None else roots.tolist():
        if label[root] >= 0:
            continue
        members = _grow(root, width, heads, begin, label, len(clusters))
        clusters.append(np.array(sorted(members), dtype=np.int64))
    return clusters


def _grow(
    root: int, width: int, heads: IntArray, begin: LongArray, label: LongArray, mark: int
) -> list[int]:
    """Return a cluster that starts at ``root``, and mark it."""
    members: list[int] = []
    waiting = [root]
    live = 0
    free: dict[int, int] = {}  # free neighbours of members

    def cost(v: int) -> int:
        around = heads[begin[v] : begin[v + 1]].tolist()
        inside = [w for w in around if label[w] == mark]
        if width == 1:  # trees: only the number of joints counts
            return 0 if len(inside) <= 1 else 2
        opened = any(label[w] < 0 for w in around)
        return opened - sum(free[w] == 1 for w in inside)

    while waiting:
        costs = [cost(v) for v in waiting[:SCAN]]
        best = int(np.argmin(costs))
        room = width if width > 1 else 1
        if costs[best] + (live if width > 1 else 0) > room and members:
            break
        v = waiting.pop(best)
        live += costs[best]
        label[v] = mark
        members.append(v)
        around = heads[begin[v] : begin[v + 1]].tolist()
        for w in around:
            if label[w] == mark:
                free[w] -= 1
            elif label[w] < 0 and w not in waiting:
                waiting.append(w)
        free[v] = sum(label[w] < 0 for w in around)
    return members


def neighbours(num_spins: int, edges: IntArray) -> tuple[IntArray, LongArray]:
    """Return the neighbours of all spins and where each spin's begin."""
    u, v = edges[:, 0], edges[:, 1]
    tails, heads = np.concatenate([u, v]), np.concatenate([v, u])
    order = np.argsort(tails, kind="stable")
    degree = np.bincount(tails, minlength=num_spins)
    return heads[order], np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)


def colour_classes(num_spins: int, edges: IntArray) -> list[LongArray]:
    """Partition the spins into sets without edges among them: two where two are enough.

    >>> square = np.array([(0, 1), (1, 2), (2, 3), (0, 3)], dtype=np.int32)
    >>> [c.tolist() for c in colour_classes(4, square)]
    [[0, 2], [1, 3]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, (u, v) = num_spins, edges.T.astype(np.int64)
    # Two copies of every spin, joined crosswise: they meet where a cycle is odd.
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u]) + n
    crossed = coo_array((np.ones(len(rows)), (rows, columns)), shape=(2 * n, 2 * n))
    _, label = connected_components(crossed, directed=False)
    if not np.any(label[:n] == label[n:]):
        first = label[:n] < label[n:]
        return [found for found in map(np.flatnonzero, (first, ~first)) if len(found)]
    classes, left = [], np.ones(n, dtype=bool)
    rng = np.random.default_rng(0)
    while left.any():
        chosen = _independent(n, u, v, left, rng)
        classes.append(np.flatnonzero(chosen))
        left &= ~chosen
    return classes


def _independent(
    n: int, u: LongArray, v: LongArray, among: BoolArray, rng: np.random.Generator
) -> BoolArray:
    """Return a maximal set of spins without edges among them (Luby's algorithm)."""
    chosen, waiting = np.zeros(n, dtype=bool), among.copy()
    while waiting.any():
        rank = np.where(waiting, rng.permutation(n), -1)
        highest = np.full(n, -1)
        np.maximum.at(highest, u, rank[v])
        np.maximum.at(highest, v, rank[u])
        fresh = waiting & (rank > highest)
        chosen |= fresh
        near = np.zeros(n, dtype=bool)
        near[v[fresh[u]]] = near[u[fresh[v]]] = True
        waiting &= ~(fresh | near)
    return chosen
