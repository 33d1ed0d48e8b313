"""Time limits: kept by every method of every verb, with an interval that holds at any stop."""

from __future__ import annotations

import math

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import TickClock
from planaris import IsingModel, MarkovRandomField
from planaris.budget import use_clock
from planaris.errors import MethodError, NotPlanarError, TimeLimitError, TooLargeError
from planaris.generate import square_lattice
from planaris.infer.point_marginals import point_marginals
from planaris.planar import plan
from planaris.reference import enumerate_states
from planaris.selftest.interruptions.interrupts import cube
from planaris.selftest.interruptions.interrupts import lattice as glass
from planaris.selftest.models import KINDS

LIMIT = 0.25
STATES = ("auto", "qpbo", "local-lp", "cycle-lp", "mplp", "branch-and-cut", "pdc")
BOUNDS = ("interval", "trw", "pdc", "planar+tree", "trw+cycle", "mean-field")
EXACT = ("planar", "treewidth", "graph-cut")


def dense(n: int, seed: int = 0) -> IsingModel:
    rng = np.random.default_rng(seed)
    edges = np.array([(u, v) for u in range(n) for v in range(u)])
    return IsingModel(edges, rng.normal(size=len(edges)), 0.1 * rng.normal(size=n))


def potts(n: int) -> MarkovRandomField:
    rng, lattice = np.random.default_rng(2), square_lattice(n, n)
    tables = [(tuple(e), np.exp(rng.normal(size=(3, 3)))) for e in lattice.edges.tolist()]
    return MarkovRandomField([3] * n * n, tables)


def random_model(kind: str, seed: int) -> pl.IsingModel:
    model = KINDS[kind](np.random.default_rng([seed, 2026])).model
    assert isinstance(model, pl.IsingModel)
    return model


HARD = {
    "lattice with fields": lambda: glass(150, fields=True),
    "cube": lambda: cube(16, seed=1),
    "dense": lambda: dense(100),
    "cold": lambda: random_model("torus", 23),
}


class Clock:
    """Lets a look at the clock take a while, and tells how long a block took by it."""

    def __enter__(self):
        self.clock = TickClock()
        self.used = use_clock(self.clock)
        self.used.__enter__()
        return self

    def __exit__(self, *why):
        self.ticked = self.clock.now
        return self.used.__exit__(*why)

    def kept(self, limit: float) -> bool:
        return self.ticked <= limit + max(0.5, 0.1 * limit)  # fifty looks, or a tenth of them


def holds_together(found) -> None:
    assert found.lower <= found.upper
    assert not math.isnan(found.lower)
    assert found.upper < math.inf


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("method", STATES)
def test_ground_states(kind, method):
    model, found = HARD[kind](), None
    with Clock() as clock:
        try:
            found = pl.ground_state(model, method, time_limit=LIMIT)
        except TimeLimitError:
            assert method == "qpbo"  # half a minimum cut says nothing
    assert clock.kept(LIMIT), clock.ticked
    if found is None:
        return
    holds_together(found)
    assert model.energy(found.spins) == pytest.approx(found.energy)


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("method", ["auto", *BOUNDS])
def test_log_partition(kind, method):
    model = HARD[kind]()
    with Clock() as clock:
        found = pl.log_partition(model, method, time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    holds_together(found)


@pytest.mark.parametrize("kind", ["lattice with fields", "cube", "dense"])
@pytest.mark.parametrize("method", ["auto", *BOUNDS])
def test_marginals(kind, method):
    model = HARD[kind]()
    with Clock() as clock:
        found = pl.marginals(model, method, time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    assert not found.exact
    assert len(found.nodes) == model.num_spins


@pytest.mark.parametrize(("kind", "seed"), [("planar", 20), ("torus", 23)])
def test_log_determinants_of_cold_models(kind, seed):
    with Clock() as clock:
        found = pl.log_partition(random_model(kind, seed), "logdet", time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    holds_together(found)


def test_log_determinants_of_many_spins():
    with Clock() as clock:
        holds_together(pl.log_partition(dense(60), "logdet", time_limit=LIMIT))
    assert clock.kept(LIMIT), clock.ticked


@pytest.mark.parametrize("method", ["auto", "mplp", "branch-and-cut", "local-lp", "cycle-lp"])
def test_ground_states_of_labels(method):
    model = potts(20)
    with Clock() as clock:
        found = pl.ground_state(model, method, time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    holds_together(found)


@pytest.mark.parametrize("method", ["auto", "interval", "trw", "mean-field"])
def test_log_partition_of_labels(method):
    model = potts(16)
    with Clock() as clock:
        found = pl.log_partition(model, method, time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    assert found.lower <= found.upper


# -- planar models ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "planar"])
def test_planar_models_come_as_intervals(method):
    model = glass(400, fields=False)
    with Clock() as clock:
        state = pl.ground_state(model, method, time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    with Clock() as clock:
        total = pl.log_partition(model, method, time_limit=LIMIT)
    assert clock.kept(LIMIT), clock.ticked
    for found in (state, total):
        holds_together(found)
    assert total.lower <= model.num_spins * math.log(2) - state.lower
    assert total.upper >= -state.energy


def test_planar_marginals_and_samples_say_that_time_is_up():
    model = glass(400, fields=False)
    for work in (
        lambda: pl.marginals(model, "planar", time_limit=LIMIT, threads=1),
        lambda: pl.sample(model, 1000, 0, "planar", time_limit=LIMIT, threads=1),
        lambda: plan(model).spin_correlations(model.couplings, 0, time_limit=LIMIT),
    ):
        with Clock() as clock, pytest.raises(TimeLimitError, match="time_limit"):
            work()
        assert clock.kept(LIMIT), clock.ticked


def test_auto_estimates_the_marginals_it_has_no_time_for():
    model = glass(400, fields=False)
    with Clock() as clock:
        found = pl.marginals(model, time_limit=LIMIT, threads=1)
    assert clock.kept(LIMIT + 0.3), clock.ticked  # the exact way, then the estimate
    assert not found.exact


# -- where only an error can be given ---------------------------------------------------------


@pytest.mark.parametrize("verb", ["ground_state", "log_partition", "marginals"])
def test_a_forced_elimination_says_that_time_is_up(verb):
    model = glass(24, fields=True)
    with Clock() as clock, pytest.raises(TimeLimitError, match="bounds"):
        getattr(pl, verb)(model, "treewidth", time_limit=LIMIT, memory_limit=2**36)
    assert clock.kept(LIMIT), clock.ticked


def test_a_minimum_cut_says_that_time_is_up():
    rng, lattice = np.random.default_rng(0), square_lattice(700, 700)
    model = IsingModel(lattice.edges, 1.0, rng.normal(size=lattice.num_vertices))
    with Clock() as clock, pytest.raises(TimeLimitError):
        pl.ground_state(model, "graph-cut", time_limit=0.05)
    assert clock.kept(0.05), clock.ticked


# -- intervals hold however little time there is ----------------------------------------------


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 0.02])
@pytest.mark.parametrize("seed", range(2))
def test_the_truth_is_inside_at_any_stop(seed, seconds):
    model = dense(12, seed)
    truth = enumerate_states(model)
    for method in STATES:
        found = pl.ground_state(model, method, time_limit=seconds)
        assert found.lower - 1e-9 <= truth.energy <= found.energy + 1e-9, method
    for method in ("auto", *BOUNDS, "logdet"):
        found = pl.log_partition(model, method, time_limit=seconds)
        assert found.lower - 1e-9 <= truth.log_partition <= found.upper + 1e-9, method


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("seconds", [1e-6, 0.02])
def test_the_truth_is_inside_planar_intervals(seconds):
    model = glass(30, fields=False)
    truth = pl.log_partition(model)
    assert truth.exact
    found = pl.log_partition(model, "planar", time_limit=seconds)
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower
    state = pl.ground_state(model, "planar", time_limit=seconds)
    best = pl.ground_state(model)
    assert state.lower - 1e-9 <= best.energy <= state.energy + 1e-9


def test_methods_that_do_not_fit_refuse_at_once():
    model = HARD["cube"]()
    for method in EXACT:
        with (
            Clock() as clock,
            pytest.raises((MethodError, NotPlanarError, TooLargeError)),
        ):
            pl.ground_state(model, method, time_limit=LIMIT)
        assert clock.kept(LIMIT), (method, clock.ticked)


def test_point_marginals_do_not_wait_for_a_long_elimination():
    """28 columns fit into memory and take minutes; the contraction takes a second."""
    model = pl.generate.spin_glass(28, 1).at(0.3)
    model = pl.IsingModel(model.edges, model.couplings, fields=0.2)
    assert point_marginals(model).method == "tensor-network"
