"""Intervals for log Z from several sources: all of them hold, so their intersection does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from planaris.kernels.graph import connected_components
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import Bounds, GroundState, HeavyState, LogPartition, LowestEnergy
from planaris.treewidth.rounding import size_of_logs

LOG2 = math.log(2.0)
EPSILON = float(np.finfo(np.float64).eps)

COLD = 8.0
"""Where log weights are so many times the logarithm of the number of states, the ground state
decides most of log Z."""


def log_num_states(model: IsingModel | MarkovRandomField) -> float:
    """Return the logarithm of the number of states, rounded up.

    >>> round(log_num_states(MarkovRandomField([2, 3], [])), 6)
    1.791759
    """
    if isinstance(model, IsingModel):
        return model.num_spins * LOG2 * (1.0 + 2 * EPSILON)
    logs = np.log(model.cardinalities.astype(np.float64))
    return math.fsum(logs.tolist()) * (1.0 + 4 * EPSILON)


def is_cold(model: IsingModel | MarkovRandomField) -> bool:
    """Return whether a bound on the least energy is likely to be a good one on log Z.

    >>> is_cold(IsingModel([(0, 1)], [100.0])), is_cold(IsingModel([(0, 1)], [1.0]))
    (True, False)
    """
    return size_of_logs(model) > COLD * log_num_states(model)


def from_ground_state(
    model: IsingModel | MarkovRandomField, found: GroundState
) -> tuple[float, float, Bounds]:
    """Return both ends of an interval for log Z that a ground state gives, and their proofs.

    With ``c`` components without fields, 2^c states have the energy E found, and no state has
    less than ``lower``: ``c log 2 - E <= log Z <= n log 2 - lower``.

    Examples
    --------
    >>> import planaris as pl
    >>> model = IsingModel([(0, 1)], [3.0])
    >>> lower, upper, _ = from_ground_state(model, pl.ground_state(model))
    >>> round(lower, 4), round(upper, 4)  # log Z = 3.6956
    (3.6931, 4.3863)
    """
    free = free_components(model) if isinstance(model, IsingModel) else 0
    # Energies are rounded to nearest: the exact ones lie within half a step.
    lowest = math.nextafter(found.lower, -math.inf)
    best = math.nextafter(found.energy, math.inf)
    lower = math.nextafter(free * LOG2 * (1.0 - EPSILON) - best, -math.inf)
    upper = math.nextafter(log_num_states(model) - lowest, math.inf)
    proof = Bounds(None, None)
    if isinstance(model, IsingModel):
        above = None if found.certificate is None else LowestEnergy(found.certificate)
        proof = Bounds(HeavyState(found.spins), above)
    return lower, upper, proof


def free_components(model: IsingModel) -> int:
    """Return the number of components whose spins can all be flipped: those without fields.

    >>> free_components(IsingModel([(0, 1)], [1.0], [0.0, 0.0, 2.0, 0.0]))
    2
    """
    if model.num_spins == 0:
        return 0
    component = connected_components(model.num_spins, np.ascontiguousarray(model.edges))
    held = np.zeros(int(component.max()) + 1, dtype=bool)
    held[component[model.fields != 0]] = True
    return int(np.count_nonzero(~held))


def intersect(
    found: LogPartition,
    lower: float,
    upper: float,
    *,
    proof: Bounds | None = None,
    by: str | None = None,
) -> LogPartition:
    """Return the interval cut down to another one, with its value moved inside.

    Parameters
    ----------
    found : LogPartition
        What is known.
    lower, upper : float
        Another interval around log Z.
    proof : Bounds, optional
        Of the other interval.
    by : str, optional
        The method behind the other interval, named in the result if it moves an end.

    Examples
    --------
    >>> import planaris as pl
    >>> wide = pl.bounds.mean_field(IsingModel([(0, 1)], [1.0]))
    >>> cut = intersect(wide, 1.5, 1.9)
    >>> cut.lower == wide.lower, cut.upper
    (True, 1.9)
    """
    if lower <= found.lower and upper >= found.upper:
        return found
    known = found.certificate if isinstance(found.certificate, Bounds) else Bounds(None, None)
    proof = Bounds(None, None) if proof is None else proof
    if lower > found.lower:
        known = replace(known, lower=proof.lower)
    if upper < found.upper:
        known = replace(known, upper=proof.upper)
    low, high = max(found.lower, lower), min(found.upper, upper)
    if low > high:
        msg = (
            f"two intervals for log Z do not meet, [{found.lower}, {found.upper}] by "
            f"{found.method!r} and [{lower}, {upper}] by {by!r}: one of them is wrong"
        )
        raise AssertionError(msg)
    both = {found.method} | ({by} if by is not None else set())
    return replace(
        found,
        value=found.value if low <= found.value <= high else (low + high) / 2,
        lower=low,
        upper=high,
        method="+".join(sorted(both)),
        certificate=known,
    )
