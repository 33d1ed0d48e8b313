"""The planarity test against networkx (left-right) and the planarity package (edge addition)."""

from __future__ import annotations

import networkx as nx
import numpy as np
import planarity
import pytest

from helpers.planar_graphs import near_threshold, planar_with_deletions, relabelled, triangulation
from helpers.trials import seeds
from planaris.embed import Embedding
from planaris.errors import NotPlanarError
from planaris.kernels.graph import biconnected_components, is_planar
from planaris.verify import check_kuratowski, check_plane


def simple_graph(n, edges):
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges.tolist())
    return graph


def decide(n, edges):
    """Whether the graph is planar, with the proof checked either way."""
    if is_planar(n, edges):
        embedding = Embedding.from_graph(edges, num_vertices=n)
        check_plane(embedding)
        assert embedding.genus == 0
        return True
    with pytest.raises(NotPlanarError) as refusal:
        Embedding.from_graph(edges, num_vertices=n)
    assert check_kuratowski(n, edges, refusal.value.kuratowski_edges) == refusal.value.kind
    return False


@pytest.mark.parametrize("block", seeds(2, 10))
def test_decisions_agree_with_both_oracles(block):
    rng = np.random.default_rng(block)
    outcomes = []
    for _ in range(300):
        n = int(rng.integers(2, 26))
        edges = near_threshold(n, rng)
        graph = simple_graph(n, edges)
        ours = decide(n, edges)
        assert ours == nx.check_planarity(graph)[0]
        if graph.number_of_edges():
            assert ours == bool(planarity.is_planar(graph))
        outcomes.append(ours)
    assert 0.1 < np.mean(outcomes) < 0.95, "both answers must be exercised"


def test_planar_by_construction(rng):
    for _ in range(200):
        n = int(rng.integers(1, 120))
        assert decide(n, planar_with_deletions(n, rng))
        assert decide(n, relabelled(n, triangulation(n, rng), rng))


def test_one_edge_too_many_is_found(rng):
    # A triangulation is maximal planar: any further edge between non-neighbours breaks it.
    for _ in range(200):
        n = int(rng.integers(5, 80))
        edges = triangulation(n, rng)
        known = {frozenset(e) for e in edges.tolist()}
        u, v = (int(x) for x in rng.choice(n, 2, replace=False))
        if frozenset((u, v)) in known:
            continue
        assert not decide(n, relabelled(n, np.vstack([edges, [(u, v)]]).astype(np.int32), rng))


def test_biconnected_components_agree_with_networkx(rng):
    for _ in range(300):
        n = int(rng.integers(1, 30))
        edges = near_threshold(n, rng)
        graph = simple_graph(n, edges)
        count, block, articulation = biconnected_components(n, edges)
        assert set(np.flatnonzero(articulation).tolist()) == set(nx.articulation_points(graph))
        ours = {frozenset(frozenset(e) for e in edges[block == b].tolist()) for b in range(count)}
        theirs = {
            frozenset(frozenset(e) for e in part) for part in nx.biconnected_component_edges(graph)
        }
        assert ours == theirs
        assert len(ours) == count


def test_bridges_agree_with_networkx(rng):
    for _ in range(100):
        n = int(rng.integers(1, 30))
        edges = np.unique(np.sort(planar_with_deletions(n, rng), axis=1), axis=0)
        embedding = Embedding.from_graph(edges, num_vertices=n)
        ours = {frozenset(e) for e in edges[embedding.bridges].tolist()}
        assert ours == {frozenset(e) for e in nx.bridges(simple_graph(n, edges))}
