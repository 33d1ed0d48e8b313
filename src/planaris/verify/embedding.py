"""Checks rotation systems and walks round faces."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.typing import Array
from planaris.verify.proof_arrays import components, require, whole_numbers


def check_plane(embedding: Any) -> int:
    """Check that a rotation system is one, and that it is plane.

    Parameters
    ----------
    embedding : Embedding
        Anything with ``num_vertices``, ``edges``, ``rotation`` and ``offsets``.

    Returns
    -------
    int
        Number of faces, an isolated vertex counted as one.

    Raises
    ------
    VerificationError
        If half-edges are missing, repeated or at the wrong vertex, or if Euler's formula
        V - E + F = 2 fails in some component.

    Examples
    --------
    >>> from planaris.embed import embed
    >>> check_plane(embed((4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])))
    4
    """
    n, edges = int(embedding.num_vertices), np.asarray(embedding.edges).reshape(-1, 2)
    rotation, offsets = np.asarray(embedding.rotation), np.asarray(embedding.offsets)
    size = 2 * len(edges)
    if size and (edges.min() < 0 or edges.max() >= n):
        msg = f"`edges` must name vertices 0 to {n - 1}"
        raise VerificationError(msg)
    runs = offsets.shape == (n + 1,) and (offsets[0], offsets[-1]) == (0, size)
    if not runs or np.any(np.diff(offsets) < 0):
        msg = f"`offsets` must run from 0 up to {size} in {n + 1} entries"
        raise VerificationError(msg)
    if not np.array_equal(np.sort(rotation), np.arange(size)):
        msg = f"`rotation` must list every half-edge from 0 to {size - 1} once"
        raise VerificationError(msg)
    tails = edges.ravel()
    here = np.repeat(np.arange(n), np.diff(offsets))
    if not np.array_equal(tails[rotation], here):
        msg = "`rotation` lists a half-edge at a vertex that it does not leave"
        raise VerificationError(msg)
    if size == 0:
        return n
    before = np.arange(-1, size - 1)
    first = offsets[:-1][np.diff(offsets) > 0]
    before[first] = offsets[1:][np.diff(offsets) > 0] - 1
    clockwise = np.empty(size, dtype=np.int64)
    clockwise[rotation] = rotation[before]
    half_edges = np.arange(size)
    num_faces, face_of = components(size, half_edges, clockwise[half_edges ^ 1])
    num_components, component_of = components(n, edges[:, 0], edges[:, 1])
    _, a_half_edge = np.unique(face_of, return_index=True)
    count = np.bincount(component_of, minlength=num_components)  # V
    count -= np.bincount(component_of[edges[:, 0]], minlength=num_components)  # E
    count += np.bincount(component_of[tails[a_half_edge]], minlength=num_components)  # F
    isolated = np.diff(offsets) == 0
    count[component_of[isolated]] += 1
    if np.any(count != 2):
        genus = int((2 - count).sum()) // 2
        msg = f"the rotation system must be plane, got genus {genus} by Euler's formula"
        raise VerificationError(msg, genus=genus)
    return num_faces + int(isolated.sum())


def closed_walks(edges: Array, walk: Any, offsets: Any) -> Array:
    """Return the walk of every half-edge, after checking that all are closed and share none.

    Examples
    --------
    >>> closed_walks(np.array([[0, 1], [1, 0]]), [0, 2, 3, 1], [0, 2, 4]).tolist()
    [0, 1, 0, 1]
    """
    walk, offsets = whole_numbers(walk, "walk"), whole_numbers(offsets, "offsets")
    size = 2 * len(edges)
    require(np.array_equal(np.sort(walk), np.arange(size)), "walks use each half-edge once")
    ends_fit = len(offsets) > 0 and (offsets[0], offsets[-1]) == (0, len(walk))
    require(ends_fit and bool(np.all(np.diff(offsets) > 0)), "walks are runs of half-edges")
    tails, heads = edges.ravel()[walk], edges[:, ::-1].ravel()[walk]
    following = np.arange(1, len(walk) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    require(np.array_equal(heads, tails[following]), "walks are closed")
    walk_of = np.empty(len(walk), dtype=np.int64)
    walk_of[walk] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return walk_of
