"""Local and cycle relaxations and branch and cut, against enumeration and a plain LP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.clocks import StepClock
from helpers.trials import trials
from planaris.budget import use_clock
from planaris.errors import MethodError
from planaris.models import IsingModel
from planaris.reference.brute_force import enumerate_states
from planaris.relax import branch_and_cut, cycle_lp, local_lp
from planaris.relax.cut_form import CutForm, energy_quantum
from planaris.relax.sdp.semidefinite_bound import SemidefiniteBound


def random_model(rng, largest=9):
    n = int(rng.integers(1, largest + 1))
    pairs = np.array(list(itertools.combinations(range(n), 2))).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < rng.random()]
    if rng.random() < 0.5:
        couplings = rng.integers(-2, 3, len(edges)).astype(float)
        fields = rng.integers(-1, 2, n) * float(rng.integers(2))
    else:
        couplings = rng.normal(size=len(edges))
        fields = rng.normal(size=n) * rng.choice([0, 0.3, 3]) * (rng.random(n) < 0.7)
    return IsingModel(edges, couplings, fields, num_spins=n, offset=float(rng.normal()))


def plain_local_lp(model):
    """The local polytope as the textbook has it: four numbers per edge, all equalities."""
    n, m = model.num_spins, model.num_edges
    cost = np.zeros(2 * n + 4 * m)
    rows, sides = [], []

    def row(entries, side):
        line = np.zeros(len(cost))
        for column, value in entries:
            line[column] = value
        rows.append(line)
        sides.append(side)

    for v in range(n):
        cost[2 * v], cost[2 * v + 1] = model.fields[v], -model.fields[v]
        row([(2 * v, 1), (2 * v + 1, 1)], 1)
    for e, (u, v) in enumerate(model.edges.tolist()):
        at = 2 * n + 4 * e
        cost[at : at + 4] = model.couplings[e] * np.array([-1, 1, 1, -1])
        for a in range(2):
            row([(at + 2 * a, 1), (at + 2 * a + 1, 1), (2 * u + a, -1)], 0)
            row([(at + a, 1), (at + 2 + a, 1), (2 * v + a, -1)], 0)
    solved = linprog(cost, A_eq=np.array(rows), b_eq=sides, bounds=(0, 1))
    return solved.fun - model.offset


def test_bounds_hold_and_are_ordered_and_branch_and_cut_is_exact(rng):
    cycle_tight, count = 0, trials(100, 260)
    for _ in range(count):
        model = random_model(rng)
        truth = enumerate_states(model).energy
        local, cycle, exact = local_lp(model), cycle_lp(model), branch_and_cut(model)
        slack = 1e-9 * (1 + abs(truth))
        assert local.lower <= cycle.lower + 1e-8
        for found in (local, cycle, exact):
            assert found.lower <= truth + slack
            assert found.upper >= truth - slack
            assert found.energy == float(model.energy(found.spins))
            if found.exact:
                assert found.energy == pytest.approx(truth, abs=slack)
        assert exact.exact
        cycle_tight += cycle.exact
    assert cycle_tight > count / 2


def test_local_lp_equals_the_textbook_program(rng):
    for _ in range(40):
        model = random_model(rng)
        found = local_lp(model)
        assert found.lower == pytest.approx(plain_local_lp(model), abs=1e-7)


def test_rows_may_be_given_in_parts(rng, monkeypatch):
    pairs = list(itertools.combinations(range(8), 2))
    model = IsingModel(pairs, rng.normal(size=28), rng.normal(size=8))
    whole = local_lp(model)
    monkeypatch.setattr("planaris.relax.lp.growing_lp.ROWS_AT_ONCE", 5)
    parts = local_lp(model)
    assert parts.lower == whole.lower
    np.testing.assert_array_equal(parts.certificate.flow, whole.certificate.flow)
    late = []
    for n in range(1, 9):
        with use_clock(StepClock(n)):
            found = local_lp(model, time_limit=1.0)
        assert found.lower <= whole.lower + 1e-9
        late.append(found.certificate is None)
    assert all(late)  # rows are still being given


def test_the_cycle_relaxation_is_tight_on_planar_zero_field_models(rng):
    for size in (4, 7, 12):
        couplings = rng.normal(size=(2, size, size))
        model = IsingModel.from_image(
            np.zeros((size, size)), couplings[0, :, 1:], couplings[1, 1:, :]
        )
        found = cycle_lp(model)
        assert found.exact
        assert found.stats["integrality"] == 1.0
        if size == 4:
            assert found.energy == pytest.approx(enumerate_states(model).energy)


def test_pseudomarginals_give_the_bound_back_and_are_consistent(rng):
    for _ in range(40):
        model = random_model(rng)
        found = cycle_lp(model)
        nodes, edges = found.stats["nodes"], found.stats["edges"]
        if found.stats["status"] == "optimal":
            energy = -model.offset - model.couplings @ (2 * edges - 1)
            energy -= model.fields @ (2 * nodes - 1)
            assert energy == pytest.approx(found.lower, abs=1e-6)
        away, apart = 1 - nodes, 1 - edges
        a, b = away[model.edges[:, 0]], away[model.edges[:, 1]]
        assert np.all(apart >= np.abs(a - b) - 1e-6)
        assert np.all(apart <= np.minimum(a + b, 2 - a - b) + 1e-6)


def test_reduction_keeps_the_minimum_and_lifts_states(rng):
    shrunk = 0
    for _ in range(150):
        model = random_model(rng)
        truth = enumerate_states(model).energy
        for keep in (True, False):
            form = CutForm.from_model(model, keep_zero_edges=keep)
            small = IsingModel(form.edges, form.couplings, num_spins=form.num_spins)
            best = enumerate_states(small)
            lifted = form.spins_of(best.ground_states[0])
            offset = sum(form.level) + form.base + form.couplings.sum()
            assert offset + best.energy == pytest.approx(truth, abs=1e-9)
            assert float(model.energy(lifted)) == pytest.approx(truth, abs=1e-9)
            shrunk += form.num_spins < model.num_spins
    assert shrunk > 100


def test_the_quantum_divides_all_energy_differences(rng):
    for _ in range(60):
        n = int(rng.integers(1, 8))
        pairs = np.array(list(itertools.combinations(range(n), 2))).reshape(-1, 2)
        unit = rng.choice([1.0, 0.5, 3.0, 0.125])
        model = IsingModel(
            pairs, unit * rng.integers(-3, 4, len(pairs)), unit * rng.integers(0, 2, n) * 2.0
        )
        quantum = energy_quantum(model)
        energies = model.energy(np.array(list(itertools.product([-1, 1], repeat=n))))
        if quantum:
            steps = (energies - energies.min()) / quantum
            np.testing.assert_array_equal(steps, np.rint(steps))
    assert energy_quantum(IsingModel([(0, 1)], [0.3])) == 0.0


@pytest.mark.parametrize("solve", [local_lp, cycle_lp, branch_and_cut])
def test_degenerate_models(solve):
    assert solve(IsingModel([], [], num_spins=0)).energy == 0.0
    alone = solve(IsingModel([], [], [-2.0], offset=1.0))
    assert (alone.energy, alone.exact, alone.spins.tolist()) == (-3.0, True, [-1])
    zero = solve(IsingModel([(0, 1), (1, 2), (0, 2)], [0.0, 0.0, 0.0]))
    assert (zero.energy, zero.exact) == (0.0, True)
    for scale in (1e-300, 1e300):
        found = solve(IsingModel([(0, 1), (1, 2), (2, 3)], np.array([1.0, -2.0, 1.5]) * scale))
        assert found.exact
        assert found.energy == pytest.approx(-4.5 * scale)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_frustration_at_any_scale(rng, scale):
    pairs = list(itertools.combinations(range(6), 2))
    couplings = rng.choice([-3.0, -1.0, 1.0, 2.0], len(pairs)) + 0.25
    truth = enumerate_states(IsingModel(pairs, couplings)).energy * scale
    model = IsingModel(pairs, couplings * scale)
    assert cycle_lp(model).lower <= truth * (1 - 1e-12) or truth == 0
    for bound in ("cycles", "semidefinite"):
        found = branch_and_cut(model, bound=bound)
        assert found.exact
        assert found.energy == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("solve", [cycle_lp, branch_and_cut])
def test_a_very_long_path_is_reduced_away(solve):
    n = 200_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    couplings = np.where(np.arange(n - 1) % 3 == 0, -1.0, 2.0)
    found = solve(IsingModel(edges, couplings))
    assert found.exact
    assert found.energy == -np.abs(couplings).sum()


def test_semidefinite_bounds_are_exact_on_small_dense_models(rng):
    nodes = 0
    for k in range(30):
        n = int(rng.integers(2, 13))
        pairs = list(itertools.combinations(range(n), 2))
        couplings = rng.choice([-1.0, 1.0], len(pairs)) if k % 2 else rng.normal(size=len(pairs))
        model = IsingModel(pairs, couplings, rng.normal(size=n) * (k % 3 == 0))
        found = branch_and_cut(model, bound="semidefinite")
        truth = enumerate_states(model).energy
        assert found.exact
        assert found.energy == pytest.approx(truth, abs=1e-8)
        assert found.lower <= truth + 1e-9
        nodes += found.stats["nodes"]
    assert nodes > 0
    with pytest.raises(MethodError, match="`bound` must be one of"):
        branch_and_cut(model, bound="best")


def test_the_semidefinite_bound_holds_along_the_way(rng):
    n = 11
    cost = rng.normal(size=(n, n))
    cost = cost + cost.T
    np.fill_diagonal(cost, 0.0)
    states = np.array(list(itertools.product([-1, 1], repeat=n)))
    truth = np.einsum("ki,ij,kj->k", states, cost, states).min()
    bound = SemidefiniteBound(cost)
    for _ in range(12):
        bound.ascend(np.inf, 20)
        assert bound.lower <= truth
        bound.tighten()
        bound.alpha /= 2
    assert bound.lower > truth - 0.05 * abs(truth)
    assert set((bound.cliques.spins >= 0).sum(1).tolist()) >= {3, 5}
    merged = bound.cliques.contract(2, 5, -1)
    left = np.array([merged.left(np.outer(s, s)) for s in states[:64, : n - 1]])
    assert np.all(left >= -merged.sides)


def test_dense_thirty_spins_take_the_semidefinite_way(rng):
    pairs = list(itertools.combinations(range(30), 2))
    model = IsingModel(pairs, rng.choice([-1.0, 1.0], len(pairs)))
    found = branch_and_cut(model)
    assert found.exact
    assert found.stats["bound"] == "semidefinite"


@pytest.mark.usefixtures("ticking")
def test_time_limit_returns_an_interval(rng):
    edges = list(itertools.combinations(range(40), 2))
    model = IsingModel(edges, rng.choice([-1.0, 1.0], len(edges)))
    found = branch_and_cut(model, time_limit=0.5, bound="cycles")
    assert found.stats["status"] == "time_limit"
    assert not found.exact
    assert -np.inf < found.lower < found.upper
    assert found.stats["seconds"] < 0.6  # by a clock of the test: a hundred looks too many
    loose = branch_and_cut(model, gap=1e6, bound="cycles")
    assert loose.stats["status"] == "gap"


@pytest.mark.parametrize(("bound", "n"), [("cycles", 7), ("semidefinite", 9)])
def test_the_lower_bound_never_passes_the_truth_on_the_way(rng, bound, n):
    nodes = 0
    for _ in range(6):
        pairs = list(itertools.combinations(range(n), 2))
        model = IsingModel(pairs, rng.normal(0, 0.2, len(pairs)) - 1)
        truth = enumerate_states(model).energy
        found = branch_and_cut(model, bound=bound)
        assert found.energy == pytest.approx(truth, abs=1e-8)
        assert all(line["lower"] <= truth + 1e-9 for line in found.stats["trace"])
        loose = branch_and_cut(model, bound=bound, gap=1.0)
        assert loose.lower <= truth + 1e-9
        nodes += found.stats["nodes"]
    assert nodes > 6


def test_branch_and_cut_branches_where_cycles_do_not_suffice(rng):
    # K7 with all couplings -1 has a gap between the cycle relaxation and the truth.
    model = IsingModel(list(itertools.combinations(range(7), 2)), -1.0 - 0.01 * rng.random(21))
    assert not cycle_lp(model).exact
    found = branch_and_cut(model)
    assert found.exact
    assert found.stats["nodes"] > 1
    assert found.energy == pytest.approx(enumerate_states(model).energy)


def test_wheels_and_semidefinite_cuts_tighten_the_cycle_relaxation(rng):
    better = 0
    for _ in range(12):
        n = int(rng.integers(5, 9))
        pairs = list(itertools.combinations(range(n), 2))
        model = IsingModel(pairs, -1.0 + rng.normal(0, 0.2, len(pairs)))
        truth = enumerate_states(model).energy
        cycle = cycle_lp(model)
        wheels = cycle_lp(model, families=("wheels",), max_rounds=60)
        both = cycle_lp(model, families=("wheels", "psd"), max_rounds=60)
        for found in (wheels, both):
            assert cycle.lower - 1e-7 <= found.lower <= truth + 1e-9
        better += wheels.lower > cycle.lower + 1e-6
    assert better > 3
