"""Systems of Newton steps against dense elimination with pivots."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from helpers.clocks import StepClock
from planaris.bounds.entropy import newton_systems
from planaris.bounds.entropy.newton_systems import NewtonSystems
from planaris.budget import Budget, use_clock


def definite(rng: np.random.Generator, size: int, density: float) -> scipy.sparse.csr_array:
    chosen = rng.random((size, size)) < density
    signed = scipy.sparse.csr_array(np.where(chosen, rng.uniform(-1.0, 1.0, (size, size)), 0.0))
    grown = scipy.sparse.diags_array(np.exp(3 * rng.normal(size=size)))
    return scipy.sparse.csr_array(grown @ (signed.T @ signed) @ grown + grown @ grown)


@pytest.mark.parametrize("size", [1, 119, 121, 400])
@pytest.mark.parametrize("density", [0.0, 0.002, 0.05])
@pytest.mark.parametrize("most", [0, 1000])
def test_systems_are_solved(rng, size, density, most, monkeypatch):
    monkeypatch.setattr(newton_systems, "MOST_PER_COLUMN", most)  # orders of either kind
    monkeypatch.setattr(newton_systems, "MOST_ENTRIES", 0)
    systems = NewtonSystems()
    for matrix in (definite(rng, size, density), definite(rng, size, 2 * density)):
        for factor in (1.0, 0.1):  # the same pattern again
            wanted = rng.normal(size=size)
            found = systems.solve(factor * matrix, factor * (matrix @ wanted), Budget())
            again = np.linalg.solve(matrix.toarray(), matrix @ wanted)
            np.testing.assert_allclose(
                found, wanted, rtol=1e-6, atol=10 * np.abs(again - wanted).max() + 1e-8
            )


def test_deadlines_and_memory_end_sparse_systems(rng, monkeypatch):
    monkeypatch.setattr(newton_systems, "MOST_PER_COLUMN", 0)
    monkeypatch.setattr(newton_systems, "MOST_ENTRIES", 0)
    matrix, side = definite(rng, 200, 0.02), np.ones(200)
    with use_clock(StepClock(10**9)) as clock:
        NewtonSystems().solve(matrix, side, Budget(1.0))
    assert clock.looks > 200
    for n in np.linspace(2, clock.looks - 1, 10).astype(int).tolist():
        with use_clock(StepClock(n)):
            budget = Budget(1.0)
            with pytest.raises(TimeoutError):
                NewtonSystems().solve(matrix, side, budget)
    with pytest.raises(OverflowError):
        NewtonSystems().solve(matrix, side, Budget(memory_limit=100))


def test_numbers_that_are_not_finite_are_refused():
    for size in (3, 150):
        matrix = scipy.sparse.csr_array(np.diag(np.full(size, np.nan)))
        with pytest.raises(FloatingPointError):
            NewtonSystems().solve(matrix, np.ones(size), Budget())
