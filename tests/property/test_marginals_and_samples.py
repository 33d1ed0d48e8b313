"""Marginals and samples of random models against enumeration, in parts and whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import planaris as pl
from helpers.degenerate import K5, NONPLANAR, SMALL
from helpers.strategies import plane_models
from helpers.trials import examples
from planaris.errors import MethodError, ModelError
from planaris.reference import enumerate_states
from planaris.reference.brute_force import all_states


def assert_marginals(model, found):
    truth = enumerate_states(model)
    assert found.exact
    np.testing.assert_allclose(found.nodes, truth.nodes, atol=1e-11)
    np.testing.assert_allclose(found.edges, truth.edges, atol=1e-11)


@pytest.mark.parametrize("method", ["auto", "treewidth", "brute-force"])
@pytest.mark.parametrize("name", SMALL)
def test_degenerate_models(name, method):
    model = SMALL[name]()
    assert_marginals(model, pl.marginals(model, method))


@examples(200)
@given(plane_models(max_vertices=10))
def test_plane_models(case):
    model, _ = case
    assert_marginals(model, pl.marginals(model, "planar"))


@examples(200)
@given(plane_models(max_vertices=10, fields=True))
def test_models_with_fields(case):
    model, _ = case
    assert_marginals(model, pl.marginals(model))


@settings(max_examples=50)
@given(plane_models(max_vertices=8, fields=True))
def test_plane_models_with_fields(case):
    model, _ = case
    assert_marginals(model, pl.marginals(model, "planar"))


@pytest.mark.parametrize("name", NONPLANAR)
def test_non_planar_models(name):
    model = NONPLANAR[name]()
    assert_marginals(model, pl.marginals(model))


def mixed_model(rng: np.random.Generator) -> pl.IsingModel:
    """A planar and a non-planar part, joined at a spin, and one more component."""
    edges = np.concatenate([[(0, 1), (1, 2), (2, 0)], np.array(K5) + 2, [(7, 8)]])
    return pl.IsingModel(edges, rng.standard_normal(len(edges)), num_spins=10)


def test_parts(rng):
    from planaris.budget import Budget
    from planaris.methods.auto import marginals_by_parts
    from planaris.reductions.parts import split_model

    model = mixed_model(rng)
    assert_marginals(model, marginals_by_parts(split_model(model), Budget()))


def frequencies(model: pl.IsingModel, states: np.ndarray) -> np.ndarray:
    bits = (states > 0).astype(np.int64)
    codes = bits @ (1 << np.arange(model.num_spins - 1, -1, -1))
    return np.bincount(codes, minlength=2**model.num_spins)


def assert_distribution(model: pl.IsingModel, states: np.ndarray) -> None:
    """Chi-square over all states, rare ones pooled; passes with probability 1 - 1e-6."""
    from scipy.stats import chi2

    expected = enumerate_states(model).probabilities * len(states)
    seen = frequencies(model, states)
    common = expected >= 5
    e = np.append(expected[common], expected[~common].sum())
    o = np.append(seen[common], seen[~common].sum())
    keep = e > 1e-9
    assert o[~keep].sum() == 0
    statistic = float(((o[keep] - e[keep]) ** 2 / e[keep]).sum())
    assert statistic < chi2.ppf(1 - 1e-6, max(np.count_nonzero(keep) - 1, 1))


@pytest.mark.parametrize("method", ["auto", "planar", "treewidth", "brute-force"])
def test_samples_of_a_plane_model_with_a_field(rng, method):
    model = pl.IsingModel(
        [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)],
        [0.5, -0.7, 0.3, 1.0, -0.4, 0.8],
        [0.3, 0.0, -0.6, 0.0, 0.0, 0.0],
        num_spins=6,
    )
    assert_distribution(model, pl.sample(model, 4000, rng, method))


def test_samples_of_parts(rng):
    from planaris.budget import Budget
    from planaris.methods.auto import samples_by_parts
    from planaris.reductions.parts import split_model

    model = mixed_model(rng)
    assert_distribution(model, samples_by_parts(split_model(model), 20_000, rng, Budget()))


@pytest.mark.parametrize("name", SMALL)
def test_samples_of_degenerate_models(name, rng):
    model = SMALL[name]()
    states = pl.sample(model, 50, rng)
    assert states.shape == (50, model.num_spins)
    if model.num_spins:
        possible = enumerate_states(model).probabilities > 1e-12
        assert np.all(possible[np.flatnonzero(frequencies(model, states))])


def test_samples_are_reproducible():
    model = pl.generate.spin_glass(12, np.random.default_rng(0))
    first = pl.sample(model, 3, np.random.default_rng(5), "planar")
    again = pl.sample(model, 3, 5, "planar")
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, pl.sample(model, 3, 6, "planar"))


def test_samples_of_a_markov_random_field(rng):
    mrf = pl.MarkovRandomField([2, 3], [((0, 1), [[1, 0, 3], [2, 2, 0]])])
    states = pl.sample(mrf, 4000, rng)
    share = np.zeros((2, 3))
    np.add.at(share, tuple(states.T), 1 / len(states))
    np.testing.assert_allclose(share, np.array([[1, 0, 3], [2, 2, 0]]) / 8, atol=0.04)


def test_refusals():
    model = SMALL["path"]()
    with pytest.raises(MethodError, match="'auto', 'planar'"):
        pl.marginals(model, "magic")
    with pytest.raises(MethodError, match="'auto', 'coupling-from-the-past', 'planar'"):
        pl.sample(model, 1, 0, "magic")
    with pytest.raises(ModelError, match="num_samples"):
        pl.sample(model, -1, 0)


def test_all_states_are_ordered_as_the_probabilities():
    model = pl.IsingModel([(0, 1)], [1.0], [0.3, -0.2])
    weights = np.exp(model.log_weight(all_states(2)))
    np.testing.assert_allclose(enumerate_states(model).probabilities, weights / weights.sum())
