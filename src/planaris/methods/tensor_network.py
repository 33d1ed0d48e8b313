"""Tensor networks: models with a field on every spin, at any size, estimated or proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planaris import tensor
from planaris.budget import Budget
from planaris.errors import MethodError, PrecisionError, TimeLimitError, TooLargeError
from planaris.methods.registry import Method, Model, Question, Task
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import LogPartition, Marginals
from planaris.tensor.network import to_network
from planaris.typing import Array

NAME = "tensor-network"

SHORT = 4.0
"""A line of so many times the square root of the number of variables is short."""

MISFITS = (MethodError, PrecisionError, TooLargeError, TimeLimitError)
"""Why an estimate may fail to come."""


def short_sweep(model: Model) -> tensor.Sweep | None:
    """Return a sweep of a short line across a pairwise model, or None."""
    if isinstance(model, MarkovRandomField) and not model.is_pairwise:
        return None
    network = to_network(model)
    sweep = tensor.plan_sweep(model, network)
    return sweep if sweep.width <= SHORT * network.num_variables**0.5 + 8 else None


def improve_value(model: Model, found: LogPartition, budget: Budget) -> LogPartition:
    """Return an interval with the estimate of a tensor network as its value.

    An estimate outside the interval has failed: ``stats`` says so, and it is not used.
    """
    sweep = None if found.exact else short_sweep(model)
    if sweep is None:
        return found
    try:
        guess = tensor.log_partition(model, prove=budget.prove, time_limit=budget, sweep=sweep)
    except MISFITS as reason:
        return replace(found, stats={**found.stats, "tensor_network": f"none: {reason}"})
    if guess.proved and guess.gap < found.gap:
        return guess
    said = {"value": guess.value, "error": guess.upper - guess.value}
    if not found.lower <= guess.value <= found.upper:
        return replace(found, stats={**found.stats, "tensor_network": {**said, "failed": True}})
    stats = {**found.stats, "tensor_network": said}
    return replace(found, value=guess.value, method=f"{found.method}+{NAME}", stats=stats)


def estimate_marginals(
    model: Model, budget: Budget, tolerance: float | None = None
) -> Marginals | None:
    """Return marginals by a tensor network, or None where it does not fit."""
    try:
        if (sweep := short_sweep(model)) is not None:
            return tensor.marginals(
                model, tolerance=tolerance, prove=budget.prove, time_limit=budget, sweep=sweep
            )
    except MISFITS:
        pass
    return None


def exact_samples(
    model: Model, num_samples: int, rng: np.random.Generator, budget: Budget
) -> Array | None:
    """Return exact samples of an Ising grid by a proved tensor network; None where it is lost."""
    if not isinstance(model, IsingModel):
        return None
    try:
        return tensor.sample(model, num_samples, rng, prove=True, time_limit=budget).states
    except (MethodError, PrecisionError, TooLargeError):
        return None


def _sample(asked: Question) -> Array:
    found = tensor.sample(
        asked.model,
        asked.num_samples,
        asked.rng,
        prove=asked.budget.prove,
        time_limit=asked.budget,
    )
    return found.states


def _fits(model: Model, budget: Budget) -> str | None:
    if isinstance(model, MarkovRandomField) and not model.is_pairwise:
        return "it has factors of more than two variables"
    if short_sweep(model) is None:
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
                lambda asked: tensor.marginals(
                    asked.model, prove=asked.budget.prove, time_limit=asked.budget
                ),
                "estimate",
                "labels",
            ),
            "sample": Task(_sample, "estimate", "labels"),
        },
        fits=_fits,
    )
]
