"""Which triplets to add to a stalled message passing: triangles and frustrated cycles."""

from __future__ import annotations

import itertools

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.kernels.relaxations import MessagePassing, separate_cycles
from planaris.typing import FloatArray, IntArray

MAX_LABELS = 8
"""Labels per variable that get a partition of their own in the projection graph."""

Triplets = list[tuple[int, int, int]]


def triplets_to_add(
    engine: MessagePassing,
    cards: IntArray,
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
    edges = engine.edges()
    tables = []
    for e, (u, v) in enumerate(edges.tolist()):
        if budget.expired():
            return []
        tables.append(engine.edge_slacks(e).reshape(cards[u], cards[v]))
    found = _triangles(edges, tables, count, min_gain, budget)
    if len(found) < count and not budget.expired():
        left = count - len(found)
        found += _frustrated_cycles(engine, cards, edges, tables, left, min_gain, budget)
    return found


def _triangles(
    edges: IntArray, tables: list[FloatArray], count: int, min_gain: float, budget: Budget
) -> Triplets:
    index = {(u, v): e for e, (u, v) in enumerate(edges.tolist())}
    ahead: dict[int, set[int]] = {}
    for u, v in index:
        ahead.setdefault(u, set()).add(v)
    scored = []
    for u, v in index:
        if budget.expired():
            break
        for w in ahead[u] & ahead.get(v, set()):
            uv, uw, vw = tables[index[u, v]], tables[index[u, w]], tables[index[v, w]]
            loose = uv.min() + uw.min() + vw.min()
            through = np.array([(row[None, :] + vw).min(1) for row in uw])
            gain = float((uv + through).min() - loose)
            if gain > min_gain:
                scored.append((gain, (u, v, w)))
    scored.sort(reverse=True)
    return [triplet for _, triplet in scored[:count]]


def _preferences(table: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return min over [x=a] == [y=b] minus min over [x=a] != [y=b], for all a, b asked for."""
    if table.shape == (2, 2):  # the whole of a binary model: no time for arrays
        (p, q), (r, s) = table.tolist()
        gap = min(p, s) - min(q, r) if rows[0] == columns[0] else min(q, r) - min(p, s)
        return np.array([[gap if abs(gap) < 1e30 else 0.0]])
    out = np.zeros((len(rows), len(columns)))
    for (p, a), (q, b) in itertools.product(enumerate(rows), enumerate(columns)):
        row, column = table[a], table[:, b]
        differ = min(
            np.delete(row, b).min(initial=np.inf), np.delete(column, a).min(initial=np.inf)
        )
        rest = np.delete(np.delete(table, a, 0), b, 1).min(initial=np.inf)
        equal = min(table[a, b], rest)
        with np.errstate(invalid="ignore"):
            out[p, q] = np.clip(np.nan_to_num(equal - differ, nan=0.0), -1e30, 1e30)
    return out


def _frustrated_cycles(
    engine: MessagePassing,
    cards: IntArray,
    edges: IntArray,
    tables: list[FloatArray],
    count: int,
    min_gain: float,
    budget: Budget,
) -> Triplets:
    slacks = np.split(engine.node_slacks(), np.cumsum(cards)[:-1])
    # Partitions "label a against the rest"; with two labels both are the same partition.
    parts: list[IntArray] = []
    for slack in slacks:
        if budget.expired():
            return []
        parts.append(_partitions(slack))
    first = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
    owner = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    ends, weights = [], []
    for (u, v), table in zip(edges.tolist(), tables, strict=True):
        if budget.expired():
            return []
        if not (len(parts[u]) and len(parts[v])):
            continue
        weight = _preferences(table, parts[u], parts[v])
        rows, columns = np.nonzero(np.abs(weight) > min_gain)
        ends.append(np.column_stack([first[u] + rows, first[v] + columns]))
        weights.append(weight[rows, columns])
    if not ends:
        return []
    pairs, strength = np.concatenate(ends).astype(np.int32), np.concatenate(weights)
    found: Triplets = []
    level = float(np.abs(strength).max(initial=0.0))
    while level > min_gain and len(found) < count and not budget.expired():
        level /= 2
        strong = np.abs(strength) > max(level, min_gain)
        x = (strength[strong] > 0).astype(np.float64)
        ends_now = np.ascontiguousarray(pairs[strong])
        cuts = separate_cycles(
            int(first[-1]),
            ends_now,
            x,
            min_violation=0.5,
            max_per_edge=1,
            max_cuts=count,
            budget=budget,
        )
        for k in range(len(cuts)):
            around = ends_now[cuts.edges[cuts.offsets[k] : cuts.offsets[k + 1]]]
            found += _triangulate([int(owner[p]) for p in _in_order(around)])
        found = list(dict.fromkeys(found))
    return found[:count]


def _partitions(slack: FloatArray) -> IntArray:
    order = np.argsort(slack, kind="stable")[:MAX_LABELS]
    alive = order[slack[order] < np.inf]
    if len(alive) < 2:
        return np.zeros(0, dtype=np.int32)
    return alive[: 1 if len(slack) == 2 else None].astype(np.int32)


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
