"""Check what a result claims about a model, from the model alone.

Energies are recomputed with correctly rounded sums (every term ±J, ±h is a double, and
``math.fsum`` adds doubles exactly before it rounds once), so a wrong energy cannot hide behind
rounding; small models are enumerated.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel
from planaris.result import GroundState, LogPartition
from planaris.typing import Array, FloatArray
from planaris.verify.energy_bounds import CLOSED
from planaris.verify.ground_state import check_certificate, energy_terms

MAX_ENUMERATED = 18
"""Models of up to this many spins are enumerated."""

_EPSILON = float(np.finfo(np.float64).eps)


def exact_energy(model: IsingModel, spins: Array) -> float:
    """Return the energy of one state, correctly rounded.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1e16, 1.0], offset=-1e16)
    >>> exact_energy(model, np.array([1, 1, 1]))
    -1.0
    """
    return 0.0 + math.fsum(energy_terms(model, spins))  # 0.0 + x: never minus zero


def check_ground_state(model: IsingModel, result: GroundState) -> None:
    """Raise unless a ground-state result holds what it says.

    Checked: spins are -1 or +1, one per spin of the model; ``energy`` is their energy, to the
    last integer for integer couplings and within the rounding of a plain sum otherwise;
    ``lower <= energy == upper``, and no gap beyond rounding where ``exact`` is claimed; the
    certificate, if there is one (:func:`~planaris.verify.check_certificate`). For
    models of at most 18 spins the minimum itself is found and must lie in the interval.

    Parameters
    ----------
    model : IsingModel
        The model that was solved.
    result : GroundState
        What the solver returned.

    Raises
    ------
    VerificationError
        With ``claimed`` and ``found`` as evidence.

    Examples
    --------
    >>> model = IsingModel([(0, 1)], [2.0])
    >>> good = GroundState.of(model, np.array([1, 1]), -2.0, method="by hand")
    >>> check_ground_state(model, good)
    >>> from dataclasses import replace
    >>> bad = replace(good, spins=np.array([1, -1]), assignment=np.array([1, 0]))
    >>> check_ground_state(model, bad)
    Traceback (most recent call last):
    planaris.errors.VerificationError: `energy` is claimed to be -2.0, but the spins have 2.0
    """
    check_state(model, result)


def check_state(model: IsingModel, result: GroundState) -> bool:
    """Do what :func:`check_ground_state` does; return whether the certificate proves the claim."""
    spins = np.asarray(result.spins)
    if spins.shape != (model.num_spins,):
        msg = f"`spins` must have shape ({model.num_spins},), got {spins.shape}"
        raise VerificationError(msg, claimed=spins.shape, found=(model.num_spins,))
    wrong = np.flatnonzero(np.abs(spins) != 1)
    if wrong.size:
        at = int(wrong[0])
        msg = f"`spins` must be -1 or +1, got {spins[at]} at spin {at}"
        raise VerificationError(msg, claimed=spins[at], found=at)
    energy, slack = exact_energy(model, spins), _slack(model)
    if not abs(result.energy - energy) <= slack:
        msg = f"`energy` is claimed to be {result.energy}, but the spins have {energy}"
        raise VerificationError(msg, claimed=result.energy, found=energy)
    if not result.lower <= result.energy or result.upper != result.energy:
        msg = (
            f"`lower <= energy == upper` must hold, got lower={result.lower}, "
            f"energy={result.energy}, upper={result.upper}"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=result.energy)
    # Linear programs over real numbers close their interval to 1e-9 of the couplings.
    sizes = _magnitudes(model)
    room = CLOSED * float(sizes[:-1].sum()) + 8 * _EPSILON * float(sizes.sum())
    room = 0.0 if result.method == "planar" else room
    if result.exact and not result.energy - result.lower <= 4 * slack + room:
        msg = (
            f"`exact` is claimed, but the minimum is only known to lie in "
            f"[{result.lower}, {result.upper}]"
        )
        raise VerificationError(msg, claimed=True, found=result.upper - result.lower)
    proved = check_certificate(model, result)
    if model.num_spins <= MAX_ENUMERATED:
        _check_minimum(model, result, slack, room)
    return proved


def _check_minimum(model: IsingModel, result: GroundState, slack: float, room: float) -> None:
    weights = _all_log_weights(model)
    best = np.flatnonzero(weights >= weights.max() - 2 * slack)
    minimum = min(exact_energy(model, _state(model, int(code))) for code in best[:64])
    if not result.lower <= minimum + slack:
        msg = f"`lower` is claimed to be {result.lower}, but a state has energy {minimum}"
        raise VerificationError(msg, claimed=result.lower, found=minimum)
    if result.exact and not result.energy <= minimum + 2 * slack + room:
        msg = f"`exact` is claimed at {result.energy}, but a state has energy {minimum}"
        raise VerificationError(msg, claimed=result.energy, found=minimum)


def check_log_partition(
    model: IsingModel, result: LogPartition, *, states: Array | None = None
) -> None:
    """Raise unless a log-partition result is consistent with the model.

    Checked: ``lower <= value <= upper``; a finite interval where ``exact`` is claimed; and that
    the interval meets what is certain about log Z. For at most 18 spins that is its value.
    Beyond, it is ``max(n log 2 + c, w(s) [+ log 2]) <= log Z <= n log 2 + Σ|J| + Σ|h| + c``
    for the states given: the mean of all log weights is c, and without fields every state comes
    with its mirror image.

    Parameters
    ----------
    model : IsingModel
        The model that was solved.
    result : LogPartition
        What the solver returned.
    states : array_like, optional
        States of large weight, one per row; a ground state makes the lower bound sharp at low
        temperature.

    Raises
    ------
    VerificationError
        With ``claimed`` and ``found``, an interval that contains log Z.

    Examples
    --------
    >>> model = IsingModel([(0, 1)], [0.0])
    >>> check_log_partition(model, LogPartition(value=1.4, lower=1.3, upper=1.5, method="by hand"))
    >>> check_log_partition(model, LogPartition(value=1.6, lower=1.5, upper=1.7, method="by hand"))
    Traceback (most recent call last):
    planaris.errors.VerificationError: log Z is claimed to lie in [1.5, 1.7], but lies in [1.38...
    """
    if not result.lower <= result.value <= result.upper:
        msg = (
            f"`lower <= value <= upper` must hold, got lower={result.lower}, "
            f"value={result.value}, upper={result.upper}"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=result.value)
    if result.exact and not np.isfinite(result.upper - result.lower):
        msg = f"`exact` is claimed with the interval [{result.lower}, {result.upper}]"
        raise VerificationError(msg, claimed=True, found=(result.lower, result.upper))
    if model.num_spins <= MAX_ENUMERATED:
        low, high = _enumerated_interval(model)
    else:
        low, high = _certain_interval(model, states)
    if not (result.upper >= low and result.lower <= high):
        msg = (
            f"log Z is claimed to lie in [{result.lower}, {result.upper}], "
            f"but lies in [{low}, {high}]"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=(low, high))


def _magnitudes(model: IsingModel) -> FloatArray:
    return np.asarray(np.abs(np.concatenate([model.couplings, model.fields, [model.offset]])))


def _slack(model: IsingModel) -> float:
    """Bound the rounding error of an energy added up in any order; 0 where sums are exact."""
    sizes = _magnitudes(model)
    total = float(sizes.sum())
    if total < 2.0**53 and np.array_equal(sizes, np.rint(sizes)):
        return 0.0
    return len(sizes) * _EPSILON * total


def _state(model: IsingModel, code: int) -> Array:
    return 1 - 2 * (code >> np.arange(model.num_spins) & 1)


def _all_log_weights(model: IsingModel) -> FloatArray:
    """Log weights of all states; bit v of the index says whether spin v is -1."""
    codes = np.arange(2**model.num_spins)
    weights = np.full(len(codes), model.offset)
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        weights += np.where((codes >> u ^ codes >> v) & 1, -coupling, coupling)
    for v, field in enumerate(model.fields.tolist()):
        if field:
            weights += np.where(codes >> v & 1, -field, field)
    return weights


def _enumerated_interval(model: IsingModel) -> tuple[float, float]:
    weights = _all_log_weights(model)
    top = float(weights.max())
    value = top + math.log(math.fsum(np.exp(weights - top).tolist()))
    # exp() and log() are good to a unit in the last place or so.
    slack = _slack(model) + 4 * _EPSILON * (1 + abs(value) + abs(top))
    return value - slack, value + slack


def _certain_interval(model: IsingModel, states: Array | None) -> tuple[float, float]:
    count = model.num_spins * math.log(2)
    low = count + model.offset
    if states is not None:
        twice = 0.0 if model.has_fields else math.log(2)
        for state in np.atleast_2d(np.asarray(states)):
            low = max(low, twice - exact_energy(model, state))
    high = count + model.offset + float(_magnitudes(model)[:-1].sum())
    slack = len(_magnitudes(model)) * _EPSILON * (abs(low) + abs(high))
    return low - slack, high + slack
