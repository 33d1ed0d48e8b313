"""Tensor networks: models with a field on every spin, at any size, estimated or proved.

The value of one is the estimate inside intervals around log Z of models that nothing exact fits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planaris import tensor
from planaris.budget import UNLIMITED, Budget
from planaris.errors import MethodError, PrecisionError, TimeLimitError, TooLargeError
from planaris.methods.bounds import PATIENCE_SECONDS, interval
from planaris.methods.registry import Method, Model, Question, Task
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.convert import IsingForm
from planaris.result import LogPartition, Marginals
from planaris.tensor.network import to_network
from planaris.typing import Array

NAME = "tensor-network"

SHORT = 4.0
"""A line is short if it has at most this many times the square root of the number of variables."""

ENCLOSING_SHARE = 0.6
"""Share of the time for the interval around log Z; the rest is for an estimate inside it."""

PROVING_SECONDS = 120.0
"""Time for a proved tensor network when no time limit is given."""

PROVING_SHARE = 0.6
"""Share of the time for a proved tensor network."""

MISFITS = (MethodError, PrecisionError, TooLargeError, TimeLimitError)
"""Reasons for which there may be no estimate."""


def short_sweep(model: Model, budget: Budget = UNLIMITED) -> tensor.Sweep | None:
    """Return a sweep of a short line across a pairwise model, or None."""
    if isinstance(model, MarkovRandomField) and not model.is_pairwise:
        return None
    with budget.required("no line across the model was planned"):
        network = to_network(model, budget)
        sweep = tensor.plan_sweep(model, network, budget)
    return sweep if sweep.width <= SHORT * network.num_variables**0.5 + 8 else None


def estimate_value(model: Model, budget: Budget) -> LogPartition | str:
    """Return log Z by a tensor network, or why there is none ("": no short line)."""
    try:
        if (sweep := short_sweep(model, budget)) is None:
            return ""
        return tensor.log_partition(model, prove=budget.prove, time_limit=budget, sweep=sweep)
    except MISFITS as reason:
        return f"none: {reason}"


def improve_value(found: LogPartition, guess: LogPartition | str) -> LogPartition:
    """Return an interval with the estimate of a tensor network as its value.

    An estimate outside the interval is wrong: it is not used, but noted in ``stats``.
    """
    if isinstance(guess, str):
        stats = {**found.stats, "tensor_network": guess} if guess else found.stats
        return replace(found, stats=stats)
    if guess.proved and guess.gap < found.gap:
        return guess
    said = {"value": guess.value, "error": guess.upper - guess.value}
    if not found.lower <= guess.value <= found.upper:
        return replace(found, stats={**found.stats, "tensor_network": {**said, "failed": True}})
    stats = {**found.stats, "tensor_network": said}
    return replace(found, value=guess.value, method=f"{found.method}+{NAME}", stats=stats)


def enclose(model: Model, budget: Budget) -> LogPartition:
    """Return an interval around log Z, with the estimate of a tensor network inside where one fits.

    Where a proof is asked for, a proved tensor network comes first: few other intervals close.
    """
    guess: LogPartition | str = ""
    if budget.prove:
        guess = estimate_value(model, budget.or_within(PROVING_SECONDS).share(PROVING_SHARE))
        if isinstance(guess, LogPartition) and guess.proved:
            return guess
    limited = budget.or_within(PATIENCE_SECONDS)
    found = interval(model, limited.share(ENCLOSING_SHARE))
    if not found.exact and isinstance(guess, str):
        guess = estimate_value(model, replace(limited, prove=False))
    return found if found.exact else improve_value(found, guess)


def estimate_marginals(
    model: Model, budget: Budget, tolerance: float | None = None
) -> Marginals | None:
    """Return marginals by a tensor network, or None where it does not fit."""
    try:
        if (sweep := short_sweep(model, budget)) is not None:
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


def _in_spins(asked: Question) -> IsingForm | None:
    """Return the Ising model that an MRF is equivalent to, if a proof is asked for."""
    mrf = asked.model
    if not asked.budget.prove or not isinstance(mrf, MarkovRandomField) or not mrf.is_ising:
        return None
    return IsingForm.apply(mrf)


def _log_partition(asked: Question) -> LogPartition:
    form = _in_spins(asked)
    if form is not None:
        return form.lift(_log_partition(replace(asked, model=form.model)))
    return tensor.log_partition(asked.model, prove=asked.budget.prove, time_limit=asked.budget)


def _marginals(asked: Question) -> Marginals:
    form = _in_spins(asked)
    if form is not None:
        return form.lift(_marginals(replace(asked, model=form.model)))
    return tensor.marginals(asked.model, prove=asked.budget.prove, time_limit=asked.budget)


def _sample(asked: Question) -> Array:
    form = _in_spins(asked)
    if form is not None:
        return form.lift_states(_sample(replace(asked, model=form.model)))
    found = tensor.sample(
        asked.model,
        asked.num_samples,
        asked.rng,
        prove=asked.budget.prove,
        time_limit=asked.budget,
    )
    return found.states


def _refusal(model: Model, budget: Budget) -> str | None:
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
            "log_partition": Task(_log_partition, "estimate", "labels"),
            "marginals": Task(_marginals, "estimate", "labels"),
            "sample": Task(_sample, "estimate", "labels"),
        },
        refusal=_refusal,
    )
]
