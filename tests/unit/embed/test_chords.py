from __future__ import annotations

import numpy as np
import pytest

from helpers.planar_graphs import grid
from planaris.embed import Embedding, split_faces
from planaris.errors import EmbeddingError
from planaris.verify import check_plane


def path(n):
    return np.column_stack([np.arange(n - 1), np.arange(1, n)])


def star(n):
    return np.column_stack([np.zeros(n - 1, int), np.arange(1, n)])


def cycle(n):
    return np.column_stack([np.arange(n), np.roll(np.arange(n), -1)])


def parallel_star(n):
    return np.vstack([star(n), star(n)[:, ::-1]])


@pytest.mark.parametrize("max_length", [3, 4, 5, 8, 17])
@pytest.mark.parametrize("shape", [path, star, cycle, parallel_star])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 9, 10, 30, 1000])
def test_faces_become_short(shape, n, max_length):
    plane = Embedding.from_graph(shape(n), num_vertices=n)
    split = split_faces(plane, max_length)
    check_plane(split)
    assert split.face_lengths.max() <= max_length
    assert np.all(split.edges[:, 0] != split.edges[:, 1])
    np.testing.assert_array_equal(split.edges[: plane.num_edges], plane.edges)
    excess = int(np.maximum(plane.face_lengths - max_length, 0).sum())
    chords = split.num_edges - plane.num_edges
    assert (excess > 0) == (chords > 0)
    assert chords <= excess


@pytest.mark.parametrize("shape", [path, star, cycle])
def test_one_face_that_grows_with_the_graph(shape):
    plane = Embedding.from_graph(shape(1_000_000), num_vertices=1_000_000)
    split = split_faces(plane, 8)
    assert split.genus == 0
    assert split.face_lengths.max() == 8
    # Each chord takes six or (where a run returns to its start) five half-edges off a face.
    assert split.num_edges - plane.num_edges <= plane.face_lengths.sum() / 5
    # Chords nest logarithmically, so no vertex collects many more than it has edges.
    degree = np.diff(plane.offsets)
    assert np.all(np.diff(split.offsets) - degree <= np.maximum(degree, 30))


def test_the_outer_face_stays_known():
    edges, positions = grid(20, 30)
    plane = Embedding.from_coordinates(edges, positions)
    split = split_faces(plane, 6)
    assert split.outer is not None
    (outer,) = split.outer_faces
    on_rim = set(plane.face_vertices(plane.outer_faces[0]).tolist())
    assert set(split.face_vertices(outer).tolist()) <= on_rim
    begin, end = split.face_offsets[outer : outer + 2]
    given = split.face_walk[begin:end] < 2 * plane.num_edges
    assert given.sum() <= 1, "chords all around, but for what the last run left over"
    assert np.all(split.face_lengths <= 6)


def test_short_faces_stay_as_they_are():
    edges, positions = grid(4, 4)
    plane = Embedding.from_coordinates(edges, positions)
    assert split_faces(plane, 100).num_edges == plane.num_edges
    assert split_faces(plane, 2**40).num_edges == plane.num_edges
    empty = Embedding.from_graph([], num_vertices=2)
    assert split_faces(empty, 3).num_edges == 0


@pytest.mark.parametrize("max_length", [2, 0, -1, 3.5, None])
def test_a_length_that_cannot_be_is_refused(max_length):
    plane = Embedding.from_graph(path(5), num_vertices=5)
    with pytest.raises(EmbeddingError, match="`max_length` must be an integer of at least 3"):
        split_faces(plane, max_length)
