"""Embeddings of lattices on surfaces, from their short cycles as faces, in any numbering.

Where no short cycle runs around a handle, the triangles and the chordless cycles of four edges of
a lattice are its faces. They are found and fitted together in linear time
(``cpp/embedding/short_faces.hpp``); edges that lie in none of them get handles.
"""

from __future__ import annotations

from planaris.embed.embedding import Embedding
from planaris.embed.handles import put_back
from planaris.kernels.graph import embed_by_short_faces
from planaris.models.arrays import as_edges
from planaris.typing import ArrayLike


def embedding_by_short_faces(
    edges: ArrayLike, num_vertices: int, *, max_handles: int = 0
) -> Embedding | None:
    """Return the embedding in which triangles and squares are faces, or None.

    Found are square and triangular lattices on the torus and other closed surfaces, twisted or
    with some edges missing, if no more than one side is shorter than five sites.

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        The graph, in any order and with any numbers of the vertices.
    num_vertices : int
        Number of vertices.
    max_handles : int
        Edges that lie in no face, and are put back over handles.

    Returns
    -------
    Embedding or None
        None if the short cycles do not fit together on an orientable surface.

    Examples
    --------
    >>> import numpy as np
    >>> from planaris.embed import torus_lattice
    >>> shuffled = np.random.default_rng(0).permutation(48)[torus_lattice(6, 8).edges]
    >>> embedding_by_short_faces(shuffled, 48).genus
    1
    """
    pairs = as_edges(edges, num_vertices)
    found, rotation, offsets, left_out = embed_by_short_faces(num_vertices, pairs)
    if not found or len(left_out) > max_handles:
        return None
    return put_back(pairs, rotation, offsets, left_out)
