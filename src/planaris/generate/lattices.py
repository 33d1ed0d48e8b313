"""Lattices with coordinates: edges and positions as arrays."""

from __future__ import annotations

from operator import index
from typing import NamedTuple

import numpy as np

from planaris.errors import ModelError, TooLargeError, require_one_of
from planaris.models.arrays import as_rng
from planaris.show import one_line
from planaris.typing import FloatArray, IntArray, Rng

MAX_VERTICES = 2**28
"""Largest lattice that is made; edges are numbered in int32."""


class Lattice(NamedTuple):
    """A plane drawing: ``edges`` (m, 2), ``positions`` (n, 2).

    >>> lattice = square_lattice(3)
    >>> lattice.num_vertices, len(lattice.edges)
    (9, 12)
    """

    edges: IntArray
    positions: FloatArray

    def __repr__(self) -> str:
        return one_line(self)

    @property
    def num_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return len(self.positions)


def square_lattice(rows: int | tuple[int, int], columns: int | None = None) -> Lattice:
    """Return the open square lattice; vertex ``r * columns + c`` lies at (c, -r).

    Edges to the right come first, row by row, then edges down. The size may be a shape, too, as
    for every lattice here: ``square_lattice((2, 3))``.

    >>> lattice = square_lattice(2, 3)
    >>> lattice.edges.tolist()
    [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    """
    vertex, positions = _grid(rows, columns)
    return Lattice(_join(_right(vertex), _down(vertex)), positions)


def triangular_lattice(rows: int | tuple[int, int], columns: int | None = None) -> Lattice:
    """Return the open triangular lattice: a square lattice with one diagonal per square.

    >>> len(triangular_lattice(3, 3).edges)
    16
    """
    vertex, positions = _grid(rows, columns)
    diagonal = np.column_stack([vertex[:-1, :-1].ravel(), vertex[1:, 1:].ravel()])
    positions[:, 0] += 0.5 * positions[:, 1]
    positions[:, 1] *= np.sqrt(0.75)
    return Lattice(_join(_right(vertex), _down(vertex), diagonal), positions)


def honeycomb_lattice(rows: int | tuple[int, int], columns: int | None = None) -> Lattice:
    """Return the open honeycomb lattice, drawn as a brick wall.

    >>> len(honeycomb_lattice(2, 4).edges)
    8
    """
    vertex, positions = _grid(rows, columns)
    row, column = np.indices(vertex.shape)
    bricks = ((row + column) % 2 == 0)[:-1]
    down = np.column_stack([vertex[:-1][bricks], vertex[1:][bricks]])
    return Lattice(_join(_right(vertex), down), positions)


def cylinder(rows: int | tuple[int, int], columns: int | None = None) -> Lattice:
    """Return the square lattice that is periodic along its rows, drawn as rings.

    Vertex ``r * columns + c`` as in :func:`square_lattice`. Edges along the rows come first, the
    last of each row being the one that closes it; then edges down. It is planar. With two
    columns or one nothing is left to close.

    >>> lattice = cylinder(2, 3)
    >>> lattice.edges.tolist()
    [[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]]
    """
    vertex, flat = _grid(rows, columns)
    angle = 2 * np.pi * flat[:, 0] / max(vertex.shape[1], 1)
    radius = 1.0 - flat[:, 1]
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return Lattice(_join(_around(vertex), _down(vertex)), rings)


def torus(rows: int | tuple[int, int], columns: int | None = None, kind: str = "square") -> Lattice:
    """Return a lattice that is periodic in both directions, on the places of the open one.

    Vertex ``r * columns + c`` as in :func:`square_lattice`. The drawing has long edges that
    cross others: the graph has genus one, which the verbs find by themselves. A side of two or one
    is not closed.

    Parameters
    ----------
    rows, columns : int
        Size; default: a square. ``rows`` may be a shape (rows, columns).
    kind : {"square", "triangular"}
        Which lattice; the triangular one has a diagonal in every square.

    Examples
    --------
    >>> len(torus(4, 5).edges), len(torus(4, 5, "triangular").edges)
    (40, 60)
    """
    require_one_of("kind", kind, ("square", "triangular"), ModelError)
    vertex, positions = _grid(rows, columns)
    groups = [_around(vertex), _around(vertex.T)]
    if kind == "triangular":
        if min(vertex.shape, default=0) < 3:
            msg = f"a triangular torus needs at least three rows and columns, got {vertex.shape}"
            raise ModelError(msg)
        across = np.roll(vertex, (-1, -1), axis=(0, 1))
        groups.append(np.column_stack([vertex.ravel(), across.ravel()]))
        positions[:, 0] += 0.5 * positions[:, 1]
        positions[:, 1] *= np.sqrt(0.75)
    return Lattice(_join(*groups), positions)


def random_triangulation(num_vertices: int, rng: Rng) -> Lattice:
    """Return the Delaunay triangulation of uniform points in the unit square.

    Fewer than three points give the complete graph on them.

    >>> lattice = random_triangulation(50, np.random.default_rng(0))
    >>> lattice.num_vertices, len(lattice.edges) <= 3 * 50 - 6
    (50, True)
    """
    rng = as_rng(rng)
    from scipy.spatial import Delaunay

    points = rng.random((num_vertices, 2))
    if num_vertices < 3:
        pairs = np.array([[0, 1]] if num_vertices == 2 else np.zeros((0, 2)), dtype=np.int32)
        return Lattice(pairs, points)
    corners = Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    sides.sort(axis=1)
    key = np.unique(sides[:, 0].astype(np.int64) * num_vertices + sides[:, 1])
    return Lattice(_join(np.column_stack(np.divmod(key, num_vertices))), points)


def random_planar_graph(num_vertices: int, num_edges: int, rng: Rng) -> Lattice:
    """Return a random triangulation with edges deleted until ``num_edges`` are left.

    >>> len(random_planar_graph(20, 25, np.random.default_rng(0)).edges)
    25
    """
    rng = as_rng(rng)
    full = random_triangulation(num_vertices, rng)
    if not 0 <= num_edges <= len(full.edges):
        msg = f"`num_edges` must lie between 0 and {len(full.edges)} here, got {num_edges}"
        raise ModelError(msg)
    kept = np.sort(rng.choice(len(full.edges), num_edges, replace=False))
    return Lattice(np.ascontiguousarray(full.edges[kept]), full.positions)


def _grid(rows: int | tuple[int, int], columns: int | None) -> tuple[IntArray, FloatArray]:
    rows, columns = _sides(rows, columns)
    if rows < 0 or columns < 0:
        msg = f"`rows` and `columns` must not be negative, got {rows} and {columns}"
        raise ModelError(msg)
    if rows * columns > MAX_VERTICES:
        msg = (
            f"`rows` × `columns` must be at most {MAX_VERTICES:,}, got {rows} × {columns}: "
            f"{rows * columns:,} spins; models of that size do not fit into memory"
        )
        raise TooLargeError(msg, bytes_needed=100 * rows * columns)
    vertex = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    row, column = np.indices(vertex.shape)
    return vertex, np.column_stack([column.ravel(), -row.ravel()]).astype(np.float64)


def _sides(rows: int | tuple[int, int], columns: int | None) -> tuple[int, int]:
    """Return the numbers of rows and columns, given as two ints, as one, or as a shape."""
    shape = rows if np.iterable(rows) else (rows, rows if columns is None else columns)
    try:
        if np.iterable(rows) and columns is not None:
            raise ValueError
        height, width = map(index, shape)
    except (TypeError, ValueError):
        got = f"{rows!r} and {columns!r}" if columns is not None else repr(rows)
        msg = f"a lattice needs ints `rows` and `columns`, or one shape (rows, columns), got {got}"
        raise ModelError(msg) from None
    return height, width


def _right(vertex: IntArray) -> IntArray:
    return np.column_stack([vertex[:, :-1].ravel(), vertex[:, 1:].ravel()])


def _around(vertex: IntArray) -> IntArray:
    """Return the edges along rows that are closed, if they are longer than two."""
    if vertex.shape[1] < 3:
        return _right(vertex)
    return np.column_stack([vertex.ravel(), np.roll(vertex, -1, axis=1).ravel()])


def _down(vertex: IntArray) -> IntArray:
    return np.column_stack([vertex[:-1].ravel(), vertex[1:].ravel()])


def _join(*groups: np.ndarray) -> IntArray:
    return np.ascontiguousarray(np.concatenate(groups), dtype=np.int32)
