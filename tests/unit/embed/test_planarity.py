from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from helpers.planar_graphs import complete, complete_bipartite, delaunay, grid, relabelled
from planaris import IsingModel
from planaris.embed import Embedding, embed, require_plane
from planaris.errors import CrossingError, EmbeddingError, NotPlanarError
from planaris.verify import check_kuratowski, check_plane

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def test_positions_are_used_where_a_model_has_them():
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    drawn = embed(IsingModel(edges, 1.0, positions=SQUARE))
    assert drawn.outer is not None
    assert embed(IsingModel(edges, 1.0)).outer is None
    with pytest.raises(CrossingError, match="leave the positions out"):
        embed(IsingModel([(0, 2), (1, 3)], 1.0, positions=SQUARE))


def test_everything_that_states_a_graph_is_taken():
    graph = nx.relabel_nodes(nx.cycle_graph(5), lambda v: f"v{v}")
    _, theirs = nx.check_planarity(graph)
    plane = embed((5, list(nx.cycle_graph(5).edges)))
    for stated in (graph, theirs, plane, nx.MultiGraph(graph)):
        assert embed(stated).num_faces == 2
    assert embed(plane) is plane
    assert embed(nx.empty_graph(3)).num_components == 3
    assert embed((0, [])).num_vertices == 0


def test_what_states_no_graph_is_refused():
    with pytest.raises(EmbeddingError, match="`graph` must be an IsingModel"):
        embed([(0, 1)])


def test_a_rotation_that_is_not_plane_is_refused_with_its_genus():
    rotation = [0, 4, 2, 1, 11, 6, 3, 7, 8, 5, 9, 10]
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)]
    torus = Embedding.from_rotation(edges, rotation, num_vertices=4)
    for refuse in (require_plane, embed):
        with pytest.raises(EmbeddingError, match="genus 1") as caught:
            refuse(torus)
        assert caught.value.genus == 1


@pytest.mark.parametrize(
    ("n", "edges", "kind"),
    [
        (5, complete(5), "K5"),
        (6, complete_bipartite(3, 3), "K3,3"),
        (60, complete(60), None),
        (10, np.array(nx.petersen_graph().edges), "K3,3"),
        (14, np.array(nx.heawood_graph().edges), "K3,3"),
        (500, np.array(nx.random_regular_graph(4, 500, seed=1).edges), None),
        (1000, np.array(nx.random_regular_graph(3, 1000, seed=1).edges), "K3,3"),
    ],
)
def test_refusals_carry_a_kuratowski_subgraph(n, edges, kind):
    with pytest.raises(NotPlanarError, match="`edges` must form a planar graph") as caught:
        Embedding.from_graph(edges, num_vertices=n)
    error = caught.value
    assert check_kuratowski(n, edges, error.kuratowski_edges) == error.kind
    assert kind in (None, error.kind)


@pytest.mark.parametrize("kind", ["K5", "K3,3"])
def test_long_subdivisions_in_a_big_planar_graph(kind, rng):
    # Every edge of the small graph becomes a path; planar parts hang everywhere.
    small = complete(5) if kind == "K5" else complete_bipartite(3, 3)
    count, edges = int(small.max()) + 1, []
    for u, v in small.tolist():
        inner = list(range(count, count + 500))
        count += 500
        edges += list(zip([u, *inner], [*inner, v], strict=True))
    lattice, _ = grid(40, 40)
    bridge = [(int(rng.integers(count)), count)]
    edges = np.vstack([edges, lattice + count, bridge]).astype(np.int32)
    n = count + 1600
    shuffled = relabelled(n, edges, rng)
    with pytest.raises(NotPlanarError) as caught:
        Embedding.from_graph(shuffled, num_vertices=n)
    assert caught.value.kind == kind
    assert len(caught.value.kuratowski_edges) == len(small) * 501
    assert check_kuratowski(n, shuffled, caught.value.kuratowski_edges) == kind


def test_a_torus_grid_of_some_size_is_refused():
    side = 150
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side, periodic=True))
    edges = np.array(graph.edges, dtype=np.int32)
    with pytest.raises(NotPlanarError) as caught:
        Embedding.from_graph(edges, num_vertices=side * side)
    check_kuratowski(side * side, edges, caught.value.kuratowski_edges)


@pytest.mark.parametrize("columns", [1, 2, 300])
def test_grids_by_the_test(columns, rng):
    edges, _ = grid(300, columns)
    plane = Embedding.from_graph(relabelled(300 * columns, edges, rng), num_vertices=300 * columns)
    check_plane(plane)


def test_a_triangulation_by_the_test_has_the_faces_of_the_drawing(rng):
    # Triconnected: the embedding is unique up to reflection.
    edges, points = delaunay(3000, rng)
    tested = Embedding.from_graph(edges, num_vertices=3000)
    drawn = Embedding.from_coordinates(edges, points)

    def faces(plane):
        return {frozenset(plane.face_vertices(f).tolist()) for f in range(plane.num_faces)}

    check_plane(tested)
    assert faces(tested) == faces(drawn)
