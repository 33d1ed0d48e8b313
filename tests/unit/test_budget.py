from __future__ import annotations

import math
import os
import pickle

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from planaris.budget import UNLIMITED, Budget, control, use_clock
from planaris.errors import ModelError, PlanarisError, TimeLimitError, TooLargeError
from planaris.kernels import elimination
from planaris.machine import processors
from planaris.treewidth.flatten import to_factor_arrays


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hand():
    with use_clock(Hand()) as clock:
        yield clock


def test_time_passes_by_the_clock_in_use(hand):
    budget = Budget(10.0)
    assert (budget.seconds(), budget.remaining(), budget.expired()) == (0.0, 10.0, False)
    hand.now += 4.0
    assert (budget.seconds(), budget.remaining()) == (4.0, 6.0)
    hand.now += 6.0
    assert budget.expired()
    assert budget.remaining() == 0.0
    with pytest.raises(TimeoutError):
        budget.check()


def test_shares_end_no_later_than_the_whole(hand):
    budget = Budget(10.0)
    half = budget.share(0.5)
    assert half.remaining() == 5.0
    assert budget.within(3.0).remaining() == 3.0
    assert budget.within(30.0).remaining() == 10.0
    assert budget.reserve(2.0).remaining() == 8.0
    hand.now += 8.0
    assert half.expired()
    assert not budget.expired()
    assert budget.share(0.5).remaining() == 1.0
    assert budget.unlimited().remaining() == math.inf


def test_a_budget_without_a_limit_never_ends(hand):
    budget = Budget()
    hand.now = 1e6
    assert budget.remaining() == math.inf
    assert not budget.expired()
    assert budget.share(0.1).remaining() == math.inf
    assert budget.or_within(60.0).remaining() == 60.0
    assert Budget(5.0).or_within(60.0).remaining() == 5.0


def test_nested_calls_share_one_deadline(hand):
    outer = Budget(10.0, memory_limit=7, threads=3, progress=print, prove=True)
    hand.now += 1.0
    inner = Budget.of(outer, threads=1)
    assert (inner.remaining(), inner.seconds()) == (9.0, 0.0)
    assert (inner.bytes(), inner.workers(), inner.prove) == (7, 3, True)
    assert Budget.of(2.0, threads=1).workers() == 1


def test_polling_reports_and_then_looks_at_the_clock(hand):
    seen = []
    budget = Budget(1.0, progress=seen.append)
    budget.poll(0.25)
    hand.now += 2.0
    with pytest.raises(TimeoutError):
        budget.poll(0.5)
    assert seen == [0.25, 0.5]


def test_what_is_late_is_named():
    budget, late = Budget(0.0), pytest.raises(TimeLimitError, match="was not found within")
    with late as caught, budget.required("the answer was not found", width=3):
        budget.check()
    assert caught.value.time_limit == 0.0
    assert caught.value.width == 3


@pytest.mark.parametrize("name", ["time_limit", "memory_limit", "threads"])
@pytest.mark.parametrize("value", [-1, math.nan, "1", True, [1.0]])
def test_limits_are_checked(name, value):
    with pytest.raises(PlanarisError, match=name):
        Budget(**{name: value})


def test_memory_is_refused_by_the_budget():
    with pytest.raises(TooLargeError, match="the table needs 2000 bytes"):
        Budget(memory_limit=1000).check_memory(2000, "the table", "use a smaller one")
    Budget(memory_limit=2000).check_memory(2000, "the table", "use a smaller one")
    assert UNLIMITED.bytes() > 0


def test_budgets_can_be_sent_to_other_processes():
    budget = pickle.loads(pickle.dumps(Budget(60.0, threads=2)))
    assert budget.threads == 2
    assert 0 < budget.remaining() <= 60


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_kernel_polls_the_clock_in_use(stop):
    edges = [(u, v) for u in range(7) for v in range(u)]
    model = pl.IsingModel(edges, np.linspace(-1, 1, len(edges)))
    arrays = to_factor_arrays(model)
    order = elimination.elimination_order(arrays, min_fill=False)[0]
    with use_clock(StepClock(stop)) as clock:
        budget = Budget(1.0)
        try:
            elimination.eliminate_sum(arrays, order, marginals=True, budget=budget)
        except TimeoutError:
            assert clock.looks == stop + 1
        else:
            assert clock.looks <= stop


def test_the_real_clock_is_left_to_the_kernel():
    callback, seconds = control(Budget(60.0))
    assert callback is None
    assert 0 < seconds <= 60
    assert control(None) == (None, math.inf)


def test_processors_are_at_least_one_and_at_most_those_of_the_affinity():
    assert 1 <= processors() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("verb", ["ground_state", "log_partition", "marginals"])
def test_verbs_take_threads_and_budgets(verb):
    edges = [(u, v) for u in range(5) for v in range(u)]
    model = pl.IsingModel(edges, 0.3)
    one = getattr(pl, verb)(model, threads=1)
    shared = getattr(pl, verb)(model, time_limit=Budget(60.0, threads=1))
    assert one.method == shared.method
    with pytest.raises(ModelError, match="threads"):
        getattr(pl, verb)(model, threads=0)


@pytest.mark.parametrize(
    "call",
    [
        lambda model, threads: pl.sample(model, 1, 0, threads=threads),
        lambda model, threads: pl.thermodynamics(model, [1.0], threads=threads),
        lambda model, threads: pl.domain_wall(model, [0], threads=threads),
        lambda model, threads: pl.rigid_edges(model, threads=threads),
        lambda model, threads: pl.ground_state_entropy(model, threads=threads),
    ],
)
def test_calls_of_several_verbs_take_threads(call):
    model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    call(model, 1)
    with pytest.raises(ModelError, match="threads"):
        call(model, 0)


def test_brute_force_refuses_what_it_cannot_list():
    many = pl.MarkovRandomField([3] * 20_000, [((0,), [1.0, 2.0, 3.0])])
    for verb in ("ground_state", "log_partition", "marginals"):
        with pytest.raises(TooLargeError, match="of 20000"):  # 3^20000 is no number to print
            getattr(pl, verb)(many, "brute-force")
    pairs = [(u, v) for u in range(22) for v in range(u)]
    with pytest.raises(TimeLimitError, match="not all states were listed"):
        pl.ground_state(pl.IsingModel(pairs, 1.0), "brute-force", time_limit=1e-3)
