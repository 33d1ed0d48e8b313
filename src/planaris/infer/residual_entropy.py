"""The number of ground states, from log Z at low temperatures."""

from __future__ import annotations

import math

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError, ModelError
from planaris.infer.verbs import check_model, ground_state, log_partition, verb_budget
from planaris.methods.registry import Model
from planaris.models import IsingModel
from planaris.reductions.parts import share_structure
from planaris.result import GroundState
from planaris.typing import FloatArray

COLD = ((20.0, 40.0), (6.0, 12.0))
"""Inverse temperatures, in units of the step between couplings, at which ground states are counted.
The second pair is for surfaces, where sums of colder models cancel."""

MOST_LEFT = 1e-9
"""Largest contribution of excited states to the logarithm of a number of ground states."""


def ground_state_entropy(
    model: Model, *, time_limit: TimeLimit = None, threads: int | None = None
) -> float:
    """Return the logarithm of the number of ground states of an Ising model.

    f(β) = log Z + βE₀ falls to it as β grows. The couplings and fields must be multiples of one
    number: then levels are at least twice that apart, and what excited states still contribute
    at 2β is below e^(-2β) of what they contribute at β (β in units of that number).

    Parameters
    ----------
    model : IsingModel
        With couplings and fields that are all integers, or all multiples of the smallest.
    time_limit : float, optional
        Seconds.
    threads : int, optional
        As for :func:`planaris.log_partition`.

    Raises
    ------
    MethodError
        When no exact method fits, or two ground states cannot be told from excited states.

    Examples
    --------
    >>> import planaris as pl
    >>> frustrated = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1, 1, -1])
    >>> round(math.exp(pl.ground_state_entropy(frustrated)), 9)
    6.0
    """
    check_model(model)
    if not isinstance(model, IsingModel):
        msg = "`model` must be an IsingModel with couplings that are multiples of one number"
        raise ModelError(msg)
    budget = verb_budget(time_limit, None, threads, None)
    unit = _level_step(np.concatenate([model.couplings, model.fields]))
    bare = model.without_offset().with_couplings(model.couplings / unit, model.fields / unit)
    lowest = ground_state(bare, time_limit=budget)
    for pair in COLD:
        found = _count_ground_states(bare, lowest, pair, budget)
        if found is not None:
            return found
    msg = "the ground states of this model cannot be counted: no exact method fits it"
    raise MethodError(msg)


def _count_ground_states(
    bare: IsingModel, lowest: GroundState, pair: tuple[float, float], budget: Budget
) -> float | None:
    """Return the entropy of ground states from two temperatures; None if they do not suffice."""
    excesses = []
    for b in pair:
        found = log_partition(share_structure(bare, b), time_limit=budget)
        if not (lowest.exact and found.exact):
            return None
        excess = found.excess
        excesses.append(found.value + lowest.energy * b if excess is None else excess)
    warm, cold = excesses
    rest = math.expm1(min(warm - cold, 700.0)) * math.exp(-2 * (pair[1] - pair[0]))
    return float(cold - max(rest, 0.0)) if rest <= MOST_LEFT else None


def _level_step(numbers: FloatArray) -> float:
    """Return a number of which all others are multiples."""
    used = np.abs(numbers[numbers != 0])
    if not used.size or np.array_equal(used, np.round(used)):
        return 1.0
    least = float(used.min())
    with np.errstate(over="ignore"):
        ratios = used / least
    if not (np.isfinite(ratios).all() and np.array_equal(ratios, np.round(ratios))):
        msg = "`couplings` and `fields` must be integers, or multiples of the smallest of them"
        raise ModelError(msg)
    return least
