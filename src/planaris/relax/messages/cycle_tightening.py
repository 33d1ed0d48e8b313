"""Which triplets to add to a stalled message passing: triangles and frustrated cycles."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from planaris.budget import UNLIMITED, Budget, control
from planaris.kernels.relaxations import MessagePassing, separate_cycles
from planaris.typing import IntArray

MAX_LABELS = 8
"""Labels per variable that get a partition of their own in the projection graph."""

Triplets = list[tuple[int, int, int]]


def triplets_to_add(
    engine: MessagePassing,
    *,
    count: int,
    min_gain: float,
    budget: Budget = UNLIMITED,
) -> Triplets:
    """Return triplets that are sure to raise the bound, the best first.

    Triangles of the graph are scored exactly by the rise of their block step; when they are
    exhausted, frustrated cycles of the k-projection graph are triangulated (Sontag, Choe,
    Li 2012): a cycle that prefers an odd number of disagreements, each edge by at least g,
    raises the bound by at least g. Once the time is over, what has
    been found is returned.
    """
    found: Triplets = []
    with suppress(TimeoutError):
        trios = engine.triangles(min_gain, count, *control(budget)).tolist()
        found = [(u, v, w) for u, v, w in trios]
        if len(found) < count:
            found += _frustrated_cycles(engine, count - len(found), min_gain, budget)
    return found


def _frustrated_cycles(
    engine: MessagePassing, count: int, min_gain: float, budget: Budget
) -> Triplets:
    graph = engine.projection(min_gain, MAX_LABELS, *control(budget))
    owners, pairs, weights = graph.owners, graph.ends.reshape(-1, 2), graph.weights
    found: Triplets = []
    level = float(np.abs(weights).max(initial=0.0))
    while level > min_gain and len(found) < count and not budget.expired():
        level /= 2
        strong = np.abs(weights) > max(level, min_gain)
        ends = np.ascontiguousarray(pairs[strong])
        cuts = separate_cycles(
            len(owners),
            ends,
            (weights[strong] > 0).astype(np.float64),
            min_violation=0.5,
            max_per_edge=1,
            max_cuts=count,
            budget=budget,
        )
        for k in range(len(cuts)):
            if budget.expired():
                break
            around = ends[cuts.edges[cuts.offsets[k] : cuts.offsets[k + 1]]]
            found += _triangulate([int(owners[p]) for p in _in_order(around)])
        found = list(dict.fromkeys(found))
    return found[:count]


def _in_order(around: IntArray) -> list[int]:
    """Vertices of a cycle from its edges in order."""
    pairs = around.tolist()
    start = next(iter(set(pairs[0]) - set(pairs[1])))
    walk = [start]
    for u, v in pairs[:-1]:
        walk.append(v if walk[-1] == u else u)
    return walk


def _triangulate(cycle: list[int]) -> Triplets:
    """Triplets of a zigzag triangulation of a closed walk over variables."""
    low, high, out = 0, len(cycle) - 1, []
    from_low = True
    while high - low >= 2:
        third = low + 1 if from_low else high - 1
        trio = tuple(sorted((cycle[low], cycle[high], cycle[third])))
        if len(set(trio)) == 3:
            out.append((trio[0], trio[1], trio[2]))
        low, high = (third, high) if from_low else (low, third)
        from_low = not from_low
    return out
