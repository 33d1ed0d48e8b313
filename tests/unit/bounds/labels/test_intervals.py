"""Intervals for models with many labels, large factors and zeros, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.mrfs import list_all, random_mrf, random_pairwise_mrf
from planaris.bounds import best_interval as module
from planaris.bounds import interval, mean_field, trw
from planaris.bounds.labels.cutset_sums import ConditionedSum, find_cutset
from planaris.bounds.labels.mini_buckets import elimination_order, mini_bucket_bound
from planaris.budget import Budget
from planaris.errors import MethodError
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.convert import ising2mrf


def random_field(rng: np.random.Generator) -> MarkovRandomField:
    """Up to three labels and factors of one to three variables, a third of their entries zero."""
    n = int(rng.integers(2, 8))
    return random_mrf(
        rng,
        num_variables=n,
        num_factors=int(rng.integers(1, 2 * n)),
        min_arity=1,
        max_arity=3,
        scale=2.0,
        zeros=float(rng.choice([0.0, 0.3])),
    )


@pytest.mark.parametrize("seed", range(40))
def test_mini_buckets_bound_from_above(seed: int) -> None:
    rng = np.random.default_rng([21, seed])
    mrf = random_field(rng)
    truth = list_all(mrf).log_partition
    order = elimination_order(mrf)
    for entries in (1, 3, 9, 27, 10**6):
        found = mini_bucket_bound(mrf, order, entries)
        assert found.upper >= truth - 1e-12 * (1 + abs(truth)) or truth == -math.inf
    assert found.splits == 0
    if truth == -math.inf:
        assert found.upper == -math.inf
    else:
        assert found.upper == pytest.approx(truth, abs=1e-9)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("seed", range(20))
def test_intervals_without_exact_routes_hold(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng([22, seed])
    mrf = random_field(rng)
    truth = list_all(mrf).log_partition
    monkeypatch.setattr(module, "EXACT_SHARE", -1.0)
    monkeypatch.setattr("planaris.bounds.labels.intervals.BUCKET_ENTRIES", (4, 16))
    found = interval(mrf, 0.2)
    slack = 1e-12 * (1 + abs(truth)) if truth > -math.inf else 0.0
    assert found.lower <= truth + slack
    assert found.upper >= truth - slack


def test_conditioned_sums_climb_to_the_truth(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    mrf = MarkovRandomField(
        [3] * 5,
        [((u, v), np.exp(rng.normal(size=(3, 3)))) for u in range(5) for v in range(u)],
    )
    monkeypatch.setattr("planaris.bounds.labels.cutset_sums.MAX_TERM_SECONDS", 4e-6)
    assert len(find_cutset(mrf)) > 0
    total = ConditionedSum(mrf, np.zeros(5, dtype=np.int64))
    first = total.lower
    total.walk(Budget(), 10**6, rng)
    truth = list_all(mrf).log_partition
    assert first < total.lower <= truth
    assert total.lower == pytest.approx(truth, abs=1e-6)


@pytest.mark.usefixtures("ticking")
def test_a_model_without_states_is_minus_infinity(monkeypatch: pytest.MonkeyPatch) -> None:
    mrf = MarkovRandomField([2, 2], [((0, 1), np.eye(2)), ((0, 1), 1 - np.eye(2))])
    assert interval(mrf).upper == -math.inf
    monkeypatch.setattr(module, "EXACT_SHARE", -1.0)
    found = interval(mrf, 0.2)
    assert found.lower == -math.inf


@pytest.mark.parametrize("seed", range(60))
def test_trees_and_mean_field_of_many_labels_hold_at_every_stop(seed: int) -> None:
    rng = np.random.default_rng([23, seed])
    mrf = random_pairwise_mrf(rng, zeros=0.2 if seed % 3 == 0 else 0.0)
    truth = list_all(mrf).log_partition
    slack = 1e-12 * (1 + abs(truth)) if truth > -math.inf else 0.0
    seen: list[float] = []
    for steps in (0, 1, 2, 5, 60):
        found = trw(mrf, max_iterations=steps, callback=seen.append)
        assert found.upper >= truth - slack
    assert min(seen) >= truth - slack
    if not mrf.has_zeros:
        for sweeps in (0, 1, 2, 200):
            assert mean_field(mrf, max_sweeps=sweeps).lower <= truth + slack
    else:
        with pytest.raises(MethodError, match="without zeros"):
            mean_field(mrf)


def test_trees_of_labels_and_of_spins_agree(rng: np.random.Generator) -> None:
    """A model with two labels, by both routes."""
    edges = [(u, v) for u in range(5) for v in range(u)]
    model = IsingModel(edges, rng.normal(size=10), rng.normal(size=5))
    assert trw(ising2mrf(model)[0]).upper == pytest.approx(trw(model).upper, abs=2e-3)


def test_a_tree_with_many_labels_is_exact(rng: np.random.Generator) -> None:
    tables = [((0, 1), rng.random((3, 4))), ((2, 1), rng.random((2, 4))), ((0,), rng.random(3))]
    mrf = MarkovRandomField([3, 4, 2], tables)
    assert trw(mrf).upper == pytest.approx(list_all(mrf).log_partition, abs=1e-9)
