"""Steps of a search over labels: what holds is accepted, what does not is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planaris.budget import Budget
from planaris.errors import VerificationError
from planaris.models import MarkovRandomField
from planaris.relax.branching.label_search import label_search
from planaris.result import LabelSteps
from planaris.verify import check_proof
from planaris.verify.proofs.energy.label_steps import label_steps_bound

PAIR = MarkovRandomField(
    [2, 2], [((0,), [0.0, -1.0]), ((0, 1), [[0.0, -2.0], [-3.0, -1.0]])], log=True
)
"""Energies 0, 2; 4, 2."""


def steps(*taken: int, numbers: tuple[float, ...] = ()) -> LabelSteps:
    """Return a proof of one node."""
    return LabelSteps(
        step_offsets=np.array([0, len(taken)]),
        steps=np.array(taken, dtype=np.int64),
        number_offsets=np.array([0, len(numbers)]),
        numbers=np.array(numbers, dtype=np.float64),
        branch_variable=np.array([-1]),
        branch_label=np.array([-1]),
        child=np.array([[-1, -1]]),
    )


def test_elimination_gives_the_least_energy():
    assert check_proof(PAIR, steps(2, 0, 2, 1, 3)).lower == pytest.approx(0.0, abs=1e-12)


def test_messages_give_a_bound_and_what_labels_cost():
    plain = steps(3, numbers=(0.0, 0.0, 0.0, 0.0))
    assert check_proof(PAIR, plain).lower == pytest.approx(0.0, abs=1e-12)
    # Label 1 of the first variable costs 1 by itself and 1 by its row.
    dear = steps(3, 4, 0, 1, 2, 0, 2, 1, 3, numbers=(0.0,) * 4)
    assert check_proof(PAIR, dear).lower == pytest.approx(0.0, abs=1e-12)


def test_labels_that_cost_less_lower_the_bound():
    # Label 0 of the first variable, that of the minimum, is dropped: its cost is the bound.
    wrong = steps(3, 4, 0, 0, 2, 0, 2, 1, 3, numbers=(0.0,) * 4)
    assert check_proof(PAIR, wrong).lower <= 0.0


def test_a_label_that_is_better_may_go_at_its_price():
    # Label 1 for label 0 of the first variable costs up to 4 more.
    priced = steps(1, 0, 0, 1, 2, 0, 2, 1, 3)
    assert check_proof(PAIR, priced).lower == pytest.approx(2.0 - 4.0, abs=1e-9)


def test_a_label_does_not_go_behind_another_that_goes_too():
    # Energies 0, 10, 20: label 0 goes for label 1, which is then called too dear.
    one = MarkovRandomField([3], [((0,), [0.0, -10.0, -20.0])], log=True)
    forged = steps(3, 1, 0, 0, 1, 4, 0, 1, 3)
    assert check_proof(one, forged).lower <= 0.0


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        (steps(0, 0, 1, 2, 0, 2, 1, 3), "impossible"),
        (steps(2, 0, 2, 0, 3), "variables that are left"),
        (steps(2, 5, 3), "variables that are left"),
        (steps(1, 0, 1, 1, 3), "better label is left"),
        (steps(1, 0, 1, 7, 3), "labels left"),
        (steps(4, 0, 1), "messages before"),
        (steps(), "a leaf has messages"),
        (steps(9), "known kind"),
        (steps(2), "whole"),
        (steps(3), "a message for every label"),
        (steps(3, numbers=(np.nan,) * 4), "finite"),
    ],
)
def test_steps_that_do_not_hold_are_refused(forged, reason):
    with pytest.raises(VerificationError, match=reason):
        check_proof(PAIR, forged)


def test_who_has_three_neighbours_is_not_eliminated():
    star = MarkovRandomField([2] * 4, [((0, v), np.eye(2)) for v in (1, 2, 3)], log=True)
    with pytest.raises(VerificationError, match="two neighbours"):
        check_proof(star, steps(2, 0, 2, 1, 2, 2, 2, 3, 3))
    assert check_proof(star, steps(2, 1, 2, 0, 2, 2, 2, 3, 3)).lower == pytest.approx(-3.0)


def test_branches_cover_all_labels():
    split = LabelSteps(
        step_offsets=np.array([0, 0, 5, 10]),
        steps=np.array([2, 0, 2, 1, 3] * 2),
        number_offsets=np.array([0, 0, 0, 0]),
        numbers=np.zeros(0),
        branch_variable=np.array([1, -1, -1]),
        branch_label=np.array([0, -1, -1]),
        child=np.array([[1, 2], [-1, -1], [-1, -1]]),
    )
    assert check_proof(PAIR, split).lower == pytest.approx(0.0, abs=1e-12)
    for child in ([[1, 1], [-1, -1], [-1, -1]], [[1, 7], [-1, -1], [-1, -1]]):
        with pytest.raises(VerificationError, match="form a tree"):
            check_proof(PAIR, replace(split, child=np.array(child)))


def test_rounded_and_rational_numbers_agree(rng):
    pairs = [(u, v) for v in range(6) for u in range(v)]
    factors = [(p, rng.normal(0, 0.3, (3, 3)) - 3 * np.eye(3)) for p in pairs]
    mrf = MarkovRandomField([3] * 6, factors, log=True)
    found = label_search(mrf, budget=Budget(prove=True))
    assert isinstance(found.certificate, LabelSteps)
    rounded = label_steps_bound(mrf, found.certificate, allowed=1.0)
    rational = label_steps_bound(mrf, found.certificate, allowed=0.0)
    assert rounded.charged > 0.0
    assert rational.charged == 0.0
    assert found.lower - 1e-9 <= float(rounded.value) <= float(rational.value) <= found.energy


def test_numbers_that_overflow_prove_nothing_more():
    huge = steps(3, numbers=(1e307, -1e307, 1e307, -1e307))
    assert check_proof(PAIR, huge).lower <= 0.0
