"""What ground states say about log Z of cold models."""

from __future__ import annotations

from collections.abc import Callable

from planaris.bounds.intervals.intersection import from_ground_state, intersect, is_cold
from planaris.budget import Budget
from planaris.errors import InfeasibleError
from planaris.methods.registry import Model, Question, methods
from planaris.result import LogPartition

SHARE = 0.4
"""Of the time for an interval, spent on the ground state of a cold model."""

LEAST_SECONDS = 0.25
"""With less time than this, ground states are not looked for."""


def with_ground_state(
    model: Model, budget: Budget, enclose: Callable[[], LogPartition]
) -> LogPartition:
    """Return the interval that ``enclose`` gives, cut down by bounds on the least energy.

    Where numbers are large beside log 2 per spin, log Z is the least energy and little else.
    """
    mine = budget.share(SHARE).quiet()
    if mine.remaining() < LEAST_SECONDS or not is_cold(model):
        return enclose()
    try:
        best = methods()["auto"].tasks["ground_state"].run(Question(model, mine))
    except InfeasibleError:
        return enclose()
    lower, upper, proof = from_ground_state(model, best)
    return intersect(enclose(), lower, upper, proof=proof, by="ground-state")
