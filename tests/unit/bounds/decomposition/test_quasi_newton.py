"""Quasi-Newton steps with looks at the clock, against SciPy's and at every deadline."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.clocks import StepClock
from planaris.bounds import pdc, trw
from planaris.budget import Budget, use_clock
from planaris.models import IsingModel
from planaris.reference import enumerate_states
from planaris.subgraphs import convex_combination
from planaris.subgraphs.quasi_newton import minimise_smooth


class Seen:
    """A sum of soft maxima, badly scaled; remembers its least value."""

    def __init__(self, seed: int, size: int = 30) -> None:
        rng = np.random.default_rng(seed)
        self.rows = rng.normal(size=(3 * size, size)) * np.exp(rng.normal(size=size))
        self.sides = rng.normal(size=3 * size)
        self.least, self.calls = np.inf, 0

    def __call__(self, x):
        self.calls += 1
        at = self.rows @ x - self.sides
        value = float(np.logaddexp(at, -at).sum())
        self.least = min(self.least, value)
        return value, self.rows.T @ np.tanh(at)


@pytest.mark.parametrize("seed", range(8))
def test_the_minimum_is_that_of_scipy(seed):
    mine, peer = Seen(seed), Seen(seed)
    start = np.random.default_rng(seed).normal(size=30)
    minimise_smooth(mine, start, 20, 500, after=lambda x: None)
    options = {"maxcor": 20, "ftol": 1e-14, "gtol": 1e-10, "maxiter": 2000}
    minimize(peer, start, jac=True, method="L-BFGS-B", options=options)
    assert mine.least == pytest.approx(peer.least, rel=1e-9)
    assert mine.calls < 2 * peer.calls


def test_regions_without_a_value_are_left():
    def barrier(x):
        if x[0] <= 0:
            return np.inf, x
        seen.append(float(1000 * x[0] - np.log(x[0])))
        return seen[-1], np.array([1000 - 1 / x[0]])

    seen: list[float] = []
    minimise_smooth(barrier, np.array([2.0]), 5, 100, after=lambda x: None)
    assert min(seen) == pytest.approx(1 + np.log(1000), abs=1e-9)


def test_steps_are_counted_and_every_look_may_be_the_last():
    points: list[np.ndarray] = []
    minimise_smooth(Seen(0), np.ones(30), 3, 4, after=points.append)
    assert len(points) == 4
    with use_clock(StepClock(10**6)) as clock:
        minimise_smooth(Seen(0), np.ones(30), 3, 4, after=lambda x: None, budget=Budget(1.0))
    assert clock.looks > 4 * 6  # more than one per pair of vectors
    for n in range(1, clock.looks):
        with use_clock(StepClock(n)), pytest.raises(TimeoutError):
            minimise_smooth(Seen(0), np.ones(30), 3, 4, after=lambda x: None, budget=Budget(1.0))


@pytest.mark.parametrize("bound", [trw, pdc])
def test_bounds_of_large_models_are_as_good(bound, monkeypatch, rng):
    edges = [(u, v) for u in range(8) for v in range(u)]
    for _ in range(3):
        model = IsingModel(edges, rng.normal(size=len(edges)), rng.normal(size=8))
        truth = enumerate_states(model).log_partition
        small = bound(model).upper
        with monkeypatch.context() as large:
            large.setattr(convex_combination, "LARGE", 0)
            found = bound(model).upper
        assert truth <= found <= small + 1e-3 * (1 + abs(truth))
