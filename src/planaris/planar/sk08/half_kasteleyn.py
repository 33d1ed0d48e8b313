"""The Boolean half-Kasteleyn matrix H and its prefactoring (section 4).

1. Plane triangulate the graph.
2. Orient its edges so that every vertex has an odd number of incoming ones.
3. Give each oriented edge k the rows 2k (its right side) and 2k + 1 (its left side), and set
   H = 1 from each side of a triangle to the next one clockwise. Then K = H - Hᵀ, plus exp(E_k)
   from row 2k to row 2k + 1, is a Kasteleyn matrix of the expanded dual: triangles go round
   clockwise, and the face around a vertex has one clockwise edge per incoming edge.
   A component that is a single edge cannot be triangulated and needs no orientation.
4. Prefactor the chords: their cost is zero, so their rows are eliminated once and for all. Each
   chord lies between two different faces; eliminating it joins these to one clique whose
   entries are products of two signs, so H stays Boolean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.embed import Embedding
from planaris.planar.sk08.chords import triangulate
from planaris.typing import Array, BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class HalfKasteleyn:
    """A Boolean matrix, eight entries to the byte.

    Attributes
    ----------
    bits : numpy.ndarray
        uint8, shape (rows, ceil(rows / 8)).
    num_rows : int
        Two per edge of the graph (and per chord, before prefactoring).
    num_edges : int
        Edges of the graph itself; chords come after them.
    """

    bits: Array
    num_rows: int
    num_edges: int

    @property
    def nbytes(self) -> int:
        """Size of the bit matrix in bytes."""
        return self.bits.nbytes

    def dense(self) -> BoolArray:
        """Return the matrix unpacked."""
        return np.unpackbits(self.bits, axis=1, count=self.num_rows).astype(bool)

    def prefactor(self) -> HalfKasteleyn:
        """Eliminate the rows of all chords."""
        bits = self.bits.copy()
        for row in range(2 * self.num_edges, self.num_rows, 2):
            _eliminate(bits, row, self.num_rows)
        kept = 2 * self.num_edges  # the edges' rows and columns come first
        small = np.ascontiguousarray(bits[:kept, : (kept + 7) // 8])
        if kept % 8:
            small[:, -1] &= np.uint8(0xFF00 >> kept % 8 & 0xFF)
        return HalfKasteleyn(small, kept, self.num_edges)

    def kasteleyn_matrix(self, costs: FloatArray) -> FloatArray:
        """Return K for the disagreement costs of the edges; chords cost nothing."""
        half = self.dense().astype(np.float64)
        matrix = half - half.T
        even = np.arange(0, self.num_rows, 2)
        joins = np.ones(len(even))
        joins[: self.num_edges] = np.exp(costs)
        matrix[even, even + 1] += joins
        matrix[even + 1, even] -= joins
        return matrix


def half_kasteleyn(embedding: Embedding) -> HalfKasteleyn:
    """Build the Boolean half-Kasteleyn matrix of a plane graph, chords included.

    Examples
    --------
    >>> triangle = Embedding.from_rotation([(0, 1), (1, 2), (2, 0)], [0, 5, 2, 1, 4, 3],
    ...                                    num_vertices=3)
    >>> half_kasteleyn(triangle).dense().sum()
    np.int64(6)
    """
    full = triangulate(embedding)
    turned = _odd_orientation(full)
    rows = 2 * full.num_edges
    # Half-edge 2e has its left side in its own face. If edge e keeps its direction, that side
    # is row 2e + 1; if it is turned, row 2e.
    row_of = np.arange(rows) ^ 1
    row_of[np.repeat(turned, 2)] ^= 1
    walk, bounds = full.face_walk, full.face_offsets
    following = np.roll(walk, -1)
    following[bounds[1:] - 1] = walk[bounds[:-1]]
    # The walk itself goes counter-clockwise. A component that is a single edge has one face, of
    # two sides: there exp(E) + 1 leads from row 2e to row 2e + 1, and nothing back.
    lone = np.repeat(np.diff(bounds) == 2, np.diff(bounds)) & (row_of[following] % 2 == 1)
    tails, heads = row_of[following[~lone]], row_of[walk[~lone]]
    bits = np.zeros((rows, (rows + 7) // 8), dtype=np.uint8)
    np.bitwise_or.at(bits, (tails, heads >> 3), (128 >> (heads & 7)).astype(np.uint8))
    return HalfKasteleyn(bits, rows, embedding.num_edges)


def _odd_orientation(embedding: Embedding) -> BoolArray:
    """Tell which edges to turn so that every vertex has an odd number of incoming ones.

    Tree edges are decided from the leaves up; the root comes out right because a triangulation
    has as many edges as vertices, mod 2.
    """
    n = embedding.num_vertices
    incoming = np.bincount(embedding.edges[:, 1], minlength=n).tolist()
    offsets, rotation = embedding.offsets.tolist(), embedding.rotation.tolist()
    head = embedding.edges[:, ::-1].ravel().tolist()
    seen, to_parent, order = [False] * n, [-1] * n, []
    for root in range(n):
        stack = [] if seen[root] else [root]
        seen[root] = True
        while stack:
            v = stack.pop()
            order.append(v)
            for h in rotation[offsets[v] : offsets[v + 1]]:
                w = head[h]
                if not seen[w]:
                    seen[w], to_parent[w] = True, h ^ 1
                    stack.append(w)
    turned = np.zeros(embedding.num_edges, dtype=bool)
    for v in reversed(order):
        if to_parent[v] >= 0 and incoming[v] % 2 == 0:
            turned[to_parent[v] >> 1] = True
            incoming[v] += 1
            incoming[head[to_parent[v]]] += 1
    return turned


def _eliminate(bits: Array, row: int, num_rows: int) -> None:
    """Eliminate the pair (row, row + 1) with K = 1 between them: K_ij += K_li K_rj - K_ri K_lj.

    Here r = row and l = row + 1, and K_ij = 1 where bit (i, j) is set, -1 where bit (j, i) is.
    """
    right, left = bits[row].copy(), bits[row + 1].copy()
    column = bits[:, row >> 3]
    from_right = (column >> (7 - (row & 7)) & 1).astype(bool)
    from_left = (column >> (7 - (row + 1 & 7)) & 1).astype(bool)
    into_right = np.packbits(from_right)
    into_left = np.packbits(from_left)
    of_right = np.unpackbits(right, count=num_rows).astype(bool)
    of_left = np.unpackbits(left, count=num_rows).astype(bool)
    bits[of_left] |= right  # K_li = 1, K_rj = 1
    bits[from_left] |= into_right  # K_li = -1, K_rj = -1
    bits[of_right] |= into_left  # K_ri = 1, K_lj = -1
    bits[from_right] |= left  # K_ri = -1, K_lj = 1
