"""Planar models: matching and Pfaffians, part by part."""

from __future__ import annotations

import numpy as np

from planaris import planar, treewidth
from planaris.budget import Budget
from planaris.errors import MethodError, NotPlanarError, PrecisionError
from planaris.methods.elimination import fitting_elimination
from planaris.methods.registry import Method, Model, Question, Task
from planaris.models import IsingModel, bias2fields
from planaris.reductions.ising_form import IsingForm
from planaris.reductions.joins import (
    join_ground_states,
    join_log_partitions,
    join_marginals,
    join_samples,
)
from planaris.reductions.parts import Part, all_planar
from planaris.result import GroundState, LogPartition, Marginals
from planaris.typing import Array, FloatArray, Int8Array


def ground_state_of_part(part: Part, budget: Budget) -> GroundState:
    """Return a ground state of an embedded part."""
    return planar.ground_state(part.model, embedding=part.embedding, time_limit=budget)


def log_partition_of_part(part: Part, budget: Budget) -> LogPartition:
    """Return log Z of an embedded part."""
    found: LogPartition = part.plan.log_partition(part.model.couplings, time_limit=budget)
    return found


def marginals_of_part(part: Part, budget: Budget) -> Marginals:
    """Return the edge marginals of an embedded part."""
    found: Marginals = part.plan.marginals(part.model.couplings, time_limit=budget)
    return found


def samples_of_part(
    part: Part, size: int, rng: np.random.Generator | None, budget: Budget
) -> Array:
    """Return samples of an embedded part."""
    return part.plan.sample(part.model.couplings, size, rng, time_limit=budget)


def correlations_from(part: Part, root: int, budget: Budget) -> FloatArray:
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


def _ground_state(asked: Question) -> GroundState:
    split, budget = all_planar(asked.model, asked.embedding), asked.budget
    found = [ground_state_of_part(part, budget) for part in split.parts]
    return join_ground_states(split, found, budget)


def _log_partition(asked: Question) -> LogPartition:
    split, budget = all_planar(asked.model, asked.embedding), asked.budget
    found = [log_partition_of_part(part, budget) for part in split.parts]
    return join_log_partitions(split, found, budget)


def _marginals(asked: Question) -> Marginals:
    split, budget = all_planar(asked.model, asked.embedding), asked.budget
    found = [marginals_of_part(part, budget) for part in split.parts]
    return join_marginals(
        split, found, lambda part, root: correlations_from(part, root, budget), budget
    )


def _sample(asked: Question) -> Int8Array:
    split, size, rng = all_planar(asked.model, asked.embedding), asked.num_samples, asked.rng
    assert rng is not None, "the verb makes one"
    found = [samples_of_part(part, size, rng, asked.budget) for part in split.parts]
    return join_samples(split, found, size, rng)


def _fits(model: Model, budget: Budget) -> str | None:
    try:
        all_planar(model if isinstance(model, IsingModel) else IsingForm.apply(model).model)
    except (MethodError, NotPlanarError) as reason:
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
        fits=_fits,
        slow_on="plane",
    )
]
