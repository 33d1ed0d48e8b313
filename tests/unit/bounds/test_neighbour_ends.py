"""Ends of marginals of labels against sums over all states."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from helpers.mrfs import random_mrf
from helpers.trials import seeds
from planaris.bounds.labels.neighbour_ends import with_neighbour_ends
from planaris.budget import Budget, use_clock
from planaris.errors import InfeasibleError
from planaris.result import Marginals


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_ends_hold_for_any_field(seed: int) -> None:
    """Labels, arities, empty and repeated scopes, zeros and strong tables."""
    rng = np.random.default_rng(seed)
    zeros, scale = (0.1 if seed % 3 == 0 else 0.0), float(rng.choice([0.1, 1.0, 30.0]))
    mrf = random_mrf(rng, max_labels=4, scale=scale, zeros=zeros)
    try:
        exact = pl.marginals(mrf, "treewidth")
    except InfeasibleError:
        return
    flat = [np.full_like(t, 1 / max(t.size, 1)) for t in exact.nodes]
    uniform = [np.full_like(np.asarray(t), 1 / np.asarray(t).size) for t in exact.edges]
    found = with_neighbour_ends(mrf, Marginals(nodes=flat, edges=uniform, method="trw"))
    slack = 2 * exact.error + 1e-14
    for tables, low, high, guess in (
        (exact.nodes, found.nodes_lower, found.nodes_upper, found.nodes),
        (exact.edges, found.edges_lower, found.edges_upper, found.edges),
    ):
        for t, a, b, x in zip(tables, low, high, guess, strict=True):
            assert np.all(a <= t + slack)
            assert np.all(t <= b + slack)
            assert np.all((a <= x) & (x <= b))
            assert abs(np.sum(x) - 1.0) <= 1e-12


def test_they_say_something_where_tables_are_weak() -> None:
    mrf = random_mrf(np.random.default_rng(1), min_labels=3, scale=0.05, min_arity=2, max_arity=2)
    guess = pl.marginals(mrf, "treewidth")
    found = with_neighbour_ends(mrf, guess)
    assert (
        max(np.max(b - a) for a, b in zip(found.nodes_lower, found.nodes_upper, strict=True)) < 0.3
    )


def test_estimates_of_labels_come_with_ends(ticking: None) -> None:
    rng = np.random.default_rng(2)
    side = 20
    factors = [((v,), rng.normal(size=3)) for v in range(side**2)]
    factors += [(e, rng.normal(size=(3, 3))) for e in pl.generate.square_lattice(side).edges]
    mrf = pl.MarkovRandomField([3] * side**2, factors, log=True)
    found = pl.marginals(mrf, time_limit=20.0)
    assert not found.exact
    assert found.nodes_lower is not None
    for a, x, b in zip(found.nodes_lower, found.nodes, found.nodes_upper, strict=True):
        assert np.all((a <= x) & (x <= b))


def test_ends_are_all_there_or_time_is_over() -> None:
    mrf = random_mrf(np.random.default_rng(3), min_labels=2, max_labels=3)
    guess = pl.marginals(mrf, "treewidth")
    whole = with_neighbour_ends(mrf, guess)
    looks = 0
    for n in range(1, 1000):
        with use_clock(StepClock(n)) as clock:
            budget = Budget(1.0)
            try:
                found = with_neighbour_ends(mrf, guess, budget)
            except TimeoutError:
                continue
        looks = clock.looks
        break
    assert looks > 4
    for a, b in zip(found.edges_lower, whole.edges_lower, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(found.nodes_upper, whole.nodes_upper, strict=True):
        np.testing.assert_array_equal(a, b)


def test_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mrf = random_mrf(np.random.default_rng(4), max_labels=3)
    guess = pl.marginals(mrf, "treewidth")
    whole = with_neighbour_ends(mrf, guess)
    monkeypatch.setattr("planaris.bounds.labels.neighbour_ends.FACTORS_AT_ONCE", 1)
    parts = with_neighbour_ends(mrf, guess)
    assert parts.error == whole.error
    for name in ("nodes", "edges", "nodes_lower", "nodes_upper", "edges_lower", "edges_upper"):
        for a, b in zip(getattr(parts, name), getattr(whole, name), strict=True):
            np.testing.assert_array_equal(a, b)
