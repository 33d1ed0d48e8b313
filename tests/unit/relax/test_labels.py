"""Relaxations of models with any labels, against enumeration and a plain LP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.mrfs import list_all, random_pairwise_mrf
from planaris.budget import Budget
from planaris.errors import InfeasibleError, MethodError
from planaris.models import IsingModel, MarkovRandomField
from planaris.relax import branch_and_cut, cycle_lp, local_lp, mplp
from planaris.relax.branching.label_search import label_search
from planaris.relax.label_form import LabelForm
from planaris.relax.lp.label_polytope import LabelRelaxation
from planaris.relax.messages.message_passing import MessageSolver
from planaris.relax.spin_labels import SpinLabels


def random_field(rng, *, zeros=0.0, order=2):
    return random_pairwise_mrf(rng, max_variables=5, max_labels=5, zeros=zeros, triple=order > 2)


def frustrated_field(rng):
    """Every pair wants to differ: the local relaxation is loose."""
    n, k = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    pairs = itertools.combinations(range(n), 2)
    factors = [(p, rng.normal(0, 0.3, (k, k)) - 3 * np.eye(k)) for p in pairs]
    return MarkovRandomField([k] * n, factors, log=True)


def check_interval(found, truth, model):
    slack = 1e-9 * (1 + abs(truth))
    assert found.lower <= truth + slack
    assert found.upper >= truth - slack
    assert found.energy == float(model.energy(found.assignment))
    if found.exact:
        assert found.energy == pytest.approx(truth, abs=1e-7)


@pytest.mark.parametrize(("zeros", "order"), [(0.0, 2), (0.25, 2), (0.5, 2), (0.1, 3)])
def test_bounds_hold_and_are_ordered_and_branching_is_exact(rng, zeros, order):
    loose = infeasible = 0
    for _ in range(60):
        model = random_field(rng, zeros=zeros, order=order)
        truth = -list_all(model).best
        if truth == np.inf:
            infeasible += 1
            with pytest.raises(InfeasibleError, match="no state has positive weight"):
                branch_and_cut(model)
            continue
        local = local_lp(model)
        single, k, full = (cycle_lp(model, projection=p) for p in ("single", "k", "full"))
        messages, exact = mplp(model), branch_and_cut(model)
        for found in (local, single, k, full, messages, exact):
            check_interval(found, truth, model)
        assert local.lower <= single.lower + 1e-7
        assert local.lower <= k.lower + 1e-7
        assert exact.exact
        loose += not local.exact
    assert zeros > 0 or loose > 0
    assert zeros < 0.5 or infeasible > 0


def plain_local_lp(model):
    """LOCAL as equalities over all nodes and pairs."""
    view = model.pairwise_view()
    cost = 0.0 - np.concatenate([view.node_logs, view.edge_logs])
    rows, sides = [], []

    def row(ones, minus, side):
        line = np.zeros(len(cost))
        line[ones], line[minus] = 1, -1
        rows.append(line)
        sides.append(side)

    for i in range(model.num_variables):
        row(np.arange(view.node_offsets[i], view.node_offsets[i + 1]), [], 1)
    for e, (u, v) in enumerate(view.edges.tolist()):
        shape = view.cardinalities[[u, v]]
        at = len(view.node_logs) + view.edge_offsets[e] + np.arange(shape.prod()).reshape(shape)
        for a in range(shape[0]):
            row(at[a], [view.node_offsets[u] + a], 0)
        for b in range(shape[1]):
            row(at[:, b], [view.node_offsets[v] + b], 0)
    bounds = [(0, 0) if c == np.inf else (0, 1) for c in cost]
    finite = np.where(np.isfinite(cost), cost, 0.0)
    solved = linprog(finite, A_eq=np.array(rows), b_eq=sides, bounds=bounds)
    return solved.fun - view.constant if solved.success else np.inf


def test_local_lp_equals_the_textbook_program(rng):
    for k in range(40):
        model = random_field(rng, zeros=0.15 * (k % 2))
        truth = plain_local_lp(model)
        if truth == np.inf:
            continue
        assert local_lp(model).lower == pytest.approx(truth, abs=1e-6)


def test_message_passing_without_triplets_stays_below_the_local_bound(rng):
    for _ in range(30):
        model = random_field(rng)
        assert mplp(model, max_triplets=0).lower <= plain_local_lp(model) + 1e-7 or (
            mplp(model, max_triplets=0).exact  # the reduction may close it
        )


@pytest.mark.parametrize("projection", ["single", "k", "full"])
def test_every_lifted_inequality_holds_for_every_state(rng, projection):
    rows = 0
    for _ in range(30):
        form = LabelForm.from_model(frustrated_field(rng), eliminate=1)
        relaxation = LabelRelaxation(form)
        if not len(relaxation.edges):
            continue
        local = relaxation.lp.num_rows
        relaxation.run(projection, Budget(), max_rounds=5)
        lp = relaxation.lp
        states = np.array(list(itertools.product(*(range(k) for k in relaxation.cards))))
        for state in states:
            x = np.zeros(len(lp.cost))
            x[relaxation.node_first[:-1] + state] = 1
            u, v = relaxation.edges[:, 0], relaxation.edges[:, 1]
            entry = relaxation.table_first[:-1] + state[u] * relaxation.cards[v] + state[v]
            x[relaxation.column[entry]] = 1
            left = np.add.reduceat(lp.values * x[lp.columns], lp.offsets[:-1])
            assert np.all(left >= lp.row_lower - 1e-12)
        rows += lp.num_rows - local
    assert rows > 0


def test_reduction_keeps_the_minimum(rng):
    for eliminate, zeros in itertools.product((1, 2), (0.0, 0.2)):
        for _ in range(40):
            model = random_field(rng, zeros=zeros)
            truth = -list_all(model).best
            if truth == np.inf:
                continue
            form = LabelForm.from_model(model, eliminate=eliminate)
            variables, cards, nodes, edges, tables = form.arrays()
            logs = np.split(-nodes, np.cumsum(cards)[:-1]) if len(cards) else []
            factors = [((i,), log) for i, log in enumerate(logs)]
            sizes = cards[edges].prod(1) if len(edges) else np.zeros(0, dtype=int)
            parts = np.split(-tables, np.cumsum(sizes)[:-1]) if len(edges) else []
            factors += [(tuple(edge), log) for edge, log in zip(edges.tolist(), parts, strict=True)]
            small = MarkovRandomField(cards, factors, log=True)
            if len(variables):
                listed = list_all(small)
                states, energies = listed.states, -listed.log_weights
                best, least = states[np.argmin(energies)], energies.min()
            else:
                best, least = np.zeros(0, dtype=int), 0.0
            assert form.base + least == pytest.approx(truth, abs=1e-9)
            assert float(model.energy(form.lift(best))) == pytest.approx(truth, abs=1e-9)


def test_the_k_projection_closes_a_frustrated_three_colouring():
    # Four mutually different colours of three: one edge must pay. LOCAL pays nothing.
    differ = np.where(np.eye(3) > 0, -1.0, 0.0) + 0.0
    pairs = list(itertools.combinations(range(4), 2))
    model = MarkovRandomField([3] * 4, [(p, differ) for p in pairs], log=True)
    assert local_lp(model).lower == pytest.approx(0.0, abs=1e-9)
    found = branch_and_cut(model)
    assert (found.exact, found.energy) == (True, 1.0)
    assert cycle_lp(model, projection="full").lower <= 1.0


def test_branching_is_exact_and_its_lower_bound_never_passes_the_truth(rng):
    nodes = 0
    for _ in range(25):
        model = frustrated_field(rng)
        truth = -list_all(model).best
        found = label_search(model, budget=Budget(prove=True))
        nodes += len(found.certificate.branch_variable)
        assert found.exact
        assert found.energy == pytest.approx(truth, abs=1e-7)
        assert all(line["lower"] <= truth + 1e-9 for line in found.trace)
        loose = label_search(model, gap=0.5, budget=Budget())
        assert loose.lower <= truth + 1e-9
        assert loose.energy - loose.lower <= 0.5 + 1e-9
    assert nodes > 100


def test_messages_take_ising_models(rng):
    model = IsingModel.from_image(rng.normal(size=(6, 6)), 0.4, 0.4)
    found = mplp(model)
    assert found.exact
    assert found.spins.shape == (36,)
    assert found.energy == float(model.energy(found.spins))
    assert found.energy == pytest.approx(cycle_lp(model).energy)


def test_messages_stop_where_tightening_gains_nothing(rng, monkeypatch):
    pairs = list(itertools.combinations(range(8), 2))
    model, calls = IsingModel(pairs, rng.normal(size=len(pairs)), rng.normal(size=8)), []

    def tighten(solver, bound, count):
        calls.append(bound)
        assert len(calls) < 10
        return 1

    monkeypatch.setattr(MessageSolver, "ascend", lambda solver, bound: bound)
    monkeypatch.setattr(MessageSolver, "tighten", tighten)
    found = mplp(model)
    assert found.status == "stalled"
    assert found.lower <= model.energy(list(itertools.product((-1, 1), repeat=8))).min()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_stalls_are_measured_by_energies(rng, offset):
    pairs = list(itertools.combinations(range(6), 2))
    form = SpinLabels(IsingModel(pairs, rng.normal(size=15), rng.normal(size=6), offset=offset))
    states = itertools.product((0, 1), repeat=len(form.arrays()[1]))
    energies = np.array([form.energy_of(form.lift(np.array(x))) for x in states])
    assert 0 < np.ptp(energies) <= 2 * form.magnitude < 10 * np.ptp(energies)


def test_time_limit_and_bad_projection(rng):
    model = random_field(rng)
    with pytest.raises(MethodError, match="`projection` must be one of"):
        cycle_lp(
            MarkovRandomField([3, 3], [((0, 1), np.arange(1.0, 10.0).reshape(3, 3))]),
            projection="all",
        )
    truth = -list_all(model).best
    check_interval(mplp(model, time_limit=0.0), truth, model)


@pytest.mark.parametrize("solve", [local_lp, cycle_lp, mplp, branch_and_cut])
def test_degenerate_fields(solve):
    empty = MarkovRandomField([], [])
    assert solve(empty).energy == 0.0
    lone = solve(MarkovRandomField([3], [((0,), [1.0, 5.0, 2.0])]))
    assert lone.exact
    assert lone.assignment.tolist() == [1]
    constant = solve(MarkovRandomField([1, 1], [((0, 1), [[2.0]])]))
    assert constant.energy == pytest.approx(-np.log(2.0))
