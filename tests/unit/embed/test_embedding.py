from __future__ import annotations

import pickle

import numpy as np
import pytest

from planaris import Embedding
from planaris.errors import EmbeddingError

TRIANGLE = ([(0, 1), (1, 2), (2, 0)], [0, 5, 2, 1, 4, 3])


def test_no_vertices_at_all():
    empty = Embedding.from_rotation([], [], num_vertices=0)
    assert (empty.num_faces, empty.genus, empty.num_components) == (0, 0, 0)


def test_isolated_vertices_are_plane():
    alone = Embedding.from_rotation([], [], num_vertices=3)
    assert (alone.genus, alone.num_components) == (0, 3)


def test_one_vertex_rotation_makes_a_torus():
    # K4 with one rotation reversed is no longer plane.
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)]
    plane = [0, 2, 4, 1, 11, 6, 3, 7, 8, 5, 9, 10]
    assert Embedding.from_rotation(edges, plane, num_vertices=4).genus == 0
    turned = [0, 4, 2, *plane[3:]]
    assert Embedding.from_rotation(edges, turned, num_vertices=4).genus == 1


@pytest.mark.parametrize("rotation", [[0, 0, 2, 1, 4, 3], [2, 5, 0, 1, 4, 3], [0, 5, 2]])
def test_a_rotation_that_is_none_is_refused(rotation):
    with pytest.raises(EmbeddingError, match="`rotation` must"):
        Embedding.from_rotation(TRIANGLE[0], rotation, num_vertices=3)


def test_pickle_keeps_faces():
    triangle = Embedding.from_rotation(*TRIANGLE, num_vertices=3)
    again = pickle.loads(pickle.dumps(triangle))
    np.testing.assert_array_equal(again.face_of, triangle.face_of)
