"""Drawings with a few crossings as rotation systems of low genus.

Edges that cross are taken out of the drawing until none cross; the rest is plane. Each edge that
was taken out is put back from corner to corner: inside one face if its ends share one (the genus
stays), otherwise over one new handle (it grows by one). Hence
``genus <= edges taken out <= crossings``, and one handle serves all edges that can share it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.models.arrays import as_edges, as_positions
from planaris.typing import Array, ArrayLike, BoolArray, FloatArray, IntArray

_CHUNK = 2**22
_SAFE = 8 * float(np.finfo(np.float64).eps)
_TINY = 1e-290  # below, products may have lost bits to underflow


def find_crossings(edges: ArrayLike, positions: ArrayLike) -> IntArray:
    """Return all pairs of edges of a straight-line drawing that meet where they should not.

    A pair is listed when the two edges have a point in common other than one shared end: a
    crossing, an end on the other edge, or an overlap.

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        The graph.
    positions : array_like of float, shape (n, 2)
        Coordinates of its vertices.

    Returns
    -------
    numpy.ndarray
        int32, shape (k, 2), each pair in increasing order.

    Notes
    -----
    Signs of areas are exact: rational arithmetic decides where rounding could.

    Examples
    --------
    >>> find_crossings([(0, 2), (1, 3), (0, 1)], [(0, 0), (1, 0), (1, 1), (0, 1)]).tolist()
    [[0, 1]]
    """
    spots = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    pairs = as_edges(edges, len(spots))
    spots = as_positions(spots, len(spots))
    first, second = _overlapping_boxes(spots[pairs])
    meet = np.zeros(len(first), dtype=bool)
    for at in range(0, len(first), _CHUNK):
        part = slice(at, at + _CHUNK)
        meet[part] = _meet(pairs[first[part]], pairs[second[part]], spots)
    found = np.column_stack([first, second])[meet]
    found.sort(axis=1)
    return np.ascontiguousarray(found[np.lexsort(found.T[::-1])], dtype=np.int32)


def embedding_with_handles(edges: ArrayLike, positions: ArrayLike) -> Embedding:
    """Return a rotation system of low genus for a drawing with a few crossings.

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        The graph; parallel edges overlap in a straight-line drawing and are then put side by
        side.
    positions : array_like of float, shape (n, 2)
        Coordinates of its vertices; edges are straight.

    Returns
    -------
    Embedding
        Of genus at most the number of crossings; 0 if the drawing is plane.

    Examples
    --------
    >>> square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    >>> embedding_with_handles([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)], square).genus
    0
    >>> import numpy as np
    >>> angles = 2 * np.pi * np.arange(5) / 5
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> embedding_with_handles(k5, np.column_stack([np.cos(angles), np.sin(angles)])).genus
    1
    """
    spots = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    pairs = as_edges(edges, len(spots))
    spots = as_positions(spots, len(spots))
    out = _crossing_cover(find_crossings(pairs, spots), len(pairs))
    rotation = _rotation_by_angle(pairs, spots, ~out)
    for edge in np.flatnonzero(out).tolist():
        _put_back(rotation, pairs, edge, spots)
    flat = np.array([h for around in rotation for h in around], dtype=np.int32)
    return Embedding.from_rotation(pairs, flat, num_vertices=len(spots))


def _overlapping_boxes(segments: FloatArray) -> tuple[Array, Array]:
    """Pairs of segments whose bounding boxes meet: sorted by their left ends."""
    low, high = segments.min(axis=1), segments.max(axis=1)
    order = np.argsort(low[:, 0], kind="stable")
    low, high = low[order], high[order]
    last = np.searchsorted(low[:, 0], high[:, 0], side="right")
    counts = last - np.arange(len(order)) - 1
    firsts, seconds = [], []
    at = 0
    while at < len(order):
        # As many rows as give a bounded number of candidates.
        total = np.cumsum(counts[at : at + _CHUNK])
        rows = max(int(np.searchsorted(total, _CHUNK, side="right")), 1)
        count = counts[at : at + rows]
        i = np.repeat(np.arange(at, at + len(count)), count)
        j = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count) + i + 1
        meet = (low[i, 1] <= high[j, 1]) & (low[j, 1] <= high[i, 1])
        firsts.append(order[i[meet]])
        seconds.append(order[j[meet]])
        at += rows
    if not firsts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate(firsts), np.concatenate(seconds)


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> IntArray:
    """Sign of the area of the triangles abc, exactly."""
    (bx, by), (cx, cy) = (b - a).T, (c - a).T
    with np.errstate(all="ignore"):
        left, right = bx * cy, by * cx
        # A difference is off by half a unit in the last place, a product of two by three halves.
        doubtful = ~(np.abs(left - right) > _SAFE * (np.abs(left) + np.abs(right)))
        no_left, no_right = (bx == 0) | (cy == 0), (by == 0) | (cx == 0)
        doubtful &= ~(no_left & no_right)
        doubtful |= (np.abs(left) < _TINY) & ~no_left | (np.abs(right) < _TINY) & ~no_right
        sign = np.where(doubtful, 0.0, np.sign(left - right)).astype(np.int32)
    for k in np.flatnonzero(doubtful).tolist():
        (x0, y0), (x1, y1), (x2, y2) = (map(Fraction, p[k].tolist()) for p in (a, b, c))
        exact = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0)
        sign[k] = (exact > 0) - (exact < 0)
    return sign


def _meet(one: IntArray, two: IntArray, spots: FloatArray) -> BoolArray:
    """Whether the edges have a point in common that is not one shared end.

    Their bounding boxes are known to meet; that decides where all four ends are on one line.
    """
    same = one[:, :, None] == two[:, None, :]
    shared = same.sum(axis=(1, 2))
    meet: BoolArray = shared == 2
    far = np.flatnonzero(shared == 0)
    a, b, c, d = (spots[ends[far, k]] for ends in (one, two) for k in (0, 1))
    apart = (_turn(a, b, c) * _turn(a, b, d) > 0) | (_turn(c, d, a) * _turn(c, d, b) > 0)
    meet[far] = ~apart
    # With one end in common, they overlap if they leave it in the same direction.
    near = np.flatnonzero(shared == 1)
    p = np.where(same[near, 0].any(axis=1), one[near, 0], one[near, 1])
    q, r = one[near].sum(axis=1) - p, two[near].sum(axis=1) - p
    toward = (np.sign(spots[q] - spots[p]) == np.sign(spots[r] - spots[p])).all(axis=1)
    near, p, q, r = near[toward], p[toward], q[toward], r[toward]
    meet[near] = _turn(spots[p], spots[q], spots[r]) == 0
    return meet


def _crossing_cover(crossings: IntArray, num_edges: int) -> BoolArray:
    """Edges to take out so that no crossing is left: most crossings first, of those the last."""
    out = np.zeros(num_edges, dtype=bool)
    left = crossings
    while len(left):
        count = np.bincount(left.ravel())
        worst = len(count) - 1 - int(count[::-1].argmax())
        out[worst] = True
        left = left[(left != worst).all(axis=1)]
    return out


def _rotation_by_angle(pairs: IntArray, spots: FloatArray, kept: BoolArray) -> list[list[int]]:
    half = np.flatnonzero(np.repeat(kept, 2))
    tail = pairs.ravel()[half]
    step = spots[pairs.ravel()[half ^ 1]] - spots[tail]
    order = np.lexsort((np.arctan2(step[:, 1], step[:, 0]), tail))
    bounds = np.searchsorted(tail[order], np.arange(len(spots) + 1))
    ordered = half[order].tolist()
    return [ordered[a:b] for a, b in pairwise(bounds.tolist())]


def _put_back(rotation: list[list[int]], pairs: IntArray, edge: int, spots: FloatArray) -> None:
    """Insert an edge into the rotation lists: inside a common face if there is one.

    Otherwise into the corners that the straight edge enters, so that neighbours can follow.
    """
    present = np.array([h for around in rotation for h in around], dtype=np.int64)
    kept = np.unique(present >> 1)
    rank = np.zeros(len(pairs), dtype=np.int64)
    rank[kept] = np.arange(len(kept))
    now = Embedding.from_rotation(
        pairs[kept], 2 * rank[present >> 1] + (present & 1), num_vertices=len(rotation)
    )
    ends = [(int(pairs[edge, k]), 2 * edge + k) for k in (0, 1)]
    # The corner before half-edge h, counter-clockwise, lies in the face of its twin.
    corners = [
        {int(now.face_of[2 * rank[h >> 1] + 1 - (h & 1)]): k for k, h in enumerate(rotation[v])}
        for v, _ in ends
    ]
    shared = corners[0].keys() & corners[1].keys()
    for (v, half), corner in zip(ends, corners, strict=True):
        if shared:
            at = corner[min(shared)]
        else:
            step = spots[pairs.ravel()[np.array([half, *rotation[v]]) ^ 1]] - spots[v]
            angle = np.arctan2(step[:, 1], step[:, 0])
            later = np.flatnonzero(angle[1:] > angle[0])
            at = int(later[0]) if later.size else 0
        rotation[v].insert(at, half)
