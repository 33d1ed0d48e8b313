"""Cold planes by capped and locked models: nothing of weight is lost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from helpers.cold_glasses import STATES, cold_model, log_weights, no_other
from planaris.budget import UNLIMITED
from planaris.planar.ground_state import gauge_spins
from planaris.planar.pfaffian import (
    capped_moats,
    entries,
    locked_spins,
    precision_ladder,
    sampling,
    single_model,
)


@pytest.mark.parametrize("seed", range(12))
def test_capped_models_lower_no_weight(seed: int) -> None:
    model = cold_model(seed)
    evaluator = pl.plan(model).evaluator
    spins, unsatisfied = gauge_spins(evaluator.embedding, model.couplings)
    bare = precision_ladder._entries(evaluator, model.couplings, spins)
    true = log_weights(model)
    for cap in (0.0, 0.3, 1.0, 100.0):
        faces = evaluator.embedding.dual_edges
        found, values = capped_moats.capped(bare, unsatisfied.certificate, faces, cap, no_other)
        assert values.max(initial=0.0) <= cap
        u, v = model.edges.T
        couplings = found.gauged[: model.num_edges] * spins[u] * spins[v]
        capped = log_weights(pl.IsingModel(model.edges, couplings))
        assert np.all(capped >= true - 1e-9)
        assert np.all(capped[true > -1e-9] >= -1e-9)
        if cap == 100.0:
            assert np.allclose(capped, true, atol=1e-9)


@pytest.mark.parametrize("beta", [40.0, 1000.0, 5000.0])
def test_every_attempt_has_the_value_of_all_states(beta: float) -> None:
    capped_wide = 0
    for seed in range(12):
        model = cold_model(seed, beta)
        evaluator = pl.plan(model).evaluator
        expected = float(np.log(np.exp(log_weights(model)).sum() / 2))
        ways = list(precision_ladder.attempts(evaluator, model.couplings, UNLIMITED))
        capped_wide += sum(wide and found.caps is not None for found, wide in ways)
        for found, wide in ways:
            total, _ = single_model.sum_pfaffians(evaluator, found, wide=wide, budget=UNLIMITED)
            # Couplings are rounded doubles: so are energies relative to the ground state.
            assert abs(total.log_value - expected) <= 1e-12 + 1e-14 * beta
    assert capped_wide > 6 or beta < 100.0


def locked_by_mistake(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> tuple[pl.IsingModel, entries.Entries, locked_spins.LockedSpins | None]:
    """Lock edges of one model that are not cut in two cases of three."""
    monkeypatch.setattr(locked_spins, "LOCKED", 1 / 3)
    monkeypatch.setattr(locked_spins, "LARGEST_PART", 1.0)
    model = cold_model(seed, 1.0)
    evaluator = pl.plan(model).evaluator
    found = precision_ladder.ordered_entries(evaluator, model.couplings, UNLIMITED, slack=1.0)
    locked = single_model.locked_spins(evaluator, found, UNLIMITED, wide=False)
    return model, found, locked


def test_the_probability_that_locked_edges_are_cut_is_that_of_all_states(monkeypatch) -> None:
    monkeypatch.setattr(single_model, "MARGINAL_ERROR", math.inf)
    seen = set()
    for seed in range(12):
        model, found, locked = locked_by_mistake(monkeypatch, seed)
        assert locked is not None
        weights = np.exp(log_weights(model))
        lowest = STATES[weights.argmax()]
        inside = model.edges[locked.link_of == -1]
        equal = np.prod((STATES * lowest)[:, inside], axis=2) > 0
        kept = float(weights[equal.all(axis=1)].sum() / weights.sum())
        # The ground state need not be the one that was found first; all weigh the same.
        if np.count_nonzero(weights == weights.max()) == 2:
            evaluator = pl.plan(model).evaluator
            loss = single_model.loss_of(locked, evaluator, found, UNLIMITED)
            assert abs(loss + math.log(kept)) <= 1e-10
            each = weights @ ~equal / weights.sum()
            assert abs(locked.cut - each.sum()) <= 1e-10
            assert 1 - kept <= locked.cut + 1e-10
            seen.add(kept > 0.999)
    assert False in seen


def test_edges_that_are_cut_are_not_locked(monkeypatch) -> None:
    assert all(locked_by_mistake(monkeypatch, seed)[2] is None for seed in range(12))


def test_where_many_roundings_add_up_locked_spins_are_checked_by_the_weights(monkeypatch) -> None:
    model = pl.generate.spin_glass(12, np.random.default_rng(3), beta=300.0)
    evaluator = pl.plan(model).evaluator
    found, wide = next(precision_ladder.attempts(evaluator, model.couplings, UNLIMITED))
    whole, by_weights = single_model.loss_of, []

    def noted(*args):
        by_weights.append(whole(*args))
        return by_weights[-1]

    monkeypatch.setattr(single_model, "loss_of", noted)
    assert single_model.locked_spins(evaluator, found, UNLIMITED, wide=wide) is not None
    assert not by_weights
    lock = single_model.lock
    monkeypatch.setattr(single_model, "lock", lambda *args: replace(lock(*args), cut=1.0))
    assert single_model.locked_spins(evaluator, found, UNLIMITED, wide=wide) is not None
    assert 0 <= by_weights[0] <= 1e-9


def test_samples_of_spins_that_the_model_itself_shows_to_be_locked(monkeypatch) -> None:
    cut_sampler, locks, asked = sampling._cut_sampler, sampling.locked_spins, []

    def none_of_all(evaluator, found, **options):
        return None if evaluator.num_spins == 12 else cut_sampler(evaluator, found, **options)

    def wide_ones(evaluator, found, budget, *, wide):
        asked.append(wide)
        return locks(evaluator, found, budget, wide=wide) if wide else None

    monkeypatch.setattr(sampling, "_cut_sampler", none_of_all)
    monkeypatch.setattr(sampling, "locked_spins", wide_ones)
    for seed in (1, 5, 7):
        model = cold_model(seed, 40.0)
        evaluator = pl.plan(model).evaluator
        size, rng = 400, np.random.default_rng(seed)
        drawn = sampling._draw_model(evaluator, model.couplings, size, rng, UNLIMITED)
        weights = np.exp(log_weights(model))
        u, v = model.edges.T
        equal = (STATES[:, u] == STATES[:, v]).T @ weights / weights.sum()
        seen = (drawn[:, u] == drawn[:, v]).mean(axis=0)
        assert np.all(np.abs(seen - equal) <= 6 * np.sqrt(equal * (1 - equal) / size) + 1e-9)
    assert True in asked


@pytest.mark.parametrize(("cap", "rounds"), [(0.7, 1000), (0.7, 2), (0.1, 1)])
def test_samples_of_capped_models_are_rejected_into_the_right_distribution(
    cap: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = cold_model(3, 1.5)
    monkeypatch.setattr(precision_ladder, "MODERATE_COUPLING", 0.0)
    monkeypatch.setattr(precision_ladder, "WEAK_COUPLING", 0.0)
    for module in (capped_moats, precision_ladder):
        monkeypatch.setattr(module, "MOST_REJECTED", math.inf)
    monkeypatch.setattr(precision_ladder, "SAMPLE_CAPS", (cap,))
    monkeypatch.setattr(sampling, "MOST_ROUNDS", rounds)
    rejections = []
    whole = sampling._rejected

    def counted(*args):
        found = whole(*args)
        rejections.append(len(found))
        return found

    monkeypatch.setattr(sampling, "_rejected", counted)
    size = 8000
    drawn = pl.plan(model).sample(model.couplings, size, 5)
    assert sum(rejections) > size / 20
    expected = np.exp(log_weights(model))
    expected *= size / expected.sum()
    count = np.zeros(len(STATES))
    np.add.at(count, ((drawn < 0) @ (1 << np.arange(11, -1, -1))).astype(int), 1)
    large = expected >= 8
    chi = float(((count - expected)[large] ** 2 / expected[large]).sum())
    degrees = int(large.sum())
    assert chi <= degrees + 5 * math.sqrt(2 * degrees)
    rest = expected[~large].sum()
    assert abs(count[~large].sum() - rest) <= 5 * math.sqrt(rest + 1)


@pytest.mark.parametrize("beta", [80.0, 300.0, 5000.0])
def test_cold_samples_of_locked_spins_are_as_likely_as_they_should_be(beta: float) -> None:
    rng = np.random.default_rng(7)
    lattice = pl.generate.square_lattice(30)
    model = pl.IsingModel(lattice.edges, beta * rng.normal(size=len(lattice.edges)))
    plan = pl.plan(model)
    equal = plan.marginals(model.couplings).edges
    drawn = plan.sample(model.couplings, 400, rng)
    u, v = model.edges.T
    seen = (drawn[:, u] == drawn[:, v]).mean(axis=0)
    spread = np.sqrt(equal * (1 - equal) / 400)
    assert np.all(np.abs(seen - equal) <= 6 * spread + 0.01)


@pytest.mark.parametrize("most_work", [1.0, 1e9])
@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0, 6.0, 100.0])
def test_the_excess_is_that_above_a_ground_state(
    beta: float, most_work: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planaris.planar.pfaffian.evaluator.MOST_WORK", most_work)
    model = pl.generate.spin_glass(20, np.random.default_rng(1))
    found = pl.plan(model).log_partition(beta * model.couplings)
    above = found.value + beta * pl.ground_state(model).energy
    assert found.excess is None or found.excess == pytest.approx(above, abs=1e-8)
