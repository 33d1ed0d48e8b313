"""log Z of models that nothing exact fits: an interval, and the value of a tensor network."""

from __future__ import annotations

from dataclasses import replace

from planaris.budget import Budget
from planaris.methods.bounds import PATIENCE_SECONDS, interval
from planaris.methods.registry import Model
from planaris.methods.tensor_network import estimate_value, improve_value
from planaris.result import LogPartition

ENCLOSING_SHARE = 0.6
"""Of the time, for the interval around log Z; the rest is for an estimate inside it."""

PROVING_SECONDS = 120.0
"""For the proof of a tensor network, when no time limit is given."""

PROVING_SHARE = 0.6
"""Of the time, for that proof."""


def enclose(model: Model, budget: Budget) -> LogPartition:
    """Return an interval, with the estimate of a tensor network inside it where one fits.

    Where a proof is asked for, that of a tensor network has the first try: few others close.
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
