from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from helpers.tjoin_cases import Problem, square_dual
from planaris.errors import VerificationError
from planaris.matching.tjoins import TJoin, min_weight_perfect_matching, minimum_tjoin
from planaris.verify import check_perfect_matching, check_tjoin
from planaris.verify.proofs.energy.tjoin import _lowest_between

EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5)]
WEIGHTS = [2, 2, 2, 9, 9, 9]
ODD = [0, 1, 2, 3, 4, 5]


def refuses(answer: TJoin, message: str, weights=WEIGHTS, **changes) -> None:
    packing = {
        k: v for k, v in changes.items() if k in ("order", "start", "stop", "parent", "digits")
    }
    others = {k: v for k, v in changes.items() if k not in packing}
    broken = replace(answer, certificate=replace(answer.certificate, **packing), **others)
    with pytest.raises(VerificationError, match=message):
        check_tjoin(6, EDGES, weights, ODD, broken)


@pytest.fixture
def answer() -> TJoin:
    return minimum_tjoin(6, EDGES, WEIGHTS, ODD)


def test_each_claim_is_checked(answer):
    packing = answer.certificate
    check_tjoin(6, EDGES, WEIGHTS, ODD, answer)
    refuses(answer, "wrong parity", join=answer.join[1:])
    refuses(answer, "outside", join=np.array([7]))
    refuses(answer, "twice", join=np.repeat(answer.join, 3))
    refuses(answer, "exact objective", numerator=answer.numerator - 1)
    refuses(answer, "exact weight", objective=answer.objective - 1)
    refuses(answer, "add up", digits=packing.digits - (np.arange(packing.num_sets) == 0))
    refuses(answer, "positive", digits=packing.digits * 0)
    refuses(answer, "one value per set", digits=packing.digits[1:])
    refuses(answer, "differ in length", stop=packing.stop[1:])
    refuses(answer, "twice", order=packing.order * 0)
    refuses(answer, "does not exist", order=packing.order + 6)
    refuses(answer, "empty", stop=packing.start)
    refuses(answer, "empty", start=packing.start - 99)
    refuses(answer, "parent comes after", parent=packing.parent * 0 + packing.num_sets)
    refuses(answer, "weight|objective", weights=[2, 2, 2, 8, 9, 9])


def test_moving_value_between_sets_is_noticed(answer):
    digits = answer.certificate.digits.copy()
    digits[0] += 1
    digits[1] -= 1
    with pytest.raises(VerificationError):
        check_tjoin(
            6,
            EDGES,
            WEIGHTS,
            ODD,
            replace(answer, certificate=replace(answer.certificate, digits=digits)),
        )


def test_a_join_that_is_not_lightest_is_refused():
    answer = minimum_tjoin(3, [(0, 1), (1, 2), (2, 0)], [1, 1, 1], [0, 1])
    longer = replace(answer, join=np.array([1, 2]), numerator=2, objective=2)
    with pytest.raises(VerificationError, match="add up"):
        check_tjoin(3, [(0, 1), (1, 2), (2, 0)], [1, 1, 1], [0, 1], longer)


def test_sets_must_avoid_the_boundary():
    answer = minimum_tjoin(2, [(0, 1)], [1], [0, 1], boundary=[1])
    check_tjoin(2, [(0, 1)], [1], [0, 1], answer, boundary=[1])
    with pytest.raises(VerificationError, match="boundary"):
        check_tjoin(2, [(0, 1)], [1], [0, 1], answer, boundary=[0])


def test_overlapping_sets_are_refused():
    answer = minimum_tjoin(4, [(0, 1), (2, 3)], [2, 2], [0, 1, 2, 3])
    packing = answer.certificate
    crossing = replace(
        packing,
        order=np.arange(4),
        start=np.array([0, 1]),
        stop=np.array([3, 4]),
        parent=np.array([-1, -1]),
        digits=np.array([4, 4]),
    )
    with pytest.raises(VerificationError, match="overlap"):
        check_tjoin(
            4, [(0, 1), (2, 3)], [2, 2], [0, 1, 2, 3], replace(answer, certificate=crossing)
        )
    outside = replace(crossing, parent=np.array([-1, 0]))
    with pytest.raises(VerificationError, match="not inside its parent"):
        check_tjoin(4, [(0, 1), (2, 3)], [2, 2], [0, 1, 2, 3], replace(answer, certificate=outside))


def holds(problem: Problem, answer: TJoin) -> bool:
    """Check the packing set by set and edge by edge, in fractions."""
    n, edges, weights, odd, boundary = problem
    packing = answer.certificate
    load, total = [Fraction(0)] * len(edges), Fraction(0)
    for k in range(packing.num_sets):
        members, value = set(packing.members(k).tolist()), packing.value(k)
        if len(members & set(odd.tolist())) % 2 == 0 or members & set(boundary.tolist()):
            return False
        if value < 0 or not members <= set(range(n)):
            return False
        total += value
        for e, (u, v) in enumerate(edges.tolist()):
            load[e] += value * ((u in members) != (v in members))
    fits = all(x <= Fraction(w) for x, w in zip(load, weights.tolist(), strict=True))
    return fits and total == answer.numerator * Fraction(2) ** answer.exponent


@pytest.mark.parametrize("wide", [False, True])
def test_whatever_passes_after_random_corruption_is_still_a_proof(wide, rng):
    problem = square_dual(6, rng)
    if wide:
        weights = problem.weights * 10.0 ** rng.integers(-150, 150, len(problem.weights))
    else:
        weights = np.round(problem.weights * 100).astype(np.int64)
    problem = problem._replace(weights=weights)
    *arguments, outer = problem
    answer = minimum_tjoin(*arguments, boundary=outer)
    check_tjoin(*arguments, answer, boundary=outer)
    assert holds(problem, answer)
    refused = 0
    for i in range(500):
        name = ("order", "start", "stop", "parent", "digits")[i % 5]
        field = getattr(answer.certificate, name).copy()
        place = tuple(rng.integers(size) for size in field.shape)
        change = rng.choice([-2, -1, 1, 2])
        field[place] += change
        if name == "digits":  # keep the sum, so that only feasibility can fail
            field[(rng.integers(len(field)), *place[1:])] -= change
        broken = replace(answer, certificate=replace(answer.certificate, **{name: field}))
        try:
            check_tjoin(*arguments, broken, boundary=outer)
        except VerificationError:
            refused += 1
        else:
            assert holds(problem, broken)
    assert refused > 350


def test_a_perfect_matching_must_match_everyone():
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    answer = min_weight_perfect_matching(4, square, [1.5, 2.5, -1.0, 9.0])
    check_perfect_matching(4, square, [1.5, 2.5, -1.0, 9.0], answer)
    with pytest.raises(VerificationError, match="exactly once"):
        check_perfect_matching(
            4, square, [1.5, 2.5, -1.0, 9.0], replace(answer, matching=np.array([0, 1]))
        )
    with pytest.raises(VerificationError):
        check_perfect_matching(4, square, [1.5, 2.5, -1.0, -9.0], answer)


def test_a_lower_bound_needs_its_packing(rng):
    *arguments, outer = square_dual(40, rng)
    late = minimum_tjoin(*arguments, boundary=outer, time_limit=0.0)
    assert not late.exact
    check_tjoin(*arguments, late, boundary=outer)
    for broken in (replace(late, lower=late.objective), replace(late, exact=True)):
        with pytest.raises(VerificationError, match="add up"):
            check_tjoin(*arguments, broken, boundary=outer)


@pytest.mark.parametrize("size", [1, 31, 32, 33, 500])
def test_range_minima_across_blocks(size, rng):
    depth = rng.integers(0, 6, size)
    left = rng.integers(0, size, 400)
    right = np.minimum(left + rng.integers(0, size + 1, 400), size)
    found = _lowest_between(depth, left, right)
    for a, b, place in zip(left, right, found, strict=True):
        if a < b:
            assert a <= place < b
            assert depth[place] == depth[a:b].min()
