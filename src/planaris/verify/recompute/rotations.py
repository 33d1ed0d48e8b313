"""Graphs on surfaces, such that a sum over their even edge sets is a Pfaffian.

Every edge has a leg at each of its ends. The two are joined by ±1, and any two legs at a vertex by
the product of their weights, with a sign by their order around it. Signs of the joins are such
that going round a face multiplies all entries met to -1 (Kasteleyn): on a plane, all even
sets then have one sign. On a surface of genus g, 4^g Pfaffians, with the joins along cycles of a
basis flipped or not, have the even sets that bound a region as their mean.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import components

MAX_DEGREE = 12
"""Vertices with more edges are split into a chain, so that no vertex makes a dense block."""


@dataclass(frozen=True, eq=False)
class Rotations:
    """A rotation system without vertices of large degree, and the signs of its edges.

    Attributes
    ----------
    rotation, offsets : int array
        The half-edges around every vertex; ``2 e`` and ``2 e + 1`` are the two of edge e.
    whole : int array
        Of every vertex the one it is a piece of.
    face : int array
        Of every half-edge the face on its side.
    signs : float array
        Of every edge. Edges behind those that were given join the pieces of a vertex.
    """

    rotation: Array
    offsets: Array
    whole: Array
    face: Array
    signs: FloatArray

    @classmethod
    def of(cls, rotation: Array, offsets: Array) -> Rotations:
        """Split the vertices of large degree and find the signs."""
        rotation, offsets, whole = _split_vertices(rotation, offsets)
        wraps, face = _faces(rotation, offsets)
        return cls(rotation, offsets, whole, face, _signs(wraps, face))

    @property
    def num_vertices(self) -> int:
        """Number of vertices, pieces counted."""
        return len(self.offsets) - 1

    @cached_property
    def ends(self) -> Array:
        """The vertices that every edge joins, shape (edges, 2)."""
        at = np.empty(len(self.rotation), dtype=np.int64)
        at[self.rotation] = np.repeat(np.arange(self.num_vertices), np.diff(self.offsets))
        return at.reshape(-1, 2)

    @cached_property
    def flips(self) -> list[FloatArray]:
        """Signs of all structures, to be multiplied with ``signs``: 4^genus of them."""
        count = int(self.face.max(initial=-1)) + 1
        sides = self.face.reshape(-1, 2).astype(np.int64)
        tree, above = _spanning_tree(count, sides)
        rest = np.flatnonzero(~tree)
        other, _ = _spanning_tree(self.num_vertices, self.ends[rest])
        cycles = [_cycle(int(e), sides, above) for e in rest[~other]]
        structures = []
        for chosen in itertools.product([False, True], repeat=len(cycles)):
            sign = np.ones(len(sides))
            for cycle in itertools.compress(cycles, chosen):
                sign[cycle] *= -1.0
            structures.append(sign)
        return structures


def _split_vertices(rotation: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Make chains of vertices of large degree; return what each piece is a piece of, too."""
    degree = np.diff(offsets)
    small = degree <= MAX_DEGREE
    runs = [rotation[np.repeat(small, degree)]]
    sizes = degree[small].tolist()
    whole = np.flatnonzero(small).tolist()
    fresh = len(rotation)  # the next half-edge
    for v in np.flatnonzero(~small).tolist():
        around = rotation[offsets[v] : offsets[v + 1]]
        pieces = np.array_split(around, -(-len(around) // (MAX_DEGREE - 2)))
        whole += [v] * len(pieces)
        for k, piece in enumerate(pieces):
            back = [fresh - 1] if k else []
            ahead = [fresh] if k < len(pieces) - 1 else []
            runs.append(np.array([*back, *piece.tolist(), *ahead]))
            sizes.append(len(runs[-1]))
            fresh += 2 * len(ahead)
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.concatenate(runs), begins, np.array(whole, dtype=np.int64)


def _faces(rotation: Array, offsets: Array) -> tuple[Array, Array]:
    """Return which half-edges are followed by the way from a first leg to a last, and all faces.

    Entering a vertex by h, the way round a face goes from leg h ^ 1 to the leg before it in the
    rotation.
    """
    size = len(rotation)
    held = np.diff(offsets) > 0
    first, last = offsets[:-1][held], offsets[1:][held] - 1
    before = np.arange(-1, size - 1)
    before[first] = last
    following, wraps = np.empty(size, dtype=np.int64), np.zeros(size, dtype=bool)
    following[rotation ^ 1] = rotation[before]
    wraps[rotation[first] ^ 1] = True
    return wraps, components(size, np.arange(size), following)[1]


def _signs(wraps: Array, face: Array) -> FloatArray:
    """Return signs such that the entries met on the way round any face multiply to -1.

    At a vertex an entry -1 is met, but +1 from the first leg to the last. An edge counts with its
    sign along the even half-edge, against it along the odd one. The signs follow from the leaves
    of a spanning tree of the faces up; the root is then right by Euler's formula.
    """
    count = int(face.max(initial=-1)) + 1
    minus = np.bincount(face, ~wraps + (np.arange(len(face)) & 1), count)
    wrong = (minus % 2 == 0).tolist()
    signs: FloatArray = np.ones(len(face) // 2)
    sides = face.reshape(-1, 2).astype(np.int64)
    for f, p, edge in zip(*_spanning_forest(count, sides), strict=True):
        if wrong[f]:
            signs[edge] = -1.0
            wrong[p] = not wrong[p]
    return signs


def _spanning_forest(count: int, ends: Array) -> tuple[list[int], list[int], list[int]]:
    """Return vertices below their parents in a spanning forest, parents and edges; leaves first."""
    left, right = ends.T
    inner = np.flatnonzero(left != right)
    key = np.minimum(left, right) * count + np.maximum(left, right)
    keys, chosen = np.unique(key[inner], return_index=True)
    edges = inner[chosen]
    _, roots = np.unique(components(count, left, right)[1], return_index=True)
    rows = np.concatenate([left[edges], np.full(len(roots), count)])
    columns = np.concatenate([right[edges], roots])
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(count + 1, count + 1))
    order, above = breadth_first_order(links.tocsr(), count, directed=False)
    below = order[:0:-1].astype(np.int64)
    parent = above[below].astype(np.int64)
    below, parent = below[parent < count], parent[parent < count]
    wanted = np.minimum(below, parent) * count + np.maximum(below, parent)
    at = edges[np.searchsorted(keys, wanted)]
    return below.tolist(), parent.tolist(), at.tolist()


def _spanning_tree(count: int, ends: Array) -> tuple[Array, dict[int, tuple[int, int]]]:
    """Return which edges are in a spanning forest, and (parent, edge) of every vertex below one."""
    below, parent, edges = _spanning_forest(count, ends)
    used = np.zeros(len(ends), dtype=bool)
    used[edges] = True
    return used, dict(zip(below, zip(parent, edges, strict=True), strict=True))


def _cycle(edge: int, ends: Array, above: dict[int, tuple[int, int]]) -> Array:
    """Return the edges of the cycle that an edge makes with a spanning forest."""
    met: set[int] = {edge}
    for v in ends[edge].tolist():
        at = v
        while at in above:
            at, used = above[at]
            met ^= {used}
    return np.array(sorted(met))
