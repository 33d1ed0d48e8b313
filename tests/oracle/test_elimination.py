"""Elimination against the list of all states."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from helpers.mrfs import any_mrf, list_all
from helpers.trials import seeds
from planaris import IsingModel, MarkovRandomField, treewidth
from planaris.errors import InfeasibleError
from planaris.reference import enumerate_states

KINDS = ["clusters", "frontier"]


def check_against_list(model: MarkovRandomField, plan: treewidth.EliminationPlan) -> None:
    truth = list_all(model)
    found = treewidth.log_partition(model, plan=plan)
    if truth.best == -np.inf:
        assert found.value == found.lower == found.upper == -np.inf
        for verb in (treewidth.marginals, treewidth.ground_state):
            with pytest.raises(InfeasibleError):
                verb(model, plan=plan)
        with pytest.raises(InfeasibleError):
            treewidth.sample(model, 1, np.random.default_rng(0), plan=plan)
        return
    size = max(1.0, abs(truth.log_partition))
    # The list itself rounds at about 1e-15 of the largest log weight.
    assert found.value == pytest.approx(truth.log_partition, rel=1e-12, abs=1e-12)
    assert found.lower - 1e-14 * size <= truth.log_partition <= found.upper + 1e-14 * size
    assert found.gap < 1e-10 * size

    best = treewidth.ground_state(model, plan=plan)
    assert truth.log_weight(model, best.assignment) == truth.best
    assert best.energy == model.energy(best.assignment)
    assert best.lower <= -truth.best <= best.upper + 1e-15 * size

    shares = treewidth.marginals(model, plan=plan)
    for v in range(model.num_variables):
        np.testing.assert_allclose(
            shares.nodes[v], truth.table(model, np.array([v])), rtol=0, atol=1e-10
        )
    for f in range(model.num_factors):
        np.testing.assert_allclose(
            shares.edges[f], truth.table(model, model.scope(f)), rtol=0, atol=1e-10
        )
    states = treewidth.sample(model, 20, np.random.default_rng(7), plan=plan)
    assert np.all(model.log_weight(states) > -np.inf)


@pytest.mark.parametrize("seed", seeds(60, 200))
def test_random_factor_graphs(seed):
    rng = np.random.default_rng([1, seed])
    model = any_mrf(rng, max_variables=6)
    order = rng.permutation(model.num_variables) if rng.random() < 0.5 else None
    check_against_list(model, treewidth.plan_elimination(model, kind="clusters", order=order))


@pytest.mark.parametrize("seed", seeds(60, 150))
def test_random_binary_pairwise_models_on_a_frontier(seed):
    rng = np.random.default_rng([2, seed])
    model = any_mrf(rng, max_variables=9, max_arity=2, binary=True)
    order = rng.permutation(model.num_variables) if rng.random() < 0.5 else None
    plan = treewidth.plan_elimination(model, kind="frontier", order=order)
    check_against_list(model, plan)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.1, 1.0, 5.0, 50.0, 1e4])
def test_ising_models_at_all_temperatures(kind, beta, rng):
    for _ in range(10):
        n = int(rng.integers(2, 11))
        graph = nx.gnm_random_graph(n, int(rng.integers(1, 2 * n)), seed=int(rng.integers(1e6)))
        edges = np.array(graph.edges, dtype=int).reshape(-1, 2)
        model = IsingModel(
            edges, beta * rng.normal(size=len(edges)), beta * rng.normal(size=n), offset=beta / 3
        )
        truth = enumerate_states(model)
        plan = treewidth.plan_elimination(model, kind=kind)
        found = treewidth.log_partition(model, plan=plan)
        assert found.value == pytest.approx(truth.log_partition, rel=1e-11)
        assert found.lower <= truth.log_partition * (1 + 1e-15) + 1e-12
        shares = treewidth.marginals(model, plan=plan)
        # Listing log weights of size beta rounds probabilities by about beta * eps.
        slack = 1e-12 + 1e-14 * beta * n
        np.testing.assert_allclose(shares.nodes, truth.nodes, rtol=0, atol=slack)
        np.testing.assert_allclose(shares.edges, truth.edges, rtol=0, atol=slack)
        best = treewidth.ground_state(model, plan=plan)
        assert best.energy == pytest.approx(truth.energy, rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_distribution(kind, rng):
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)]
    model = IsingModel(edges, rng.normal(size=6), rng.normal(size=5) / 2)
    truth = enumerate_states(model)
    plan = treewidth.plan_elimination(model, kind=kind)
    states = treewidth.sample(model, 20_000, rng, plan=plan)
    codes = ((states > 0) @ (2 ** np.arange(4, -1, -1))).astype(int)
    seen = np.bincount(codes, minlength=32)
    # Pool the rarest states with the rarest usual one.
    group = np.maximum(np.argsort(np.argsort(-truth.probabilities)), 0)
    group = np.minimum(group, np.count_nonzero(truth.probabilities * 20_000 > 8) - 1)
    wanted = np.bincount(group, weights=truth.probabilities) * 20_000
    assert chisquare(np.bincount(group, weights=seen), wanted).pvalue > 1e-4


def test_samples_of_labels_follow_the_distribution(rng):
    table = rng.random((3, 2, 4)) * (rng.random((3, 2, 4)) < 0.8)
    model = MarkovRandomField([3, 2, 4], [((0, 1, 2), table)])
    states = treewidth.sample(model, 20_000, rng)
    codes = np.ravel_multi_index(tuple(states.T), (3, 2, 4))
    p = table.ravel() / table.sum()
    seen = np.bincount(codes, minlength=24)
    assert np.all(seen[p == 0] == 0)
    assert chisquare(seen[p > 0], 20_000 * p[p > 0]).pvalue > 1e-4


def transfer_matrix_log_partition(model: IsingModel, rows: int, columns: int) -> float:
    """Row by row with dense 2^columns matrices in logarithms; shares nothing with the kernel."""
    spins = 2 * ((np.arange(2**columns)[:, None] >> np.arange(columns)) & 1) - 1
    right = model.couplings[: rows * (columns - 1)].reshape(rows, columns - 1)
    down = model.couplings[rows * (columns - 1) :].reshape(rows - 1, columns)
    h = model.fields.reshape(rows, columns)

    def inside(r):
        return spins @ h[r] + (spins[:, 1:] * spins[:, :-1]) @ right[r]

    log = inside(0)
    for r in range(1, rows):
        across = (spins * down[r - 1]) @ spins.T
        log = inside(r) + np.logaddexp.reduce(log[:, None] + across, axis=0)
    return float(np.logaddexp.reduce(log))


@pytest.mark.parametrize(("rows", "columns", "beta"), [(9, 7, 1.0), (8, 9, 0.2), (12, 6, 8.0)])
def test_grids_with_fields_against_dense_transfer_matrices(rows, columns, beta, rng):
    model = IsingModel.from_image(
        beta * rng.normal(size=(rows, columns)),
        beta * rng.normal(size=(rows, columns - 1)),
        beta * rng.normal(size=(rows - 1, columns)),
    )
    truth = transfer_matrix_log_partition(model, rows, columns)
    for kind in KINDS:
        plan = treewidth.plan_elimination(model, kind=kind)
        assert treewidth.log_partition(model, plan=plan).value == pytest.approx(truth, rel=1e-12)
    assert treewidth.plan_elimination(model, kind="frontier").width == min(rows, columns)


def test_marginals_are_derivatives_of_the_log_partition_function(rng):
    model = IsingModel.from_image(
        rng.normal(size=(12, 12)), rng.normal(size=(12, 11)), rng.normal(size=(11, 12))
    )
    plan = treewidth.plan_elimination(model, kind="frontier")
    shares = treewidth.marginals(model, plan=plan)
    step = 1e-5
    for e in rng.integers(model.num_edges, size=4):
        up, down = model.couplings.copy(), model.couplings.copy()
        up[e] += step
        down[e] -= step
        slope = (
            treewidth.log_partition(model.with_couplings(up)).value
            - treewidth.log_partition(model.with_couplings(down)).value
        ) / (2 * step)
        assert 2 * shares.edges[e] - 1 == pytest.approx(slope, abs=1e-8)


def test_both_kinds_agree_on_a_wider_grid_at_low_temperature(rng):
    model = IsingModel.from_image(
        40 * rng.normal(size=(10, 10)), 40 * rng.normal(size=(10, 9)), 40 * rng.normal(size=(9, 10))
    )
    plans = [treewidth.plan_elimination(model, kind=kind) for kind in KINDS]
    one, two = (treewidth.marginals(model, plan=plan) for plan in plans)
    assert two.stats["wide_exponents"]
    np.testing.assert_allclose(one.nodes, two.nodes, rtol=0, atol=1e-11)
    np.testing.assert_allclose(one.edges, two.edges, rtol=0, atol=1e-11)
    energies = [treewidth.ground_state(model, plan=plan).energy for plan in plans]
    assert energies[0] == energies[1]
