"""Rotation systems of low genus for graphs that are almost planar.

Edges are taken out until the rest is plane: of the drawing, where there is one, or of the graph.
Each is put back from corner to corner: inside one face if its ends share one (the genus stays),
otherwise over one new handle (it grows by one). Hence ``genus <= edges taken out``, which for a
drawing is at most the number of crossings; one handle serves all edges that can share it.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.errors import CrossingError, MethodError, NotPlanarError
from planaris.models.arrays import as_edges, as_positions
from planaris.typing import ArrayLike, BoolArray, FloatArray, IntArray, LongArray


def embedding_with_handles(
    edges: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    num_vertices: int | None = None,
    max_handles: int | None = None,
) -> Embedding:
    """Return a rotation system of low genus, by putting handles where edges cross.

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        The graph.
    positions : array_like of float, shape (n, 2), optional
        Coordinates of a drawing with straight edges and a few crossings. Without it, edges are
        taken out of the graph itself until it is planar; a planar graph then always comes out
        plane.
    num_vertices : int, optional
        Needed without positions if the last vertices have no edges.
    max_handles : int, optional
        Give up when more edges than this have to be taken out.

    Returns
    -------
    Embedding
        Not always of the least genus, which is hard to find.

    Raises
    ------
    MethodError
        With ``edges``, those taken out so far, when there are more than ``max_handles``.

    Notes
    -----
    One sweep over the drawing, or one planarity test, per edge taken out; each linear or so.

    Examples
    --------
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> embedding_with_handles(k5).genus
    1
    >>> crossed = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
    >>> embedding_with_handles(crossed, [(0, 0), (1, 0), (1, 1), (0, 1)]).genus
    0
    """
    if num_vertices is None:
        known = edges if positions is None else positions
        array = np.asarray(known)
        num_vertices = (int(array.max(initial=-1)) + 1) if positions is None else len(array)
    pairs = as_edges(edges, num_vertices)
    spots = None if positions is None else as_positions(positions, num_vertices)
    out = np.zeros(len(pairs), dtype=bool)
    plane = _plane_part(pairs, spots, num_vertices, out)
    while plane is None:
        if max_handles is not None and np.count_nonzero(out) > max_handles:
            msg = (
                f"more than {max_handles} edges must be taken out to make the graph plane; "
                "raise `max_handles`, or use a method that needs no embedding"
            )
            raise MethodError(msg, edges=np.flatnonzero(out))
        plane = _plane_part(pairs, spots, num_vertices, out)
    if not out.any():
        return plane
    kept = np.flatnonzero(~out)
    flat = 2 * kept[plane.rotation >> 1] + (plane.rotation & 1)
    return put_back(pairs, flat, plane.offsets, np.flatnonzero(out))


def put_back(
    edges: IntArray,
    rotation: LongArray | IntArray,
    offsets: IntArray,
    waiting: LongArray | IntArray,
) -> Embedding:
    """Return the embedding of all edges from a rotation system of all but those that wait.

    Each is put inside a face that has both its ends, or over a new handle.

    Examples
    --------
    >>> square = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], dtype=np.int32)
    >>> put_back(square, np.array([0, 7, 1, 2, 3, 4, 5, 6]), np.array([0, 2, 4, 6, 8]), [4]).genus
    0
    """
    flat, ends = np.asarray(rotation).tolist(), np.asarray(offsets).tolist()
    lists = [flat[ends[v] : ends[v + 1]] for v in range(len(ends) - 1)]
    left = np.asarray(waiting).tolist()
    while left:
        left = _put_one_back(lists, edges, left)
    joined = [h for around in lists for h in around]
    return Embedding.from_rotation(edges, joined, num_vertices=len(lists))


def _plane_part(
    pairs: IntArray, spots: FloatArray | None, num_vertices: int, out: BoolArray
) -> Embedding | None:
    """Embed what is left of the graph, or mark one more edge as taken out and return None."""
    kept = np.flatnonzero(~out)
    try:
        if spots is None:
            return Embedding.from_graph(pairs[kept], num_vertices=num_vertices)
        return Embedding.from_coordinates(pairs[kept], spots, num_vertices=num_vertices)
    except NotPlanarError as error:
        out[kept[int(np.max(error.kuratowski_edges))]] = True
    except CrossingError as error:
        assert spots is not None, "only drawings have crossings"
        pair = kept[list(error.edges)]
        length = np.hypot(*(spots[pairs[pair, 0]] - spots[pairs[pair, 1]]).T)
        # The one that runs through a vertex, otherwise the longer one: it may cross more.
        through = error.evidence["flaw"] == "through-vertex"
        out[pair[0 if through else int(length.argmax())]] = True
    return None


def _put_one_back(rotation: list[list[int]], pairs: IntArray, waiting: list[int]) -> list[int]:
    """Insert one of the edges into the rotation lists; return those that still wait."""
    faces = _corners(rotation, pairs, sorted(set(pairs[waiting].ravel().tolist())))
    edge, *chosen = _next_edge(faces, {e: tuple(pairs[e].tolist()) for e in waiting})
    for k, face in enumerate(chosen):
        v = int(pairs[edge, k])
        rotation[v].insert(faces[v].get(face, 0), 2 * edge + k)
    return [other for other in waiting if other != edge]


def _next_edge(
    faces: dict[int, dict[int, int]], waiting: dict[int, tuple[int, ...]]
) -> tuple[int, int, int]:
    """Choose an edge to put back, and the faces to leave its ends from.

    One whose ends share a face, if there is any. Otherwise the first, over a handle between the
    two faces that, joined, have both ends of most of the others.
    """
    for edge, (u, v) in waiting.items():
        shared = faces[u].keys() & faces[v].keys()
        if shared or not faces[u] or not faces[v]:
            first, second = (min(shared or faces[w], default=-1) for w in (u, v))
            return edge, first, second
    edge, (u, v) = next(iter(waiting.items()))

    def helped(pair: tuple[int, int]) -> int:
        return sum(all(not faces[w].keys().isdisjoint(pair) for w in e) for e in waiting.values())

    return edge, *max(product(faces[u], faces[v]), key=helped)


def _corners(
    rotation: list[list[int]], pairs: IntArray, vertices: list[int]
) -> dict[int, dict[int, int]]:
    """Return, for each vertex, where in its rotation it has a corner in which face."""
    present = np.array([h for around in rotation for h in around], dtype=np.int64)
    kept = np.unique(present >> 1)
    rank = np.zeros(len(pairs), dtype=np.int64)
    rank[kept] = np.arange(len(kept))
    now = Embedding.from_rotation(
        pairs[kept], 2 * rank[present >> 1] + (present & 1), num_vertices=len(rotation)
    )
    # The corner before half-edge h, counter-clockwise, lies in the face of its twin.
    return {
        v: {int(now.face_of[2 * rank[h >> 1] + 1 - (h & 1)]): k for k, h in enumerate(rotation[v])}
        for v in vertices
    }
