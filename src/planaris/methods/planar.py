"""Planar models: matching and Pfaffians, part by part."""

from __future__ import annotations

import numpy as np

from planaris import treewidth
from planaris.bounds.best_interval import out_of_time
from planaris.budget import Budget
from planaris.errors import NotPlanarError, PrecisionError
from planaris.methods.registry import Method, Question, Task
from planaris.methods.treewidth import fitting_elimination
from planaris.models import IsingModel, bias2fields
from planaris.reductions.correlations import correlations_with_bias
from planaris.reductions.parts import (
    Part,
    Split,
    all_planar,
    join_ground_states,
    join_log_partitions,
    join_marginals,
    join_samples,
)
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, LogPartition, Marginals
from planaris.typing import FloatArray, Int8Array


def correlations_from_bias(split: Split, budget: Budget) -> tuple[FloatArray, float]:
    """Return the correlation of every spin of a split model with its bias spin, and the error."""
    return correlations_with_bias(split, lambda part, root: _correlations(part, root, budget))


def _correlations(part: Part, root: int, budget: Budget) -> FloatArray:
    """Return the correlations of one spin of a part with all others."""
    if part.embedding is not None:
        try:
            return part.plan.spin_correlations(part.model.couplings, root, time_limit=budget)
        except PrecisionError:
            if fitting_elimination(part.model, "marginals", budget) is None:
                raise
    held, _ = bias2fields(part.model, root)
    found = 2.0 * np.asarray(treewidth.marginals(held, time_limit=budget).nodes) - 1.0
    return np.insert(found, root, 1.0)


def _split(asked: Question) -> Split:
    with asked.budget.required("no plane embedding was found"):
        return all_planar(asked.model, asked.embedding, budget=asked.budget)


def _ground_state(asked: Question) -> GroundState:
    budget = asked.budget
    try:
        split = all_planar(asked.model, asked.embedding, budget=budget)
    except TimeoutError:
        return trivial_ground_state(asked.model, "planar", budget)
    found = [part.ground_state(budget) for part in split.parts]
    return join_ground_states(split, found, budget)


def _log_partition(asked: Question) -> LogPartition:
    budget = asked.budget
    try:
        split = all_planar(asked.model, asked.embedding, budget=budget)
    except TimeoutError:
        return out_of_time(asked.model, "planar", budget.seconds())
    found = [part.log_partition(budget) for part in split.parts]
    return join_log_partitions(split, found, budget)


def _marginals(asked: Question) -> Marginals:
    split, budget = _split(asked), asked.budget
    found = [part.marginals(budget) for part in split.parts]
    return join_marginals(split, found, correlations_from_bias, budget)


def _sample(asked: Question) -> Int8Array:
    split, size, rng = _split(asked), asked.num_samples, asked.rng
    assert rng is not None, "the verb makes one"
    found = [part.sample(size, rng, asked.budget) for part in split.parts]
    return join_samples(split, found, size, rng)


def _refusal(model: IsingModel, budget: Budget) -> str | None:
    try:
        all_planar(model)
    except NotPlanarError as reason:
        return str(reason)
    return None


METHODS = [
    Method(
        "planar",
        "is exact on planar models",
        {
            "ground_state": Task(_ground_state, "exact"),
            "log_partition": Task(_log_partition, "exact"),
            "marginals": Task(_marginals, "exact"),
            "sample": Task(_sample, "exact"),
        },
        refusal=_refusal,
        slow_on="plane",
    )
]
