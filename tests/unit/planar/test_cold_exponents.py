"""Cold planes, whose entries leave the range of doubles: blocks of them have exponents."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import planaris as pl
from helpers.trials import seeds
from planaris.budget import UNLIMITED, Budget
from planaris.planar.pfaffian import precision_ladder, single_model

STATES = np.array(list(itertools.product((1, -1), repeat=12)), dtype=np.int8)
KINDS = ("square", "triangular", "honeycomb")


def couplings_of(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return couplings of one of four kinds: few ties, many, or sizes that differ much."""
    kinds = [
        rng.normal(size=count),
        rng.choice([-3.0, -1.0, 1.0, 3.0, 1e-3], count),
        np.clip(rng.standard_cauchy(count), -50, 50),
        rng.choice([-1.0, 1.0, 0.0], count, p=[0.45, 0.45, 0.1]),
    ]
    return np.asarray(kinds[int(rng.integers(4))])


def both_routes(plan: pl.planar.Plan, couplings: np.ndarray) -> list[pl.LogPartition]:
    """Return what batches say, in the core, and what large models alone are asked."""
    alone = single_model.log_partition_of(plan.evaluator, couplings, UNLIMITED)
    return [plan.log_partition(couplings), alone]


def marginals_by_both_routes(plan: pl.planar.Plan, couplings: np.ndarray) -> list[pl.Marginals]:
    alone = single_model.marginals_of(plan.evaluator, couplings, UNLIMITED)
    return [plan.marginals(couplings), alone]


def is_clustered(plan: pl.planar.Plan, couplings: np.ndarray) -> bool:
    ladder = precision_ladder.attempts(plan.evaluator, couplings, UNLIMITED)
    return any(entries.order.clusters is not None for entries, _ in ladder)


@pytest.mark.parametrize("seed", seeds(60, 1000))
def test_small_models_against_all_states(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    edges = pl.generate.square_lattice(3, 4).edges
    model = pl.IsingModel(edges, 10 ** rng.uniform(2, 5) * couplings_of(rng, len(edges)))
    weights = -model.energy(STATES)
    expected = float(weights.max()) + math.log(math.fsum(np.exp(weights - weights.max())))
    for found in both_routes(pl.plan(model), model.couplings):
        slack = 1e-14 * float(np.abs(model.couplings).sum())  # of the energies above
        assert found.lower - slack <= expected <= found.upper + slack
        assert abs(found.value - expected) <= 1e-12 + 4 * slack


@pytest.mark.parametrize("seed", seeds(30, 1000))
def test_strips_against_elimination_of_spins(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    sides = int(rng.integers(3, 8)), int(rng.integers(8, 40))
    lattice = getattr(pl.generate, f"{KINDS[seed % 3]}_lattice")(*sides)
    leaves = [(int(v), lattice.num_vertices + k) for k, v in enumerate(rng.integers(0, 20, 4))]
    edges = np.vstack([lattice.edges, leaves])
    beta = 10 ** rng.uniform(2, 3.5)
    model = pl.IsingModel(edges, beta * couplings_of(rng, len(edges)))
    expected = pl.log_partition(model, "treewidth")
    for found in both_routes(pl.plan((model.num_spins, model.edges)), model.couplings):
        assert found.exact
        assert found.stats["precision"] == "double"
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper


@pytest.mark.parametrize("seed", seeds(8, 1000))
def test_pairs_of_doubles_against_elimination_of_spins(seed: int) -> None:
    """Where entries underflow as doubles, in double-double."""
    rng = np.random.default_rng([seed, 4])
    lattice = pl.generate.square_lattice(int(rng.integers(3, 8)), int(rng.integers(20, 60)))
    model = pl.IsingModel(
        lattice.edges, 10 ** rng.uniform(1, 3.5) * rng.choice([-1.0, 1.0], len(lattice.edges))
    )
    expected = pl.log_partition(model, "treewidth")
    evaluator = pl.plan(model).evaluator
    ladder = precision_ladder.attempts(evaluator, model.couplings, UNLIMITED)
    entries = next(found for found, wide in ladder if wide)
    assert entries.order.underflow
    single, two = (
        single_model.sum_pfaffians(evaluator, entries, wide=True, budget=Budget(threads=threads))[0]
        for threads in (1, 2)
    )
    assert single.log_value == two.log_value
    assert single.error <= 1e-10
    value = single.log_value + precision_ladder.log_constant(evaluator, entries)
    slack = 1e-14 * float(np.abs(model.couplings).sum())
    assert expected.lower - slack <= value <= expected.upper + slack


@pytest.mark.parametrize("seed", seeds(8, 100))
def test_large_models_against_double_double(seed: int) -> None:
    """With exponents of their own for all entries."""
    rng = np.random.default_rng([seed, 3])
    beta = 10 ** rng.uniform(2.5, 4)
    model = pl.generate.spin_glass(int(rng.integers(20, 40)), rng, beta=beta)
    plan = pl.plan(model)
    assert is_clustered(plan, model.couplings)
    *_, (entries, wide) = precision_ladder.attempts(plan.evaluator, model.couplings, UNLIMITED)
    assert wide
    assert entries.caps is None
    total, _ = single_model.sum_pfaffians(plan.evaluator, entries, wide=True, budget=UNLIMITED)
    for found in both_routes(plan, model.couplings):
        assert found.exact
        assert found.stats["precision"] == "double"
        assert found.excess == pytest.approx(total.log_value + math.log(2.0), abs=1e-10)


@pytest.mark.parametrize("seed", seeds(40, 1000))
def test_marginals_of_small_models_against_all_states(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    edges = pl.generate.square_lattice(3, 4).edges
    model = pl.IsingModel(edges, 10 ** rng.uniform(2, 4) * couplings_of(rng, len(edges)))
    weights = -model.energy(STATES)
    weights = np.exp(weights - weights.max())
    u, v = model.edges.T
    expected = (STATES[:, u] == STATES[:, v]).T @ weights / weights.sum()
    slack = 1e-14 * float(np.abs(model.couplings).sum())  # of the energies above
    for found in marginals_by_both_routes(pl.plan(model), model.couplings):
        assert np.abs(found.edges - expected).max() <= found.error + slack


@pytest.mark.parametrize("seed", seeds(20, 1000))
def test_marginals_of_strips_against_elimination_of_spins(seed: int) -> None:
    rng = np.random.default_rng([seed, 6])
    sides = int(rng.integers(3, 8)), int(rng.integers(8, 60))
    lattice = getattr(pl.generate, f"{KINDS[seed % 3]}_lattice")(*sides)
    leaves = [(int(v), lattice.num_vertices + k) for k, v in enumerate(rng.integers(0, 20, 4))]
    edges = np.vstack([lattice.edges, leaves])
    model = pl.IsingModel(edges, 10 ** rng.uniform(2, 3.5) * couplings_of(rng, len(edges)))
    expected = pl.marginals(model, "treewidth")
    plan = pl.plan((model.num_spins, model.edges))
    for found in marginals_by_both_routes(plan, model.couplings):
        assert np.abs(found.edges - expected.edges).max() <= found.error + expected.error
        assert found.error <= 1e-9


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_marginals_of_large_models_against_double_double(seed: int) -> None:
    """Of the model itself; sizes of couplings and ties of all kinds, several clusters in most."""
    rng = np.random.default_rng([seed, 7])
    lattice = pl.generate.square_lattice(int(rng.integers(24, 50)))
    couplings = rng.normal(size=len(lattice.edges))
    if seed % 3 == 2:
        couplings = rng.choice([-3.0, -1.0, 1.0, 2.0, 1e-3], len(couplings))
    model = pl.IsingModel(lattice.edges, 10 ** rng.uniform(2.5, 4) * couplings)
    plan = pl.plan(model)
    *_, (entries, _) = precision_ladder.attempts(plan.evaluator, model.couplings, UNLIMITED)
    entries = entries.unrounded()
    uncut, residual, _ = single_model.uncut_probabilities(
        plan.evaluator, entries, wide=True, budget=UNLIMITED
    )
    agree = precision_ladder.agreements(plan.evaluator, entries.spins)
    expected = np.where(agree, uncut[: model.num_edges], 1 - uncut[: model.num_edges])
    assert residual <= 1e-12
    for found in marginals_by_both_routes(plan, model.couplings):
        assert np.abs(found.edges - expected).max() <= found.error + residual
        assert found.error <= 1e-10


def test_marginals_do_not_depend_on_threads_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pl.generate.spin_glass(40, np.random.default_rng(4))
    plan = pl.plan(model)
    rows = np.outer([100.0, 1000.0, 10.0], model.couplings)
    batch = plan.marginals(rows)
    for k, row in enumerate(rows):
        assert np.array_equal(plan.marginals(row, threads=2).edges, batch[k].edges)
    monkeypatch.setattr("planaris.planar.pfaffian.evaluator.MOST_WORK", 1.0)
    first, *others = (plan.marginals(rows[1], threads=t).edges for t in (1, 2, 3))
    assert all(np.array_equal(first, other) for other in others)


def test_bits_do_not_depend_on_threads_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pl.generate.spin_glass(40, np.random.default_rng(4))
    plan = pl.plan(model)
    rows = np.outer([100.0, 1000.0, 10.0], model.couplings)
    batch = plan.log_partition(rows)
    for k, row in enumerate(rows):
        assert {plan.log_partition(row, threads=t).value for t in (1, 2, 3)} == {batch[k].value}
    monkeypatch.setattr("planaris.planar.pfaffian.evaluator.MOST_WORK", 1.0)
    assert len({plan.log_partition(rows[1], threads=t).value for t in (1, 2, 3)}) == 1
