from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from helpers.clocks import StepClock
from helpers.tjoin_cases import (
    WEIGHT_KINDS,
    Problem,
    lightest_tjoin,
    random_problem,
    square_dual,
    triangular_dual,
)
from planaris.budget import Budget, use_clock
from planaris.errors import InfeasibleError, ModelError, TimeLimitError
from planaris.kernels import cuts as kernel
from planaris.matching.tjoins import (
    TJoin,
    TJoinSolver,
    min_weight_perfect_matching,
    minimum_tjoin,
)
from planaris.verify import check_perfect_matching, check_tjoin


def solved(num_vertices, edges, weights, odd, boundary=None) -> TJoin:
    answer = minimum_tjoin(num_vertices, edges, weights, odd, boundary=boundary)
    check_tjoin(num_vertices, edges, weights, odd, answer, boundary=boundary)
    return answer


@pytest.mark.parametrize("num_vertices", [0, 1, 5])
def test_nothing_to_join(num_vertices):
    answer = solved(num_vertices, [], [], [])
    assert answer.join.size == 0
    assert answer.objective == 0
    assert answer.certificate.num_sets == 0


def test_repeated_odd_vertices_cancel():
    assert solved(3, [(0, 1), (1, 2)], [1, 1], [0, 0, 2, 1]).join.tolist() == [1]


def test_loops_and_parallel_edges():
    edges = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 1)]
    answer = solved(2, edges, [0, 3, 2, 0, 5], [0, 1])
    assert answer.objective == 2
    assert 2 in answer.join


def test_the_boundary_takes_what_is_left_over():
    answer = solved(4, [(0, 1), (1, 2), (2, 3)], [5, 1, 1], [0, 1, 2], boundary=[3])
    assert answer.objective == 6
    assert answer.join.tolist() == [0, 2]


def test_odd_boundary_vertices_ask_for_nothing():
    assert solved(2, [(0, 1)], [1], [0], boundary=[0, 1]).objective == 0


def test_everything_is_boundary():
    assert solved(3, [(0, 1), (1, 2)], [1, 1], [0, 1, 2], boundary=[0, 1, 2]).join.size == 0


def test_zero_weights_cost_nothing():
    assert solved(4, [(0, 1), (1, 2), (2, 3)], [0, 0, 0], [0, 1, 2, 3]).objective == 0


def test_an_odd_component_is_named():
    with pytest.raises(InfeasibleError, match=r"component of vertex 2 .* holds 1 odd") as caught:
        minimum_tjoin(5, [(0, 1), (2, 4)], [1, 1], [0, 1, 4])
    assert caught.value.vertices.tolist() == [2, 4]
    assert caught.value.num_odd == 1


def test_an_isolated_odd_vertex_is_named():
    with pytest.raises(InfeasibleError) as caught:
        minimum_tjoin(3, [(0, 1)], [1], [2])
    assert caught.value.vertices.tolist() == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [(0, 2)], [1], []), "names vertex 2"),
        ((2, [(0, 1)], [1], [-1]), "names vertex -1"),
        ((2, [(0, 1)], [1, 2], []), "one entry for each of the 1 edges"),
        ((2, [(0, 1)], [-1], []), "must not be negative"),
        ((2, [(0, 1)], [math.nan], []), "must be finite"),
        ((2, [(0, 1)], [math.inf], []), "must be finite"),
        ((2, [(0, 1)], ["a"], []), "integers or float64"),
        ((2, [(0.0, 1.0)], [1], []), "must hold vertex numbers"),
        ((2, [(0, 1, 1)], [1], []), "shape"),
        ((-1, [], [], []), "num_vertices"),
        ((2, [(0, 1)], np.array([2**63], np.uint64), []), "64-bit"),
    ],
)
def test_broken_arguments_are_refused(arguments, message):
    with pytest.raises(ModelError, match=message):
        minimum_tjoin(*arguments)


def test_large_integers_do_not_overflow():
    big = 2**63 - 1
    edges = [(i, i + 1) for i in range(99)]
    answer = solved(100, edges, [big] * 99, [0, 99])
    assert answer.objective == 99 * big


def test_floats_are_exact_to_the_last_bit():
    weights = [1e300, 1e-300, 5e-324, 0.1]
    answer = solved(5, [(0, 1), (1, 2), (2, 3), (3, 4)], weights, [0, 4])
    total = sum(Fraction(w) for w in weights)
    assert Fraction(answer.numerator) * Fraction(2) ** answer.exponent == total
    assert answer.objective == float(total)


@pytest.mark.parametrize(("detour", "join"), [(5e-324, [1, 2]), (1.5e-323, [0, 3])])
def test_a_tie_broken_by_the_last_bit(detour, join):
    # In floating point all four sums are 1.
    edges = [(0, 1), (0, 2), (2, 4), (1, 4)]
    assert solved(5, edges, [1.0, 1.0, detour, 1e-323], [0, 4]).join.tolist() == join


def test_a_weight_too_large_for_floats_is_infinite_but_known():
    answer = solved(3, [(0, 1), (1, 2)], [1.7e308, 1.7e308], [0, 2])
    assert answer.objective == math.inf
    assert answer.numerator << answer.exponent == 2 * int(1.7e308)


def test_integer_types_are_taken_as_they_are():
    for dtype in (np.uint8, np.int16, np.uint64, np.bool_):
        assert solved(2, [(0, 1)], np.ones(1, dtype), [0, 1]).objective == 1
    assert solved(2, [(0, 1)], np.ones(1, np.float32), [0, 1]).objective == 1.0


def test_a_long_path():
    n = 10**6
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    answer = solved(n, edges, np.full(n - 1, 3), [0, n - 1])
    assert answer.objective == 3 * (n - 1)


def test_a_star_with_a_million_leaves():
    n = 10**6
    edges = np.stack([np.zeros(n - 1, int), np.arange(1, n)], axis=1)
    answer = solved(n, edges, np.ones(n - 1, int), np.arange(1, n - 1))
    assert answer.objective == n - 2


def test_an_odd_ring_needs_a_blossom():
    edges = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5)]
    assert solved(6, edges, [2, 2, 2, 9, 9, 9], range(6)).objective == 27
    # Balls of one around three vertices pack 3 of 11, and the boundary has no ball: the rest is
    # the value of the ring as a whole.
    to_boundary = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
    answer = solved(4, to_boundary, [2, 2, 2, 9, 9, 9], range(3), [3])
    assert answer.objective == 11
    assert answer.stats["blossoms"] > 0


@pytest.mark.parametrize("make", [square_dual, triangular_dual])
@pytest.mark.parametrize("fraction", [None, 0.5, 0.1, 1.0])
@pytest.mark.parametrize("size", [2, 3, 40])
def test_duals_of_glasses(make, fraction, size, rng):
    n, edges, weights, odd, outer = make(size, rng, fraction=fraction)
    with_boundary = solved(n, edges, weights, odd, outer)
    if len(odd) % 2:
        odd = np.append(odd, outer)
    assert solved(n, edges, weights, odd).numerator == with_boundary.numerator


def test_order_of_vertices_does_not_matter(rng):
    n, edges, weights, odd, outer = square_dual(30, rng)
    new = rng.permutation(n)
    shuffle = rng.permutation(len(edges))
    answer = solved(n, edges, weights, odd, outer)
    other = solved(n, new[edges][shuffle], weights[shuffle], new[odd], new[outer])
    assert (other.numerator, other.exponent) == (answer.numerator, answer.exponent)


def test_sets_can_be_read():
    answer = solved(2, [(0, 1)], [3], [0, 1])
    packing = answer.certificate
    assert sum(packing.value(k) for k in range(packing.num_sets)) == 3
    assert len(packing.members(0)) == 1


def test_pickled_results_still_prove():
    problem = (4, [(0, 1), (1, 2), (2, 3), (3, 0)], [3, 4, 1, 5], [0, 2])
    check_tjoin(*problem, pickle.loads(pickle.dumps(minimum_tjoin(*problem))))


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("fraction", [None, 0.5])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_join_and_a_bound_are_left_when_the_time_is_over(fraction, threads, rng):
    n, edges, weights, odd, outer = square_dual(150, rng, fraction=fraction)
    best = minimum_tjoin(n, edges, weights, odd, boundary=outer)
    late = minimum_tjoin(n, edges, weights, odd, boundary=outer, time_limit=1e-3, threads=threads)
    assert not late.exact
    check_tjoin(n, edges, weights, odd, late, boundary=outer)
    assert 0 <= late.lower < best.objective < late.objective < 2 * best.objective
    # What was found so far can be gone on with.
    end = minimum_tjoin(n, edges, weights, odd, boundary=outer, start=late)
    assert end.exact
    assert end.numerator == best.numerator
    check_tjoin(n, edges, weights, odd, end, boundary=outer)


@pytest.mark.parametrize("kind", WEIGHT_KINDS)
def test_no_time_at_all_still_gives_a_join(kind, rng):
    # Components without boundary, loops, parallel edges: the tree must reach them all.
    for _ in range(100):
        problem = random_problem(rng, kind)
        n, edges, weights, odd, boundary = problem
        if lightest_tjoin(problem) is None:
            continue
        late = minimum_tjoin(n, edges, weights, odd, boundary=boundary, time_limit=0.0)
        check_tjoin(n, edges, weights, odd, late, boundary=boundary)


def test_a_search_gives_up_before_it_begins_or_after_its_end_or_leaves_a_join(rng):
    n, edges, weights, odd, outer = square_dual(9, rng)
    problem = n, np.asarray(edges, np.int32), weights, np.asarray(odd, np.int32), outer
    best = minimum_tjoin(n, edges, weights, odd, boundary=outer)
    gave_up, found = 0, None
    for stop in range(1, 10_000):
        with use_clock(StepClock(stop)) as clock:
            budget = Budget(1.0, threads=1)
            try:
                found = kernel.minimum_tjoin(*problem, start=None, budget=budget, give_up=True)
            except TimeoutError:
                assert found is None or found.exact, "there was a join with less time"
                gave_up += found is None
                continue
        check_tjoin(n, edges, weights, odd, found, boundary=outer)
        assert found.lower <= best.objective <= found.objective
        if clock.looks <= stop:
            break
    assert found.exact
    assert 2 < gave_up < stop - 2


@pytest.mark.usefixtures("ticking")
def test_a_late_perfect_matching_is_an_error(rng):
    n = 3000
    edges = rng.integers(0, n, (8 * n, 2))
    edges = np.concatenate([edges, np.arange(n).reshape(-1, 2)])
    with pytest.raises(TimeLimitError, match="0\\.001 s") as caught:
        min_weight_perfect_matching(n, edges, rng.random(len(edges)), time_limit=1e-3)
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize("fraction", [None, 0.5])
def test_threads_change_nothing_but_the_time(fraction, rng):
    n, edges, weights, odd, outer = square_dual(600, rng, fraction=fraction)
    one, *others = (  # 600² vertices are split into ranges
        minimum_tjoin(n, edges, weights, odd, boundary=outer, threads=k) for k in (1, 2, 7)
    )
    check_tjoin(n, edges, weights, odd, one, boundary=outer)
    for other in others:
        assert other.numerator == one.numerator
        assert np.array_equal(other.join, one.join)
        assert other.stats == one.stats
        for name in ("order", "start", "stop", "parent", "digits"):
            assert np.array_equal(getattr(other.certificate, name), getattr(one.certificate, name))


@pytest.mark.parametrize("kind", WEIGHT_KINDS)
def test_a_solver_forgets_one_set_before_the_next(kind, rng):
    for _ in range(10):
        n, edges, weights, _, boundary = random_problem(rng, kind)
        solver = TJoinSolver(n, edges, weights, boundary=boundary)
        for _ in range(10):
            odd = rng.integers(0, n, int(rng.integers(0, n + 1)))
            problem = Problem(n, edges, weights, odd, boundary)
            least = lightest_tjoin(problem)
            if least is None:
                with pytest.raises(InfeasibleError) as caught:
                    solver.solve(odd)
                assert caught.value.num_odd % 2 == 1
                continue
            found = solver.solve_many([odd])
            assert Fraction(found.numerators[0]) * Fraction(2) ** found.exponent == least
            parity = np.bincount(edges[found.join(0)].ravel(), minlength=n)
            parity += np.bincount(odd, minlength=n)
            parity[boundary] = 0
            assert not np.any(parity % 2)
            assert solver.solve(odd)[1] == found.objectives[0]


def test_a_solver_finds_what_single_solves_find(rng):
    n, edges, weights, _, outer = square_dual(40, rng)
    solver = TJoinSolver(n, edges, weights, boundary=outer)
    sets = [rng.choice(n - 1, size=k, replace=False) for k in (0, 1, 2, 30, 800, 3)]
    found = solver.solve_many(sets)
    assert len(found) == len(sets)
    for k, odd in enumerate(sets):
        answer = minimum_tjoin(n, edges, weights, odd, boundary=outer)
        assert found.objectives[k] == answer.objective
        assert math.fsum(weights[found.join(k)]) == answer.objective


def test_a_solver_checks_its_arguments():
    solver = TJoinSolver(3, [(0, 1)], [1])
    for odd, message in [([3], "vertex 3"), ([-1], "vertex -1"), ([0.5], "integers")]:
        with pytest.raises(ModelError, match=message):
            solver.solve(odd)
    with pytest.raises(ModelError, match="negative"):
        TJoinSolver(2, [(0, 1)], [-1])
    with pytest.raises(InfeasibleError, match="component of vertex 2"):
        solver.solve_many([[0, 1], [2]])


def test_progress_is_reported_and_may_stop_the_work(rng):
    n, edges, weights, odd, outer = square_dual(400, rng)
    seen = []
    minimum_tjoin(n, edges, weights, odd, boundary=outer, progress=seen.append)
    assert seen
    assert all(fraction == -1 or 0 <= fraction <= 1 for fraction in seen)  # -1: unknown

    def stop(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimum_tjoin(n, edges, weights, odd, boundary=outer, progress=stop)


@pytest.mark.parametrize("fraction", [None, 0.5])
def test_a_warm_start_finds_what_a_cold_one_finds(fraction, rng):
    n, edges, weights, odd, outer = square_dual(60, rng, fraction=fraction)
    weights = weights.astype(float)
    answer = minimum_tjoin(n, edges, weights, odd, boundary=outer)
    cold = answer.stats["searches"]
    for _ in range(10):
        weights = weights.copy()
        weights[rng.integers(len(weights), size=3)] *= rng.choice([0.0, 0.5, 1.5], size=3)
        odd = np.append(odd, rng.integers(n - 1, size=2))
        answer = minimum_tjoin(n, edges, weights, odd, boundary=outer, start=answer)
        check_tjoin(n, edges, weights, odd, answer, boundary=outer)
        assert answer.stats["searches"] < cold / 10
    assert minimum_tjoin(n, edges, weights, odd, boundary=outer).objective == answer.objective


def test_a_warm_start_leaves_its_start_alone(rng):
    n, edges, weights, odd, outer = square_dual(20, rng)
    first = minimum_tjoin(n, edges, weights, odd, boundary=outer)
    for _ in range(2):
        other = minimum_tjoin(n, edges, weights * 2, odd, boundary=outer, start=first)
        assert other.objective == 2 * first.objective
        same = minimum_tjoin(n, edges, weights, odd, boundary=outer, start=first)
        assert same.stats["searches"] == 0
        assert same.numerator == first.numerator
        check_tjoin(n, edges, weights, odd, first, boundary=outer)


def test_a_start_that_does_not_fit_is_not_used(rng):
    small = solved(2, [(0, 1)], [1], [0, 1])
    n, edges, weights, odd, outer = square_dual(20, rng)
    answer = minimum_tjoin(n, edges, weights, odd, boundary=outer, start=small)
    check_tjoin(n, edges, weights, odd, answer, boundary=outer)
    with pytest.raises(InfeasibleError):
        minimum_tjoin(2, [(0, 1)], [1], [0], start=small)
    heavy = minimum_tjoin(2, [(0, 1)], [1e300], [0, 1], start=small)
    assert heavy.objective == 1e300


def test_perfect_matching_of_a_graph_with_odd_cycles():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]
    weights = [-1, 5, 2, 7, 1, 0, 1]
    answer = min_weight_perfect_matching(6, edges, weights)
    check_perfect_matching(6, edges, weights, answer)
    assert answer.objective == -1 + 7 + 0


def test_no_perfect_matching():
    star = [(0, 1), (0, 2), (0, 3)]
    with pytest.raises(InfeasibleError, match="no perfect matching"):
        min_weight_perfect_matching(4, star, [1, 1, 1])
    with pytest.raises(InfeasibleError, match="3 vertices"):
        min_weight_perfect_matching(3, [(0, 1), (1, 2)], [1, 1])
    assert min_weight_perfect_matching(0, [], []).objective == 0


@pytest.mark.parametrize("count", [2.5, "x", None, -1])
def test_a_graph_has_a_whole_number_of_vertices(count) -> None:
    with pytest.raises(ModelError, match="num_vertices"):
        minimum_tjoin(count, [(0, 1)], [1], [0, 1])


def test_a_start_is_an_earlier_answer() -> None:
    with pytest.raises(ModelError, match="start"):
        minimum_tjoin(2, [(0, 1)], [1], [0, 1], start=3)  # type: ignore[arg-type]


def test_many_sets_look_at_the_clock_while_they_are_converted_and_joined(rng, monkeypatch):
    monkeypatch.setattr("planaris.matching.tjoins.SETS_AT_ONCE", 4)
    n, edges = square_dual(5, rng)[:2]
    solver = TJoinSolver(n, edges, rng.random(len(edges)))
    sets = [rng.choice(n, 4, replace=False).tolist() for _ in range(12)]
    whole = solver.solve_many(sets, time_limit=1.0)
    with use_clock(StepClock(10**6)) as clock:
        solver.solve_many(sets, time_limit=1.0)
    assert clock.looks >= 12 // 4 + 12  # one for four sets that are converted, and for each join
    for stop in range(1, clock.looks + 1):
        with use_clock(StepClock(stop)):
            try:
                found = solver.solve_many(sets, time_limit=1.0)
            except TimeLimitError:
                assert stop < clock.looks
                continue
        assert found.numerators == whole.numerators
