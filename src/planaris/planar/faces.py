"""Where the faces lie, and what chords make of them."""

from __future__ import annotations

import numpy as np

from planaris.embed import Embedding
from planaris.kernels.graph import connected_components
from planaris.typing import FloatArray, IntArray


def face_centres(embedding: Embedding, positions: FloatArray | None) -> FloatArray:
    """Return two coordinates per face: the mean of its corners; none without positions.

    Corners without a position (NaN: a bias spin lies nowhere) do not count.

    Examples
    --------
    >>> k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> face_centres(Embedding.from_graph(k4, num_vertices=4), None).shape
    (0, 2)
    """
    if positions is None:
        return np.zeros((0, 2))
    corners = positions[embedding.tails[embedding.face_walk]]
    if not len(corners):
        return np.zeros((0, 2))
    known = np.asarray(np.isfinite(corners).all(1))
    starts = embedding.face_offsets[:-1]
    total = np.add.reduceat(np.nan_to_num(corners), starts, axis=0)
    count = np.add.reduceat(known.astype(np.float64), starts)
    return np.asarray(total / np.maximum(count, 1.0)[:, None])


def face_of_pieces(embedding: Embedding, split: Embedding) -> IntArray:
    """Return the face that every face of an embedding with chords is a piece of.

    The chords of ``split`` come after the edges of ``embedding``; they join the pieces.
    """
    half_edges = 2 * embedding.num_edges
    group = connected_components(split.num_faces, split.dual_edges[embedding.num_edges :])
    face_of_group = np.zeros(split.num_faces, dtype=np.int32)
    face_of_group[group[split.face_of[:half_edges]]] = embedding.face_of
    return face_of_group[group]
