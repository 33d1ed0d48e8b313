"""Batches of coupling vectors: those that need no gauge are eliminated in one compiled call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.kernels.pfaffian import LogPfaffian
from planaris.planar.attempts import WEAK_COUPLING
from planaris.planar.estimate import EPSILON, calm_error, elimination_stats, is_calm, is_sound
from planaris.planar.evaluate import (
    MARGINAL_ERROR,
    log_partition_from,
    log_partition_of,
    marginals_from,
    marginals_of,
)
from planaris.result import LogPartition, Marginals
from planaris.typing import FloatArray, LongArray

if TYPE_CHECKING:
    from planaris.planar.plan import Plan


def log_partitions(plan: Plan, couplings: FloatArray, budget: Budget) -> list[LogPartition]:
    """Return log Z of every row; the values are those of the rows on their own."""
    weak = _weak_rows(plan, couplings)
    done: dict[int, LogPartition | None] = {}
    if len(weak):
        found, _, _ = _eliminate(plan, couplings[weak], budget, marginals=False)
        sizes = 2 * np.abs(couplings[weak]).sum(1)
        for k, one, size in zip(weak.tolist(), found, sizes.tolist(), strict=True):
            if is_sound(one, wide=False, ordered=False) and is_calm(one, cold=False):
                constant = _constant(plan, couplings[k])
                stats = elimination_stats(one, wide=False)
                error = calm_error(one)
                value = one.log_magnitude
                done[k] = log_partition_from(plan, value, error, constant, size, stats)
    return [done.get(k) or log_partition_of(plan, row, budget) for k, row in enumerate(couplings)]


def marginals(plan: Plan, couplings: FloatArray, budget: Budget) -> list[Marginals]:
    """Return the edge marginals of every row."""
    weak = _weak_rows(plan, couplings)
    done: dict[int, Marginals] = {}
    if len(weak):
        found, uncut, residual = _eliminate(plan, couplings[weak], budget, marginals=True)
        agree = np.ones(plan.num_edges, dtype=np.bool_)
        rounding = EPSILON * np.abs(couplings).max(1, initial=0.0)
        for k, one, row, error in zip(weak.tolist(), found, uncut, residual.tolist(), strict=True):
            if is_sound(one, wide=False, ordered=False) and error <= MARGINAL_ERROR:
                value = _constant(plan, couplings[k]) + one.log_magnitude
                error += float(rounding[k])
                done[k] = marginals_from(plan, row, error, value, agree, wide=False)
    return [done.get(k) or marginals_of(plan, row, budget) for k, row in enumerate(couplings)]


def _weak_rows(plan: Plan, couplings: FloatArray) -> LongArray:
    if plan.genus or len(couplings) < 2:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.abs(couplings).max(1, initial=0.0) <= WEAK_COUPLING)


def _eliminate(
    plan: Plan,
    couplings: FloatArray,
    budget: Budget,
    *,
    marginals: bool,
) -> tuple[list[LogPfaffian], FloatArray, FloatArray]:
    legs = 2 * plan._split.num_edges
    face = np.zeros((len(couplings), legs))
    face[:, : 2 * plan.num_edges] = -np.repeat(couplings, 2, axis=1)
    e = plan._elimination
    return e.log_pfaffians(face, np.zeros(legs), e.signs, marginals=marginals, budget=budget)


def _constant(plan: Plan, couplings: FloatArray) -> float:
    return plan.embedding.num_components * math.log(2.0) + math.fsum(couplings.tolist())
