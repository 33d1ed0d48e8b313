"""Check what a result claims about a model, from the model alone.

Energies are recomputed with correctly rounded sums (every term ±J, ±h is a double, and
``math.fsum`` adds doubles exactly before it rounds once), so a wrong energy cannot hide behind
rounding; small models are enumerated.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import GroundState, LogPartition
from planaris.typing import Array, FloatArray, LongArray
from planaris.verify.exactness import (
    energy_tolerance,
    is_tolerance,
    log_partition_tolerance,
)
from planaris.verify.proofs.energy.ground_state import (
    beyond,
    check_certificate,
    energy_terms,
    require_kinds,
    require_lower,
)
from planaris.verify.recompute.elimination import least_energy

MAX_ENUMERATED = 18
"""The minimum of models of up to this many variables is computed again, whatever proof there is."""

_EPSILON = float(np.finfo(np.float64).eps)
_UNIT = 2.0**-53


def exact_energy(model: IsingModel, spins: Array) -> float:
    """Return the energy of one state, correctly rounded.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1e16, 1.0], offset=-1e16)
    >>> exact_energy(model, np.array([1, 1, 1]))
    -1.0
    """
    labels = (np.asarray(spins) > 0).astype(np.int64)
    return 0.0 + math.fsum(energy_terms(model, labels))  # 0.0 + x: never minus zero


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
    >>> from dataclasses import replace
    >>> model = IsingModel([(0, 1)], [2.0])
    >>> good = GroundState.of(model, np.array([1, 1]), -2.0, method="by hand")
    >>> check_ground_state(model, good)
    >>> bad = replace(good, spins=np.array([1, -1]), assignment=np.array([1, 0]))
    >>> check_ground_state(model, bad)
    Traceback (most recent call last):
    planaris.errors.VerificationError: `energy` is claimed to be -2.0, but the spins have 2.0
    """
    require_kinds(model, result, GroundState)
    check_state(model, result)
    check_certificate(model, result)
    if model.num_spins <= MAX_ENUMERATED:
        check_minimum(model, result)


def check_state(model: IsingModel | MarkovRandomField, result: GroundState) -> None:
    """Raise unless state, energy, ends and tolerance fit the model and each other."""
    labels = _checked_labels(model, result)
    _check_spins(model, result, labels)
    terms = energy_terms(model, labels)
    energy = 0.0 + math.fsum(terms)
    if not (energy == result.energy or abs(result.energy - energy) <= rounding_of(terms)):
        what = "spins" if isinstance(model, IsingModel) else "labels"
        msg = f"`energy` is claimed to be {result.energy}, but the {what} have {energy}"
        raise VerificationError(msg, claimed=result.energy, found=energy)
    if not result.lower <= result.energy or result.upper != result.energy:
        msg = (
            f"`lower <= energy == upper` must hold, got lower={result.lower}, "
            f"energy={result.energy}, upper={result.upper}"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=result.energy)
    check_tolerance(result.tolerance, energy_tolerance(model))


def require_order(model: IsingModel | MarkovRandomField, result: LogPartition) -> None:
    """Raise unless the interval contains the value, with the tolerance of the model."""
    if not result.lower <= result.value <= result.upper:
        msg = (
            f"`lower <= value <= upper` must hold, got lower={result.lower}, "
            f"value={result.value}, upper={result.upper}"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=result.value)
    check_tolerance(result.tolerance, log_partition_tolerance(model))


def check_tolerance(claimed: float, found: float) -> None:
    """Raise if a result would call a wider interval exact than the rule for its model does."""
    if not (claimed <= found or is_tolerance(claimed, found)):
        msg = f"`exact` is claimed of intervals up to {claimed} wide, but only {found} is exact"
        raise VerificationError(msg, claimed=claimed, found=found)


def _checked_labels(model: IsingModel | MarkovRandomField, result: GroundState) -> LongArray:
    """Return the labels of the state, which `spins` repeats where there are two."""
    cards = np.full(model.num_spins, 2) if isinstance(model, IsingModel) else model.cardinalities
    labels = np.asarray(result.assignment)
    if labels.shape != (len(cards),) or (labels.size and labels.dtype.kind not in "iu"):
        msg = (
            f"`assignment` must hold {len(cards)} labels, got {labels.size}: the result "
            "is of another model, or of this one under other evidence"
        )
        raise VerificationError(msg, claimed=labels.shape, found=(len(cards),))
    if np.any((labels < 0) | (labels >= cards)):
        msg = "`assignment` must hold labels of the variables"
        raise VerificationError(msg, claimed=labels, found=cards)
    return labels.astype(np.int64)


def _check_spins(
    model: IsingModel | MarkovRandomField, result: GroundState, labels: LongArray
) -> None:
    """Raise unless `spins` are -1 for label 0 and +1 for 1; with more labels there are none."""
    spins = np.asarray(result.spins)
    labelled = isinstance(model, MarkovRandomField)
    if labelled and spins.size == 0:
        return
    count = 0 if labelled and np.any(labels > 1) else len(labels)
    if spins.shape != (count,):
        msg = f"`spins` must have shape ({count},), got {spins.shape}"
        raise VerificationError(msg, claimed=spins.shape, found=(count,))
    wrong = np.flatnonzero(np.abs(spins) != 1)
    if wrong.size:
        at = int(wrong[0])
        msg = f"`spins` must be -1 or +1, got {spins[at]} at spin {at}"
        raise VerificationError(msg, claimed=spins[at], found=at)
    wrong = np.flatnonzero(spins != 2 * labels - 1)
    if wrong.size:
        at = int(wrong[0])
        msg = f"`spins` and `assignment` must be one state, got {spins[at]} and {labels[at]}"
        raise VerificationError(msg, claimed=spins[at], found=labels[at])


def rounding_of(terms: list[float]) -> float:
    """Bound the rounding of a sum in any order; 0 if partial sums are whole, or it is infinite."""
    total = math.fsum(map(abs, terms))
    if math.isinf(total) or (total < 2.0**53 and all(map(float.is_integer, terms))):
        return 0.0
    return 2 * _UNIT * len(terms) * total


def check_minimum(model: IsingModel | MarkovRandomField, result: GroundState) -> bool:
    """Recompute the least energy and compare; return False if the model is too wide."""
    tolerance = energy_tolerance(model)
    minimum = least_energy(model, tolerance / 4)
    if minimum is None:
        return False
    terms = energy_terms(model, np.asarray(result.assignment))
    gap, excess = beyond(terms, minimum), beyond([result.lower], minimum)
    excess -= math.ulp(result.lower)
    require_lower(model, result, gap, excess, f"a state has energy {float(minimum)}")
    return True


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
    require_kinds(model, result, LogPartition)
    require_order(model, result)
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
