"""Intervals for models with many labels, large factors and zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.bounds.best_interval import BestInterval
from planaris.bounds.labels.cutset_sums import ConditionedSum, heavy_state
from planaris.bounds.labels.mean_field import label_mean_field
from planaris.bounds.labels.mini_buckets import elimination_order, mini_bucket_bound
from planaris.bounds.labels.trees import label_trw, table_upper
from planaris.errors import InfeasibleError
from planaris.models import MarkovRandomField
from planaris.result import LabelField, LogPartition
from planaris.subgraphs.bias_model import EPSILON

BUCKET_ENTRIES = (2**6, 2**10, 2**14, 2**17, 2**20)
"""Table sizes of mini-buckets, tried in turn."""


def enclose_mrf(
    mrf: MarkovRandomField, clock: BestInterval, rng: np.random.Generator
) -> LogPartition:
    """Enclose log Z of any discrete model.

    Elimination where it is estimated to take little of the time limit; otherwise trees (of
    pairwise models) and weighted mini-buckets from above, mean field (of pairwise models without
    zeros) and exact sums over assignments of a cutset from below.
    """
    if (found := clock.by_elimination(mrf)) is not None:
        return found
    clock.offer("sizes", upper=table_upper(mrf))
    try:
        order = elimination_order(mrf, clock.share(0.2))
    except TimeoutError:
        order = np.arange(mrf.num_variables, dtype=np.int32)
    _lower_upper(mrf, order, 0, clock)
    try:
        state = heavy_state(mrf, clock.share(0.2), rng)
    except InfeasibleError:  # proved: every label of some variable is excluded
        clock.offer("no state", upper=-math.inf)
        return clock.result("interval", mrf.num_variables, stats={"order": order})
    weight, proof = one_state(mrf, state)
    if proof is not None:
        clock.offer("one state", lower=weight, proof=lambda: proof)
    if mrf.is_pairwise:
        _by_trees(mrf, state, clock)
    total: ConditionedSum | None = None
    for level in range(1, len(BUCKET_ENTRIES)):
        if clock.budget.expired():
            break
        _lower_upper(mrf, order, level, clock)
        last = level == len(BUCKET_ENTRIES) - 1
        try:
            if total is None:
                total = ConditionedSum(mrf, state, budget=clock.budget)
            total.walk(clock.share(1.0 if last else 0.3), 100_000, rng)
        except TimeoutError:
            if total is None:
                break
        clock.offer("cutset", lower=min(total.lower, clock.upper), proof=total.proof)
    return clock.result("interval", mrf.num_variables, stats={"order": order})


def one_state(mrf: MarkovRandomField, state: Any) -> tuple[float, LabelField | None]:
    """Return the log weight of a state, a lower bound on log Z, and the state as a distribution.

    Minus infinity and none if its weight is zero.
    """
    weight = float(mrf.log_weight(state))
    if weight == -math.inf:
        return weight, None
    slack = EPSILON * (mrf.num_factors + 4) * (abs(weight) + mrf.num_factors)
    first = np.cumsum(mrf.cardinalities) - mrf.cardinalities
    probabilities = np.zeros(int(mrf.cardinalities.sum()))
    probabilities[first + state] = 1.0
    return weight - slack, LabelField(probabilities)


def _by_trees(mrf: MarkovRandomField, state: Any, clock: BestInterval) -> None:
    """Trees from above; independent variables from below, where no state has weight zero."""
    trees = label_trw(mrf, time_limit=clock.share(0.3))
    clock.take("trees", trees)
    if not mrf.has_zeros:
        found = label_mean_field(mrf, states=[state], time_limit=clock.share(0.2))
        clock.take("mean field", found)


def _lower_upper(mrf: MarkovRandomField, order: Any, level: int, clock: BestInterval) -> None:
    """Run mini-buckets while time lasts."""
    try:
        found = mini_bucket_bound(mrf, order, BUCKET_ENTRIES[level], budget=clock.share(0.6))
    except TimeoutError:
        return
    clock.offer("mini-buckets", upper=found.upper, proof=found.proof)
