"""Embeddings of low genus of graphs that are not planar: periodic lattices, tori, handles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.embed.handles import embedding_with_handles
from planaris.embed.short_faces import embedding_by_short_faces
from planaris.embed.torus_drawing import embedding_on_torus
from planaris.kernels.graph import biconnected_components, colour_classes
from planaris.models.arrays import as_edges, compact
from planaris.typing import ArrayLike, IntArray

STEPS = ((0, 1), (-1, 0), (-1, -1), (0, -1), (1, 0), (1, 1))
"""(down, right) steps of lattice edges, counter-clockwise: right, up, up-left, left, down, …"""


@dataclass(frozen=True, eq=False)
class LowGenus:
    """An embedding of low genus, and what it was found from."""

    embedding: Embedding
    reason: str


def torus_shape(edges: ArrayLike, num_vertices: int) -> tuple[int, int] | None:
    """Return (rows, columns) if the edges are those of a periodic lattice, numbered by rows.

    Edges join neighbours in a row, in a column or on a diagonal down to the right; some may be
    missing, as in diluted lattices. Vertices are numbered ``row * columns + column``.

    Examples
    --------
    >>> from planaris.embed import torus_lattice
    >>> torus_shape(torus_lattice(4, 6).edges, 24)
    (4, 6)
    >>> torus_shape([(0, 1), (0, 7)], 12) is None
    True
    """
    pairs = as_edges(edges, num_vertices)
    first = pairs[:64]
    for columns in _divisors(num_vertices):
        rows = num_vertices // columns
        if min(rows, columns) < 3 or (_direction(first, rows, columns) < 0).any():
            continue
        if (_direction(pairs, rows, columns) >= 0).all():
            return rows, columns
    return None


def periodic_lattice(edges: ArrayLike, num_vertices: int, max_genus: int = 1) -> LowGenus | None:
    """Return the embedding of a periodic lattice with its own faces, or None.

    Examples
    --------
    >>> from planaris.embed import torus_lattice
    >>> periodic_lattice(torus_lattice(4, 6).edges, 24).reason
    'periodic lattice of 4 × 6'
    """
    pairs = as_edges(edges, num_vertices)
    if len(pairs) > 3 * num_vertices - 6 + 6 * max_genus:  # Euler's formula
        return None
    shape = torus_shape(pairs, num_vertices)
    if shape is not None:
        reason = f"periodic lattice of {shape[0]} × {shape[1]}"
        return LowGenus(_on_torus(pairs, num_vertices, *shape), reason)
    by_faces = embedding_by_short_faces(pairs, num_vertices, max_handles=max_genus)
    if by_faces is not None and 1 <= by_faces.genus <= max_genus:
        return LowGenus(by_faces, _describe(by_faces))
    return None


def may_lie_on_torus(edges: IntArray, num_vertices: int, hub: int = -1) -> bool:
    """Return False where Euler's formula rules out the torus: E <= V + F.

    With V vertices, E edges and F faces of at least three edges each, E <= 3 V. Where the graph
    without the hub has two colours, faces of three edges lie at the hub, at most one for each of
    its d edges: 4 F <= 2 E + d, and so 2 E <= 4 V + d.

    >>> from planaris.generate import square_lattice
    >>> grid = square_lattice(8).edges
    >>> spokes = np.array([(v, 64) for v in range(64)], dtype=np.int32)
    >>> may_lie_on_torus(grid, 65), may_lie_on_torus(np.concatenate([grid, spokes]), 65, 64)
    (True, False)
    """
    if len(edges) > 3 * num_vertices:
        return False
    rest = edges[(edges != hub).all(1)]
    degree = len(edges) - len(rest)
    if 2 * len(edges) <= 4 * num_vertices + degree:
        return True
    return len(colour_classes(num_vertices, rest)) > 2


def low_genus_embedding(
    edges: ArrayLike, num_vertices: int, max_genus: int | None = None
) -> LowGenus | None:
    """Return an embedding of low genus, or None where none was found.

    Periodic lattices are recognised in linear time: those numbered by rows at any dilution,
    others by their faces (:func:`embedding_by_short_faces`) or by a drawing on the torus
    (:func:`embedding_on_torus`). With a ``max_genus``, other graphs have edges taken out until
    they are planar (:func:`embedding_with_handles`), one planarity test for each.

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        The graph.
    num_vertices : int
        Number of vertices.
    max_genus : int, optional
        Largest genus of use; default: periodic lattices only.

    Examples
    --------
    >>> from planaris.embed import torus_lattice
    >>> found = low_genus_embedding(torus_lattice(4, 6).edges, 24)
    >>> found.embedding.genus, found.reason
    (1, 'periodic lattice of 4 × 6')
    """
    pairs = as_edges(edges, num_vertices)
    limit = 1 if max_genus is None else max_genus
    if limit < 1 or len(pairs) > 3 * num_vertices - 6 + 6 * limit:  # Euler's formula
        return None
    lattice = periodic_lattice(pairs, num_vertices, limit)
    if lattice is not None:
        return lattice
    drawn = _by_blocks(pairs, num_vertices, limit)
    if drawn is not None:
        return LowGenus(drawn, f"a drawing of {len(pairs)} edges on {_surface(drawn)}")
    if max_genus is None:
        return None
    found = embedding_with_handles(pairs, num_vertices=num_vertices)
    if found.genus > limit:
        return None
    return LowGenus(found, f"genus {found.genus} after putting handles where edges cross")


def _by_blocks(pairs: IntArray, num_vertices: int, limit: int) -> Embedding | None:
    """Draw the only block that is not planar on the torus, and all others in the plane."""
    _, block_of, _ = biconnected_components(num_vertices, pairs)
    chosen = np.zeros(len(pairs), dtype=bool)
    sizes = np.bincount(block_of, minlength=1)
    for block in np.flatnonzero(sizes >= 9):  # K3,3 has nine edges
        members = block_of == block
        if Embedding.if_planar(pairs[members], num_vertices=num_vertices) is None:
            if chosen.any():
                return None
            chosen = members
    seen, ends = compact(pairs[chosen], num_vertices)
    drawn = embedding_on_torus(ends, len(seen), max_handles=limit - 1)
    if drawn is None:
        return None
    if chosen.all() and len(seen) == num_vertices:
        return drawn
    plane = Embedding.if_planar(pairs[~chosen], num_vertices=num_vertices)
    if plane is None:
        return None
    half_edges = []
    for kept, part in ((chosen, drawn), (~chosen, plane)):
        edge = np.flatnonzero(kept)[part.rotation >> 1]
        half_edges.append(2 * edge + (part.rotation & 1))
    rotation = np.concatenate(half_edges)
    rotation = rotation[np.argsort(pairs.ravel()[rotation], kind="stable")]
    return Embedding.from_rotation(pairs, rotation, num_vertices=num_vertices)


def _describe(embedding: Embedding) -> str:
    """Describe the faces of an embedding."""
    squares, triangles = (int((embedding.face_lengths == k).sum()) for k in (4, 3))
    kinds = [f"{squares} squares"] * (squares > 0) + [f"{triangles} triangles"] * (triangles > 0)
    return f"{' and '.join(kinds)} that fit together on {_surface(embedding)}"


def _surface(embedding: Embedding) -> str:
    return "a torus" if embedding.genus == 1 else f"a surface of genus {embedding.genus}"


def _on_torus(pairs: IntArray, num_vertices: int, rows: int, columns: int) -> Embedding:
    forth = _direction(pairs, rows, columns)
    back = (forth + 3) % 6
    around = np.column_stack([forth, back]).ravel()
    rotation = np.lexsort((around, pairs.ravel()))
    return Embedding.from_rotation(pairs, rotation, num_vertices=num_vertices)


def _direction(pairs: IntArray, rows: int, columns: int) -> IntArray:
    """Return which of the steps each edge takes from its first end, -1 for none."""
    (r1, r2), (c1, c2) = (x.T for x in np.divmod(pairs.astype(np.int64), columns))
    down, right = (r2 - r1) % rows, (c2 - c1) % columns
    found = np.full(len(pairs), -1, dtype=np.int32)
    for k, (dr, dc) in enumerate(STEPS):
        found[(down == dr % rows) & (right == dc % columns)] = k
    return found


def _divisors(number: int) -> list[int]:
    low = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return sorted({*low, *(number // k for k in low)})
