"""Entropy bounds with labels: against enumeration, a primal solver of SciPy, and the verifier."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from scipy.linalg import null_space
from scipy.optimize import minimize

import planaris as pl
from helpers.mrfs import random_tables
from planaris.bounds.entropy.appearance import (
    appearance_of,
    trees_with,
    uniform_tree_probabilities,
    weighted_tree_probabilities,
)
from planaris.bounds.entropy.barrier import BarrierSolver
from planaris.bounds.entropy.label_gaussian import LabelLogDet, LabelTables
from planaris.bounds.entropy.label_trees import LabelTreeProgram
from planaris.bounds.entropy.shortest_cycles import shortest_cycles
from planaris.budget import Budget
from planaris.errors import MethodError, TooLargeError, VerificationError
from planaris.models import MarkovRandomField, ising2mrf
from planaris.relax import entropy_bound

TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def random_field(rng, cards, pairs, scale):
    return MarkovRandomField(cards, random_tables(rng, cards, pairs, scale), log=True)


def listed_log_partition(mrf):
    states = itertools.product(*(range(k) for k in mrf.cardinalities))
    return float(np.logaddexp.reduce([float(mrf.log_weight(np.array(s))) for s in states]))


@pytest.mark.parametrize("entropy", ["trw", "log-det"])
def test_bounds_hold_and_smaller_polytopes_are_tighter(rng, entropy):
    for _ in range(3):
        n = int(rng.integers(3, 6))
        cards = rng.integers(1, 5, n)
        pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.8]
        mrf = random_field(rng, cards, pairs, 2.0)
        truth = listed_log_partition(mrf)
        upper = {}
        for name in ("local", "single", "k", "full"):
            found = entropy_bound(
                mrf,
                entropy=entropy,
                polytope="local" if name == "local" else "cycle",
                projection="k" if name == "local" else name,
            )
            assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
            for mu, k in zip(found.pseudomarginals.nodes, cards, strict=True):
                assert mu.shape == (k,)
                assert mu.sum() == pytest.approx(1.0, abs=1e-6)
            upper[name] = found.upper
        assert upper["k"] <= upper["local"] + 1e-3
        assert upper["full"] <= upper["k"] + 2e-2
        assert upper["single"] <= upper["local"] + 1e-3


def primal_optimum(mrf, rho, *, cycles):
    """Maximise over the tables of a triangle themselves; all rows written out."""
    cards = mrf.cardinalities.tolist()
    view = mrf.pairwise_view()
    first = np.cumsum([0, *(cards[u] * cards[v] for u, v in TRIANGLE)])
    count = int(first[-1])

    def cells(e, rows, columns):
        u, v = TRIANGLE[e]
        grid = np.arange(first[e], first[e + 1]).reshape(cards[u], cards[v])
        return grid[np.ix_(rows, columns)].ravel()

    def at(i, label):  # P(x_i = label) from the first edge at i
        e = next(e for e, pair in enumerate(TRIANGLE) if i in pair)
        u, v = TRIANGLE[e]
        return cells(e, [label], range(cards[v])) if i == u else cells(e, range(cards[u]), [label])

    equal = []
    for e in range(3):
        equal.append(np.isin(np.arange(count), cells(e, *(range(cards[w]) for w in TRIANGLE[e]))))
    for e, (u, v) in enumerate(TRIANGLE):
        for axis, i in enumerate((u, v)):
            for label in range(cards[i]):
                chosen = [range(cards[u]), range(cards[v])]
                chosen[axis] = [label]
                row = np.zeros(count)
                row[cells(e, *chosen)] += 1
                row[at(i, label)] -= 1
                equal.append(row)
    start = np.concatenate(
        [np.full(cards[u] * cards[v], 1 / (cards[u] * cards[v])) for u, v in TRIANGLE]
    )
    free = null_space(np.array(equal, dtype=float))
    rows = [(np.eye(count), np.full(count, 1e-12))]
    if cycles:
        more = []
        for parts in itertools.product(*(range(k) for k in cards)):
            for odd in itertools.product([0, 1], repeat=3):
                if sum(odd) % 2 == 0:
                    continue
                row = np.zeros(count)
                for e, (u, v) in enumerate(TRIANGLE):
                    rest = [[x for x in range(cards[w]) if x != parts[w]] for w in (u, v)]
                    apart = [*cells(e, [parts[u]], rest[1]), *cells(e, rest[0], [parts[v]])]
                    row[apart] += -1.0 if odd[e] else 1.0
                more.append((row, 1.0 - sum(odd)))
        rows.append((np.array([r for r, _ in more]), np.array([s for _, s in more])))

    # θ·μ + Σ_i (1 - Σ ρ at i) H(μ_i) + Σ_e ρ_e H(μ_e), where H = -Σ p log p
    theta, weight = np.zeros(count), np.zeros(count)
    for k, pair in enumerate(view.edges.tolist()):
        e = TRIANGLE.index(tuple(pair))
        theta[first[e] : first[e + 1]] += view.edge_log(k).ravel()
        weight[first[e] : first[e + 1]] = rho[k]
    singles = np.zeros((sum(cards), count))
    share = np.zeros(sum(cards))
    row = 0
    for i in range(3):
        for label in range(cards[i]):
            singles[row, at(i, label)] = 1.0
            theta[at(i, label)] += view.node_log(i)[label]
            share[row] = 1 - sum(r for r, pair in zip(rho, view.edges, strict=True) if i in pair)
            row += 1

    def value(t):
        mu = np.maximum(start + free @ t, 1e-14)
        q = singles @ mu
        total = theta @ mu - share @ (q * np.log(q)) - weight @ (mu * np.log(mu))
        slope = theta - singles.T @ (share * (np.log(q) + 1)) - weight * (np.log(mu) + 1)
        return -total, -(free.T @ slope)

    bounds = [
        {
            "type": "ineq",
            "fun": lambda t, a=a, b=b: a @ (start + free @ t) - b,
            "jac": lambda t, a=a: a @ free,
        }
        for a, b in rows
    ]
    t, best = np.zeros(free.shape[1]), np.inf
    for _ in range(8):  # its line searches stop early near the edges of the polytope
        found = minimize(
            value,
            t,
            jac=True,
            method="SLSQP",
            constraints=bounds,
            options={"maxiter": 200, "ftol": 1e-12},
        )
        if min(float((a @ (start + free @ found.x) - b).min()) for a, b in rows) > -1e-7:
            best = min(best, float(found.fun))
        t = 0.98 * found.x
    return -best + view.constant


@pytest.mark.parametrize("cycles", [False, True])
def test_dual_bound_meets_the_primal_optimum_of_another_solver(rng, cycles):
    mrf = random_field(rng, [3, 2, 3], TRIANGLE, 2.5)
    rho = np.full(3, 2 / 3)
    expected = primal_optimum(mrf, rho, cycles=cycles)
    polytope = "cycle" if cycles else "local"
    found = entropy_bound(mrf, polytope=polytope, projection="k", tolerance=1e-6)
    assert found.upper == pytest.approx(expected, abs=2e-3)


def test_two_labels_agree_with_the_bound_for_spins(rng):
    pairs = list(itertools.combinations(range(5), 2))
    model = pl.IsingModel(np.array(pairs), rng.normal(size=10), rng.normal(size=5))
    spins = entropy_bound(model, tolerance=1e-6).upper
    # A third label that no state of weight has makes it a model with labels.
    mrf, _ = ising2mrf(model)
    cards = [2] * 5 + [3]
    factors = [(tuple(mrf.scope(k)), mrf.log_table(k)) for k in range(mrf.num_factors)]
    labels = MarkovRandomField(cards, [*factors, ((5,), np.zeros(3))], log=True)
    found = entropy_bound(labels, tolerance=1e-6).upper - np.log(3)
    assert found == pytest.approx(spins, abs=2e-3)


def test_zeros_single_labels_and_forests(rng):
    hard = np.where(np.eye(3) > 0, -np.inf, 0.0)
    mrf = MarkovRandomField(
        [3] * 4, [((u, v), hard) for u, v in itertools.combinations(range(4), 2)][:5], log=True
    )
    truth = listed_log_partition(mrf)
    found = entropy_bound(mrf)
    assert found.upper >= truth - 1e-9
    tree = random_field(rng, [4, 1, 3, 2], [(0, 1), (0, 2), (2, 3)], 2.0)
    exact = entropy_bound(tree, tolerance=1e-7)
    assert exact.upper == pytest.approx(listed_log_partition(tree), abs=1e-5)
    empty = MarkovRandomField([3, 2], [], log=True)
    assert entropy_bound(empty).upper == pytest.approx(np.log(6), abs=1e-6)
    assert entropy_bound(empty, entropy="log-det").upper >= np.log(6)
    assert entropy_bound(MarkovRandomField([], [])).upper == pytest.approx(0.0)


def test_certificates_hold_and_forged_ones_do_not(rng):
    mrf = random_field(rng, [3] * 4, list(itertools.combinations(range(4), 2)), 3.0)
    found = entropy_bound(mrf, projection="full")
    proof = found.certificate
    assert len(proof.upper.multipliers) > 0
    assert proof.check(mrf).upper <= found.upper + 1e-8
    truth = listed_log_partition(mrf)
    for change in (
        {"odd": 1 - np.asarray(proof.upper.odd)},
        {"multipliers": -np.asarray(proof.upper.multipliers)},
        {"sets": np.full(len(proof.upper.sets), 7)},
        {"row_edges": np.zeros_like(proof.upper.row_edges)},
        {"trees": None},
    ):
        forged = replace(proof, upper=replace(proof.upper, **change))
        try:
            assert forged.check(mrf).upper >= truth - 1e-9
        except VerificationError:
            continue
    # Any multipliers prove something, larger ones something weaker.
    more = replace(proof.upper, multipliers=2 * np.asarray(proof.upper.multipliers))
    assert replace(proof, upper=more).check(mrf).upper >= truth


def test_a_search_for_a_mixture_that_gives_up_leaves_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy 1.14 raises where its least squares come to no end."""
    whole, calls = scipy.optimize.nnls, []

    def nnls(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise RuntimeError("Maximum number of iterations reached.")
        return whole(*arguments)

    monkeypatch.setattr(scipy.optimize, "nnls", nnls)
    pairs = np.array([(u, v) for u in range(5) for v in range(u)], dtype=np.int32)
    weights, trees = trees_with(5, pairs, np.full(10, 0.4))
    assert len(calls) == 2
    assert weights.sum() == pytest.approx(1.0)
    assert appearance_of(10, (weights, trees)).sum() == pytest.approx(4.0)


def test_weighted_trees_are_what_their_name_says():
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    weights = np.array([1.0, 0.5, 0.0, 2.0, 0.3, 0.7])
    rho, total = np.zeros(6), 0.0
    for tree in itertools.combinations(range(6), 3):
        joined = {0}
        for _ in range(3):
            for u, v in pairs[list(tree)]:
                if u in joined or v in joined:
                    joined |= {int(u), int(v)}
        if len(joined) == 4:
            rho[list(tree)] += weights[list(tree)].sum()
            total += weights[list(tree)].sum()
    found = weighted_tree_probabilities(4, pairs, weights)
    np.testing.assert_allclose(found, rho / total)
    trees = trees_with(4, pairs, found)
    np.testing.assert_allclose(appearance_of(6, trees), found, atol=1e-6)
    np.testing.assert_allclose(weighted_tree_probabilities(4, pairs, np.zeros(6)), 0.5)
    assert not np.allclose(found, uniform_tree_probabilities(4, pairs))


def test_names_of_appearances_are_checked_and_differ(rng):
    pairs = np.array(list(itertools.combinations(range(5), 2)))
    model = pl.IsingModel(pairs, rng.normal(size=10) ** 3)
    uniform, weighted = (
        entropy_bound(model, polytope="local", rho=r) for r in ("uniform", "weighted")
    )
    assert not np.allclose(uniform.stats["rho"], weighted.stats["rho"])
    assert weighted.certificate.check(model).upper <= weighted.upper + 1e-8
    with pytest.raises(MethodError, match="rho"):
        entropy_bound(model, rho="heavy")
    with pytest.raises(MethodError, match="families"):
        entropy_bound(model, families=("cliques",))
    mrf = random_field(rng, [3, 3], [(0, 1)], 1.0)
    with pytest.raises(MethodError, match="polytope"):
        entropy_bound(mrf, polytope="psd")
    with pytest.raises(MethodError, match="projection"):
        entropy_bound(mrf, projection="half")
    large = MarkovRandomField([10] * 12, [])
    with pytest.raises(TooLargeError):
        entropy_bound(large, entropy="log-det")


def test_more_facets_tighten_and_hold(rng):
    n = 8
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    model = pl.IsingModel(pairs, rng.choice([-3.0, 3.0], len(pairs)), rng.normal(size=n))
    truth = pl.log_partition(model).value
    cycle, wheels, both, exact = (
        entropy_bound(model, tolerance=1e-5, **options).upper
        for options in (
            {},
            {"families": ("wheels",)},
            {"families": ("wheels", "psd")},
            {"polytope": "marginal"},
        )
    )
    assert truth <= exact <= both + 1e-3
    assert both <= wheels + 1e-3 <= cycle + 2e-3
    assert both < cycle - 1e-2


def test_shortest_cycles_reach_the_same_bound_with_fewer_rows(rng):
    pairs = np.array(list(itertools.combinations(range(7), 2)), dtype=np.int32)
    model = pl.IsingModel(pairs, rng.uniform(-4, 4, len(pairs)), rng.uniform(-1, 1, 7))
    every, shortest = (
        entropy_bound(model, cuts=rule, tolerance=1e-5) for rule in ("all", "shortest")
    )
    assert shortest.upper == pytest.approx(every.upper, abs=1e-2)
    assert shortest.certificate.check(model).upper <= shortest.upper + 1e-8
    x = rng.random(len(pairs))
    cuts = shortest_cycles(7, pairs, x)
    assert len(cuts) <= 7
    for k in range(len(cuts)):
        at = slice(cuts.offsets[k], cuts.offsets[k + 1])
        ends, odd = pairs[cuts.edges[at]], cuts.odd[at]
        assert np.all(np.bincount(ends.ravel())[np.unique(ends)] == 2)
        assert odd.sum() % 2 == 1
        cost = np.where(odd > 0, 1 - x[cuts.edges[at]], x[cuts.edges[at]]).sum()
        assert cuts.violation[k] == pytest.approx(1 - cost)


def test_derivatives_of_the_gaussian_entropy_match_differences():
    tables = LabelTables(np.array([3, 2, 4]))
    entropy, z = LabelLogDet(tables), tables.uniform()
    _, gradient, hessian = entropy(z)
    for k in range(len(z)):
        step = np.zeros(len(z))
        step[k] = 1e-5
        (up, gu, _), (down, gd, _) = entropy(z + step), entropy(z - step)
        assert (up - down) / 2e-5 == pytest.approx(gradient[k], abs=1e-7)
        np.testing.assert_allclose((gu - gd) / 2e-5, hessian[k], atol=1e-5)


def test_verbs_take_labels(rng):
    mrf = random_field(rng, [3] * 4, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)], 2.0)
    truth = listed_log_partition(mrf)
    for method in ("trw+cycle", "logdet"):
        found = pl.log_partition(mrf, method=method)
        assert found.lower <= truth <= found.upper
        assert found.method == method
        marginals = pl.marginals(mrf, method=method)
        assert not marginals.exact
        for k in range(mrf.num_factors):
            assert marginals.edges[k].shape == mrf.log_table(k).shape


def test_moments_that_rounding_makes_singular_are_left():
    # A moment matrix on the way has a Cholesky factor by rounding alone, and no inverse.
    tables = {
        (0,): [-0.8964242816519673, -2.675902797517535],
        (1,): [-1.5775768284815843, 2.646438283140419],
        (2,): [1.5312666908767896, -2.1450782319104222, -0.5984906788643839],
        (3,): [-4.857795751203245, -3.458868259262892, -1.2041496842238346],
        (1, 0): [[-0.48, 0.72], [-1.63, -700000000001.7]],
        (2, 0): [[-0.98, -0.12], [-0.46, -0.49], [0.92, -700000000000.6]],
        (2, 1): [[0.0, 0.0], [0.0, 0.0], [0.0, -1e12]],
        (3, 0): [[0.0, 0.0], [0.0, 0.0], [0.0, 1e12]],
        (3, 1): [[0.0, 0.0], [0.0, 0.0], [0.0, -3e11]],
        (3, 2): [[-0.94, -0.89, 1.69], [-1.08, 2.26, -0.24], [2.02, 0.59, 1000000000000.9]],
    }
    mrf = pl.MarkovRandomField([2, 2, 3, 3], list(tables.items()), log=True)
    states = np.array(list(itertools.product(range(2), range(2), range(3), range(3))))
    weights = mrf.log_weight(states)
    expected = weights.max() + np.log(np.exp(weights - weights.max()).sum())
    found = pl.log_partition(mrf, "logdet")
    assert found.lower <= expected <= found.upper


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_search_that_breaks_leaves_the_bound_reached_so_far(rng, monkeypatch, limit):
    mrf = random_field(rng, [3, 3, 2], [(0, 1), (1, 2), (0, 2)], 1.0)
    expected = listed_log_partition(mrf)
    center, calls = BarrierSolver._center, []

    def breaks(self, *options):
        calls.append(options)
        if len(calls) > limit:
            raise np.linalg.LinAlgError
        center(self, *options)

    monkeypatch.setattr(BarrierSolver, "_center", breaks)
    found = pl.log_partition(mrf, "logdet")
    assert found.lower <= expected <= found.upper < np.inf


def test_pseudomarginals_are_not_listed_for_cycles_once_the_time_is_over(rng, monkeypatch):
    mrf = random_field(rng, [3, 3, 3], TRIANGLE, 1.0)
    program = LabelTreeProgram(mrf, tolerance=1e-6, budget=Budget())
    program.set_rho("uniform")
    program.descend(np.zeros(0))
    bound = program.upper
    program.budget = Budget(0.0)
    monkeypatch.setattr(program, "_late", lambda: False)
    monkeypatch.setattr(program, "descend", lambda start: start)
    monkeypatch.setattr(program, "pairs", lambda budget: 1 / 0)
    assert program.run("k", max_rounds=5, grow=False) == "time_limit"
    assert program.upper == bound
