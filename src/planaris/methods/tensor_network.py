"""Tensor networks: estimates for models with a field on every spin, at any size."""

from __future__ import annotations

from dataclasses import replace

from planaris import tensor
from planaris.budget import Budget
from planaris.errors import MethodError, PrecisionError, TimeLimitError, TooLargeError
from planaris.methods.registry import Method, Model, Question, Task
from planaris.models import MarkovRandomField
from planaris.result import LogPartition, Marginals
from planaris.tensor.network import plan_sweep, to_network
from planaris.typing import Array

NAME = "tensor-network"

SHORT = 4.0
"""A line of so many times the square root of the number of variables is short."""

MISFITS = (MethodError, PrecisionError, TooLargeError, TimeLimitError)
"""Why an estimate may fail to come."""


def is_swept_by_a_short_line(model: Model) -> bool:
    """Return whether a short line can be swept across the graph of a pairwise model."""
    if isinstance(model, MarkovRandomField) and not model.is_pairwise:
        return False
    network = to_network(model)
    return bool(plan_sweep(model, network).width <= SHORT * network.num_variables**0.5 + 8)


def improve_value(model: Model, found: LogPartition, budget: Budget) -> LogPartition:
    """Return an interval with the estimate of a tensor network as its value.

    An estimate outside the interval has failed: ``stats`` says so, and it is not used.
    """
    if found.exact or not is_swept_by_a_short_line(model):
        return found
    try:
        guess = tensor.log_partition(model, prove=budget.prove, time_limit=budget)
    except MISFITS as reason:
        return replace(found, stats={**found.stats, "tensor_network": f"none: {reason}"})
    if guess.proved and guess.gap < found.gap:
        return guess
    said = {"value": guess.value, "error": guess.upper - guess.value}
    if not found.lower <= guess.value <= found.upper:
        return replace(found, stats={**found.stats, "tensor_network": {**said, "failed": True}})
    stats = {**found.stats, "tensor_network": said}
    return replace(found, value=guess.value, method=f"{found.method}+{NAME}", stats=stats)


def estimate_marginals(model: Model, budget: Budget) -> Marginals | None:
    """Return marginals by a tensor network, or None where it does not fit."""
    try:
        if is_swept_by_a_short_line(model):
            return tensor.marginals(model, time_limit=budget)
    except MISFITS:
        pass
    return None


def _sample(asked: Question) -> Array:
    found = tensor.sample(asked.model, asked.num_samples, asked.rng, time_limit=asked.budget)
    return found.states


def _fits(model: Model, budget: Budget) -> str | None:
    if isinstance(model, MarkovRandomField) and not model.is_pairwise:
        return "it has factors of more than two variables"
    if not is_swept_by_a_short_line(model):
        return "no short line can be swept across its graph"
    return None


METHODS = [
    Method(
        NAME,
        "estimates log Z, marginals and samples of grids and other drawings with fields",
        {
            "log_partition": Task(
                lambda asked: tensor.log_partition(
                    asked.model, prove=asked.budget.prove, time_limit=asked.budget
                ),
                "estimate",
                "labels",
            ),
            "marginals": Task(
                lambda asked: tensor.marginals(asked.model, time_limit=asked.budget),
                "estimate",
                "labels",
            ),
            "sample": Task(_sample, "estimate", "labels"),
        },
        fits=_fits,
    )
]
