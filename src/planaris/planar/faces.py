"""Where the faces lie, so that they can be dissected by straight cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.embed import Embedding
from planaris.typing import FloatArray


def face_centres(embedding: Embedding, positions: FloatArray | None) -> FloatArray:
    """Return two coordinates per face: the mean of its corners, or distances in the dual graph.

    Corners without a position (NaN: a bias spin lies nowhere) do not count. Without positions,
    the coordinates are differences of distances to far-apart faces; cuts across the longer
    extent then run between them.

    Examples
    --------
    >>> k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> face_centres(Embedding.from_graph(k4, num_vertices=4), None).shape
    (4, 2)
    """
    if positions is None:
        return _distance_coordinates(embedding)
    corners = positions[embedding.tails[embedding.face_walk]]
    if not len(corners):
        return np.zeros((0, 2))
    known = np.asarray(np.isfinite(corners).all(1))
    starts = embedding.face_offsets[:-1]
    total = np.add.reduceat(np.nan_to_num(corners), starts, axis=0)
    count = np.add.reduceat(known.astype(np.float64), starts)
    return np.asarray(total / np.maximum(count, 1.0)[:, None])


def _distance_coordinates(embedding: Embedding) -> FloatArray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    count = embedding.num_faces
    if count == 0:
        return np.zeros((0, 2))
    dual = embedding.dual_edges
    search: Any = dijkstra
    ones = np.ones(len(dual))
    graph = coo_array((ones, (dual[:, 0], dual[:, 1])), shape=(count, count)).tocsr()

    def distances(face: int) -> FloatArray:
        found = search(graph, directed=False, indices=face, unweighted=True)
        return np.where(np.isfinite(found), found, -1.0)

    north = int(np.argmax(distances(0)))
    from_north = distances(north)
    south = int(np.argmax(from_north))
    from_south = distances(south)
    west = int(np.argmax(np.minimum(from_north, from_south)))
    from_west = distances(west)
    east = int(np.argmax(from_west + np.minimum(from_north, from_south)))
    return np.column_stack([from_north - from_south, from_west - distances(east)])
