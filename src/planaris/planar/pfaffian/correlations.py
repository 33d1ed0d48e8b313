"""Correlations of one spin with all others, by one sweep down the fronts of an elimination."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.errors import ModelError, PrecisionError
from planaris.models.arrays import as_array
from planaris.models.tables import as_integers
from planaris.planar.pfaffian.entries import Entries
from planaris.planar.pfaffian.estimate import SignedSum
from planaris.planar.pfaffian.precision_ladder import assigned_entries
from planaris.typing import ArrayLike, FloatArray, LongArray

if TYPE_CHECKING:
    from planaris.planar.pfaffian.evaluator import PfaffianEvaluator

ACCURACY = 1e-9
"""Absolute; beyond it correlations are computed in double-double."""

SAME_SUM = 1e-6
"""Relative difference allowed between one sum of Pfaffians by two eliminations."""


def spin_correlations(
    evaluator: PfaffianEvaluator, couplings: FloatArray, source: int, budget: Budget
) -> tuple[FloatArray, float]:
    """Return ⟨s_source s_v⟩ for every spin v and an estimate of its largest error.

    Spins of other components are independent: zero.
    """
    if not 0 <= source < evaluator.num_spins:
        msg = f"`spin` must be one of 0 to {evaluator.num_spins - 1}, got {source}"
        raise ModelError(msg)
    entries = assigned_entries(evaluator, couplings, budget)
    for wide in (False, True):
        if not wide and not entries.in_double_range:
            continue
        values, error, sure = _sweep(evaluator, entries, source, wide=wide, budget=budget)
        if error <= ACCURACY and entries.is_cold and not sure:
            shaken = entries.shaken()
            again, other, _ = _sweep(evaluator, shaken, source, wide=wide, budget=budget)
            error = max(error, other, float(np.abs(again - values).max()))
        if error <= ACCURACY and np.abs(values).max() <= 1 + ACCURACY:
            gauge = entries.spins * entries.spins[source]
            return np.clip(values, -1.0, 1.0) * gauge, error
    msg = "these correlations cannot be computed to nine digits at this temperature"
    raise PrecisionError(msg, error=error)


def _sweep(
    evaluator: PfaffianEvaluator, entries: Entries, source: int, *, wide: bool, budget: Budget
) -> tuple[FloatArray, float, bool]:
    """Sum the flipped Pfaffians of all sign structures and divide by the sum of the others.

    Returns
    -------
    tuple
        The correlations, the largest difference of two ways to one, and whether there are two ways
        to each. Spins inside of one leaf of the dissection have one.
    """
    total = SignedSum()
    ways = np.zeros((evaluator.num_spins, 2))  # along two paths each
    reference = math.nan
    for flips in evaluator.flips:
        turned = entries.with_signs(flips)
        factors = evaluator.elimination.factorize(
            turned.face, turned.scale, turned.signs, wide=wide, for_samples=True, budget=budget
        )
        found = factors.log_pfaffian
        if not math.isfinite(found.log_magnitude) or (not wide and found.smallest_exponent < -900):
            return ways[:, 0], math.inf, False
        reference = found.log_magnitude if math.isnan(reference) else reference
        parity = 1 if np.count_nonzero(turned.signs < 0) % 2 == 0 else -1
        # Rows without a pivot: this Pfaffian is zero, those with flipped signs need not be.
        size = -math.inf if found.left_over else found.log_magnitude
        total.add(size, found.sign * parity, 0.0)
        ways += parity * factors.spins(
            evaluator.split.edges, evaluator.num_spins, source, reference, budget=budget
        )
    own = float(ways[source, 0])
    if math.isnan(own):  # the spin has no edges
        return np.where(np.arange(evaluator.num_spins) == source, 1.0, 0.0), 0.0, True
    # The spin's own value is the sum itself, with the same rounding of a large reference.
    expected = math.exp(min(max(total.log_value - reference, -700.0), 700.0))
    if not own > 0 or abs(own / expected - 1.0) > SAME_SUM:
        return ways[:, 0], math.inf, False
    ways /= own
    difference = np.abs(ways[:, 1] - ways[:, 0])
    single = np.isnan(difference)
    error = float(difference[~single].max(initial=0.0))
    sure = not bool((single & ~np.isnan(ways[:, 0])).any())
    return np.nan_to_num(ways[:, 0], posinf=math.inf, neginf=-math.inf), error, sure


def pair_correlations(
    evaluator: PfaffianEvaluator, couplings: FloatArray, pairs: ArrayLike, budget: Budget
) -> FloatArray:
    """Return ⟨s_u s_v⟩ for every row (u, v) of ``pairs``; see :meth:`Plan.correlations`."""
    given = as_array("pairs", pairs)
    if given.size and (given.ndim != 2 or given.shape[1] != 2):
        msg = f"`pairs` must have shape (k, 2), got {given.shape}"
        raise ModelError(msg)
    chosen = as_integers("pairs", given).reshape(-1, 2)
    wrong = ((chosen < 0) | (chosen >= evaluator.num_spins)).any(1)
    if wrong.any():
        first = tuple(chosen[wrong][0].tolist())
        msg = f"`pairs` must name spins 0 to {evaluator.num_spins - 1}, got {first}"
        raise ModelError(msg)
    result = np.zeros(len(chosen))
    component = evaluator.embedding.component_of
    left = np.flatnonzero(component[chosen[:, 0]] == component[chosen[:, 1]])
    while left.size:
        source = _most_frequent(chosen[left])
        values, _ = spin_correlations(evaluator, couplings, source, budget=budget)
        here = (chosen[left] == source).any(1)
        ends = chosen[left[here]]
        result[left[here]] = values[np.where(ends[:, 0] == source, ends[:, 1], ends[:, 0])]
        left = left[~here]
    return result


def _most_frequent(pairs: LongArray) -> int:
    spins, counts = np.unique(pairs, return_counts=True)
    return int(spins[counts.argmax()])
