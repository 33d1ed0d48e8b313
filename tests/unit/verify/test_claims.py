from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import planaris as pl
from helpers import degenerate, strategies
from helpers.claims import claimed_log_partition, claimed_state
from planaris import IsingModel
from planaris.errors import VerificationError
from planaris.reference import enumerate_states
from planaris.result import GroundState
from planaris.verify import (
    check_certificate,
    check_ground_state,
    check_log_partition,
    check_result,
)
from planaris.verify.claims import exact_energy


def solved(model: IsingModel) -> GroundState:
    spins = enumerate_states(model).ground_states[0]
    energy = float(model.energy(spins))
    return claimed_state(spins, energy, energy, energy, True, "test")


@given(strategies.plane_models(fields=True))
def test_true_results_pass(pair):
    model, _ = pair
    result = solved(model)
    check_ground_state(model, result)
    found = enumerate_states(model).log_partition
    slack = 1e-12 * (1 + abs(found))
    check_log_partition(
        model, claimed_log_partition(found, found - slack, found + slack, True, "test")
    )


@given(strategies.plane_models(kinds=("integers", "tied"), fields=True))
def test_false_results_are_caught(pair):
    model, _ = pair
    result = solved(model)
    worse = next(
        (s for s in -np.ones((1, model.num_spins)) if model.num_spins), np.zeros(0)
    ).astype(np.int8)
    energy = float(model.energy(worse))
    if energy > result.energy:
        claimed = claimed_state(worse, energy, energy, energy, True, "test")
        with pytest.raises(VerificationError, match="a state has energy"):
            check_ground_state(model, claimed)
        check_ground_state(model, replace(claimed, lower=result.energy, tolerance=-1.0))
    with pytest.raises(VerificationError, match="`energy` is claimed"):
        check_ground_state(model, replace(result, energy=result.energy - 1))
    found = enumerate_states(model).log_partition
    for wrong in (found - 1e-6, found + 1e-6):
        with pytest.raises(VerificationError, match="log Z is claimed") as error:
            check_log_partition(model, claimed_log_partition(wrong, wrong, wrong, True, "test"))
        assert error.value.found[0] <= found <= error.value.found[1]


@pytest.mark.parametrize("name", degenerate.SMALL)
def test_degenerate_models(name):
    model = degenerate.SMALL[name]()
    check_ground_state(model, solved(model))


TRIANGLE = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
GOOD = claimed_state(np.array([1, 1, 1], dtype=np.int8), -1.0, -1.0, -1.0, True, "test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spins": np.array([1, 1])}, r"`spins` must have shape \(3,\), got \(2,\)"),
        ({"spins": np.array([1, 0, 1])}, "got 0 at spin 1"),
        ({"energy": float("nan")}, "`energy` is claimed to be nan"),
        ({"lower": -0.5}, "`lower <= energy == upper` must hold"),
        ({"upper": 0.0}, "`lower <= energy == upper` must hold"),
        ({"lower": float("nan")}, "must hold"),
        ({"lower": -2.0, "tolerance": 1.0}, "`exact` is claimed"),
    ],
)
def test_each_claim_is_checked(change, message):
    check_ground_state(TRIANGLE, GOOD)
    with pytest.raises(VerificationError, match=message) as error:
        check_ground_state(TRIANGLE, replace(GOOD, **change))
    assert {"claimed", "found"} <= set(error.value.evidence)


def test_a_bound_above_the_minimum_is_caught():
    state = claimed_state(np.array([1, -1, 1]), 3.0, 2.0, 3.0, False, "test")
    with pytest.raises(VerificationError, match=r"`lower` is claimed to be 2\.0"):
        check_ground_state(TRIANGLE, state)


def test_integers_must_be_right_to_the_last_one():
    model = IsingModel([(0, 1), (1, 2)], [2.0**40, 1.0])
    spins = np.array([1, 1, 1])
    true = -(2.0**40) - 1
    check_ground_state(model, claimed_state(spins, true, true, true, True, "test"))
    with pytest.raises(VerificationError):
        check_ground_state(model, claimed_state(spins, true + 1, true + 1, true + 1, True, "test"))


def test_energies_are_correctly_rounded(rng):
    model = IsingModel(
        [(k, k + 1) for k in range(200)], rng.normal(size=200) * 10.0 ** rng.integers(-8, 8, 200)
    )
    spins = rng.choice([-1, 1], 201)
    terms = model.couplings * spins[:-1] * spins[1:]
    assert exact_energy(model, spins) == -float(sum(map(Fraction, terms.tolist())))


@pytest.mark.parametrize(
    "change",
    [
        {"lower": 3.0},
        {"upper": 1.0},
        {"value": float("nan")},
        {"lower": -np.inf, "tolerance": np.inf},
    ],
)
def test_log_partition_intervals_must_make_sense(change):
    result = claimed_log_partition(2.797846, 2.7978, 2.7979, False, "test")
    check_log_partition(TRIANGLE, result)
    with pytest.raises(VerificationError):
        check_log_partition(TRIANGLE, replace(result, **change))


def test_large_models_are_bounded():
    model = degenerate.LARGE["path of 100 000 spins"]()
    truth = degenerate.path_log_partition(model.num_spins, 0.5)
    ground = np.ones((1, model.num_spins), dtype=np.int8)
    for value, fine in ((truth, True), (truth - 40_000, False), (truth + 40_000, False)):
        claim = claimed_log_partition(value, value - 1, value + 1, False, "test")
        if fine:
            check_log_partition(model, claim, states=ground)
        else:
            with pytest.raises(VerificationError):
                check_log_partition(model, claim, states=ground)
    cold = degenerate.path(1000, 30.0)
    claim = claimed_log_partition(29_000.0, 29_000.0, 29_000.0, True, "test")
    check_log_partition(cold, claim)
    with pytest.raises(VerificationError):
        check_log_partition(cold, claim, states=np.ones((1, 1000)))


def test_large_ground_states_are_quick_to_check():
    model = degenerate.LARGE["star of 100 000 leaves"]()
    spins = np.r_[1, -np.ones(100_000)].astype(np.int8)
    check_ground_state(model, claimed_state(spins, -1e5, -1e5, -1e5, True, "test"))


def test_checks_of_spins_name_the_check_of_everything():
    mrf = pl.MarkovRandomField([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 1.0]])])
    spins = pl.IsingModel([(0, 1)], [1.0])
    for check in (check_ground_state, check_certificate):
        for model, result in [
            (mrf, pl.ground_state(mrf)),
            (spins, pl.log_partition(spins)),
            (pl.ground_state(spins), spins),
        ]:
            with pytest.raises(VerificationError, match="check_result"):
                check(model, result)
    for model, result in [(mrf, pl.log_partition(mrf)), (spins, pl.ground_state(spins))]:
        with pytest.raises(VerificationError, match="check_result"):
            check_log_partition(model, result)
    with pytest.raises(VerificationError, match="`model` must be"):
        check_result(pl.ground_state(spins), spins)
