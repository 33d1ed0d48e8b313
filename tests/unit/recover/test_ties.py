"""Ground states drawn at random: all of them, evenly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import planaris as pl
from helpers.degenerate import K5, SMALL
from planaris.recover import (
    MAP,
    Marginal,
    observe,
    posterior_model,
    sample_ground_states,
    ties,
)
from planaris.reference import enumerate_states


def count(states: np.ndarray, among: np.ndarray) -> np.ndarray:
    index = {tuple(row): k for k, row in enumerate(among.tolist())}
    return np.bincount([index[tuple(row)] for row in states.tolist()], minlength=len(index))


@pytest.mark.parametrize(
    "model",
    [
        pl.generate.spin_glass(3, np.random.default_rng(4), disorder="bimodal"),
        pl.IsingModel(K5, -1.0),
        pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0], [0.5, 0.0, -0.5]),
        pl.IsingModel([(0, 1), (2, 3)], [1.0, -1.0], num_spins=5),
    ],
    ids=["planar", "not planar", "with fields", "isolated spin"],
)
def test_draws_are_uniform_over_all_ground_states(
    model: pl.IsingModel, rng: np.random.Generator
) -> None:
    optima = enumerate_states(model).ground_states
    assert len(optima) > 1
    states, how = sample_ground_states(model, 200 * len(optima), rng)
    assert how in ("planar", "treewidth")
    # A fixed seed: passes unless draws are uneven.
    assert chisquare(count(states, optima)).pvalue > 1e-4


@pytest.mark.parametrize("scale", [1e-9, 0.02, 1e4])
@pytest.mark.parametrize("field", [0.0, 1.0, 0.3003])
@pytest.mark.parametrize("exact_spins", [100_000, 0])
def test_what_is_drawn_has_the_least_energy_whatever_the_scale(
    scale: float,
    field: float,
    exact_spins: int,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ties, "EXACT_SPINS", exact_spins)
    glass = pl.generate.spin_glass(4, rng, disorder="bimodal")
    fields = scale * field * rng.choice([-1.0, 1.0], 16)
    model = pl.IsingModel(glass.edges, scale * glass.couplings, fields, offset=7.0)
    states, _ = sample_ground_states(model, 50, rng)
    least = enumerate_states(model).energy
    np.testing.assert_allclose(model.energy(states), least, rtol=0, atol=1e-9 * scale)


def test_labellings_as_probable_as_the_best_have_its_probability(
    rng: np.random.Generator,
) -> None:
    seen = observe(pl.generate.square_lattice(8), 1, 0.2, 0.3, rng)
    found = MAP(p=0.49, q=0.5, tie_breaks=20).recover(seen, rng)
    energies = posterior_model(seen, 0.49, 0.5).energy(found.alternatives)
    np.testing.assert_allclose(energies, found.stats["energy"], rtol=1e-9)


def test_perturbed_couplings_reach_only_ground_states(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(ties, "EXACT_SPINS", 0)
    model = pl.generate.spin_glass(4, rng, disorder="bimodal")
    states, how = sample_ground_states(model, 50, rng)
    best = enumerate_states(model).energy
    assert how == "perturbation"
    assert model.energy(states).tolist() == [best] * 50
    # A twofold tie falls evenly: a node with two bad edges of four.
    star = pl.IsingModel(
        [(0, k) for k in range(1, 5)] + [(1, 2), (2, 3), (3, 4)], [-1, -1, 1, 1] + [5] * 3
    )
    drawn, _ = sample_ground_states(star, 400, rng)
    share = float((drawn[:, 0] == drawn[:, 1]).mean())
    assert 0.38 < share < 0.62  # five standard deviations of 400 coins


@pytest.mark.parametrize("name", SMALL)
def test_odd_models_give_ground_states(name: str, rng: np.random.Generator) -> None:
    model = SMALL[name]()
    if not np.array_equal(model.couplings, np.round(model.couplings)) or model.has_fields:
        return
    states, _ = sample_ground_states(model, 4, rng)
    best = enumerate_states(model).energy
    np.testing.assert_allclose(model.energy(states), best, rtol=1e-12)


@pytest.mark.usefixtures("ticking")
def test_marginals_that_do_not_fit_are_bounded_in_the_time_given(
    rng: np.random.Generator,
) -> None:
    seen = observe(pl.generate.square_lattice(45), 1, 0.05, 0.2, rng)
    found = Marginal(0.05, 0.2, time_limit=1.0).recover(seen)
    assert (found.exact, found.method) == (False, "interval")
    assert np.mean(found.labels != 1) < 0.05


@pytest.mark.parametrize("fields", [False, True])
def test_what_is_drawn_has_the_least_energy_beside_huge_couplings(fields: bool) -> None:
    """Energies that a coupling of 1e17 rounds away were not looked at."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = pl.IsingModel(
            K5,
            rng.choice([-1.0, 1.0], 10) * rng.choice([0.3, 1.0, 2.0, 1e17], 10),
            rng.choice([0.0, 0.4, 1e17], 5) if fields else None,
        )
        level = model.energy_terms(pl.ground_state(model, "brute-force").spins)
        states, _ = sample_ground_states(model, 20, rng)
        assert all(model.energy_above(s, level) <= model.energy_tolerance for s in states)
