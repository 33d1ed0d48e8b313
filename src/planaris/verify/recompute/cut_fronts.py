"""Sums over the even edge sets of a graph on a surface, eliminated edge by edge.

The matrix is that of :mod:`planaris.verify.recompute.rotations`: legs, joins and signs. Vertices
are halved again and again; an edge goes, both legs at once and its join as pivot, in the smallest
part that holds both its ends. Fronts are dense, in floats of any kind, and exactly
skew-symmetric. On a plane no pivot is searched for: with weights relative to some term, all pivots
are ratios of two sums of positive terms and no smaller than their joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import components

WIDE: Any = np.longdouble
LEAF = 12
"""Vertices of parts that are not halved."""

LEAST_PIVOT = 0.03
"""How large a pivot that was searched for must be, relative to the rest of its rows."""

CORNERS = 5
"""Vertices, far from each other, from which distances are taken as coordinates."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Vertices in an order in which every part is a run; parts behind their children."""

    position: Array
    """Of every vertex, in that order."""
    first: Array
    stop: Array
    child: Array
    """The two halves of every part, or -1."""

    def lowest(self, low: Array, high: Array) -> Array:
        """Return the smallest part that holds all positions from low to high."""
        node = np.full(len(low), len(self.first) - 1)
        while True:
            left, right = self.child[node, 0], self.child[node, 1]
            inner = left >= 0
            into_left = inner & (high < self.stop[left])
            into_right = inner & (low >= self.first[right])
            if not np.any(into_left | into_right):
                return node
            node = np.where(into_left, left, np.where(into_right, right, node))


def halve(num_vertices: int, ends: Array, seed: int) -> Parts:
    """Halve a graph again and again, where few edges are cut."""
    spots = _coordinates(num_vertices, ends, seed)
    inside = ends[ends[:, 0] != ends[:, 1]]
    order: list[Array] = []
    first: list[int] = []
    stop: list[int] = []
    child: list[tuple[int, int]] = []
    # Children are made before their parent: (vertices, edges) opens a part, None closes it.
    stack: list[Any] = [(np.arange(num_vertices), inside)]
    done: list[int] = []
    begin = 0
    while stack:
        top = stack.pop()
        if top is None:
            right, left = done.pop(), done.pop()
            first.append(first[left])
            stop.append(stop[right])
            child.append((left, right))
        elif len(top[0]) > LEAF:
            lower, upper = _two(spots, *top)
            stack += [None, upper, lower]
            continue
        else:
            order.append(top[0])
            first.append(begin)
            begin += len(top[0])
            stop.append(begin)
            child.append((-1, -1))
        done.append(len(first) - 1)
    position = np.empty(num_vertices, dtype=np.int64)
    position[np.concatenate(order)] = np.arange(num_vertices)
    return Parts(position, np.array(first), np.array(stop), np.array(child).reshape(-1, 2))


def _coordinates(num_vertices: int, ends: Array, seed: int) -> FloatArray:
    """Return distances from some far corners, and their differences, one row each."""
    start, end = ends.astype(np.int32).T  # dijkstra of SciPy 1.14 takes no wider indices
    links = coo_array((np.ones(len(ends)), (start, end)), (num_vertices,) * 2).tocsr()
    count, label = components(num_vertices, ends[:, 0], ends[:, 1])
    nearest = np.random.default_rng(seed).random(num_vertices)
    rows: list[FloatArray] = []
    for k in range(CORNERS + 1):
        far = np.lexsort([nearest, label])
        sources = far[np.searchsorted(label[far], np.arange(1, count + 1)) - 1]
        distance = dijkstra(links, directed=False, indices=sources, unweighted=True, min_only=True)
        nearest = distance if k <= 1 else np.minimum(nearest, distance)
        if k:  # the first was anywhere
            rows.append(distance + label * float(num_vertices))
    corner = np.array(rows)
    i, j = np.triu_indices(CORNERS, 1)
    spread = label * float(num_vertices)
    every = np.concatenate([corner, corner[i] - corner[j] + spread])
    # Of equal vertices those lie together that the next coordinate says are close.
    return np.asarray(every + 1e-4 * np.roll(every, 1, axis=0) / num_vertices)


def _two(spots: FloatArray, vertices: Array, ends: Array) -> tuple[Any, Any]:
    """Halve a part along the coordinate that cuts the fewest edges."""
    half = len(vertices) // 2
    upper = np.zeros(spots.shape[1], dtype=bool)
    best: tuple[int, Any] | None = None
    for row in spots:
        cut = np.argpartition(row[vertices], half)
        upper[vertices[cut[:half]]], upper[vertices[cut[half:]]] = False, True
        a, b = upper[ends[:, 0]], upper[ends[:, 1]]
        across = int(np.count_nonzero(a != b))
        if best is None or across < best[0]:
            best = across, (vertices[cut[:half]], ends[~(a | b)], vertices[cut[half:]], ends[a & b])
    assert best is not None
    lower_vertices, lower_ends, upper_vertices, upper_ends = best[1]
    return (lower_vertices, lower_ends), (upper_vertices, upper_ends)


@dataclass(frozen=True, eq=False)
class Schedule:
    """What every part eliminates, in order, and the vertices of the smallest parts."""

    parts: Parts
    edges: list[Array]
    vertices: list[Array]

    @classmethod
    def of(cls, parts: Parts, node: Array, rank: Array) -> Schedule:
        """Give every edge to its part; those of a part go by rising rank."""
        count = len(parts.first)
        order = np.lexsort([rank, node])
        begins = np.searchsorted(node[order], np.arange(count + 1))
        edges = [order[begins[k] : begins[k + 1]] for k in range(count)]
        at = np.argsort(parts.position)
        vertices = [
            at[parts.first[k] : parts.stop[k]] if parts.child[k, 0] < 0 else at[:0]
            for k in range(count)
        ]
        return cls(parts, edges, vertices)


def pfaffian(
    schedule: Schedule, rotation: Array, offsets: Array, weight: Any, joins: Any, *, search: bool
) -> Pivots | None:
    """Eliminate everything; None where legs are left without a pivot.

    Parameters
    ----------
    schedule : Schedule
        The parts, and what they eliminate.
    rotation, offsets : int array
        The legs around every vertex.
    weight : array
        Of every leg: two legs at a vertex are joined by the product of theirs.
    joins : array
        Of every edge the join of its even leg to the odd one.
    search : bool
        Whether pivots are searched for, and legs without a good one left to larger parts.
        Otherwise the pivots are those of the edges, in their order.
    """
    values: list[Any] = []
    order: list[Array] = []
    fronts: list[_Front] = []
    for k, edges in enumerate(schedule.edges):
        if schedule.parts.child[k, 0] < 0:
            front = _leaf(schedule.vertices[k], rotation, offsets, weight)
        else:
            right, left = fronts.pop(), fronts.pop()
            front = _merge(left, right)
        front = _join(front, edges, joins)
        last = k == len(schedule.edges) - 1
        found = _search(front, 0.0 if last else LEAST_PIVOT) if search else _in_order(front)
        values.append(found[0])
        order.append(found[1])
        fronts.append(found[2])
    legs = np.concatenate(order)
    return Pivots(np.concatenate(values), legs) if len(legs) == len(rotation) else None


@dataclass(frozen=True, eq=False)
class Pivots:
    """The pivots of an elimination, and the legs in the order in which they went."""

    values: Any
    legs: Array

    def sign(self) -> float:
        """Return the sign of the Pfaffian."""
        cycles, _ = components(len(self.legs), np.arange(len(self.legs)), self.legs)
        odd = (len(self.legs) - cycles) % 2
        return float(np.prod(np.sign(self.values.real))) * (-1.0 if odd else 1.0)


@dataclass(frozen=True, eq=False)
class _Front:
    """Legs that are left, those that may go now first, and the matrix between them."""

    legs: Array
    ready: int
    matrix: Any


def _leaf(vertices: Array, rotation: Array, offsets: Array, weight: Any) -> _Front:
    sizes = offsets[vertices + 1] - offsets[vertices]
    owner = np.repeat(np.arange(len(vertices)), sizes)
    begin = np.cumsum(sizes) - sizes
    legs = rotation[np.arange(len(owner)) + np.repeat(offsets[vertices] - begin, sizes)]
    w = weight[legs]
    upper = np.triu(owner[:, None] == owner[None, :], 1)
    block = np.where(upper, w[:, None] * w[None, :], 0.0)
    return _Front(legs, 0, block - block.T)


def _merge(left: _Front, right: _Front) -> _Front:
    """Put two fronts side by side."""
    a, b = len(left.legs), len(right.legs)
    matrix = np.zeros((a + b, a + b), dtype=left.matrix.dtype)
    matrix[:a, :a], matrix[a:, a:] = left.matrix, right.matrix
    legs = np.concatenate([left.legs, right.legs])
    ready = np.concatenate([np.arange(a) < left.ready, np.arange(b) < right.ready])
    order = np.argsort(~ready, kind="stable")
    return _Front(legs[order], left.ready + right.ready, matrix[np.ix_(order, order)])


def _join(front: _Front, edges: Array, joins: Any) -> _Front:
    """Join the legs of edges; they may go now, behind those that might before."""
    if len(edges) == 0:
        return front
    legs, a = front.legs, front.matrix
    by_leg = np.argsort(legs)
    pairs = by_leg[np.searchsorted(legs, np.stack([2 * edges, 2 * edges + 1], 1), sorter=by_leg)]
    a[pairs[:, 0], pairs[:, 1]] += joins[edges]
    a[pairs[:, 1], pairs[:, 0]] -= joins[edges]
    stays = np.ones(len(legs), dtype=bool)
    stays[: front.ready] = False
    stays[pairs] = False
    order = np.concatenate([np.arange(front.ready), pairs.ravel(), np.flatnonzero(stays)])
    return _Front(legs[order], front.ready + pairs.size, a[np.ix_(order, order)])


def _in_order(front: _Front) -> tuple[Any, Array, _Front]:
    """Eliminate pair by pair; return the pivots, the legs that went, and what is left."""
    a, count = front.matrix, front.ready
    found = np.empty(count // 2, dtype=a.dtype)
    for i in range(0, count, 2):
        found[i // 2] = a[i, i + 1]
        _update(a, i)
    return found, front.legs[:count], _Front(front.legs[count:], 0, a[count:, count:].copy())


def _search(front: _Front, least: float) -> tuple[Any, Array, _Front]:
    """Eliminate pairs as long as one has an entry that is large beside the rest of its rows."""
    a, legs, ready = front.matrix, front.legs.copy(), front.ready
    found: list[Any] = []
    done = 0
    while ready - done >= 2:
        size = np.abs(a[done:ready, done:])
        largest = size.max(1)
        share = size[:, : ready - done] / np.maximum(largest[:, None], largest)
        i, j = divmod(int(np.fmax(share, 0.0).argmax()), ready - done)  # 0 where rows vanish
        if not share[i, j] > least:
            break
        for here, there in ((done, done + min(i, j)), (done + 1, done + max(i, j))):
            _swap(a[done:, done:], legs[done:], here - done, there - done)
        found.append(a[done, done + 1])
        _update(a, done)
        done += 2
    rest = _Front(legs[done:], ready - done, a[done:, done:].copy())
    return np.array(found, dtype=a.dtype), legs[:done], rest


def _swap(a: Any, legs: Array, i: int, j: int) -> None:
    if i != j:
        row = a[i].copy()
        a[i], a[j] = a[j], row
        column = a[:, i].copy()
        a[:, i], a[:, j] = a[:, j], column
        legs[i], legs[j] = legs[j], legs[i]


def _update(a: Any, i: int) -> None:
    """Eliminate rows i and i + 1 from those behind them; the matrix stays exactly skew."""
    x, y = a[i, i + 2 :], a[i + 1, i + 2 :]
    product = (x / a[i, i + 1])[:, None] * y
    a[i + 2 :, i + 2 :] -= product - product.T
