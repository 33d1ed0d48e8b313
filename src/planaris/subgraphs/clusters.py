"""Partitions of the spins into clusters whose induced subgraphs are eliminated easily."""

from __future__ import annotations

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.typing import IntArray, LongArray

SCAN = 24
"""Candidates compared for every spin that joins a cluster."""


def grow_clusters(
    num_spins: int,
    edges: IntArray,
    width: int,
    roots: LongArray | None = None,
    *,
    budget: Budget = UNLIMITED,
) -> list[LongArray]:
    """Partition the spins into connected sets that the order of growth eliminates in ``width``.

    The spin that keeps the frontier (members with free neighbours) smallest joins next, while
    it has at most ``width`` members; that bounds the pathwidth. Width one gives trees.
    ``TimeoutError`` when the time is over before.

    >>> path = np.array([(0, 1), (1, 2), (2, 3)], dtype=np.int32)
    >>> [c.tolist() for c in grow_clusters(4, path, 1)]
    [[0, 1, 2, 3]]
    """
    heads, begin = _neighbours(num_spins, edges)
    label = np.full(num_spins, -1, dtype=np.int64)
    clusters: list[LongArray] = []
    for root in range(num_spins) if roots is None else roots.tolist():
        if label[root] >= 0:
            continue
        members = _grow(root, width, heads, begin, label, len(clusters), budget)
        clusters.append(np.array(sorted(members), dtype=np.int64))
    return clusters


def _grow(
    root: int,
    width: int,
    heads: IntArray,
    begin: LongArray,
    label: LongArray,
    mark: int,
    budget: Budget,
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
        budget.check()
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


def _neighbours(num_spins: int, edges: IntArray) -> tuple[IntArray, LongArray]:
    """Return the neighbours of all spins and where each spin's begin."""
    u, v = edges[:, 0], edges[:, 1]
    tails, heads = np.concatenate([u, v]), np.concatenate([v, u])
    order = np.argsort(tails, kind="stable")
    degree = np.bincount(tails, minlength=num_spins)
    return heads[order], np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
