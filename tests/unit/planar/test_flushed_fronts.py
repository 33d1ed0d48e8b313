"""Cold fronts count numbers too small for doubles as zeros: in all threads, and only there."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import planaris as pl
from planaris.budget import UNLIMITED, Budget
from planaris.kernels.pfaffian import EliminationOrder, any_order
from planaris.planar.pfaffian import precision_ladder, single_model

SUBNORMAL = np.float64(1e-310)


def shrunk(
    scale: float, *, underflow: bool
) -> tuple[pl.planar.Plan, np.ndarray, np.ndarray, np.ndarray, EliminationOrder]:
    """Return a large warm model with rows so small that their products need subnormal numbers."""
    lattice = pl.generate.square_lattice(200)
    plan = pl.plan(lattice)
    elimination, edges = plan.evaluator.elimination, plan.evaluator.split.num_edges
    couplings = np.random.default_rng(3).normal(size=edges)
    couplings[lattice.edges.shape[0] :] = 0.0
    join = np.full(2 * edges, scale)
    face = join - np.repeat(np.abs(couplings), 2)
    zeros = any_order(edges).rank
    order = EliminationOrder(zeros, zeros, underflow=underflow)
    return plan, face, join, elimination.signs, order


def test_all_threads_flush() -> None:
    found = {}
    for underflow in (False, True):
        plan, face, join, signs, order = shrunk(-352.0, underflow=underflow)
        elimination = plan.evaluator.elimination
        for threads in (1, 3):
            budget = Budget(threads=threads)
            options = {"order": order, "budget": budget}
            one = elimination.log_pfaffian(face, join, signs, **options)
            first, _ = elimination.two_log_pfaffians((face, face), (join, join), signs, **options)
            factors = elimination.factorize(face, join, signs, **options)
            uncut, _ = factors.uncut(budget=budget)
            numbers = one.log_magnitude, first.log_magnitude, factors.log_pfaffian.log_magnitude
            found.setdefault(underflow, []).append((*numbers, uncut.tobytes()))
            assert SUBNORMAL * np.float64(1.0) == SUBNORMAL  # as before
    for same in found.values():
        assert len(set(same)) == 1
        assert len(set(same[0][:3])) == 1
    if platform.system() != "Windows":
        assert found[False][0][0] != found[True][0][0]


@pytest.mark.parametrize("beta", [30.0, 60.0, 300.0, 3000.0])
@pytest.mark.parametrize("kind", ["square", "triangular", "honeycomb"])
def test_flushed_numbers_are_nothing(kind: str, beta: float) -> None:
    """Against double-double with exponents of its own, which flushes nothing."""
    rng = np.random.default_rng([7, int(beta)])
    lattice = getattr(pl.generate, f"{kind}_lattice")(30)
    couplings = beta * rng.normal(size=len(lattice.edges))
    evaluator = pl.plan(lattice).evaluator
    *_, (entries, wide) = precision_ladder.attempts(evaluator, couplings, UNLIMITED)
    assert wide
    total, _ = single_model.sum_pfaffians(evaluator, entries, wide=True, budget=UNLIMITED)
    found = single_model.log_partition_of(evaluator, couplings, UNLIMITED)
    assert found.stats["precision"] == "double"
    assert found.excess == pytest.approx(total.log_value + np.log(2.0), abs=1e-10)
