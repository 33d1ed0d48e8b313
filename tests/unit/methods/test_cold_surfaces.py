"""Cold surfaces from warmer ones: the interval holds, the samples have the right distribution."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import planaris as pl
from planaris.budget import UNLIMITED
from planaris.embed import torus_lattice
from planaris.methods import auto, surface
from planaris.reductions.parts import Part, split_model
from planaris.result import GroundState

STATES = np.array(list(itertools.product((1, -1), repeat=9)), dtype=np.int8)


def small_torus(seed: int, beta: float) -> Part:
    rng = np.random.default_rng(seed)
    surface = torus_lattice(3, 3)
    rough = rng.choice([-1.0, 1.0], surface.num_edges)
    couplings = rough if seed % 2 else rng.normal(size=surface.num_edges)
    model = pl.IsingModel(surface.edges, beta * couplings / np.abs(couplings).max())
    return split_model(model, surface).parts[0]


def lowest_of(part: Part, below: float = 0.0) -> GroundState:
    """Return a ground state with a bound that lies ``below`` its energy."""
    energies = part.model.energy(STATES)
    state = STATES[int(np.argmin(energies))]
    lower = float(energies.min()) - below
    return GroundState.of(part.model, state, lower, method="brute-force")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("beta", [15.0, 60.0])
@pytest.mark.parametrize("below", [0.0, 2.5])
def test_ends_hold_and_are_as_far_apart_as_the_bounds_on_energies(
    seed: int, beta: float, below: float
) -> None:
    part = small_torus(seed, beta)
    weights = -part.model.energy(STATES)
    top = float(weights.max())
    exact = top + float(np.log(np.exp(weights - top).sum()))
    found = surface.enclose_from_warmer(part, lowest_of(part, below), UNLIMITED)
    assert found is not None
    assert found.lower <= exact + 1e-9
    assert exact <= found.upper + 1e-9
    assert not found.proved
    if seed % 2:  # levels have a gap
        assert found.upper - found.lower <= below + 1e-6


def test_a_warm_surface_is_not_enclosed_from_a_warmer_one() -> None:
    part = small_torus(1, 1.5)
    assert surface.enclose_from_warmer(part, lowest_of(part), UNLIMITED) is None


@pytest.mark.parametrize("below", [0.0, 0.3])
def test_samples_are_rejected_into_the_right_distribution(monkeypatch, below: float) -> None:
    part, size = small_torus(2, 3.0), 6000
    monkeypatch.setattr(surface, "LARGEST_COUPLINGS", (2.0,))
    rng = np.random.default_rng(0)
    drawn = surface.samples_from_warmer(part, lowest_of(part, below), size, rng, UNLIMITED)
    assert drawn.shape == (size, 9)
    weights = np.exp(-part.model.energy(STATES) + part.model.energy(STATES).min())
    expected = size * weights / weights.sum()
    count = np.zeros(len(STATES))
    np.add.at(count, ((drawn < 0) @ (1 << np.arange(8, -1, -1))).astype(int), 1)
    large = expected >= 8
    chi = float(((count - expected)[large] ** 2 / expected[large]).sum())
    degrees = int(large.sum())
    assert chi <= degrees + 5 * math.sqrt(2 * degrees)
    rest = float(expected[~large].sum())
    assert abs(count[~large].sum() - rest) <= 5 * math.sqrt(rest + 1)


def test_samples_that_are_hardly_ever_kept_are_refused(monkeypatch) -> None:
    part = small_torus(2, 30.0)
    monkeypatch.setattr(surface, "LARGEST_COUPLINGS", (2.0,))
    rng = np.random.default_rng(0)
    lowest = lowest_of(part, 40.0)
    with pytest.raises(pl.errors.PrecisionError, match="raise the temperature"):
        surface.samples_from_warmer(part, lowest, 200, rng, UNLIMITED)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("good_width", [auto.GOOD_WIDTH, -1.0])
def test_auto_encloses_and_samples_what_no_elimination_fits(
    seed: int, good_width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "fitting_elimination", lambda *_: None)
    monkeypatch.setattr(auto, "cheap_elimination", lambda *_: None)
    monkeypatch.setattr(auto, "GOOD_WIDTH", good_width)  # -1: bounds are asked as well
    part = small_torus(seed, 60.0)
    model, embedding = part.model, part.embedding
    weights = -part.model.energy(STATES)
    top = float(weights.max())
    exact = top + float(np.log(np.exp(weights - top).sum()))
    found = pl.log_partition(model, embedding=embedding)
    assert found.lower <= exact + 1e-9
    assert exact <= found.upper + 1e-9
    assert found.gap <= 1e-3 * model.num_spins
    drawn = pl.sample(model, 50, 0, embedding=embedding)
    assert np.all(model.energy(drawn) <= -top + 1.0)  # others weigh less than e^-1 each
