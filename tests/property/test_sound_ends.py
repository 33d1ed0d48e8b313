"""Both ends of every interval hold in exact arithmetic, for numbers from 1e-300 to 1e18."""

from __future__ import annotations

import flint
import numpy as np
import pytest

import planaris as pl
from helpers.exact_models import (
    ball_log_partition,
    nearest,
    random_model,
    rational_log,
    rational_logs,
    split_factor,
)
from helpers.trials import seeds
from planaris import IsingModel, MarkovRandomField
from planaris.errors import PlanarisError
from planaris.verify import check_result

GROUND_STATES = (
    "auto",
    "planar",
    "graph-cut",
    "qpbo",
    "treewidth",
    "local-lp",
    "cycle-lp",
    "mplp",
    "branch-and-cut",
    "pdc",
    "brute-force",
)
SUMS = (
    "auto",
    "planar",
    "treewidth",
    "brute-force",
    "interval",
    "trw",
    "pdc",
    "planar+tree",
    "trw+cycle",
    "logdet",
    "mean-field",
)
pytestmark = pytest.mark.usefixtures("ticking")

TRIANGLE = [(0, 1), (1, 2), (0, 2)]
K5 = [(u, v) for u in range(5) for v in range(u)]


def exact_energy(model: IsingModel | MarkovRandomField, found: pl.GroundState):
    state = found.spins if isinstance(model, IsingModel) else found.assignment
    log = rational_log(model, state.tolist())
    assert log is not None
    return -log


@pytest.mark.parametrize("seed", seeds(40, 150))
def test_energies_are_rounded_once_and_lower_ends_hold(seed: int) -> None:
    model = random_model(seed)
    least = -max(rational_logs(model))
    for method in GROUND_STATES:
        try:
            found = pl.ground_state(model, method, time_limit=5.0)
        except PlanarisError:
            continue
        energy = exact_energy(model, found)
        assert found.energy == found.upper == nearest(energy), method
        assert found.lower <= nearest(least), method
        if method in ("auto", "treewidth", "brute-force"):
            assert energy == least, method  # by however little others are above
        if found.exact:
            assert energy - least <= found.tolerance, method


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_log_partitions_lie_within_their_ends(seed: int) -> None:
    model = random_model(seed)
    truth = ball_log_partition(rational_logs(model))
    for method in SUMS:
        try:
            found = pl.log_partition(model, method, time_limit=0.3)
        except PlanarisError:
            continue
        assert flint.arb(found.lower) <= truth, method
        assert flint.arb(found.upper) >= truth, method
        assert found.lower <= found.value <= found.upper, method
        if method in ("auto", "treewidth", "brute-force"):
            step = float(np.spacing(abs(found.value)))
            assert found.upper - found.lower <= max(1e-6, 8 * step), method


def test_ends_of_triangles_that_a_state_decides() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        offset = float(rng.choice([0.0, rng.normal(), 1e18 * rng.normal()]))
        model = IsingModel(TRIANGLE, rng.uniform(20, 60, 3), rng.uniform(20, 60, 3), offset=offset)
        truth = ball_log_partition(rational_logs(model))
        for method in ("logdet", "trw+cycle", "mean-field"):
            found = pl.log_partition(model, method, time_limit=0.2)
            assert flint.arb(found.lower) <= truth <= flint.arb(found.upper), method


@pytest.mark.parametrize("size", [1e5, 1e12, 1e15, 1e17, 1e18, 1e200])
@pytest.mark.parametrize("method", ["auto", "treewidth", "brute-force"])
def test_log_partition_beside_a_penalty(size: float, method: str) -> None:
    mrf = MarkovRandomField([2, 2], [((0,), [-1.0, -size])], log=True)
    found = pl.log_partition(mrf, method)
    assert found.exact
    assert found.value == pytest.approx(np.log(2.0) - 1.0, abs=1e-13)


def test_log_partition_beside_a_strong_field() -> None:
    found = pl.log_partition(IsingModel([(0, 1)], [0.5], fields=[1e15, 0.0]))
    assert found.upper - found.lower <= 4 * np.spacing(1e15)


@pytest.mark.parametrize("method", ["auto", "branch-and-cut", "cycle-lp", "mplp", "treewidth"])
@pytest.mark.parametrize("seed", range(8))
def test_one_strong_coupling_of_k5_hides_nothing(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    couplings = rng.normal(size=10)
    couplings[rng.integers(10)] = 1e17 * rng.choice([-1.0, 1.0])
    model = IsingModel(K5, couplings, rng.normal(size=5) * (seed % 2))
    found = pl.ground_state(model, method)
    assert exact_energy(model, found) == -max(rational_logs(model))
    assert found.lower == found.upper
    assert found.exact


@pytest.mark.parametrize("method", ["local-lp", "cycle-lp", "mplp", "branch-and-cut"])
@pytest.mark.parametrize("seed", range(10))
def test_relaxations_beside_huge_numbers_are_not_wrongly_exact(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    tables = [((u, v), rng.normal(size=9)) for u in range(4) for v in range(u)]
    for _, table in tables[:2]:
        table[rng.integers(9, size=3)] += 1e15 * rng.choice([-1.0, 1.0], 3)
    mrf = MarkovRandomField([3] * 4, tables, log=True)
    least = -max(rational_logs(mrf))
    for prove in (False, True):
        found = pl.ground_state(mrf, method, prove=prove, time_limit=5.0)
        assert found.lower <= nearest(least)
        if found.exact:
            assert exact_energy(mrf, found) - least <= found.tolerance


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_factors_that_cancel_hide_nothing(seed: int, labels: int) -> None:
    # Factors on the same variables add up to what is small only if no partial sum is rounded.
    rng = np.random.default_rng(seed)
    scopes = [[], *([v] for v in range(3)), *([u, v] for u in range(3) for v in range(u))]
    factors = [
        part
        for scope in scopes
        for part in split_factor(rng, scope, rng.normal(size=(labels,) * len(scope)))
    ]
    mrf = MarkovRandomField([labels] * 3, factors, log=True)
    logs = rational_logs(mrf)
    least, truth = -max(logs), ball_log_partition(logs)
    for method in GROUND_STATES:
        for prove in (False, True):
            try:
                found = pl.ground_state(mrf, method, prove=prove, time_limit=5.0)
            except PlanarisError:
                continue
            assert found.lower <= nearest(least), method
            assert not found.exact or exact_energy(mrf, found) - least <= found.tolerance, method
            assert check_result(mrf, found)
    for method in (*SUMS, "tensor-network"):
        try:
            z = pl.log_partition(mrf, method, time_limit=0.3)
        except PlanarisError:
            continue
        assert flint.arb(z.lower) <= truth <= flint.arb(z.upper), method
        assert check_result(mrf, z)


@pytest.mark.parametrize("method", ["local-lp", "cycle-lp", "mplp", "branch-and-cut", "auto"])
def test_no_state_found_is_not_no_state_allowed(method: str) -> None:
    # Graphs that have a colouring: one of forbidden weight is no ground state.
    unlike = np.where(np.eye(3) > 0, 0.0, 1.0)
    rng = np.random.default_rng(144)
    for _ in range(20):
        order = rng.permutation(7)
        colour = rng.integers(0, 3, 7)
        pairs = [(u, v) for u in order for v in order if u < v and colour[u] != colour[v]]
        mrf = MarkovRandomField([3] * 7, [(pair, unlike) for pair in pairs])
        found = pl.ground_state(mrf, method)
        assert found.lower <= 0.0
        assert found.energy == 0.0 or not found.exact


@pytest.mark.parametrize("seed", range(10))
def test_branch_and_cut_tells_nearly_equal_states_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [
        ((u, v), rng.integers(-1, 2, 9) + 1e-12 * rng.integers(0, 3, 9))
        for u in range(4)
        for v in range(u)
    ]
    mrf = MarkovRandomField([3] * 4, tables, log=True)
    least = -max(rational_logs(mrf))
    found = pl.ground_state(mrf, "branch-and-cut")
    assert found.lower <= nearest(least)
    if found.exact:
        assert exact_energy(mrf, found) - least <= found.tolerance


@pytest.mark.parametrize("prove", [False, True])
def test_a_gap_below_one_step_of_the_energies_stays_open(prove: bool) -> None:
    # A frustrated square of 1e18: what is left is decided by 0.1, which no sum of doubles holds.
    edges, couplings = [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)], [1e18, 1e18, 0.1, -1e18, 1e18]
    model = IsingModel(edges, couplings)
    least = -max(rational_logs(model))
    for method in ("branch-and-cut", "cycle-lp", "mplp", "local-lp"):
        found = pl.ground_state(model, method, prove=prove, time_limit=3.0)
        assert not found.exact or exact_energy(model, found) == least, method
