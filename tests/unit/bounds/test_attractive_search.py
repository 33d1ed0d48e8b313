"""Ends of marginals of ferromagnets: what is guessed, and what guesses may not change."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.trials import seeds
from planaris.bounds import attractive_search
from planaris.bounds.attractive_search import AttractiveSearch, sampled_means
from planaris.bounds.marginal_ends import neighbour_bounds
from planaris.budget import Budget


def lattice(seed: int, side: int, coupling: float, spread: float) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    edges = pl.generate.square_lattice(side).edges
    return pl.IsingModel(edges, coupling, rng.normal(0, spread, side * side))


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_chains_guess_what_is_likely(seed: int) -> None:
    model = lattice(seed, 10, 0.3, 1.0)
    guess = sampled_means(model, Budget.of(None))
    assert guess is not None
    # Of 1,800 draws that are nearly independent the standard deviation is .012 at most.
    np.testing.assert_allclose(guess, pl.marginals(model, "treewidth").nodes, atol=0.1)


def test_chains_of_cold_models_are_where_the_ground_state_is() -> None:
    model = lattice(5, 16, 3.0, 6.0)
    guess = sampled_means(model, Budget.of(None))
    assert guess is not None
    best = np.asarray(pl.ground_state(model).spins)
    assert np.mean((guess > 0.5) == (best > 0)) > 0.98


def test_there_is_no_guess_without_fields_or_time() -> None:
    edges = pl.generate.square_lattice(4).edges
    assert sampled_means(pl.IsingModel(edges, 1.0), Budget.of(None)) is None
    assert sampled_means(lattice(1, 30, 1.0, 1.0), Budget.of(0.0)) is None


@pytest.mark.parametrize("seed", seeds(4, 40))
@pytest.mark.parametrize("wrong", ["turned over", "noise", "none"])
def test_ends_hold_and_close_whatever_chains_say(
    seed: int, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = lattice(seed, 11, 1.5, 2.0)
    exact = pl.marginals(model, "treewidth")
    noise = np.random.default_rng(seed).uniform(0, 1, model.num_spins)
    guess = {"turned over": 1 - exact.nodes, "noise": noise, "none": None}[wrong]
    monkeypatch.setattr(attractive_search, "sampled_means", lambda *_: guess)
    monkeypatch.setattr(attractive_search, "FIRST_BITS", 4)
    search = AttractiveSearch(model, *neighbour_bounds(model))
    for _ in range(12):
        before = search.mean_width
        search.run(Budget.of(None), lambda _: True)  # one round
        known = search.known
        assert np.all(known.nodes_lower <= exact.nodes + exact.error)
        assert np.all(exact.nodes <= known.nodes_upper + exact.error)
        assert search.mean_width <= before
    assert search.mean_width < 1e-3
