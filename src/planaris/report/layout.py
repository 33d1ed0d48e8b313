"""Where to draw the spins of a graph that came without positions."""

from __future__ import annotations

import numpy as np

from planaris.embed import Embedding
from planaris.embed.genus import torus_shape
from planaris.errors import CrossingError, NotPlanarError
from planaris.models import IsingModel
from planaris.tensor.sweeps import grid_shape
from planaris.typing import FloatArray, IntArray

MAX_PRETTY = 200
"""Larger graphs get no layout that takes cubic time."""

STUB = 0.45
"""Length of the stubs of an edge around a periodic lattice, in lattice constants."""


def positions_of(model: IsingModel) -> FloatArray:
    """Return the positions of a model, or make some: lattices numbered by rows become grids.

    Examples
    --------
    >>> square = IsingModel([(0, 1), (2, 3), (0, 2), (1, 3)], 1.0)
    >>> positions_of(square).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [1.0, -1.0]]
    """
    if model.positions is not None:
        return model.positions
    n, edges = model.num_spins, model.edges
    shape = (grid_shape(n, edges) if len(edges) else None) or torus_shape(edges, n)
    if shape is None or min(shape) < 2:
        return lay_out(n, edges)
    rows, columns = np.divmod(np.arange(n), shape[1])
    return np.column_stack([columns, -rows]).astype(np.float64)


def drawn_shape(where: FloatArray) -> tuple[int, int] | None:
    """Return (rows, columns) where the spins lie on a full grid, row by row.

    >>> drawn_shape(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [1.0, -1.0]]))
    (2, 2)
    """
    rows, columns = (len(np.unique(where[:, axis])) for axis in (1, 0))
    if not rows * columns == len(where) > 0:
        return None
    r, c = np.divmod(np.arange(len(where)), columns)
    same = np.allclose(where, np.column_stack([c, -r]))
    return (rows, columns) if same else None


def segments(where: FloatArray, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the lines to draw for edges, and the edge that each belongs to.

    An edge around a periodic lattice becomes two stubs: a line across the picture would hide what
    lies under it.

    Examples
    --------
    >>> ring = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    >>> lines, owner = segments(ring, np.array([[0, 1], [2, 0]], dtype=np.int32))
    >>> lines[:, 1].tolist(), owner.tolist()
    ([[1.0, 0.0], [2.45, 0.0], [-0.45, 0.0]], [0, 1, 1])
    """
    ends, every = where[edges], np.arange(len(edges), dtype=np.int32)
    shape = drawn_shape(where)
    if shape is None:
        return ends, every
    step = ends[:, 1] - ends[:, 0]
    period = np.array([shape[1], shape[0]])
    around = step - period * np.rint(step / period)
    wraps = (np.abs(step) > 1.5).any(axis=1) & (np.abs(around) < 1.5).all(axis=1)
    stubs = [
        np.stack([tip, tip + sign * STUB * around[wraps]], axis=1)
        for tip, sign in ((ends[wraps, 0], 1.0), (ends[wraps, 1], -1.0))
    ]
    lines = np.concatenate([ends[~wraps], *stubs])
    return lines, np.concatenate([every[~wraps], every[wraps], every[wraps]])


def lay_out(num_vertices: int, edges: IntArray) -> FloatArray:
    """Return positions between -1 and 1; without crossings where the graph is planar.

    Distances in the picture follow those in the graph where that crosses nothing; other planar
    graphs are drawn on a grid by the method of Chrobak and Payne.

    Examples
    --------
    >>> ring = np.array([(0, 1), (1, 2), (2, 3), (3, 0)], dtype=np.int32)
    >>> lay_out(4, ring).shape
    (4, 2)
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(num_vertices))
    graph.add_edges_from(edges.tolist())
    pieces = [sorted(piece) for piece in nx.connected_components(graph)]
    pieces.sort(key=lambda piece: (-len(piece), piece))
    drawn = [_lay_out_connected(graph.subgraph(piece), piece) for piece in pieces]
    positions = np.zeros((num_vertices, 2))
    for piece, spots in zip(pieces, _side_by_side(drawn), strict=True):
        positions[piece] = spots
    size = np.abs(positions).max(initial=0.0)
    return positions / size if size > 0 else positions


def _lay_out_connected(graph: object, members: list[int]) -> FloatArray:
    """Lay out a connected graph in a square of side about √n."""
    import networkx as nx

    count = len(members)
    if count <= 2:
        return np.array([(0.0, 0.0), (1.0, 0.0)])[:count]
    rank = {v: k for k, v in enumerate(members)}
    pairs = np.array([(rank[u], rank[v]) for u, v in graph.edges], dtype=np.int32)  # type: ignore[attr-defined]
    spots = None
    if count <= MAX_PRETTY:
        spots = _as_array(nx.kamada_kawai_layout(graph), members)
        if _crosses(pairs, spots):
            spots = None if _is_planar(pairs, count) else spots
    if spots is None and _is_planar(pairs, count):
        spots = _as_array(nx.planar_layout(graph), members)
    if spots is None:
        spots = _as_array(
            nx.spring_layout(graph, seed=0, iterations=30 if count <= 500 else 8), members
        )
    spots = spots - spots.min(axis=0)
    return np.asarray(spots * (np.sqrt(count) / max(spots.max(), 1e-12)))


def _as_array(layout: dict[int, FloatArray], members: list[int]) -> FloatArray:
    return np.array([layout[v] for v in members], dtype=np.float64)


def _crosses(pairs: IntArray, spots: FloatArray) -> bool:
    try:
        Embedding.from_coordinates(pairs, spots)
    except CrossingError:
        return True
    return False


def _is_planar(pairs: IntArray, count: int) -> bool:
    try:
        Embedding.from_graph(pairs, num_vertices=count)
    except NotPlanarError:
        return False
    return True


def _side_by_side(drawn: list[FloatArray]) -> list[FloatArray]:
    """Put the pieces into rows of about the width of the whole."""
    width = np.sqrt(sum(float(np.prod(np.ptp(spots, axis=0) + 1.5)) for spots in drawn)) + 1.0
    x = y = height = 0.0
    placed = []
    for spots in drawn:
        extent = np.ptp(spots, axis=0) + 1.5
        if x > 0 and x + extent[0] > width:
            x, y, height = 0.0, y - height, 0.0
        placed.append(spots - [spots[:, 0].min(), spots[:, 1].max()] + [x, y])
        x, height = x + extent[0], max(height, extent[1])
    centre = (
        [
            (min(s[:, k].min() for s in placed) + max(s[:, k].max() for s in placed)) / 2
            for k in range(2)
        ]
        if placed
        else [0.0, 0.0]
    )
    return [spots - centre for spots in placed]
