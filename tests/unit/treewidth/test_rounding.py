"""Models whose numbers are so large that their last places matter."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import planaris as pl
from planaris import IsingModel, MarkovRandomField, treewidth
from planaris.errors import MethodError
from planaris.generate import square_lattice

KINDS = ["clusters", "frontier"]
TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def agreement(model: IsingModel) -> np.ndarray:
    """P(s_u = s_v) from log weights added up as whole eighths: nothing is lost before exp."""
    rows = [(1, *rest) for rest in product((-1, 1), repeat=model.num_spins - 1)]
    couplings = [int(8 * J) for J in model.couplings.tolist()]
    pairs = model.edges.tolist()
    logs = [sum(J * s[u] * s[v] for (u, v), J in zip(pairs, couplings, strict=True)) for s in rows]
    best = max(logs)
    weights = np.array([math.exp((x - best) / 8) for x in logs])
    equal = np.array([[s[u] == s[v] for u, v in pairs] for s in rows])
    return weights @ equal / weights.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e8, 1e10, 1e12])
def test_small_differences_of_large_couplings_are_kept(kind: str, size: float) -> None:
    rng = np.random.default_rng(4)
    edges = square_lattice(3, 4).edges
    for _ in range(5):
        small = np.round(8 * rng.standard_normal(len(edges))) / 8
        model = IsingModel(edges, size * rng.choice([-1.0, 1.0], len(edges)) + small)
        plan = treewidth.plan_elimination(model, kind=kind)
        found = treewidth.marginals(model, plan=plan)
        np.testing.assert_allclose(found.edges, agreement(model), atol=1e-12)


@pytest.mark.parametrize("method", ["auto", "treewidth", "brute-force"])
@pytest.mark.parametrize("size", [2e15, 1e17, 1e300])
def test_what_rounding_decides_is_not_called_exact(method: str, size: float) -> None:
    rng = np.random.default_rng(0)
    edges = square_lattice(3, 3).edges
    for _ in range(6):
        signs = rng.choice([-1.0, 1.0], len(edges))
        model = IsingModel(edges, size * signs + np.round(rng.standard_normal(len(edges))))
        found = pl.marginals(model, method)
        if found.exact:
            np.testing.assert_allclose(found.edges, agreement(model), atol=1e-6)


def test_what_it_does_not_decide_is_exact_at_any_size() -> None:
    # 1e300 holds spins 0 and 1 together; what is left is a pair with coupling -1 + 1e-300.
    model = IsingModel(TRIANGLE, [1e300, 1e-300, -1.0])
    found = pl.marginals(model)
    assert found.exact
    np.testing.assert_allclose(found.edges, [1.0, *[1 / (1 + math.exp(2.0))] * 2], atol=1e-12)
    states = pl.sample(model, 200, 0)
    assert (states[:, 0] == states[:, 1]).all()


def test_samples_that_rounding_would_decide_are_refused() -> None:
    with pytest.raises(MethodError, match="depend on rounding errors"):
        pl.sample(IsingModel(TRIANGLE, [1e300, 1e300, -1e300]), 2, 0)


def test_log_weight_size_of_fields_with_hard_constraints() -> None:
    field = MarkovRandomField([2, 3], [((), 2.0), ((0, 1), [[1, 0, 1], [0, 10, 1]])])
    assert field.log_weight_size == pytest.approx(math.log(2) + math.log(10))
    assert MarkovRandomField([2], []).log_weight_size == 0.0


@pytest.mark.parametrize("method", ["treewidth", "brute-force", "planar"])
def test_no_probability_is_above_one(method: str) -> None:
    rng = np.random.default_rng(1)
    lattice = square_lattice(2, 5)
    for _ in range(60):
        fields = np.zeros(10)
        fields[:2] = rng.standard_normal(2)
        model = IsingModel(lattice.edges, 20 * rng.standard_normal(13), fields)
        found = pl.marginals(model, method)
        assert found.nodes.max() <= 1.0
        assert found.edges.max() <= 1.0


def test_log_weights_that_round_beside_a_forbidden_one_are_charged() -> None:
    # The largest entry, 3e13, has no weight, and what is left is less than it by a rounded number.
    tables = [
        ((0, 1), [[-1e18, 5356727417.046294], [9e-10, 33819210810764.082]]),
        ((0, 1), [[0.0, 0.3], [0.0, -np.inf]]),
        ((0, 1, 2), np.zeros((2, 2, 2))),
    ]
    found = pl.log_partition(pl.MarkovRandomField([2, 2, 2], tables, log=True), "treewidth")
    truth = Fraction(5356727417.046294) + Fraction(0.3) + Fraction(math.log(2.0))
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert found.gap < 0.1


def test_sums_over_large_tables_lose_no_digits():
    """Probabilities of 2^14 entries are added up: one after another they would be off by 3e-14."""
    side = 14
    rng = np.random.default_rng(side)
    couplings = 1.5 * rng.standard_normal(2 * side * (side - 1))
    lattice = square_lattice(side, side)
    model = IsingModel(lattice.edges, couplings, 2 * rng.standard_normal(side * side))
    singles = [((k,), [-h, h]) for k, h in enumerate(model.fields)]
    pairs = [(e, [[j, -j], [-j, j]]) for e, j in zip(model.edges.tolist(), couplings, strict=True)]
    alone = ((model.num_spins,), [0.0, 1.0, 2.0])  # with three labels it is no binary model
    cardinalities = [2] * model.num_spins + [3]
    labels = MarkovRandomField(cardinalities, [*singles, *pairs, alone], log=True)
    plan = treewidth.plan_elimination(labels, kind="clusters", search_seconds=0.0)
    found = treewidth.marginals(labels, plan=plan)
    frontier = treewidth.plan_elimination(model, kind="frontier")
    sure = treewidth.marginals(model, plan=frontier).nodes
    assert np.abs(np.array([p[1] for p in found.nodes[:-1]]) - sure).max() < 4e-15
