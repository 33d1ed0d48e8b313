"""Deadlines at every look at the clock: the answer holds, or TimeLimitError is raised.

The clock of these tests does not run: it stands still until a given number of looks, by Python or
by a kernel, and then every time limit is over. So each deadline is tried the same on any machine.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planaris as pl
from helpers.clocks import StepClock
from helpers.trials import trials
from planaris.budget import use_clock
from planaris.errors import MethodError, NotPlanarError, TimeLimitError, TooLargeError
from planaris.models import IsingModel, MarkovRandomField
from planaris.reference import enumerate_assignments, enumerate_states
from planaris.relax.lp import cycle_polytope
from planaris.selftest.interruptions.deadlines import METHODS
from planaris.subgraphs import convex_combination

MOST_LOOKS = 1000
"""Methods that go on while there is time are stopped here."""

DO_NOT_FIT = (MethodError, NotPlanarError, TooLargeError)


@cache
def models() -> dict[str, IsingModel | MarkovRandomField]:
    rng = np.random.default_rng(7)
    ring = [(k, (k + 1) % 6) for k in range(6)]
    five = [(u, v) for u in range(5) for v in range(u)]
    three = [((0, 1, 2), rng.normal(size=(3, 2, 3))), ((1, 2, 3), rng.normal(size=(2, 3, 2)))]
    pairs = [((u, v), rng.normal(size=(3, 3))) for u, v in [(0, 1), (1, 2), (2, 0), (2, 3)]]
    return {
        "ring": IsingModel(ring, rng.normal(size=6)),
        "ring with fields": IsingModel(ring, rng.normal(size=6), rng.normal(size=6)),
        "complete": IsingModel(five, rng.normal(size=10), rng.normal(size=5)),
        "torus": IsingModel(pl.embed.torus_lattice(3, 3).edges, rng.normal(size=18)),
        "third order": MarkovRandomField([3, 2, 3, 2], three, log=True),
        "three labels": MarkovRandomField([3] * 4, pairs, log=True),
    }


def call(verb: str, model: IsingModel | MarkovRandomField, method: str, **options: Any) -> Any:
    if verb == "sample":
        return pl.sample(model, 3, 0, method, **options)
    return getattr(pl, verb)(model, method, **options)


def num_looks(verb: str, model: Any, method: str) -> int:
    with use_clock(StepClock(MOST_LOOKS)) as clock, suppress(TimeLimitError):
        call(verb, model, method, time_limit=1.0, threads=1)
    return min(clock.looks, MOST_LOOKS)


def some_of(looks: int) -> list[int]:
    """Return all deadlines; of calls with more than 300 looks only some, unless slow."""
    if looks <= trials(300, MOST_LOOKS):
        return list(range(1, looks + 1))
    return sorted({*range(1, 21), *np.linspace(21, looks, 20).astype(int).tolist()})


def enumerated(model: IsingModel | MarkovRandomField) -> Any:
    if isinstance(model, IsingModel):
        return enumerate_states(model)
    return enumerate_assignments(model)


@cache
def truth_of(name: str) -> Any:
    return enumerated(models()[name])


def check(verb: str, model: IsingModel | MarkovRandomField, truth: Any, found: Any) -> None:
    ising = isinstance(model, IsingModel)
    rounding = 1e-9
    if verb == "ground_state":
        least = truth.energy if ising else -truth.map_log_weight
        state = found.spins if ising else found.assignment
        assert found.lower <= least + rounding
        assert found.energy == pytest.approx(float(model.energy(state)), abs=rounding)
        assert found.upper >= least - rounding
        assert not found.exact or found.energy <= least + 1e-6
    elif verb == "log_partition":
        assert found.lower <= truth.log_partition + rounding
        assert found.upper >= truth.log_partition - rounding
        assert not math.isnan(found.value)
    elif verb == "marginals":
        for given_, wanted in zip(found.nodes, truth.nodes, strict=True):
            assert np.all(np.isfinite(given_))
            if found.exact:
                np.testing.assert_allclose(given_, wanted, atol=1e-6)
    else:
        assert found.shape == (3, model.num_spins if ising else model.num_variables)


@pytest.mark.parametrize("name", list(models()))
@pytest.mark.parametrize(("verb", "method"), METHODS)
def test_answers_hold_at_every_deadline(verb, method, name):
    model = models()[name]
    try:
        looks = num_looks(verb, model, method)
    except DO_NOT_FIT:
        pytest.skip("the method does not fit the model")
    truth = truth_of(name)
    for n in some_of(looks):
        with use_clock(StepClock(n)):
            try:
                found = call(verb, model, method, time_limit=1.0, threads=1)
            except TimeLimitError:
                continue
        check(verb, model, truth, found)


FINISHED = ["auto", "bp", "local-lp", "pdc", "planar", "surface", "trw", "trw+cycle"]
"""Methods that look at the clock while they finish what a search has found."""


@pytest.mark.parametrize("name", ["ring", "complete", "three labels"])
@pytest.mark.parametrize(("verb", "method"), [m for m in METHODS if m[1] in FINISHED])
def test_answers_hold_where_what_follows_a_search_is_late(verb, method, name):
    model = models()[name]
    try:
        looks = num_looks(verb, model, method)
    except DO_NOT_FIT:
        pytest.skip("the method does not fit the model")
    for n in sorted(set(np.linspace(1, looks, trials(12, 100)).astype(int).tolist())):
        for late in (1, 2, 3, 5, 8):
            with use_clock(StepClock(n, late)):
                try:
                    found = call(verb, model, method, time_limit=1.0, threads=1)
                except TimeLimitError:
                    continue
            check(verb, model, truth_of(name), found)


LARGE = [
    ("ground_state", "cycle-lp"),
    ("ground_state", "branch-and-cut"),
    ("ground_state", "pdc"),
    ("log_partition", "pdc"),
    ("log_partition", "trw"),
    ("log_partition", "planar+tree"),
]
"""Methods that take steps with looks in between where a model is large."""


@pytest.mark.parametrize("name", ["ring with fields", "complete", "torus"])
@pytest.mark.parametrize(("verb", "method"), LARGE)
def test_answers_hold_at_every_deadline_of_what_large_models_take(verb, method, name, monkeypatch):
    monkeypatch.setattr(cycle_polytope, "READ_AT_ONCE", 0)
    monkeypatch.setattr(convex_combination, "LARGE", 0)
    monkeypatch.setattr(convex_combination, "MEMBERS_AT_ONCE", 4)
    model = models()[name]
    looks = num_looks(verb, model, method)
    for n in some_of(looks):
        with use_clock(StepClock(n, n % 4)):
            try:
                found = call(verb, model, method, time_limit=1.0, threads=1)
            except TimeLimitError:
                continue
        check(verb, model, truth_of(name), found)


SPINS = ["ring", "ring with fields", "complete", "torus"]
"""Models of spins, for what is computed by several calls."""

BETAS = [0.5, 1.0]


def deadlines_of(ask: Any) -> Any:
    """Yield an answer for every deadline at which there is one."""
    with use_clock(StepClock(MOST_LOOKS)) as clock, suppress(TimeLimitError):
        ask()
    for n in some_of(min(clock.looks, MOST_LOOKS)):
        with use_clock(StepClock(n)), suppress(TimeLimitError):
            yield ask()


@pytest.mark.parametrize("name", SPINS)
@pytest.mark.parametrize("method", ["auto", "tensor-network"])
def test_thermodynamics_hold_at_every_deadline(method, name):
    model = models()[name]
    truth = [enumerate_states(model.at(beta)).log_partition for beta in BETAS]
    for found in deadlines_of(lambda: pl.thermodynamics(model, BETAS, method, time_limit=1.0)):
        if method == "auto":
            assert np.all(found.log_partition_lower <= np.array(truth) + 1e-9)
            assert np.all(found.log_partition_upper >= np.array(truth) - 1e-9)
        assert np.all(np.isfinite(found.log_partition))


@pytest.mark.parametrize("name", SPINS)
def test_domain_walls_and_rigid_edges_hold_at_every_deadline(name):
    model = models()[name]
    turned = model.couplings.copy()
    turned[0] *= -1.0
    cost = enumerate_states(model.with_couplings(turned)).energy - truth_of(name).energy
    for wall in deadlines_of(lambda: pl.domain_wall(model, [0], time_limit=1.0)):
        assert wall.lower - 1e-9 <= cost <= wall.upper + 1e-9
    whole = pl.rigid_edges(model)
    assert whole.exact
    for found in deadlines_of(lambda: pl.rigid_edges(model, time_limit=1.0)):
        assert not np.any(found.rigid & ~whole.rigid)
        assert not np.any(found.loose & ~whole.loose)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    chosen=st.sampled_from(METHODS),
    order=st.integers(1, 4),
    stop=st.integers(1, 300),
)
def test_answers_of_random_models_hold_at_any_deadline(seed, chosen, order, stop):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, int(rng.integers(1, 6))).tolist()
    factors = []
    for _ in range(int(rng.integers(0, 7))):
        size = min(int(rng.integers(0, order + 1)), len(cards))
        scope = tuple(rng.choice(len(cards), size, replace=False).tolist())
        factors.append((scope, rng.normal(size=tuple(cards[v] for v in scope))))
    model = MarkovRandomField(cards, factors, log=True)
    verb, method = chosen
    with use_clock(StepClock(stop)):
        try:
            found = call(verb, model, method, time_limit=1.0, threads=1)
        except (TimeLimitError, *DO_NOT_FIT):
            return
    check(verb, model, enumerated(model), found)
