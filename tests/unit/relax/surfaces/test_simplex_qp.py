"""Quadratic programs over the simplex against their optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest

from planaris.relax.surfaces.simplex_qp import minimize_over_simplex


@pytest.mark.parametrize("seed", range(40))
def test_optimality_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, rank = int(rng.integers(1, 30)), int(rng.integers(0, 12))
    factor = rng.integers(-1, 2, (count, rank)) if seed % 2 else rng.normal(size=(count, rank))
    hessian, linear = 10.0 ** rng.integers(-6, 3) * factor @ factor.T, rng.normal(size=count)
    if seed % 5 == 0:
        linear[:] = 0.0
    found = minimize_over_simplex(hessian, linear)
    slope = hessian @ found + linear
    size = np.abs(hessian).max(initial=0.0) + np.abs(linear).max()
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0)
    assert slope.min() >= slope @ found - 1e-8 * size


def test_equal_columns() -> None:
    found = minimize_over_simplex(np.ones((4, 4)), np.array([1.0, 0.0, 0.0, 2.0]))
    assert found[1] + found[2] == pytest.approx(1.0)
