"""The flipping lemma, filled-in sets and bounds, by enumeration."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from helpers.degenerate import SMALL
from planaris.errors import ModelError
from planaris.generate import honeycomb_lattice, random_regular_graph, road_network
from planaris.recover import (
    Observations,
    TwoStep,
    as_graph,
    bad_probability,
    boundary_edges,
    exact_expansion,
    expander_bound,
    fill_in,
    flipping_lemma_holds,
    is_bad,
    lower_bound,
    observe,
    region_type,
    single_flip_error,
    spectral_expansion,
    upper_bound,
    weak_expansion,
    wrong_regions,
)

GRID = as_graph(pl.generate.square_lattice(4))
STATES = 1 - 2 * ((np.arange(1 << 15)[:, None] >> np.arange(16)) & 1).astype(np.int8)
"""All labellings of the 4×4 grid up to a global sign (the last spin is +1)."""


def all_optima(seen: Observations) -> np.ndarray:
    u, v = GRID.edges.T
    agreement = (STATES[:, u] * STATES[:, v]) @ seen.edges.astype(np.int64)
    half = STATES[agreement == agreement.max()]
    return np.concatenate([half, -half])


def nx_regions(nodes: np.ndarray) -> list[set[int]]:
    graph = nx.Graph()
    graph.add_nodes_from(range(16))
    graph.add_edges_from(GRID.edges.tolist())
    return [set(part) for part in nx.connected_components(graph.subgraph(nodes.tolist()))]


def test_flipping_lemma_on_all_optima_of_a_grid(rng: np.random.Generator) -> None:
    checked = 0
    for p in (0.1, 0.2, 0.4):
        for _ in range(6):
            truth = rng.choice([-1, 1], 16)
            seen = observe(GRID, truth, p, 0.3, rng)
            bad = seen.bad_edges(truth)
            optima = all_optima(seen)
            for labels in optima[rng.permutation(len(optima))[:40]]:
                assert flipping_lemma_holds(seen, labels, truth)
                regions = wrong_regions(GRID, labels, truth)
                assert sorted(map(sorted, nx_regions(np.flatnonzero(labels != truth)))) == sorted(
                    region.tolist() for region in regions
                )
                for region in regions:
                    inside = set(region.tolist())
                    cut = [(a in inside) != (b in inside) for a, b in GRID.edges.tolist()]
                    assert cut == boundary_edges(GRID, region).tolist()
                    assert is_bad(seen, region, truth) == (2 * bad[cut].sum() >= sum(cut))
                    checked += 1
                # Lemma 5.4, for the sign without a region of type 6.
                if all(region_type((4, 4), r) < 6 for r in regions):
                    for region in regions:
                        assert is_bad(seen, fill_in((4, 4), region), truth)
    assert checked > 100


def test_labels_that_are_not_optimal_break_the_lemma() -> None:
    seen = observe(GRID, 1, 0.0, 0.0, np.random.default_rng(0))
    labels = np.ones(16, dtype=int)
    labels[5] = -1
    assert not flipping_lemma_holds(seen, labels, 1)


def connected_sets() -> list[np.ndarray]:
    """All connected sets of the 3×4 grid."""
    frame = as_graph(pl.generate.square_lattice(3, 4))
    graph = nx.Graph(frame.edges.tolist())
    sets = []
    for mask in range(1, 1 << 12):
        nodes = [k for k in range(12) if mask >> k & 1]
        if nx.is_connected(graph.subgraph(nodes)):
            sets.append(np.array(nodes))
    return sets


def test_types_and_filled_in_sets_of_all_connected_sets() -> None:
    shape = (3, 4)
    frame = as_graph(pl.generate.square_lattice(*shape))
    graph = nx.Graph(frame.edges.tolist())
    seen = {}
    for nodes in connected_sets():
        rows, columns = np.divmod(nodes, 4)
        sides = [0 in rows, 2 in rows, 0 in columns, 3 in columns]
        kind = region_type(shape, nodes)
        assert kind == {0: 1, 1: 2, 3: 5, 4: 6}.get(
            sum(sides), 4 if sides[:2] in ([True, True], [False, False]) else 3
        )
        if kind == 6:
            with pytest.raises(ModelError, match="misses a side"):
                fill_in(shape, nodes)
            continue
        filled = set(fill_in(shape, nodes).tolist())
        assert filled >= set(nodes.tolist())
        assert region_type(shape, sorted(filled)) < 6  # Lemma 5.3
        outside = graph.subgraph(set(range(12)) - filled)
        assert nx.is_connected(outside)
        cut = boundary_edges(frame, sorted(filled))
        assert cut.any()
        assert not (cut & ~boundary_edges(frame, nodes)).any()  # δ(F(S)) is part of δ(S)
        assert len(filled) <= cut.sum() ** 2  # Lemma 5.6
        if region_type(shape, sorted(filled)) == 1:
            assert 16 * len(filled) <= cut.sum() ** 2
        seen[kind] = seen.get(kind, 0) + 1
    assert set(seen) == {1, 2, 3, 4, 5}


def test_regions_are_checked() -> None:
    with pytest.raises(ModelError, match="nodes from 0 to 15"):
        boundary_edges(GRID, [16])
    with pytest.raises(ModelError, match="as a mask"):
        boundary_edges(GRID, [True, False])


@pytest.mark.parametrize("p", [0.01, 0.05, 0.2])
def test_bad_probability_is_the_binomial_tail_and_below_its_bound(p: float) -> None:
    for i in range(1, 9):
        tail = sum(math.comb(i, k) * p**k * (1 - p) ** (i - k) for k in range(i + 1) if 2 * k >= i)
        assert float(bad_probability(i, p)) == pytest.approx(tail)
        assert tail <= (3 * math.sqrt(p)) ** i


def test_bounds_are_those_of_the_paper() -> None:
    assert float(upper_bound(0.01, 400)) == pytest.approx(8 * 1e-4 * 400)
    assert float(lower_bound(0.05, 0.4, 400)) == pytest.approx(200 * 5 * 0.0025 * 0.4)
    assert np.isnan(upper_bound(0.018, 400))
    assert np.isnan(lower_bound(0.079, 0.4, 400))
    assert float(expander_bound(0.01, 0.3, 100)) == pytest.approx(10.0)
    with pytest.raises(ModelError, match="no expander"):
        expander_bound(0.01, 0.0, 100)


def test_the_bounds_hold_in_an_experiment(rng: np.random.Generator) -> None:
    # 100 grids of 40×40: the mean error lies between the bounds (plus O(p√N) at the rim).
    p, q, size = 0.015, 0.4, 40
    grid = pl.generate.square_lattice(size)
    errors = []
    for _ in range(100):
        seen = observe(grid, -1, p, q, rng)
        errors.append(TwoStep().recover(seen).error(-1) * size**2)
    rim = 8 * p * size
    assert float(lower_bound(p, q, size**2)) <= np.mean(errors)
    assert np.mean(errors) <= float(upper_bound(p, size**2)) + rim


def test_single_flips_are_enumerated_on_a_star() -> None:
    star = (5, [(0, k) for k in range(1, 5)])
    p = 0.1
    centre = 0.0
    for bad in itertools.product((0, 1), repeat=4):
        weight = math.prod(p if b else 1 - p for b in bad)
        centre += weight * (1.0 if sum(bad) > 2 else 0.5 if sum(bad) == 2 else 0.0)
    assert single_flip_error(star, p) == pytest.approx(centre + 4 * p)


@pytest.mark.parametrize("rows", [3, 4])
def test_grown_sets_are_the_best_of_all_on_small_grids(rows: int) -> None:
    grid = pl.generate.square_lattice(rows, 4)
    exact = exact_expansion(grid, interior=True)
    grown = weak_expansion(grid, interior=True, rng=0)
    assert exact.exact
    assert not grown.exact
    assert grown.c1 == exact.c1 == 1 / 16


def test_weak_expansion_of_lattices() -> None:
    assert weak_expansion(honeycomb_lattice(24), rng=0).c1 == pytest.approx(1 / 6)
    triangular = weak_expansion(pl.generate.triangular_lattice(20), rng=0)
    assert triangular.c1 == pytest.approx(1 / 36)
    assert 1.8 < triangular.c2 < 2.2


def test_spectral_expansion_bounds_the_true_constant(rng: np.random.Generator) -> None:
    for degree in (3, 4):
        graph = random_regular_graph(degree, 12, rng)
        u, v = graph[1].T
        masks = np.arange(1, (1 << 12) - 1)
        sizes = np.bitwise_count(masks)
        cut = (((masks[:, None] >> u) ^ (masks[:, None] >> v)) & 1).sum(axis=1)
        small = sizes <= 6
        true = float((cut[small] / (degree * sizes[small])).min())
        assert spectral_expansion(graph) <= true + 1e-12
    with pytest.raises(ModelError, match="must be regular"):
        spectral_expansion((3, [(0, 1)]))


def test_roads_are_the_relative_neighbourhood_graph(rng: np.random.Generator) -> None:
    roads = road_network(60, rng)
    where = roads.positions
    apart = np.linalg.norm(where[:, None] - where[None], axis=2)
    expected = set()
    for u, v in itertools.combinations(range(60), 2):
        closer = np.maximum(apart[u], apart[v]) < apart[u, v]
        closer[[u, v]] = False
        if not closer.any():
            expected.add((u, v))
    assert {tuple(sorted(e)) for e in roads.edges.tolist()} == expected
    assert nx.is_connected(nx.Graph(roads.edges.tolist()))
    assert len(road_network(2, rng).edges) == 1


def test_random_regular_graphs_are_refused_when_impossible(rng: np.random.Generator) -> None:
    with pytest.raises(ModelError, match="product even"):
        random_regular_graph(3, 5, rng)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("interior", [True, False])
def test_odd_graphs_have_an_expansion(name: str, interior: bool) -> None:
    model = SMALL[name]()
    graph = (model.num_spins, model.edges)
    grown = weak_expansion(graph, interior=interior, rng=0)
    assert grown.c1 >= 0
    assert len(grown.boundaries) == len(grown.sizes)
    if model.num_spins > 1:
        assert exact_expansion(graph, interior=interior).exact
    assert single_flip_error(graph, 0.1) >= 0
    assert wrong_regions(graph, np.ones(model.num_spins), 1) == []


def test_paths_do_not_expand() -> None:
    path = (40, [(k, k + 1) for k in range(39)])
    assert weak_expansion(path, interior=False, rng=0).c1 >= 20 / 4
