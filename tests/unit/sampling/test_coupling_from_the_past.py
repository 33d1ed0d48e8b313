"""Coupling from the past against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.errors import ModelError
from planaris.reference import enumerate_states
from planaris.sampling import bound_probabilities


def test_bounds_hold_the_exact_probabilities(rng):
    fields = 0.5 * rng.standard_normal((3, 4))
    right, down = rng.random((3, 3)), rng.random((2, 4))
    model = pl.IsingModel.from_image(fields, right, down)
    exact = enumerate_states(model).nodes.reshape(3, 4)
    low, high = bound_probabilities(fields, right, down, num_samples=1500, seed=3)
    np.testing.assert_array_equal(low, high)  # small: all chains meet
    np.testing.assert_allclose(low, exact, atol=5 * 0.5 / 1500**0.5)
    short = bound_probabilities(fields, right, down, num_samples=1500, seed=3, max_sweeps=4)
    assert np.all(short[0] <= low)
    assert np.all(low <= short[1])


def test_strong_couplings_stay_open():
    low, high = bound_probabilities(np.zeros((6, 6)), np.full((6, 5), 9.0), np.full((5, 6), 9.0))
    np.testing.assert_array_equal(low, 0.0)
    np.testing.assert_array_equal(high, 1.0)


def test_progress_never_goes_back():
    told = []
    cold = np.full((6, 5), 9.0), np.full((5, 6), 9.0)  # chains that do not meet
    bound_probabilities(np.zeros((6, 6)), *cold, max_sweeps=64, progress=told.append)
    assert told == sorted(told)
    assert 0 <= told[0] < 0.05
    assert 0.9 < told[-1] <= 1


def test_negative_couplings_are_refused():
    with pytest.raises(ModelError, match="negative"):
        bound_probabilities(np.zeros((1, 2)), np.array([[-1.0]]), np.zeros((0, 2)))
