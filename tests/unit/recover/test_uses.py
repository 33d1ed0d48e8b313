"""Noise of random fields, clustering and images."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from planaris.budget import use_clock
from planaris.errors import ModelError
from planaris.recover import (
    MAP,
    crf_noise,
    image_noise,
    observe,
    observe_image,
    posterior_model,
    two_clusters,
)
from planaris.recover.images import ferromagnetic_coupling, split_level


def test_weights_of_the_posterior_imply_its_own_noise(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(30)
    truth = rng.choice([-1, 1], 900)
    seen = observe(grid, truth, 0.03, 0.2, rng)
    noise = crf_noise(posterior_model(seen, 0.03, 0.2), truth)
    assert noise.p == seen.bad_edges(truth).mean()
    assert noise.q == seen.bad_nodes(truth).mean()
    assert np.array_equal(noise.bad_nodes, seen.bad_nodes(truth))


def test_weak_weights_are_not_counted() -> None:
    model = pl.IsingModel([(0, 1), (1, 2)], [0.1, -2.0], [0.0, 1.0, -0.05])
    noise = crf_noise(model, 1, edge_threshold=0.5, node_threshold=0.1)
    assert (noise.p, noise.q) == (1.0, 0.0)
    assert noise.counted_edges.tolist() == [False, True]
    assert np.isnan(crf_noise(model, 1, edge_threshold=5.0).p)


def clustering_cost(graph: nx.Graph, side: dict) -> float:
    return sum(abs(w) for u, v, w in graph.edges(data="weight") if (w > 0) == (side[u] != side[v]))


@pytest.mark.parametrize("parallel", [False, True])
def test_no_two_clusters_cost_less_than_the_lower_end(parallel: bool) -> None:
    """It was rounded to nearest, and the tolerance of what counts as exact left out."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        graph = nx.MultiGraph() if parallel else nx.Graph()
        for u, v in [*itertools.combinations(range(6), 2), *([(0, 1), (1, 2)] if parallel else [])]:
            weight = rng.normal() if seed % 2 else rng.choice([0.1, 0.2, 0.3, 0.7, 1e-13, 1e9])
            graph.add_edge(u, v, weight=float(weight * rng.choice([-1, 1])))
        found = two_clusters(graph)
        best = min(
            sum(
                Fraction(abs(w))
                for u, v, w in graph.edges(data="weight")
                if (w > 0) == (side[u] != side[v])
            )
            for side in itertools.product((0, 1), repeat=6)
        )
        assert Fraction(found.lower) <= best


def test_loops_are_added_up_as_exactly_as_edges() -> None:
    graph = nx.MultiGraph([("a", "b", {"weight": 1.0})])
    for weight in (-1.0, *[-1e-16] * 3, -1.3, -0.1, -0.7):
        graph.add_edge("a", "a", weight=weight)
        found = two_clusters(graph)
        cost = sum(Fraction(-w) for u, v, w in graph.edges(data="weight") if u == v)
        assert Fraction(found.lower) <= cost
        assert found.cost == float(cost)


@pytest.mark.parametrize("base", [nx.grid_2d_graph(3, 4), nx.complete_graph(6), nx.path_graph(3)])
def test_two_clusters_are_the_best_of_all(base: nx.Graph, rng: np.random.Generator) -> None:
    graph = base.copy()
    for u, v in graph.edges:
        graph[u][v]["weight"] = float(rng.integers(1, 5) * rng.choice([-1, 1]))
    found = two_clusters(graph)
    nodes = list(graph.nodes)
    best = min(
        clustering_cost(graph, dict(zip(nodes, sides, strict=True)))
        for sides in itertools.product((0, 1), repeat=len(nodes))
    )
    side = {node: node in found.clusters[0] for node in nodes}
    assert found.exact
    assert found.cost == pytest.approx(best) == pytest.approx(clustering_cost(graph, side))
    assert found.lower == found.cost
    assert nodes[0] in found.clusters[0]
    assert found.clusters[0] | found.clusters[1] == set(nodes)


def test_clusters_of_odd_graphs() -> None:
    assert two_clusters(nx.Graph()).clusters == (set(), set())
    loop = nx.Graph()
    loop.add_edge("a", "a", weight=-3)
    assert two_clusters(loop).cost == 3.0
    several = nx.MultiGraph()
    several.add_edge(0, 1, weight=2)
    several.add_edge(0, 1, weight=-3)
    found = two_clusters(several)
    assert (found.cost, found.clusters) == (2.0, ({0}, {1}))


@pytest.mark.parametrize("weight", [3, 2.5, True, np.float32(0.5), np.int8(-2), Fraction(1, 4)])
def test_weights_of_clusters_are_any_real_numbers(weight: object) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=weight)
    graph.add_edge("b", "c", weight=-1)
    found = two_clusters(graph)
    assert found.exact
    assert found.cost == 0.0
    assert ({"a", "b"} in found.clusters) == (float(weight) > 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 10**400, "2", None, 1j, [1.0]])
def test_a_weight_that_is_no_number_is_named(weight: object) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=1.0)
    graph.add_edge("b", "c", weight=weight)
    with pytest.raises(ModelError, match=r"of the edge `\('b', 'c'\)"):
        two_clusters(graph)


def test_the_time_for_clusters_includes_reading_the_graph() -> None:
    with use_clock(StepClock(1)):  # over at the second look, which is the first after reading
        found = two_clusters(nx.cycle_graph(6), time_limit=1.0)
    assert found.lower <= found.cost


def test_images_are_cleaned(rng: np.random.Generator) -> None:
    clean, noisy = pl.generate.noisy_image((60, 80), rng, noise=0.2)
    seen = observe_image(noisy)
    p, q = image_noise(seen, (60, 80))
    assert abs(q - 0.2) < 0.03
    found = MAP(p, q).recover(seen)
    assert found.exact
    assert found.method == "graph-cut"
    assert found.error(clean.ravel().astype(int)) < 0.05


def test_a_guide_tells_where_labels_change(rng: np.random.Generator) -> None:
    clean = np.ones((20, 30))
    clean[:, 15:] = -1
    noisy = np.where(rng.random(clean.shape) < 0.3, -clean, clean)
    guide = np.where(clean > 0, 200.0, 50.0)[..., None] + rng.normal(0, 5, (20, 30, 3))
    seen = observe_image(noisy, guide=guide)
    assert not seen.bad_edges(clean.ravel().astype(int)).any()
    assert MAP(0.01, 0.3).recover(seen).error(clean.ravel().astype(int)) == 0


def test_images_are_checked() -> None:
    with pytest.raises(ModelError, match="grey image"):
        observe_image(np.zeros((2, 2, 3)))
    with pytest.raises(ModelError, match="same pixels"):
        observe_image(np.zeros((2, 2)), guide=np.zeros((3, 2)))
    assert observe_image(np.zeros((1, 1))).nodes.tolist() == [-1]
    assert split_level(np.zeros(0)) == 0.0


def test_the_coupling_is_that_of_a_large_ferromagnet() -> None:
    # Exact marginals of a 60×60 grid, in the middle, away from the critical point.
    grid = pl.generate.square_lattice(60)
    middle = (np.abs(grid.positions[grid.edges].mean(axis=1) - [29.5, -29.5]) < 5).all(axis=1)
    for coupling in (0.2, 0.55):
        found = pl.plan(pl.IsingModel(grid.edges, coupling, positions=grid.positions))
        edges = np.asarray(found.marginals(np.full(len(grid.edges), coupling)).edges)
        correlation = float((2 * edges[middle] - 1).mean())
        assert ferromagnetic_coupling(correlation) == pytest.approx(coupling, abs=1e-3)
    assert ferromagnetic_coupling(-0.1) == 0.0
    assert ferromagnetic_coupling(1.0) == 2.0
