"""Structure of graphs, compiled: components, blocks, planarity, rotation systems, faces.

Functions without a budget check the deadline that is set for structure
(:meth:`planaris.budget.Budget.for_structure`).
"""

from __future__ import annotations

import numpy as np

from planaris import _core
from planaris.budget import Budget, control, structure_control, structure_team, structure_threads
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

FLAWS = ("", "crossing", "overlap", "through-vertex", "same-place")
"""What can be wrong with a drawing, by the number the core gives it."""


def biconnected_components(num_vertices: int, edges: IntArray) -> tuple[int, IntArray, BoolArray]:
    """Return (number of blocks, block of each edge, whether each vertex is an articulation).

    A bridge is a block of its own; an isolated vertex is in none.

    >>> import numpy as np
    >>> edges = np.array([(0, 1), (1, 2), (2, 0), (2, 3)], dtype=np.int32)
    >>> count, block, articulation = biconnected_components(4, edges)
    >>> count, block.tolist(), np.flatnonzero(articulation).tolist()
    (2, [1, 1, 1, 0], [2])
    """
    count, block, articulation = _core.biconnected_components(
        num_vertices, edges, *structure_control()
    )
    return count, block, articulation.view(np.bool_)


def connected_components(num_vertices: int, edges: IntArray) -> IntArray:
    """Return the component of every vertex, numbered in order of their first vertex."""
    return _core.connected_components(num_vertices, edges, structure_threads())


def colour_classes(num_vertices: int, edges: IntArray) -> list[LongArray]:
    """Partition the vertices into sets without edges among them: two where two are enough.

    >>> square = np.array([(0, 1), (1, 2), (2, 3), (0, 3)], dtype=np.int32)
    >>> [c.tolist() for c in colour_classes(4, square)]
    [[0, 2], [1, 3]]
    """
    order, offsets = _core.colour_breadth_first(num_vertices, np.ascontiguousarray(edges))
    return np.split(order.astype(np.int64), offsets[1:-1]) if num_vertices else []


def breadth_first_order(num_vertices: int, edges: IntArray, root: int = 0) -> IntArray:
    """Return all vertices by their distance from a root; other components follow.

    >>> breadth_first_order(4, np.array([(0, 1), (1, 2)], dtype=np.int32), 2).tolist()
    [2, 1, 0, 3]
    """
    return _core.breadth_first_order(num_vertices, np.ascontiguousarray(edges), root)


def heaviest_forest(
    num_vertices: int, edges: IntArray, weights: FloatArray, budget: Budget
) -> IntArray:
    """Return the edges of a spanning forest of largest weight, in ascending order."""
    return _core.heaviest_forest(num_vertices, edges, weights, *control(budget))


def embed_drawing(
    num_vertices: int, edges: IntArray, positions: FloatArray
) -> tuple[str, tuple[int, int], IntArray, IntArray, IntArray]:
    """Return (flaw or "", what is at fault, rotation, offsets, half-edges on the outer faces).

    The sweep is exact and takes O((n + m) log n). With a flaw, the arrays mean nothing; the
    pair holds two edges (crossing, overlap), an edge and a vertex (through-vertex), or two
    vertices (same-place).
    """
    found = _core.embed_drawing(num_vertices, edges, positions, *structure_team())
    at_fault = (found.first, found.second)
    return FLAWS[found.flaw], at_fault, found.rotation, found.offsets, found.outer


def embed_planar(num_vertices: int, edges: IntArray) -> tuple[bool, IntArray, IntArray]:
    """Return (is planar, rotation, offsets) by the left-right test, in linear time."""
    return _core.embed_planar(num_vertices, edges, *structure_control())


def is_planar(num_vertices: int, edges: IntArray) -> bool:
    """Return whether a graph is planar, without embedding it."""
    return _core.is_planar(num_vertices, edges, *structure_control())


def maximal_planar(
    num_vertices: int, edges: IntArray, order: LongArray, *, max_tests: int, budget: Budget
) -> BoolArray:
    """Mark edges of a planar subgraph, taken in the given order while it stays planar.

    Groups of edges that do not fit are halved. Ends when the time is over, or after
    ``max_tests`` planarity tests, with a planar graph that may not be maximal.

    >>> from planaris.budget import UNLIMITED
    >>> k5 = np.array([(u, v) for u in range(5) for v in range(u)], dtype=np.int32)
    >>> maximal_planar(5, k5, np.arange(10), max_tests=99, budget=UNLIMITED).tolist()
    [True, True, True, True, True, True, True, True, True, False]
    """
    chosen = _core.maximal_planar(num_vertices, edges, order, max_tests, *control(budget))
    return chosen.view(np.bool_)


def embed_by_short_faces(
    num_vertices: int, edges: IntArray
) -> tuple[bool, IntArray, IntArray, IntArray]:
    """Return (found, rotation, offsets, left-out edges); faces are triangles and squares."""
    found = _core.embed_by_short_faces(num_vertices, edges, *structure_control())
    return found.found, found.rotation, found.offsets, found.left_out


def reduce_series_parallel(num_vertices: int, edges: IntArray) -> tuple[IntArray, IntArray]:
    """Return (edges of the reduced graph, which of them each edge is part of, -1 if of none).

    Parallel edges and vertices of degree one and two are reduced.

    >>> k4 = np.array([(0, 4), (4, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], dtype=np.int32)
    >>> core, group = reduce_series_parallel(5, k4)
    >>> len(core), int(group[0] == group[1])
    (6, 1)
    """
    core = _core.reduce_series_parallel(num_vertices, edges, *structure_control())
    return core.edges.reshape(-1, 2), core.group_of


def find_torus_classes(
    num_vertices: int, edges: IntArray, max_left_out: int, least_length: int
) -> tuple[int, IntArray, IntArray]:
    """Return (length of short cycles or 0, two integers per edge, edges left out)."""
    found = _core.find_torus_classes(
        num_vertices, edges, max_left_out, least_length, *structure_control()
    )
    return found.length, found.classes.reshape(-1, 2), found.left_out


def find_kuratowski(num_vertices: int, edges: IntArray) -> tuple[str, IntArray]:
    """Return ("K5" or "K3,3", edges of a subdivision of it); no edges if the graph is planar."""
    is_k5, found = _core.find_kuratowski(num_vertices, edges, *structure_control())
    return "K5" if is_k5 else "K3,3", found


def split_faces(
    edges: IntArray, rotation: IntArray, offsets: IntArray, max_length: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return (chords, rotation and offsets with them, a half-edge left of each given face)."""
    split = _core.split_faces(edges, rotation, offsets, max_length, *structure_control())
    return split.chords, split.rotation, split.offsets, split.centre


def find_best_faces(
    edges: IntArray, rotation: IntArray, offsets: IntArray, weights: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Return (vertices on the heaviest face of each component, components proved heaviest)."""
    chosen, is_unique = _core.find_best_faces(edges, rotation, offsets, weights)
    return chosen.view(np.bool_), is_unique.view(np.bool_)


def trace_faces(
    edges: IntArray, rotation: IntArray, offsets: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (face of each half-edge, half-edges face by face, offsets of the faces)."""
    return _core.trace_faces(edges, rotation, offsets, structure_threads())


def face_centres(
    edges: IntArray, walk: IntArray, offsets: IntArray, positions: FloatArray
) -> FloatArray:
    """Return the mean of the corners of every face; those without a position do not count."""
    return _core.face_centres(edges, walk, offsets, positions)


def homology_basis(
    edges: IntArray, rotation: IntArray, offsets: IntArray, face_of: IntArray
) -> tuple[IntArray, IntArray]:
    """Return (edges of all cycles one after the other, offsets of the cycles)."""
    return _core.homology_basis(edges, rotation, offsets, face_of)
