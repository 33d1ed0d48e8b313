from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from helpers.planar_graphs import near_threshold, planar_with_deletions
from planaris import Embedding
from planaris.embed import split_faces
from planaris.errors import EmbeddingError, ModelError, PlanarisError
from planaris.kernels.graph import is_planar
from planaris.verify import check_plane

TRIANGLE = ([(0, 1), (1, 2), (2, 0)], [0, 5, 2, 1, 4, 3])


def test_no_vertices_at_all():
    empty = Embedding.from_rotation([], [], num_vertices=0)
    assert (empty.num_faces, empty.genus, empty.num_components) == (0, 0, 0)
    assert empty.outer_faces.size == empty.bridges.size == empty.face_lengths.size == 0


def test_isolated_vertices_are_plane():
    alone = Embedding.from_rotation([], [], num_vertices=3)
    assert (alone.genus, alone.num_components) == (0, 3)
    assert alone.outer_faces.tolist() == [-1, -1, -1]


def test_one_vertex_rotation_makes_a_torus():
    # K4 with one rotation reversed is no longer plane.
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)]
    plane = [0, 2, 4, 1, 11, 6, 3, 7, 8, 5, 9, 10]
    assert Embedding.from_rotation(edges, plane, num_vertices=4).genus == 0
    turned = [0, 4, 2, *plane[3:]]
    assert Embedding.from_rotation(edges, turned, num_vertices=4).genus == 1


@pytest.mark.parametrize(
    "rotation",
    [
        [0, 0, 2, 1, 4, 3],  # a half-edge twice
        [2, 5, 0, 1, 4, 3],  # at the wrong vertex
        [0, 5, 2],  # too short
        [0, 5, 2, 1, 4, 6],  # out of range
        [0, 5, 2, 1, 4, -1],
        [0, 5, 2, 1, 4, 2**40],
        [0.0, 5.0, 2.0, 1.0, 4.0, np.nan],
        [[0, 5], [2, 1], [4, 3]],
    ],
)
def test_a_rotation_that_is_none_is_refused(rotation):
    with pytest.raises(EmbeddingError, match="`rotation` must"):
        Embedding.from_rotation(TRIANGLE[0], rotation, num_vertices=3)


@pytest.mark.parametrize("num_vertices", [-1, 2.5, "3", None, 2**40])
def test_a_number_of_vertices_that_is_none_is_refused(num_vertices):
    for build in (
        lambda: Embedding.from_rotation(*TRIANGLE, num_vertices=num_vertices),
        lambda: Embedding.from_graph(TRIANGLE[0], num_vertices=num_vertices),
    ):
        with pytest.raises(EmbeddingError, match="`num_vertices` must be an integer"):
            build()


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([(0, 3)], "must name spins 0 to 2"),
        ([(-1, 0)], "must name spins 0 to 2"),
        ([(1, 1)], "self-loop"),
        ([0, 1, 2], "must have shape"),
        ([(0, 1, 2)], "must have shape"),
        ([(0.5, 1)], "must hold integers"),
        ([(np.nan, 1)], "must hold integers"),
    ],
)
def test_edges_that_are_none_are_refused(edges, words):
    for build in (
        lambda: Embedding.from_graph(edges, num_vertices=3),
        lambda: Embedding.from_coordinates(edges, np.eye(3, 2)),
        lambda: Embedding.from_rotation(edges, [0, 1], num_vertices=3),
    ):
        with pytest.raises(ModelError, match=f"`edges`.*{words}"):
            build()


def test_pickle_keeps_faces():
    triangle = Embedding.from_rotation(*TRIANGLE, num_vertices=3)
    again = pickle.loads(pickle.dumps(triangle))
    np.testing.assert_array_equal(again.face_of, triangle.face_of)
    drawn = Embedding.from_coordinates(TRIANGLE[0], [(0, 0), (1, 0), (0, 1)])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(drawn)).outer, drawn.outer)


def test_outer_faces_without_a_drawing_are_the_longest():
    # A square with a path hanging in it, and a triangle.
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 5), (6, 7), (7, 8), (8, 6)]
    plane = Embedding.from_graph(edges, num_vertices=10)
    assert plane.face_lengths[plane.outer_faces[:2]].tolist() == [8, 3]
    assert plane.outer_faces[2] == -1
    assert plane.outer_faces[1] == np.flatnonzero(plane.face_lengths == 3)[0]
    assert plane.bridges.tolist() == [4, 5]


def test_face_walks_follow_the_edges(rng):
    for _ in range(50):
        n = int(rng.integers(2, 20))
        plane = Embedding.from_graph(planar_with_deletions(n, rng), num_vertices=n)
        for face in range(plane.num_faces):
            begin, end = plane.face_offsets[face : face + 2]
            walk = plane.face_walk[begin:end]
            np.testing.assert_array_equal(plane.heads[walk], np.roll(plane.tails[walk], -1))
            np.testing.assert_array_equal(plane.face_of[walk], face)
            np.testing.assert_array_equal(plane.tails[walk], plane.face_vertices(face))


def test_networkx_there_and_back(rng):
    for _ in range(100):
        n = int(rng.integers(1, 20))
        plane = Embedding.from_graph(planar_with_deletions(n, rng), num_vertices=n)
        exported = plane.to_networkx()
        exported.check_structure()
        again = Embedding.from_networkx(exported)
        check_plane(again)
        assert again.num_faces == plane.num_faces
        assert nx.utils.graphs_equal(again.to_networkx(), exported)


def test_networkx_embeddings_come_in_with_any_labels():
    _, theirs = nx.check_planarity(nx.relabel_nodes(nx.dodecahedral_graph(), lambda v: f"v{v}"))
    ours = Embedding.from_networkx(theirs)
    assert sorted(ours.face_lengths.tolist()) == [5] * 12
    assert ours.genus == 0


def test_parallel_edges_do_not_fit_into_networkx():
    twice = Embedding.from_graph([(0, 1), (1, 0)], num_vertices=2)
    assert twice.num_faces == 2
    with pytest.raises(EmbeddingError, match="parallel"):
        twice.to_networkx()


def test_parallel_edges_are_embedded(rng):
    for _ in range(300):
        n = int(rng.integers(2, 10))
        edges = near_threshold(n, rng)
        edges = np.concatenate([edges, edges[rng.random(len(edges)) < 0.5][:, ::-1]])
        if is_planar(n, edges):
            plane = Embedding.from_graph(edges, num_vertices=n)
            check_plane(plane)
            assert plane.num_edges == len(edges)


def test_every_refusal_is_a_value_error():
    assert issubclass(PlanarisError, ValueError)
    with pytest.raises(ValueError, match="`rotation`"):
        Embedding.from_rotation([(0, 1)], [0, 0], num_vertices=2)


def test_a_million_vertices_in_a_path():
    n = 1_000_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    plane = Embedding.from_graph(edges, num_vertices=n)
    assert (plane.num_faces, plane.genus, len(plane.bridges)) == (1, 0, n - 1)


# -- arrays that callers keep ---------------------------------------------------------------------


def test_an_embedding_keeps_no_array_of_the_caller():
    """Faces are found once: log Z was wrong, and called proved, where a buffer was used again."""
    lattice, rng = pl.generate.square_lattice(4), np.random.default_rng(0)
    model = pl.IsingModel(lattice.edges, rng.normal(size=len(lattice.edges)))
    truth = pl.log_partition(model, "brute-force").value
    found = Embedding.from_graph(lattice.edges, num_vertices=16)
    arrays = (found.edges.copy(), found.rotation.copy(), found.offsets.copy())
    edges, rotation, offsets = (array.copy() for array in arrays)
    begin = offsets[5]  # of a vertex with four neighbours
    for embedding in (
        Embedding.from_rotation(edges, rotation, num_vertices=16),
        Embedding(16, edges, rotation, offsets),
    ):
        rotation[begin : begin + 2] = rotation[begin : begin + 2][::-1].copy()
        edges[:] = edges[::-1].copy()
        offsets[:] = 0
        plan = pl.Plan(embedding)
        for prove in (False, True):
            answer = plan.log_partition(model.couplings, prove=prove)
            assert answer.exact
            assert answer.lower <= truth <= answer.upper
        edges[:], rotation[:], offsets[:] = arrays


def _through_a_pickle(embedding):
    return pickle.loads(pickle.dumps(embedding))


@pytest.mark.parametrize("copied", [lambda x: x, copy.copy, copy.deepcopy, _through_a_pickle])
def test_arrays_of_an_embedding_are_read_only(copied):
    drawn = pl.generate.square_lattice(3)
    for embedding in (
        Embedding.from_graph(drawn.edges, num_vertices=9),
        Embedding.from_coordinates(drawn.edges, drawn.positions),
        split_faces(Embedding.from_graph(drawn.edges, num_vertices=9), 3),
    ):
        held = copied(embedding)
        for name in dir(held):
            array = getattr(held, name)
            if isinstance(array, np.ndarray) and name not in ("heads", "face_lengths"):
                assert not array.flags.writeable, name  # heads and face lengths are new each time
