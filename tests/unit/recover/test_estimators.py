"""Estimators against enumeration, on every kind of graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from helpers.degenerate import NONPLANAR, SMALL
from helpers.recovery_cases import likelihoods
from planaris.errors import ModelError
from planaris.recover import (
    MAP,
    CycleLP,
    Estimator,
    HillClimbing,
    LocalLP,
    Marginal,
    Observations,
    TwoStep,
    as_graph,
    estimate_noise,
    log_odds,
    noise_of,
    observe,
    posterior_model,
    two_clusters,
)
from planaris.reference.brute_force import all_states

P, Q = 0.12, 0.35
WEIGHTED: dict[str, Estimator] = {
    "marginal": Marginal(P, Q),
    "local LP": LocalLP(P, Q),
    "cycle LP": CycleLP(P, Q),
    "MAP": MAP(P, Q),
    "hill climbing": HillClimbing(P, Q),
}
ALL: dict[str, Estimator] = {"two-step": TwoStep(), **WEIGHTED}


def graphs() -> dict[str, tuple[int, np.ndarray]]:
    models = {name: make() for name, make in {**SMALL, **NONPLANAR}.items()}
    found = {name: (m.num_spins, m.edges) for name, m in models.items()}
    found["edges seen twice"] = (4, np.array([(0, 1), (1, 0), (1, 2), (2, 3), (3, 0), (0, 3)]))
    return found


@pytest.mark.parametrize("name", sorted(graphs()))
def test_marginals_map_and_two_step_are_those_of_enumeration(
    name: str, rng: np.random.Generator
) -> None:
    graph = graphs()[name]
    for _ in range(3):
        truth = rng.choice([-1, 1], graph[0])
        seen = observe(graph, truth, 0.25, 0.35, rng)
        states, weights = likelihoods(seen, P, Q)
        beliefs = weights @ (states > 0) / weights.sum()
        found = Marginal(P, Q).recover(seen)
        np.testing.assert_allclose(found.beliefs, beliefs, atol=1e-10)
        assert found.exact

        best = MAP(P, Q).recover(seen)
        place = int(np.flatnonzero((states == best.labels).all(axis=1))[0])
        assert best.exact
        assert weights[place] == pytest.approx(weights.max(), rel=1e-9)

        two = TwoStep(tie_breaks=3).recover(seen, rng)
        u, v = seen.graph.edges.T
        agreement = (states[:, u] * states[:, v] * seen.edges).sum(axis=1)
        for labels in (two.labels, *two.alternatives):
            assert (labels[u] * labels[v] * seen.edges).sum() == agreement.max()
        # Flipping any union of components of agreement cannot gain votes.
        model = seen.edge_model()
        _, component = as_graph((model.num_spins, model.edges[model.couplings != 0])).components
        votes = np.bincount(component, weights=two.labels * seen.nodes, minlength=1)
        assert (votes >= 0).all()


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("graph", sorted(graphs()))
def test_every_estimator_answers_on_every_graph(
    name: str, graph: str, rng: np.random.Generator
) -> None:
    shape = graphs()[graph]
    found = ALL[name].recover(observe(shape, 1, 0.3, 0.4, rng), rng)
    assert found.labels.shape == (shape[0],)
    assert set(found.labels.tolist()) <= {-1, 1}
    assert ((found.beliefs >= 0) & (found.beliefs <= 1)).all()
    assert 0 <= found.error(1) <= 1
    assert found.stats["seconds"] >= 0
    assert found.method


def test_estimators_agree_on_trees(rng: np.random.Generator) -> None:
    # The local polytope is exact on trees, and so is everything tighter.
    n = 40
    edges = [(int(rng.integers(v)), v) for v in range(1, n)]
    for _ in range(5):
        seen = observe((n, edges), rng.choice([-1, 1], n), 0.1, 0.3, rng)
        model = posterior_model(seen, P, Q)
        energies = []
        for estimator in (MAP(P, Q), CycleLP(P, Q)):
            found = estimator.recover(seen)
            assert found.exact
            energies.append(float(model.energy(found.labels)))
        assert energies[0] == pytest.approx(energies[1], abs=1e-9)
        local = LocalLP(P, Q).recover(seen)
        assert local.stats["lower"] == pytest.approx(energies[0], abs=1e-6)
        # Without noise between them, agreeing with all edges is possible on a tree.
        assert not seen.bad_edges(TwoStep().recover(seen).labels).any()


@pytest.mark.parametrize("estimator", [TwoStep(), Marginal(0, 0.4), MAP(0, 0.4), CycleLP(0, 0.4)])
def test_without_edge_noise_everything_is_recovered(
    estimator: Estimator, rng: np.random.Generator
) -> None:
    grid = pl.generate.square_lattice(9)
    truth = rng.choice([-1, 1], 81)
    seen = observe(grid, truth, 0.0, 0.3, rng)
    assert np.count_nonzero(seen.nodes == truth) > 41, "the majority must be right here"
    assert estimator.recover(seen).error(truth) == 0


def test_without_node_noise_everything_is_recovered(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(6)
    truth = rng.choice([-1, 1], 36)
    seen = observe(grid, truth, 0.4, 0.0, rng)
    for estimator in (Marginal(0.4, 0.0), MAP(0.4, 0.0), LocalLP(0.4, 0.0), HillClimbing(0.4, 0)):
        assert estimator.recover(seen).error(truth) == 0


def test_nodes_without_information_leave_the_sign_to_a_coin(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(5)
    right = [TwoStep().recover(observe(grid, 1, 0.0, 0.5, rng)).error(1) == 0 for _ in range(400)]
    # Binomial with 400 tries: five standard deviations are 50.
    assert 150 <= sum(right) <= 250
    marginal = Marginal(0.1, 0.5).recover(observe(grid, 1, 0.1, 0.5, rng))
    np.testing.assert_allclose(marginal.beliefs, 0.5, atol=1e-9)
    assert marginal.error(1) == 0.5


def test_a_vote_that_ties_counts_one_half() -> None:
    graph = as_graph((2, [(0, 1)]))
    seen = Observations(graph, np.array([1], np.int8), np.array([1, -1], np.int8))
    found = TwoStep(tie_breaks=200).recover(seen, 0)
    assert found.error(1) == 0.5
    assert 0.3 < found.mean_error(1) < 0.7


def test_fractional_nodes_of_the_local_program_count_one_half() -> None:
    # A frustrated triangle: all of the local polytope's optimum is fractional without fields.
    graph = as_graph((3, [(0, 1), (1, 2), (0, 2)]))
    seen = Observations(graph, np.array([1, 1, -1], np.int8), np.array([1, 1, 1], np.int8))
    found = LocalLP(0.05, 0.45).recover(seen)
    np.testing.assert_allclose(found.beliefs, 0.5, atol=1e-9)
    assert found.error(1) == 0.5


def test_mean_error_is_that_over_all_ground_states(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(3)
    seen = observe(grid, 1, 0.3, 0.2, rng)
    states, _ = likelihoods(seen, P, Q)
    u, v = seen.graph.edges.T
    agreement = (states[:, u] * states[:, v] * seen.edges).sum(axis=1)
    optimal = states[agreement == agreement.max()]
    votes = (optimal * seen.nodes).sum(axis=1)  # odd: nine nodes
    expected = float((optimal * np.sign(votes)[:, None] != 1).mean())
    found = TwoStep(tie_breaks=4000).recover(seen, rng)
    # The mean of 4000 draws in [0, 1]: four standard errors are at most 0.032.
    assert found.mean_error(1) == pytest.approx(expected, abs=0.032)
    assert found.stats["tie_breaks"] == "planar"


def test_weights_are_estimated_where_not_given(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(12)
    seen = observe(grid, 1, 0.05, 0.3, rng)
    found = MAP().recover(seen, rng)
    assert 0 < found.stats["p"] < 0.15
    assert found.stats["noise"].method
    assert MAP(p=0.05).recover(seen, rng).stats["p"] == 0.05


def test_unobserved_nodes_and_edges_say_nothing() -> None:
    graph = as_graph((3, [(0, 1), (1, 2)]))
    seen = Observations(graph, np.array([1, 0], np.int8), np.array([0, -1, 0], np.int8))
    beliefs = Marginal(0.1, 0.2).recover(seen).beliefs
    np.testing.assert_allclose(beliefs, [0.9 * 0.2 + 0.1 * 0.8, 0.2, 0.5], atol=1e-12)
    two = TwoStep().recover(seen)
    assert two.labels[:2].tolist() == [-1, -1]
    assert two.beliefs[2] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2, [(0, 1)]), 1, 0.6, 0.1), "`p` must lie between 0 and 1/2"),
        (((2, [(0, 1)]), 1, 0.1, -0.1), "`q` must lie"),
        (((2, [(0, 1)]), 1, float("nan"), 0.1), "`p` must lie"),
        (((2, [(0, 1)]), [1, 0], 0.1, 0.1), "`labels` must be -1 or"),
        (((2, [(0, 1)]), [1, 2], 0.1, 0.1), "`labels` must hold"),
        (((2, [(0, 1)]), [1], 0.1, 0.1), "`labels` must have shape"),
        (("grid", 1, 0.1, 0.1), "`graph` must be"),
    ],
)
def test_odd_observations_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        observe(*arguments, np.random.default_rng(0))


def test_observation_noise_has_its_rates(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(200)
    truth = rng.choice([-1, 1], 40_000)
    seen = observe(grid, truth, 0.1, 0.3, rng)
    # Five standard deviations.
    assert abs(seen.bad_edges(truth).mean() - 0.1) < 5 * (0.09 / 79_600) ** 0.5
    assert abs(seen.bad_nodes(truth).mean() - 0.3) < 5 * (0.21 / 40_000) ** 0.5


def test_weights_are_half_the_log_odds() -> None:
    assert log_odds(0.2) == pytest.approx(0.5 * np.log(4.0))


def test_two_step_error_follows_three_p_squared(rng: np.random.Generator) -> None:
    p, size = 0.02, 300
    seen = observe(pl.generate.square_lattice(size), -1, p, 0.4, rng)
    found = TwoStep(tie_breaks=1).recover(seen, rng)
    assert 2.0 < found.mean_error(-1) / p**2 < 4.5


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("kind", [TwoStep, Marginal, LocalLP, CycleLP, MAP, HillClimbing])
def test_all_estimators_are_made_and_asked_alike(kind: type[Estimator]) -> None:
    seen = observe(pl.generate.square_lattice(5), -1, P, Q, np.random.default_rng(2))
    found = kind(p=P, q=Q, time_limit=20.0).recover(seen)
    assert found.labels.shape == (25,)


def test_graphs_keep_their_edges() -> None:
    edges = np.array([[0, 1], [1, 2]], dtype=np.int32)
    graph = pl.recover.Graph(3, edges)
    edges[:] = [[0, 1], [0, 1]]
    assert graph.components[0] == 1
    assert edges.flags.writeable


def test_labels_of_a_proved_program_are_the_proved_ones() -> None:
    graph = as_graph((4, [(1, 0), (3, 2), (2, 0)]))
    seen = Observations(graph, edges=[1, 1, 0], nodes=[-1, 0, 0, -1])
    p, q = np.array([0.3, 0.0, 0.0]), np.array([0.499999, 0.3, 0.01, 0.499999])
    model = posterior_model(seen, p, q)
    found = LocalLP(p, q).recover(seen)
    assert found.exact
    assert found.labels.tolist() == [-1, -1, -1, -1]  # the program says +1: too little is at stake
    assert float(model.energy(found.labels)) == float(model.energy(all_states(4)).min())


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    pair = Observations((2, [(0, 1)]), edges=[1], nodes=[1, 1])  # type: ignore[arg-type]
    assert pair.graph.num_nodes == 2
    for call in (
        lambda: MAP(P, Q).recover(None),  # type: ignore[arg-type]
        lambda: estimate_noise(None),  # type: ignore[arg-type]
        lambda: MAP(["a"], Q).recover(pair),  # type: ignore[arg-type]
        lambda: MAP(P, Q).recover(pair, "seed"),  # type: ignore[arg-type]
        lambda: observe(pair, 1, P, Q, "seed"),  # type: ignore[arg-type]
        lambda: noise_of(float("nan")),
    ):
        with pytest.raises(ModelError):
            call()


@pytest.mark.parametrize("weight", ["x", None, float("nan")])
@pytest.mark.parametrize("edge", [(0, 1), (0, 0)])
def test_weights_of_clusters_are_numbers(weight, edge) -> None:
    graph = nx.Graph()
    graph.add_edge(*edge, weight=weight)
    with pytest.raises(ModelError, match="weight"):
        two_clusters(graph)
