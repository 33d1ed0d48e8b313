"""Caps raise weights of excited states, and there may be very many of these: that is bounded."""

from __future__ import annotations

import math

import numpy as np
import pytest

import planaris as pl
from helpers.cold_glasses import STATES, cold_model, log_weights, no_other
from helpers.trials import seeds
from planaris.budget import UNLIMITED
from planaris.planar.ground_state import gauge_spins
from planaris.planar.pfaffian import capped_moats, estimate, precision_ladder, single_model

LARGE = 60
"""Rows of triangular lattices of which 2^3600 states outweigh what caps of 12 take from them."""


def antiferromagnet(beta: float, rows: int = LARGE) -> tuple[pl.planar.Plan, np.ndarray]:
    lattice = pl.generate.triangular_lattice(rows)
    return pl.plan(lattice), np.full(len(lattice.edges), -beta)


def from_single(plan: pl.planar.Plan, couplings: np.ndarray) -> list[pl.LogPartition]:
    """Return log Z from the core, and by the way of large models."""
    alone = single_model.log_partition_of(plan.evaluator, couplings, UNLIMITED)
    return [plan.log_partition(couplings), alone]


@pytest.mark.parametrize("beta", [1e3, 1e4])
def test_antiferromagnets_of_one_ground_state(beta: float) -> None:
    """A parallelogram has one tiling by lozenges: two triangles share an unsatisfied edge.

    All other states lie above it by 2 beta at least, and there are fewer than 2^3600 of them. With
    caps of 12 these weigh e^467 times as much as the ground state.
    """
    plan, couplings = antiferromagnet(beta)
    expected = math.log(2.0) + beta * (len(couplings) - 2 * (LARGE - 1) ** 2)
    for found in from_single(plan, couplings):
        assert found.lower <= expected <= found.upper
        assert found.exact
        assert found.excess == pytest.approx(math.log(2.0), abs=1e-9)


@pytest.mark.parametrize(("rows", "columns", "beta"), [(10, 200, 300.0), (12, 60, 2000.0)])
def test_strips_of_antiferromagnets_against_elimination_of_spins(
    rows: int, columns: int, beta: float
) -> None:
    """With caps of 12 excitations weigh e^26 and e^5 times as much as the ground state."""
    lattice = pl.generate.triangular_lattice(rows, columns)
    couplings = np.full(len(lattice.edges), -beta)
    expected = pl.log_partition(pl.IsingModel(lattice.edges, couplings), "treewidth")
    for found in from_single(pl.plan(lattice), couplings):
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper


def test_marginals_of_antiferromagnets_of_one_ground_state() -> None:
    plan, couplings = antiferromagnet(1e4)
    spins = plan.ground_states(couplings[None]).spins[0]
    u, v = plan.embedding.edges.T
    alone = single_model.marginals_of(plan.evaluator, couplings, UNLIMITED)
    for found in (plan.marginals(couplings), alone):
        assert np.abs(found.edges - (spins[u] == spins[v])).max() <= found.error
        assert found.error <= 1e-9


def test_samples_of_antiferromagnets_of_one_ground_state() -> None:
    plan, couplings = antiferromagnet(1e4, 30)
    spins = plan.ground_states(couplings[None]).spins[0]
    drawn = plan.sample(couplings, 2, 1)  # caps of 3 would reject all
    assert np.all(drawn * drawn[:, :1] == spins * spins[0])


@pytest.mark.parametrize("cap", [0.1, 0.4, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(12))
def test_lower_caps_raise_the_weights_that_caps_raise(seed: int, cap: float) -> None:
    model = cold_model(seed)
    evaluator = pl.plan(model).evaluator
    spins, unsatisfied = gauge_spins(evaluator.embedding, model.couplings)
    bare = precision_ladder._entries(evaluator, model.couplings, spins)
    faces, u, v = evaluator.embedding.dual_edges, *model.edges.T
    found, values = capped_moats.capped(bare, unsatisfied.certificate, faces, cap, no_other)
    if found.caps is None:
        assert found is bare
        assert values.max(initial=0.0) <= cap
        return
    true, step = log_weights(model), cap / 4

    def weights(gauged: np.ndarray) -> np.ndarray:
        couplings = gauged[: model.num_edges] * spins[u] * spins[v]
        return log_weights(pl.IsingModel(model.edges, couplings))

    capped = weights(found.gauged)
    lower = weights(found.gauged - step * found.caps.slope)
    assert np.all(lower >= capped - 1e-9)
    raised = capped > true + 1e-9
    assert np.all((lower - capped)[raised] >= 4 * step - 1e-9)
    probability = float(np.exp(capped)[raised].sum() / np.exp(capped).sum())
    ratio = float(np.logaddexp.reduce(lower) - np.logaddexp.reduce(capped))
    bound = capped_moats.cap_loss(ratio, step)
    assert probability <= bound + 1e-12
    gain = float(np.logaddexp.reduce(capped) - np.logaddexp.reduce(true))
    assert gain + 1e-12 >= 0
    assert bound >= 1 or gain <= -math.log1p(-bound) + 1e-12


@pytest.mark.parametrize("beta", [600.0, 5000.0])
@pytest.mark.parametrize("cap", [0.05, 0.5, 2.0])
def test_whatever_the_first_cap_is(cap: float, beta: float, monkeypatch) -> None:
    """What is stated of the first is true, and larger ones follow until it is no longer felt."""
    monkeypatch.setattr(precision_ladder, "CLUSTERED_CAP", cap)
    felt = 0
    for seed in range(12):
        model = cold_model(seed, beta)
        evaluator = pl.plan(model).evaluator
        weights = log_weights(model)
        expected = float(np.log(np.exp(weights).sum() / 2))
        slack = 1e-12 + 1e-14 * beta
        for entries, wide in precision_ladder.attempts(evaluator, model.couplings, UNLIMITED):
            one = estimate.estimate_log_pfaffian(
                evaluator.elimination, entries, signed=False, wide=wide, budget=UNLIMITED
            )
            felt += one.is_spoilt_by_caps
            value = one.pfaffian.log_magnitude
            assert value - one.error - slack <= expected <= value + one.rounding + slack
            total, _ = single_model.sum_pfaffians(evaluator, entries, wide=wide, budget=UNLIMITED)
            assert abs(total.log_value - expected) <= total.error + slack
            assert total.error <= 1e-11
        u, v = model.edges.T
        equal = (STATES[:, u] == STATES[:, v]).T @ np.exp(weights) / np.exp(weights).sum()
        found = single_model.marginals_of(evaluator, model.couplings, UNLIMITED)
        assert np.abs(found.edges - equal).max() <= found.error + slack
        assert found.error <= 1e-10
    assert felt or cap == 2.0


@pytest.mark.parametrize("seed", seeds(6, 200))
def test_strips_with_small_caps_against_elimination_of_spins(seed: int, monkeypatch) -> None:
    monkeypatch.setattr(precision_ladder, "CLUSTERED_CAP", [0.2, 1.0, 3.0][seed % 3])
    rng = np.random.default_rng([seed, 11])
    kind = ("square", "triangular", "honeycomb")[seed % 3]
    lattice = getattr(pl.generate, f"{kind}_lattice")(
        int(rng.integers(3, 8)), int(rng.integers(8, 40))
    )
    sizes = [rng.normal(size=len(lattice.edges)), rng.choice([-3, -1, 1, 2], len(lattice.edges))]
    model = pl.IsingModel(lattice.edges, 10 ** rng.uniform(2, 3.5) * sizes[seed % 2])
    evaluator = pl.plan((model.num_spins, model.edges)).evaluator
    expected = pl.log_partition(model, "treewidth")
    found = single_model.log_partition_of(evaluator, model.couplings, UNLIMITED)
    assert found.exact
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    marginals = single_model.marginals_of(evaluator, model.couplings, UNLIMITED)
    equal = pl.marginals(model, "treewidth")
    assert np.abs(marginals.edges - equal.edges).max() <= marginals.error + equal.error
