"""Chords of coupling zero: they change no weight and keep every face short."""

from __future__ import annotations

from operator import index

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.errors import EmbeddingError
from planaris.kernels import graph as kernel


def split_faces(embedding: Embedding, max_length: int = 8) -> Embedding:
    """Split long faces by chords, balanced, so that no face grows with the graph.

    Parameters
    ----------
    embedding : Embedding
        Plane (or of any genus).
    max_length : int
        Length no face may exceed afterwards, at least 3.

    Returns
    -------
    Embedding
        Its first m edges are those of ``embedding``, the chords follow. Chords join different
        vertices and may be parallel to other edges. On a known outer face, the innermost part
        is the outer one.

    Notes
    -----
    Runs of ``max_length - 1`` half-edges are cut off by a chord each, and the ring of chords is
    treated alike until it is short: (length - max_length) / (max_length - 2) chords, nested
    O(log length) deep. A run that returns to the vertex where it starts is made one shorter.

    Examples
    --------
    >>> path = Embedding.from_graph([(v, v + 1) for v in range(9)], num_vertices=10)
    >>> path.face_lengths.tolist()
    [18]
    >>> split = split_faces(path, 8)
    >>> split.num_edges, split.genus, int(split.face_lengths.max())
    (11, 0, 8)
    """
    try:
        length = index(max_length)
    except TypeError:
        length = 0
    if length < 3:
        msg = f"`max_length` must be an integer of at least 3, got {max_length!r}"
        raise EmbeddingError(msg)
    length = min(length, max(2 * embedding.num_edges, 3))  # any longer is no limit
    chords, rotation, offsets, centre = kernel.split_faces(
        embedding.edges, embedding.rotation, embedding.offsets, length
    )
    edges = np.concatenate([embedding.edges, chords])
    outer = None if embedding.outer is None else centre[embedding.face_of[embedding.outer]]
    return Embedding(embedding.num_vertices, edges, rotation, offsets, outer)
