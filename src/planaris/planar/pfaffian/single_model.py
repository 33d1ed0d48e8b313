"""log Z and edge marginals of one vector of couplings: surfaces, and what is too cold or large."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError
from planaris.kernels.pfaffian import Factorization
from planaris.models.base import exact_sum
from planaris.planar.ground_state import gauge_spins
from planaris.planar.pfaffian.capped_moats import cap_loss
from planaris.planar.pfaffian.entries import LARGEST_STEP, Caps, Entries
from planaris.planar.pfaffian.estimate import (
    EPSILON,
    SAFETY,
    Estimate,
    SignedSum,
    estimate_log_pfaffian,
    is_sound,
    precision_name,
)
from planaris.planar.pfaffian.locked_spins import LockedSpins, lock
from planaris.planar.pfaffian.precision_ladder import agreements, attempts, log_constant
from planaris.result import LogPartition, Marginals, Stats
from planaris.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from planaris.planar.pfaffian.evaluator import PfaffianEvaluator

SIGNED_SUM_ERROR = 1e-9
"""Error of log Z up to which a sum of signed Pfaffians is still taken for exact."""

MARGINAL_ERROR = 1e-9
"""Residual of the inverse above which marginals are computed again in double-double."""

MOST_ADDED = 1e-11
"""Error of marginals up to which caps are not raised further."""

RESIDUAL_SAFETY = 4.0
"""Errors of marginals are up to two or three residuals where these are small."""

ORDERED_ROUNDING = 256.0
"""Roundings that a residual in the order of the packing does not show: up to 120 were seen."""

STRUCTURE_RESIDUAL = 1e-3
"""Residual above which the inverse of one of several structures is no inverse."""


def log_partition_of(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartition:
    """Return log Z; see :meth:`planaris.planar.Plan.log_partition`."""
    stats: Stats = {}
    for entries, wide in attempts(evaluator, couplings, budget, flips=True):
        total, stats = sum_pfaffians(evaluator, entries, wide=wide, budget=budget)
        constant = log_constant(evaluator, entries)
        # What cancels in a signed sum is lost in any precision.
        enough = SIGNED_SUM_ERROR if wide and evaluator.genus else 0.0
        found = log_partition_from(
            evaluator,
            total.log_value,
            total.error,
            constant,
            entries.size,
            stats,
            enough=enough,
        )
        if found is not None:
            # Any state will do for a gauge; the excess is that above a ground state.
            excess = None if entries.packing is None else found.excess
            proof = evaluator.certificate(couplings)
            return replace(found, excess=excess, certificate=proof)
    return _around_gauge(evaluator, couplings, stats, budget)


def locked_spins(
    evaluator: PfaffianEvaluator, entries: Entries, budget: Budget, *, wide: bool
) -> LockedSpins | None:
    """Return clusters of spins that are locked together but for a probability below rounding."""
    entries, uncut, error, added, _ = uncut_with_caps(evaluator, entries, wide=wide, budget=budget)
    sure = error + added <= MARGINAL_ERROR
    locked = lock(evaluator, entries, uncut, error) if sure else None
    if locked is None or locked.cut + added <= MARGINAL_ERROR:
        return locked
    # In large models rounding of many probabilities adds up.
    return locked if loss_of(locked, evaluator, entries, budget) <= MARGINAL_ERROR else None


def loss_of(
    locked: LockedSpins, evaluator: PfaffianEvaluator, entries: Entries, budget: Budget
) -> float:
    """Return log Z less that of the clusters, with errors: how likely a cluster breaks up."""
    whole, error = _log_sum(evaluator, entries.whole[: evaluator.num_edges], budget)
    part, more = _log_sum(locked.blocks.evaluator, locked.blocks.couplings, budget)
    bridges = np.log1p(np.exp(-2.0 * locked.couplings[locked.bridges])).sum()
    return error + more + abs(whole - float(bridges) - part)


def _log_sum(
    evaluator: PfaffianEvaluator, gauged: FloatArray, budget: Budget
) -> tuple[float, float]:
    """Return log Z relative to the state of equal spins, a ground state, and its error."""
    for entries, wide in attempts(evaluator, gauged, budget):
        total, _ = sum_pfaffians(evaluator, entries, wide=wide, budget=budget)
        if total.error <= MARGINAL_ERROR:
            return total.log_value, total.error
    return 0.0, math.inf


def _around_gauge(
    evaluator: PfaffianEvaluator, couplings: FloatArray, stats: Stats, budget: Budget
) -> LogPartition:
    """Return what the gauge state says: on a plane no state weighs more.

    With couplings so large that 2^n makes no difference that is all there is to know.
    """
    spins, _ = gauge_spins(evaluator.embedding, couplings, budget=budget)
    relative = np.where(agreements(evaluator, spins), couplings, -couplings)
    best = exact_sum(relative)
    lower = evaluator.embedding.num_components * math.log(2.0) + best
    if evaluator.genus:
        return evaluator.bounds(couplings, lower, stats)
    width = (evaluator.num_spins - evaluator.embedding.num_components) * math.log(2.0)
    value = lower + width / 2
    error = width / 2 + EPSILON * (abs(value) + evaluator.num_spins)
    return evaluator.around(value, error, stats)


def log_partition_from(
    evaluator: PfaffianEvaluator,
    log_sum: float,
    error: float,
    constant: float,
    size: float,
    stats: Stats,
    *,
    enough: float = 0.0,
) -> LogPartition | None:
    """Return log Z from the logarithm of the sum over cuts, or None if that is not good enough.

    ``size`` is the sum of the numbers that were exponentiated: what their rounding alone does.
    An error of up to ``enough`` is taken in any case.
    """
    value = log_sum + constant
    # The gauge state itself has weight one, so the sum is at least one.
    possible = math.isfinite(log_sum) and log_sum >= -error - 1e-9 * evaluator.num_edges
    if not possible or not error <= max(1e-13 * (abs(value) + evaluator.num_edges) + 1e-12, enough):
        return None
    error = SAFETY * error + EPSILON * (size + 8.0 + abs(value))
    # log Z minus the log weight of the gauge state, without their cancellation.
    excess = log_sum + evaluator.embedding.num_components * math.log(2.0)
    return evaluator.around(value, error, stats, excess=excess)


def sum_pfaffians(
    evaluator: PfaffianEvaluator, entries: Entries, *, wide: bool, budget: Budget
) -> tuple[SignedSum, Stats]:
    """Return the sum over cuts as the signed sum of the Pfaffians of all structures.

    Caps are raised until they add less than rounding does. What they add may spoil digits as
    rounding does, so in doubles they are raised twice where nothing is left.
    """
    total = SignedSum()
    stats: Stats = {}
    for flips in evaluator.flips:
        turned = entries.with_signs(flips)
        found, tries = _estimate(evaluator, turned, wide=wide, budget=budget), 0 if wide else 2
        while turned.caps is not None:
            if not found.is_spoilt_by_caps:
                if not tries or not found.is_spoilt_by_rounding:
                    break
                tries -= 1
            turned = turned.caps.larger()  # of a plane, which has one structure
            found = _estimate(evaluator, turned, wide=wide, budget=budget)
        # Signs are counted relative to the term of the empty cut, the product of all joins.
        one, stats = found.pfaffian, found.stats
        sign = one.sign * (1 if np.count_nonzero(turned.signs < 0) % 2 == 0 else -1)
        total.add(one.log_magnitude, sign if evaluator.genus else 1, found.error, one)
    return total.scaled(4.0**evaluator.genus), stats


def _estimate(
    evaluator: PfaffianEvaluator, entries: Entries, *, wide: bool, budget: Budget
) -> Estimate:
    return estimate_log_pfaffian(
        evaluator.elimination, entries, signed=evaluator.genus > 0, wide=wide, budget=budget
    )


def marginals_of(evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget) -> Marginals:
    """Return P(s_u = s_v) of every edge; see :meth:`planaris.planar.Plan.marginals`."""
    error = math.inf
    for attempt, wide in attempts(evaluator, couplings, budget):
        entries, uncut, error, added, log_sum = uncut_with_caps(
            evaluator, attempt, wide=wide, budget=budget
        )
        error += added
        if error <= MARGINAL_ERROR and evaluator.genus:
            # Without an order, the inverse may lose what its residual does not show.
            shaken = entries.shaken()
            again, _, _ = uncut_probabilities(evaluator, shaken, wide=wide, budget=budget)
            error += float(np.abs(again - uncut).max()) if len(again) else math.inf
        if error <= MARGINAL_ERROR:
            break
    else:
        msg = (
            "the marginals of these couplings cannot be computed to nine digits; "
            "`log_partition` still bounds their partition function"
        )
        raise PrecisionError(msg, error=error)
    budget.to_finish().check()  # freeing the factors has taken its time
    error = RESIDUAL_SAFETY * error + ORDERED_ROUNDING * EPSILON * entries.is_ordered
    log_partition = log_constant(evaluator, entries) + log_sum
    # The entries are exponentials of rounded numbers.
    error += EPSILON * max(float(np.abs(x).max(initial=0.0)) for x in (entries.face, entries.scale))
    agree = agreements(evaluator, entries.spins)
    found = marginals_from(evaluator, uncut, error, log_partition, agree, wide=wide)
    return replace(found, certificate=evaluator.certificate(couplings))


def marginals_from(
    evaluator: PfaffianEvaluator,
    uncut: FloatArray,
    error: float,
    log_partition: float,
    agree: BoolArray,
    *,
    wide: bool,
) -> Marginals:
    """Return marginals from the probabilities that edges are not cut relative to a state."""
    uncut = np.clip(uncut[: evaluator.num_edges], 0.0, 1.0)
    edges = np.where(agree, uncut, 1.0 - uncut)
    doubt = SAFETY * error + EPSILON * (8.0 + abs(log_partition) + evaluator.num_edges)
    return Marginals(
        nodes=np.full(evaluator.num_spins, 0.5),
        edges=edges,
        error=4 * error + 4 * EPSILON,
        log_partition=evaluator.around(log_partition, doubt, {}),
        method="planar",
        proved=False,
        stats={"precision": precision_name(wide)},
    )


def uncut_with_caps(
    evaluator: PfaffianEvaluator, entries: Entries, *, wide: bool, budget: Budget
) -> tuple[Entries, FloatArray, float, float, float]:
    """Return what :func:`uncut_probabilities` does, of a model whose caps add little.

    Returns
    -------
    tuple
        The entries of that model, the probabilities, their error without that of caps, how probable
        the states are whose weights caps have raised (at most), and the logarithm of the Pfaffian.
    """
    tries = 0 if wide else 2  # what caps add may be felt as rounding
    while True:
        uncut, error, log_sum = uncut_probabilities(evaluator, entries, wide=wide, budget=budget)
        if (caps := entries.caps) is None:
            return entries, uncut, error, 0.0, log_sum
        good = error <= MARGINAL_ERROR
        added = _added(evaluator, caps, log_sum, wide=wide, budget=budget) if good else 1.0
        if (good and added <= MOST_ADDED) or not (good or tries):
            return entries, uncut, error, added, log_sum
        tries -= not good
        entries = caps.larger()


def _added(
    evaluator: PfaffianEvaluator, caps: Caps, log_sum: float, *, wide: bool, budget: Budget
) -> float:
    """Return how probable the states are, at most, whose weights caps have raised."""
    step = min(LARGEST_STEP, caps.cap / 2)
    entries = caps.capped_at(caps.cap - step)
    lower = evaluator.elimination.log_pfaffian(
        entries.face, entries.scale, entries.signs, order=entries.order, wide=wide, budget=budget
    )
    if not is_sound(lower, wide=wide, ordered=True):
        return 1.0
    return cap_loss(abs(lower.log_magnitude - log_sum) + EPSILON * lower.pivots, step)


def uncut_probabilities(
    evaluator: PfaffianEvaluator, entries: Entries, *, wide: bool, budget: Budget
) -> tuple[FloatArray, float, float]:
    """Return P(not cut) of all edges, its error, and the logarithm of the Pfaffian."""
    parts, residuals, total = [], [], SignedSum()
    if evaluator.genus and wide:
        entries = entries.unrounded()
    for flips in evaluator.flips:
        turned = entries.with_signs(flips)
        factors = factorize(evaluator, turned, wide=wide, budget=budget)
        if factors is None:
            return np.zeros(0), math.inf, 0.0
        uncut, residual = factors.uncut(budget=budget)
        found = factors.log_pfaffian
        sign = found.sign * (1 if np.count_nonzero(turned.signs < 0) % 2 == 0 else -1)
        total.add(found.log_magnitude, sign if evaluator.genus else 1, residual, found)
        parts.append(uncut)
        residuals.append(residual)
    if evaluator.genus == 0:
        return parts[0], total.error, total.log_value
    # Nothing may be left of the signed sum; and the inverse of a cold structure may leave the
    # range, so that its share is lost however small its weight is.
    spoilt = entries.is_cold and max(residuals) > STRUCTURE_RESIDUAL
    if spoilt or not math.isfinite(total.error):
        return np.zeros(0), math.inf, 0.0
    weights = total.weights()
    error = total.error + EPSILON * float(np.abs(weights).sum())
    return weights @ np.array(parts), error, total.scaled(4.0**evaluator.genus).log_value


def factorize(
    evaluator: PfaffianEvaluator,
    entries: Entries,
    *,
    wide: bool,
    budget: Budget,
    for_samples: bool = False,
) -> Factorization | None:
    """Return the factors, or None where double has too narrow a range."""
    factors = evaluator.elimination.factorize(
        entries.face,
        entries.scale,
        entries.signs,
        order=entries.order,
        wide=wide,
        for_samples=for_samples,
        budget=budget,
    )
    sound = is_sound(factors.log_pfaffian, wide=wide, ordered=entries.is_ordered)
    return factors if sound else None
