"""Energies are the exact sums of a model's numbers, rounded once."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest

from helpers.exact_models import nearest
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.base import _median, exact_sum, exact_sums, round_once, slices


def random_numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    scale = 10.0 ** rng.uniform(-280, 280, count) if rng.random() < 0.3 else 1.0
    return rng.normal(size=count) * scale * 10.0 ** rng.integers(-20, 20, count)


@pytest.mark.parametrize("seed", range(20))
def test_slices_add_up_without_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = random_numbers(rng, int(rng.integers(1, 60)))
    parts = slices(values)
    for k in range(len(values)):
        assert sum(Fraction(float(part[k])) for part in parts) == Fraction(float(values[k]))
    for part in parts:
        signs = rng.choice([-1, 1], len(part))
        exact = sum(Fraction(float(x)) * int(s) for x, s in zip(part, signs, strict=True))
        assert Fraction(float(signs @ part)) == exact


@pytest.mark.parametrize("seed", range(40))
def test_ising_energies_are_correctly_rounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    edges = [(u, v) for u in range(n) for v in range(u)]
    values = random_numbers(rng, len(edges) + n + 1)
    m = len(edges)
    model = IsingModel(edges, values[:m], values[m : m + n], offset=values[-1])
    states = rng.choice([-1, 1], (30, n)).astype(np.int8)
    energies = model.energy(states)
    for s, energy in zip(states.tolist(), energies, strict=True):
        exact = Fraction(model.offset)
        for (u, v), j in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
            exact += Fraction(j) * s[u] * s[v]
        for spin, h in zip(s, model.fields.tolist(), strict=True):
            exact += Fraction(h) * spin
        assert float(energy) == nearest(-exact) == float(model.energy(s))


@pytest.mark.parametrize("seed", range(20))
def test_mrf_energies_are_correctly_rounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, 5)
    scopes = [rng.choice(5, k, replace=False).tolist() for k in (0, 1, 1, 2, 2, 3, 3)]
    factors = [(s, random_numbers(rng, int(np.prod(cards[s])))) for s in scopes]
    factors[1][1][0] = -np.inf
    mrf = MarkovRandomField(cards, factors, log=True)
    x = np.stack([rng.integers(0, c, 30) for c in cards], axis=1)
    for row, energy in zip(x, mrf.energy(x), strict=True):
        logs = [mrf.log_table(k)[tuple(row[mrf.scope(k)])] for k in range(mrf.num_factors)]
        if -np.inf in logs:
            assert energy == np.inf
        else:
            assert float(energy) == nearest(-sum((Fraction(float(v)) for v in logs), Fraction(0)))


def test_ties_and_cancellation() -> None:
    half = 2.0**-53
    terms = [np.array([1.0, 1.0, 1.0]), np.array([half] * 3), np.array([1e-300, -1e-300, 0.0])]
    assert round_once(terms).tolist() == [1.0 + 2 * half, 1.0, 1.0]
    assert float(exact_sums(np.array([1e300, 1.0, -1e300, 5e-324, -1.0]), np.sum)) == 5e-324
    assert float(exact_sums(np.zeros(0), np.sum)) == 0.0


def test_no_spins_and_empty_batches() -> None:
    assert float(IsingModel([], [], num_spins=0, offset=0.5).energy([])) == -0.5
    assert IsingModel([(0, 1)], [1.0]).energy(np.zeros((0, 2), np.int8)).shape == (0,)
    assert float(MarkovRandomField([], []).energy([])) == 0.0


@pytest.mark.parametrize("decades", [0, 3, 30, 300])
@pytest.mark.parametrize("count", [0, 1, 500, 501, 20_000])
def test_one_sum_is_that_of_a_list(decades: int, count: int) -> None:
    rng = np.random.default_rng([decades, count])
    values = rng.normal(size=count) * 10.0 ** rng.uniform(-decades, decades, count)
    whole = float(sum(map(Fraction, values.tolist()), Fraction(0)))
    assert exact_sum(values) == whole
    assert exact_sum(np.concatenate([values, -values, [0.25]])) == 0.25
    assert exact_sum(np.append(values, -np.inf)) == -np.inf
    assert exact_sum(np.append(values, np.inf)) == np.inf


def test_sums_of_several_blocks_are_rounded_once(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planaris.models.base.BLOCK", 100)
    for spread in (1, 60, 500):
        values = np.ldexp(rng.normal(size=1234), rng.integers(-spread, spread, 1234))
        assert exact_sum(values) == math.fsum(values)
        cancelled = rng.permutation(np.concatenate([values, -values[7:]]))
        assert exact_sum(cancelled) == math.fsum(cancelled)
    assert math.copysign(1.0, exact_sum(np.full(600, -0.0))) == 1.0
    with np.errstate(over="ignore"):
        assert exact_sum(np.full(600, 1e308)) == math.inf


@pytest.mark.parametrize("count", [3, 400, 5000])
def test_energies_above_a_level_of_many_terms_are_rounded_once(count: int) -> None:
    rng = np.random.default_rng(count)
    edges = np.column_stack([np.arange(count - 1), np.arange(1, count)])
    numbers = [rng.normal(size=k) * 10.0 ** rng.integers(-12, 12, k) for k in (count - 1, count)]
    model = IsingModel(edges, *numbers, offset=0.7)
    one, two = rng.choice([-1, 1], (2, count)).astype(np.int8)
    level = model.energy_terms(one)
    exact = sum(map(Fraction, model.energy_terms(two).tolist())) - sum(
        map(Fraction, level.tolist())
    )
    assert model.energy_above(two, level) == model.energy_above(two, level.tolist()) == float(exact)


@pytest.mark.parametrize("count", [*range(1, 12), 1000, 1001])
def test_medians_are_those_of_a_sorted_list(count: int) -> None:
    rng = np.random.default_rng(count)
    for digits in (0, 1, 9):
        values = np.abs(rng.normal(size=count)).round(digits)
        assert _median(values) == statistics.median(values.tolist())
