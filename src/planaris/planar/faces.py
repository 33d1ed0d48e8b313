"""Where the faces lie, so that they can be dissected by straight cuts."""

from __future__ import annotations

import numpy as np

from planaris.embed import Embedding
from planaris.typing import FloatArray


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
