"""Minimum cuts against all states and against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from helpers.trials import seeds
from planaris import IsingModel, cuts
from planaris.kernels.cuts import minimum_cut
from planaris.reference import enumerate_states


def random_model(rng: np.random.Generator, *, balanced: bool) -> IsingModel:
    n = int(rng.integers(1, 11))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    keep = rng.permutation(len(pairs))[: int(rng.integers(0, len(pairs) + 1))]
    edges = np.array([pairs[k] for k in keep], dtype=int).reshape(-1, 2)
    whole = rng.random() < 0.5  # ties
    couplings = rng.integers(-3, 4, len(edges)) if whole else rng.normal(size=len(edges))
    fields = rng.integers(-3, 4, n) if whole else rng.normal(size=n) * rng.choice([0, 1, 3])
    couplings = couplings.astype(float)
    if balanced:
        gauge = rng.choice([-1, 1], n)
        couplings = np.abs(couplings) * gauge[edges[:, 0]] * gauge[edges[:, 1]]
    return IsingModel(edges, couplings, fields.astype(float), offset=float(rng.normal()))


@pytest.mark.parametrize("seed", seeds(60, 200))
def test_balanced_models_are_solved(seed):
    model = random_model(np.random.default_rng([3, seed]), balanced=True)
    evidence = cuts.is_submodular(model)
    assert evidence
    assert np.all(model.couplings * evidence.gauge[model.edges].prod(1) >= 0)
    truth = enumerate_states(model)
    best = cuts.graph_cut(model)
    assert best.exact
    assert (truth.ground_states == best.spins).all(1).any() or best.energy == pytest.approx(
        truth.energy, rel=1e-15
    )
    bound = best.certificate.lower_bound(model)
    # The bound leaves (degree + 64) roundings of the sum of all weights.
    assert truth.energy - 1e-11 < bound <= truth.energy


@pytest.mark.parametrize("seed", seeds(60, 200))
def test_certain_spins_agree_with_every_ground_state(seed):
    model = random_model(np.random.default_rng([4, seed]), balanced=False)
    truth = enumerate_states(model)
    found = cuts.qpbo(model)
    assert np.all(truth.ground_states[:, found.certain] == found.spins[found.certain])
    # Summing one state's energy alone or in a batch may differ by a rounding.
    assert found.lower - 1e-12 <= truth.energy <= found.upper + 1e-12
    assert found.certificate.lower_bound(model) <= truth.energy
    if found.exact:
        assert found.energy == pytest.approx(truth.energy, rel=1e-14)


def test_strong_fields_make_most_spins_certain(rng):
    # About half of the couplings are frustrated; fields win at most spins.
    model = IsingModel.from_image(
        3 * rng.normal(size=(30, 30)), rng.normal(size=(30, 29)), rng.normal(size=(29, 30))
    )
    found = cuts.qpbo(model)
    assert found.certain.mean() > 0.8
    assert found.lower <= found.energy


@pytest.mark.parametrize("seed", range(60))
def test_not_balanced_comes_with_a_frustrated_cycle(seed):
    model = random_model(np.random.default_rng([5, seed]), balanced=False)
    evidence = cuts.is_submodular(model)
    if evidence:
        assert np.all(model.couplings * evidence.gauge[model.edges].prod(1) >= 0)
        return
    cycle = evidence.frustrated_cycle
    assert np.prod(np.sign(model.couplings[cycle])) < 0
    ring = nx.Graph(model.edges[cycle].tolist())
    assert len(set(cycle.tolist())) == ring.number_of_edges()
    assert nx.is_connected(ring)
    assert {d for _, d in ring.degree} == {2}


@pytest.mark.parametrize("seed", range(60))
def test_cut_values_agree_with_networkx(seed):
    rng = np.random.default_rng([6, seed])
    n = int(rng.integers(2, 40))
    graph = nx.gnm_random_graph(n, int(rng.integers(1, 3 * n)), seed=seed)
    edges = np.array(graph.edges, dtype=np.int32).reshape(-1, 2)
    capacities = rng.integers(0, 20, len(edges)).astype(float)
    terminals = rng.integers(-20, 21, n).astype(float)
    side, flow, rounding, bits = minimum_cut(edges, capacities, terminals)
    assert (rounding, bits) == (0.0, 64)
    network = nx.DiGraph()
    network.add_nodes_from(["s", "t"])
    for (u, v), c in zip(edges.tolist(), capacities.tolist(), strict=True):
        network.add_edge(u, v, capacity=c)
        network.add_edge(v, u, capacity=c)
    for v, w in enumerate(terminals.tolist()):
        network.add_edge(*(("s", v) if w > 0 else (v, "t")), capacity=abs(w))
    wanted, (source, _) = nx.minimum_cut(network, "s", "t")
    across = side[edges[:, 0]] != side[edges[:, 1]]
    value = capacities[across].sum()
    value += terminals[~side & (terminals > 0)].sum() - terminals[side & (terminals < 0)].sum()
    assert value == wanted
    assert np.all(np.abs(flow) <= capacities)
    # The source side is the smallest of all minimum cuts.
    assert set(np.flatnonzero(side)) <= set(source)


def test_weights_of_very_different_size_stay_exact():
    # 2^60 and 2^-20 in one model: 128-bit integers.
    edges = [(0, 1), (1, 2), (2, 3)]
    model = IsingModel(edges, [2.0**60, 2.0**-20, 2.0**60], [1.0, 0.0, 0.0, -(1.0 - 2.0**-20)])
    best = cuts.graph_cut(model)
    assert best.stats["integer_bits"] == 128
    assert best.exact
    # Splitting pays 2^-19 for the weak edge and gains 2 (1 - 2^-20).
    assert best.spins.tolist() == [1, 1, -1, -1]


def test_weights_beyond_all_integers_are_enclosed():
    model = IsingModel([(0, 1), (1, 2)], [1e300, 1e-300], [1.0, 0.0, -1e-301])
    best = cuts.graph_cut(model)
    assert not best.exact
    assert best.lower <= enumerate_states(model).energy <= best.energy
