"""The search over labels, against enumeration, elimination and an integer program."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

import planaris as pl
from helpers.clocks import StepClock
from helpers.mrfs import list_all, random_mrf
from planaris import treewidth
from planaris.budget import Budget, use_clock
from planaris.errors import InfeasibleError
from planaris.models import MarkovRandomField
from planaris.relax.branching.label_search import LabelSearcher, label_search
from planaris.verify import check_proof, check_result

SCALES = [1e-9, 0.1, 1.0, 30.0, 1e9]


def degenerate(rng: np.random.Generator, kind: str) -> MarkovRandomField:
    """One label, no factors, loose parts, zeros, wide scopes; ties, penalties, constants."""
    n = int(rng.integers(0, 7))
    mrf = random_mrf(
        rng,
        num_variables=n,
        num_factors=int(rng.integers(0, 3 * n + 2)),
        min_labels=int(rng.integers(1, 3)),
        max_labels=int(rng.integers(2, 5)),
        max_arity=int(rng.choice([2, 3, 4])),
        scale=float(rng.choice(SCALES)),
        zeros=float(rng.choice([0.0, 0.0, 0.1, 0.4])),
        log=True,
    )
    logs = np.array(mrf.log_values)
    if kind == "ties":
        logs = np.sign(logs)
    if kind == "penalties":
        logs[rng.random(len(logs)) < 0.1] -= 1e9
    arrays = mrf.scopes, mrf.scope_offsets, logs, mrf.table_offsets
    mrf = MarkovRandomField.from_arrays(mrf.cardinalities, *arrays, log=True)
    if kind == "constant":
        factors = [(mrf.scope(k), mrf.log_table(k)) for k in range(mrf.num_factors)]
        mrf = MarkovRandomField(mrf.cardinalities, [*factors, ((), 1e9)], log=True)
    return mrf


def grid(rng: np.random.Generator, side: int, labels: int, scale: float = 1.0) -> MarkovRandomField:
    """Random tables on a square lattice."""
    cell = np.arange(side * side).reshape(side, side)
    pairs = [*zip(cell[:, :-1].ravel(), cell[:, 1:].ravel(), strict=True)]
    pairs += [*zip(cell[:-1].ravel(), cell[1:].ravel(), strict=True)]
    factors = [((int(u), int(v)), scale * rng.normal(size=(labels, labels))) for u, v in pairs]
    factors += [((v,), rng.normal(size=labels)) for v in range(side * side)]
    return MarkovRandomField([labels] * (side * side), factors, log=True)


def stopped_at(looks: int) -> Budget:
    """Return a budget that is over at a look at the clock."""
    with use_clock(StepClock(looks)):
        return Budget(1.0)


def by_integer_program(mrf: MarkovRandomField) -> float:
    """Return the least energy: a 0-1 variable for every entry of every table of a pairwise MRF."""
    cards = mrf.cardinalities.tolist()
    first = np.concatenate([[0], np.cumsum(cards)])
    cost, rows = np.zeros(first[-1]).tolist(), []
    rows += [({int(first[v]) + a: 1.0 for a in range(k)}, 1.0) for v, k in enumerate(cards)]
    for f in range(mrf.num_factors):
        scope, energy = mrf.scope(f).tolist(), -mrf.log_table(f)
        if len(scope) == 1:
            for a, value in enumerate(energy.tolist()):
                cost[first[scope[0]] + a] += value
            continue
        start = len(cost)
        cost += energy.ravel().tolist()
        place = np.arange(start, len(cost)).reshape(energy.shape)
        for axis, v in enumerate(scope):
            for a in range(cards[v]):
                row = dict.fromkeys(np.take(place, a, axis).tolist(), 1.0)
                rows.append(({**row, int(first[v]) + a: -1.0}, 0.0))
    data = [(value, r, c) for r, (row, _) in enumerate(rows) for c, value in row.items()]
    values, at_row, at_column = zip(*data, strict=True)
    places = np.array([at_row, at_column], dtype=np.int32)  # SciPy 1.14 takes no wider ones
    matrix = csr_array((values, tuple(places)), shape=(len(rows), len(cost)))
    sides = np.array([side for _, side in rows])
    constraints = LinearConstraint(matrix, sides, sides)
    options = {"mip_rel_gap": 0.0}
    found = milp(cost, integrality=1, bounds=Bounds(0, 1), constraints=constraints, options=options)
    return float(found.fun)


@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize("kind", ["plain", "ties", "penalties", "constant"])
def test_it_finds_what_enumeration_finds(rng, kind, prove):
    closed = 0
    for _ in range(60):
        mrf = degenerate(rng, kind)
        truth = -list_all(mrf).best
        if truth == np.inf:
            with pytest.raises(InfeasibleError, match="no state has positive weight"):
                label_search(mrf, budget=Budget(prove=prove))
            continue
        found = label_search(mrf, budget=Budget(prove=prove))
        slack = max(mrf.energy_tolerance, 1e-12 * abs(truth))
        assert found.lower <= truth + 1e-12 * abs(truth)
        assert found.energy <= truth + slack
        closed += found.exact
        if prove:
            proved = check_proof(mrf, found.certificate).lower
            assert found.lower - max(slack, 4 * np.spacing(abs(truth))) <= proved <= truth + slack
            assert check_result(mrf, found).proved
    assert closed > 20


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_it_finds_what_elimination_finds(rng, scale):
    for side, labels in ((5, 4), (7, 3)):
        mrf = grid(rng, side, labels, scale)
        found = label_search(mrf, budget=Budget())
        assert found.exact
        assert found.energy == pytest.approx(treewidth.ground_state(mrf).energy, abs=1e-9)


def test_it_finds_what_an_integer_program_finds(rng):
    for _ in range(3):
        pairs = [p for p in itertools.combinations(range(12), 2) if rng.random() < 0.4]
        factors = [(p, rng.normal(size=(3, 3))) for p in pairs]
        factors += [((v,), rng.normal(size=3)) for v in range(12)]
        mrf = MarkovRandomField([3] * 12, factors, log=True)
        found = label_search(mrf, budget=Budget())
        assert found.exact
        assert found.energy == pytest.approx(by_integer_program(mrf), abs=1e-6)


def test_frustrated_cliques_need_branching_and_keep_their_proof(rng):
    pairs = itertools.combinations(range(7), 2)
    factors = [(p, rng.normal(0, 0.3, (4, 4)) - 3 * np.eye(4)) for p in pairs]
    mrf = MarkovRandomField([4] * 7, factors, log=True)
    found = label_search(mrf, budget=Budget(prove=True))
    assert found.exact
    assert len(found.certificate.branch_variable) > 3
    assert found.energy == pytest.approx(-list_all(mrf).best, abs=1e-9)
    report = check_result(mrf, found)
    assert report.proved


@pytest.mark.parametrize("prove", [False, True])
def test_every_deadline_leaves_an_interval_that_holds(rng, prove):
    mrf = grid(rng, 5, 4, 2.0)
    truth = treewidth.ground_state(mrf).energy
    for looks in [*range(40), *range(40, 2000, 117)]:
        with use_clock(StepClock(looks)):
            found = label_search(mrf, budget=Budget(1.0, prove=prove))
        assert found.lower <= truth + 1e-9 <= found.upper + 2e-9
        if prove and found.certificate is not None:
            assert check_proof(mrf, found.certificate).lower >= found.lower - 1e-9


def test_a_search_goes_on_where_it_was_stopped(rng):
    mrf = grid(rng, 9, 4, 2.0)
    search = LabelSearcher(mrf, budget=Budget())
    stops = 0
    while not search.run(stopped_at(2000)):
        stops += 1
    assert stops > 0
    assert search.result().exact
    whole = label_search(mrf, budget=Budget())
    assert search.result().energy == pytest.approx(whole.energy, abs=1e-9)


def test_a_gap_that_is_allowed_ends_the_search(rng):
    mrf = grid(rng, 6, 4, 2.0)
    truth = treewidth.ground_state(mrf).energy
    found = label_search(mrf, gap=5.0, budget=Budget())
    assert found.lower <= truth + 1e-9
    assert found.upper - found.lower <= 5.0


def test_states_of_wide_factors_come_from_their_variables(rng):
    # Labels of clusters are tied to those of their variables: single moves of them get nowhere.
    scopes = [rng.choice(300, 3, replace=False) for _ in range(450)]
    factors = [(scope, rng.normal(size=(2, 2, 2))) for scope in scopes]
    mrf = MarkovRandomField([2] * 300, factors, log=True)
    alone = rng.integers(0, 2, (2000, 300))
    with use_clock(StepClock(30_000)):
        found = label_search(mrf, budget=Budget(1.0))
    assert found.energy < float(mrf.energy(alone).min()) - 30.0
    assert found.lower <= found.energy


def test_auto_searches_where_elimination_would_take_long(rng):
    # Strong wishes of the variables: labels go until nothing is left, whatever the width.
    mrf = grid(rng, 18, 8, 0.05)
    found = pl.ground_state(mrf)
    assert found.exact
    assert found.method == "branch-and-cut"
