"""Coupling from the past against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import planaris as pl
from planaris.cuts import is_submodular
from planaris.errors import MethodError, ModelError, TimeLimitError
from planaris.reference import enumerate_states
from planaris.sampling import bound_probabilities, sample


def balanced(rng: np.random.Generator, n: int, num_edges: int, scale: float) -> pl.IsingModel:
    """Return a model whose couplings some flips make positive, parallel edges among them."""
    edges = np.array([rng.choice(n, 2, replace=False) for _ in range(num_edges)], dtype=np.int32)
    signs = rng.choice([-1, 1], n)
    couplings = scale * rng.random(num_edges) * signs[edges[:, 0]] * signs[edges[:, 1]]
    couplings[0] = 0.0
    return pl.IsingModel(edges.reshape(-1, 2), couplings, fields=rng.normal(size=n))


def image_model(fields: np.ndarray, coupling: float) -> pl.IsingModel:
    rows, columns = fields.shape
    right, down = np.full((rows, columns - 1), coupling), np.full((rows - 1, columns), coupling)
    return pl.IsingModel.from_image(fields, right, down)


def assert_follows(model: pl.IsingModel, states: np.ndarray) -> None:
    codes = (states > 0) @ (1 << np.arange(model.num_spins - 1, -1, -1))
    expected = enumerate_states(model).probabilities * len(states)
    counts = np.bincount(codes, minlength=len(expected))
    many = expected > 5
    counts = np.append(counts[many], counts[~many].sum())
    wanted = np.append(expected[many], max(expected[~many].sum(), 1e-9))
    assert chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_samples_follow_boltzmann(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = balanced(rng, int(rng.integers(3, 8)), 12, float(rng.uniform(0.1, 1.0)))
    assert is_submodular(model)
    assert_follows(model, sample(model, 8000, rng, threads=1 + seed % 3))


def test_the_verb_has_it_by_name_and_by_itself(rng: np.random.Generator) -> None:
    image = image_model(rng.normal(size=(40, 40)), 0.3)
    named = pl.sample(image, 2, 7, "coupling-from-the-past")
    np.testing.assert_array_equal(
        named, pl.sample(image, 2, 7, "coupling-from-the-past", threads=3)
    )
    assert pl.sample(image, 2, 7).shape == named.shape
    assert set(np.unique(named)) == {-1, 1}


def test_magnetisation_of_wide_grids_agrees_with_elimination(rng: np.random.Generator) -> None:
    image = image_model(0.5 * rng.normal(size=(12, 12)), 0.35)
    exact = pl.marginals(image, "treewidth").nodes
    found = (sample(image, 3000, rng, time_limit=1e6) > 0).mean(axis=0)
    errors = (found - exact) / np.sqrt(exact * (1 - exact) / 3000)
    assert np.abs(errors).max() < 5
    assert 0.7 < np.sqrt(np.mean(errors**2)) < 1.3


def test_cold_grids_are_drawn_by_patches(rng: np.random.Generator) -> None:
    """Spin by spin the chains take thousands of sweeps to meet."""
    image = image_model(rng.normal(size=(12, 12)), 0.9)
    exact = pl.marginals(image, "treewidth")
    states = sample(image, 600, rng, time_limit=1e6)
    found = (states > 0).mean(axis=0)
    spread = np.sqrt(np.maximum(exact.nodes * (1 - exact.nodes), 1e-3) / len(states))
    assert np.abs((found - exact.nodes) / spread).max() < 5.5
    u, v = image.edges.T
    alike = (states[:, u] == states[:, v]).mean(axis=0)
    spread = np.sqrt(np.maximum(exact.edges * (1 - exact.edges), 1e-3) / len(states))
    assert np.abs((alike - exact.edges) / spread).max() < 5.5


def test_labels_of_two_kinds(rng: np.random.Generator) -> None:
    table = [[1.2, 0.0], [0.0, 1.2]]
    field = pl.MarkovRandomField(
        [2] * 4, [((0, 1), table), ((1, 2), table), ((2, 3), table), ((0,), [0.5, 0.0])], log=True
    )
    states = pl.sample(field, 4000, rng, "coupling-from-the-past")
    exact = pl.marginals(field, "brute-force").nodes[3][1]
    assert abs((states[:, 3] == 1).mean() - exact) < 0.04


def test_degenerate_models() -> None:
    assert sample(pl.IsingModel([], [], num_spins=0), 3).shape == (3, 0)
    assert sample(pl.IsingModel([(0, 1)], [-1.0]), 0).shape == (0, 2)
    held = pl.IsingModel([(0, 1)], [-900.0], fields=[900.0, 0.0])
    assert sample(held, 3, 0).tolist() == [[1, -1]] * 3
    free = sample(pl.IsingModel([(0, 1)], [0.0]), 500, 1)
    assert 150 < (free[:, 0] == free[:, 1]).sum() < 350


def test_frustration_is_refused_with_the_cycle() -> None:
    model = pl.IsingModel([(0, 1), (1, 2), (2, 3), (0, 2)], [0.0, 1.0, 1.0, 1.0])
    assert is_submodular(model)
    model = pl.IsingModel([(0, 3), (0, 1), (1, 2), (0, 2)], [0.0, 1.0, 1.0, -1.0])
    with pytest.raises(MethodError, match="frustrated") as caught:
        sample(model, 1)
    assert sorted(caught.value.frustrated_cycle.tolist()) == [1, 2, 3]


def test_too_cold_says_what_to_do(ticking: Any) -> None:
    cold = pl.generate.square_lattice(8)
    model = pl.IsingModel(cold.edges, np.full(len(cold.edges), 9.0))
    with pytest.raises(TimeLimitError, match="raise the temperature"):
        sample(model, 1, 0, time_limit=1.0)


def test_bounds_hold_the_exact_probabilities(rng: np.random.Generator) -> None:
    fields = 0.5 * rng.standard_normal((3, 4))
    model = pl.IsingModel.from_image(fields, rng.random((3, 3)), rng.random((2, 4)))
    exact = enumerate_states(model).nodes
    low, high = bound_probabilities(model, num_samples=1500, seed=3)
    np.testing.assert_array_equal(low, high)  # small: all chains meet
    np.testing.assert_allclose(low, exact, atol=5 * 0.5 / 1500**0.5)
    short = bound_probabilities(model, num_samples=1500, seed=3, max_sweeps=4)
    assert np.all(short[0] <= low)
    assert np.all(low <= short[1])
    assert np.any(short[0] < short[1])


def test_strong_couplings_stay_open() -> None:
    low, high = bound_probabilities(image_model(np.zeros((6, 6)), 9.0))
    np.testing.assert_array_equal(low, 0.0)
    np.testing.assert_array_equal(high, 1.0)


class EveryPoll:
    """Told of every look that a kernel takes."""

    stride, interval = 1, 0.0

    def __init__(self) -> None:
        self.told: list[float] = []

    def __call__(self, fraction: float) -> None:
        self.told.append(fraction)


def test_progress_never_goes_back() -> None:
    every = EveryPoll()
    bound_probabilities(image_model(np.zeros((6, 6)), 9.0), progress=every)
    known = [fraction for fraction in every.told if fraction >= 0]
    assert known == sorted(known)
    assert known[-1] == 1


def test_negative_couplings_are_refused() -> None:
    with pytest.raises(ModelError, match="negative"):
        bound_probabilities(pl.IsingModel([(0, 1)], [-1.0]))
