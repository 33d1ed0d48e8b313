"""Correlations of one spin with all others, by one sweep down the fronts of an elimination."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.planar.attempts import assigned_entries
from planaris.planar.entries import Entries
from planaris.planar.estimate import SignedSum
from planaris.typing import ArrayLike, FloatArray, LongArray

if TYPE_CHECKING:
    from planaris.planar.plan import Plan

ACCURACY = 1e-10
"""Absolute; beyond it correlations are computed in double-double."""


def spin_correlations(
    plan: Plan, couplings: FloatArray, source: int, **options: Any
) -> tuple[FloatArray, float]:
    """Return ⟨s_source s_v⟩ for every spin v and an estimate of its largest error.

    Spins of other components are independent: zero.
    """
    if not 0 <= source < plan.num_spins:
        msg = f"`spin` must be one of 0 to {plan.num_spins - 1}, got {source}"
        raise ModelError(msg)
    entries = assigned_entries(plan, couplings, options["progress"])
    for wide in (False, True):
        if not wide and not entries.in_double_range:
            continue
        values, error = _sweep(plan, entries, source, wide=wide, **options)
        if error <= ACCURACY * (1 if wide else 0.5) and np.abs(values).max() <= 1 + ACCURACY:
            gauge = entries.spins * entries.spins[source]
            return np.clip(values, -1.0, 1.0) * gauge, error
    msg = "these correlations cannot be computed to ten digits at this temperature"
    raise MethodError(msg, error=error)


def _sweep(
    plan: Plan, entries: Entries, source: int, *, wide: bool, **options: Any
) -> tuple[FloatArray, float]:
    """Sum the flipped Pfaffians of all sign structures and divide by the sum of the others."""
    total = SignedSum()
    values = np.zeros(plan.num_spins)
    spread, reference = 0.0, math.nan
    for flips in plan._flips:
        turned = entries.with_signs(flips)
        factors = plan._elimination.factorize(
            turned.face, turned.scale, turned.signs, wide=wide, for_samples=True, **options
        )
        found = factors.log_pfaffian
        if not math.isfinite(found.log_magnitude) or (not wide and found.smallest_exponent < -900):
            return values, math.inf
        reference = found.log_magnitude if math.isnan(reference) else reference
        parity = 1 if np.count_nonzero(turned.signs < 0) % 2 == 0 else -1
        part, apart = factors.spins(plan._split.edges, plan.num_spins, source, reference, **options)
        total.add(found.log_magnitude, found.sign * parity, 0.0)
        values += parity * part
        spread += apart
    scale = math.exp(min(max(reference - total.log_value, -700.0), 700.0))
    values *= scale
    # The spin itself was looked at as well: its value tests the sweep against the sum.
    alone = values[source] == 0.0 and not np.any(plan.embedding.edges == source)
    error = spread * scale + (0.0 if alone else abs(values[source] - 1.0))
    values[source] = 1.0
    return values, float(error) if math.isfinite(error) else math.inf


def pair_correlations(
    plan: Plan, couplings: FloatArray, pairs: ArrayLike, **options: Any
) -> FloatArray:
    """Return ⟨s_u s_v⟩ for every row (u, v) of ``pairs``; see :meth:`Plan.correlations`."""
    chosen = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= plan.num_spins):
        msg = f"`pairs` must name spins 0 to {plan.num_spins - 1}, got {chosen.tolist()}"
        raise ModelError(msg)
    result = np.zeros(len(chosen))
    component = plan.embedding.component_of
    left = np.flatnonzero(component[chosen[:, 0]] == component[chosen[:, 1]])
    while left.size:
        source = _most_frequent(chosen[left])
        values, _ = spin_correlations(plan, couplings, source, **options)
        here = (chosen[left] == source).any(1)
        ends = chosen[left[here]]
        result[left[here]] = values[np.where(ends[:, 0] == source, ends[:, 1], ends[:, 0])]
        left = left[~here]
    return result


def _most_frequent(pairs: LongArray) -> int:
    spins, counts = np.unique(pairs, return_counts=True)
    return int(spins[counts.argmax()])
