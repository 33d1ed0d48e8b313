"""Minimisation with bounds against optimality conditions and another solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.trials import seeds
from planaris.relax.sdp.projected_lbfgs import minimize_projected


@pytest.mark.parametrize("seed", seeds(5, 12))
def test_as_another_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    factor, target = rng.normal(size=(count + 3, count)), rng.normal(size=count + 3)
    bounded = rng.random(count) < 0.6

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        miss = factor @ x - target
        return float(miss @ miss + np.logaddexp(0.0, x).sum()), 2 * factor.T @ miss + 1 / (
            1 + np.exp(-x)
        )

    start = rng.normal(size=count)
    found = minimize_projected(function, start, bounded, iterations=2000)
    limits = [(0.0, None) if mark else (None, None) for mark in bounded]
    other = minimize(function, np.zeros(count), jac=True, method="L-BFGS-B", bounds=limits)
    assert np.all(found[bounded] >= 0)
    assert function(found)[0] == pytest.approx(other.fun, rel=1e-5, abs=1e-6)


def test_it_stops_when_told() -> None:
    points: list[np.ndarray] = []

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        points.append(x)
        return float(x @ x), 2 * x

    minimize_projected(
        function, np.ones(3), np.zeros(3, dtype=bool), iterations=50, stop=lambda: True
    )
    assert len(points) == 1


def test_it_never_goes_up() -> None:
    values: list[float] = []
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-1, 1, 30)

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        values.append(float(scale @ (x - 1.0) ** 2))
        return values[-1], 2 * scale * (x - 1.0)

    found = minimize_projected(function, np.zeros(30), np.ones(30, dtype=bool), iterations=400)
    assert float(scale @ (found - 1.0) ** 2) == min(values)
    assert min(values) < 1e-6
