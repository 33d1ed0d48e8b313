"""log Z with rigorous enclosures, on the plane and on surfaces of low genus.

See docs/theory/rigour.md. The ground state, the scaling and the order only decide how narrow the
interval is: it holds for any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.budget import Budget
from planaris.kernels.enclosure import SHARE, PfaffianEnclosure, enclose
from planaris.kernels.pfaffian import any_order
from planaris.models.base import slices
from planaris.planar.pfaffian.entries import Entries
from planaris.planar.pfaffian.precision_ladder import (
    agreements,
    assigned_entries,
    flipped_entries,
    ordered_entries,
)
from planaris.result import LogPartition, Marginals, Stats
from planaris.result.answers import MARGINAL_TOLERANCE, log_partition_tolerance
from planaris.typing import ArrayLike, FloatArray

if TYPE_CHECKING:
    from planaris.planar.pfaffian.evaluator import PfaffianEvaluator

WARM_DEPTH = 12.0
"""Sums of moats around a face up to which errors are swept down the tree rather than carried up:
the sweep's bound grows exponentially with that depth, radii with the size of what is warm."""

COLD_DEPTH, FEW_SPINS = 30.0, 2**15
"""Deeper or smaller models are tried with radii in doubles first: those of others grow large."""

WARM_COUPLING = 1.25
"""Mean size of couplings up to which no ground state is needed."""

NARROW, NARROW_PER_SPIN = 1e-9, 5e-14
"""Where an interval is wider, by more than units of its last place, other bounds are tried."""

PROOF_SLACK = 0.1
"""Sets of faces are not waited for while entries grow by no more than e to this power."""

MARGINAL_INFLATION = 0.005
"""How much the sweep may enlarge its bounds to hold the errors of marginals down."""

LARGEST_COUPLING = 345.0
"""Larger ones have exponentials that leave the range of doubles."""


def prove_log_partition(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartition | str:
    """Return log Z with a proved interval that counts as exact, or why there is none."""
    reason = _refusal(couplings)
    if reason:
        return reason
    best = _narrowest(evaluator, couplings, budget)
    if best is not None and best.gap <= log_partition_tolerance(evaluator.num_spins):
        return replace(best, certificate=evaluator.certificate(couplings))
    width = "none" if best is None else f"{best.gap:.1e}"
    cancels = ", or what is summed with signs cancels" if evaluator.genus else ""
    return f"too cold or too large for the bound of rounding errors{cancels}: {width}"


def _narrowest(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartition | None:
    """Return the narrowest interval of several bounds, or the first that is narrow enough."""
    enclosed = enclose_structures if evaluator.genus else enclose_entries
    aim = max(NARROW, NARROW_PER_SPIN * evaluator.num_spins)
    best: LogPartition | None = None
    try:
        for entries, how in _bounds(evaluator, couplings, budget):
            total = enclosed(evaluator, entries, **how, budget=budget)
            proved = log_partition_from(evaluator, entries, total)
            if proved is not None and (best is None or proved.gap < best.gap):
                best = proved
            if best is not None and best.gap <= aim + 4 * math.ulp(best.value):
                break
    except TimeoutError:
        if best is None or best.gap > log_partition_tolerance(evaluator.num_spins):
            raise
    return best


def _bounds(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> Iterator[tuple[Entries, dict[str, bool]]]:
    """Yield entries and how to bound errors, likely ways first; see :func:`enclose`."""
    swept, carried = {"radii": False, "wide": True}, {"radii": True, "wide": True}
    models = evaluator.models
    if models is not None and np.abs(couplings).mean() <= WARM_COUPLING:
        entries = flipped_entries(evaluator, models, couplings, budget)
        yield entries, swept | {"split": True}
    entries = (surface_entries if evaluator.genus else proof_entries)(evaluator, couplings, budget)
    if entries.deepest > WARM_DEPTH:
        if entries.deepest > COLD_DEPTH or evaluator.num_spins <= FEW_SPINS:
            yield entries, {"radii": True, "wide": False}
        yield entries, carried
        yield entries, swept
    else:
        yield entries, swept
        yield entries, carried


def prove_marginals(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> Marginals | str:
    """Return P(s_u = s_v) of every edge with proved errors that count as exact, or why not."""
    reason = _refusal(couplings)
    if evaluator.genus:
        reason = "the embedding is not plane"
    if reason:
        return reason
    entries = proof_entries(evaluator, couplings, budget)
    found = enclose_entries(evaluator, entries, radii=False, budget=budget)
    if found.sound:  # once more, with as small an error of the inverse as the bounds allow
        share = min(max(SHARE * found.inflation / MARGINAL_INFLATION, 2.0**-45), SHARE)
        found = enclose_entries(evaluator, entries, radii=False, share=share, budget=budget)
    log_z = log_partition_from(evaluator, entries, found)
    if log_z is None:
        return "too cold or too large for the bound of rounding errors"
    edges = slice(evaluator.num_edges)
    uncut, error = found.uncut[edges], found.uncut_error[edges]
    agree = agreements(evaluator, entries.spins)
    # A subtraction from one is rounded once.
    error = error + 2.0**-52
    largest = float(error.max(initial=0.0))
    if not largest <= MARGINAL_TOLERANCE:
        return f"errors of the marginals are only known to be below {largest:.1e}"
    equal = np.clip(np.where(agree, uncut, 1.0 - uncut), 0.0, 1.0)
    return Marginals(
        nodes=np.full(evaluator.num_spins, 0.5),
        edges=equal,
        edges_lower=np.maximum(np.nextafter(equal - error, -1.0), 0.0),
        edges_upper=np.minimum(np.nextafter(equal + error, 2.0), 1.0),
        error=largest,
        log_partition=log_z,
        method="planar",
        proved=True,
        certificate=evaluator.certificate(couplings),
        stats={"precision": "double", "bound": "sweep"},
    )


def _refusal(couplings: FloatArray) -> str:
    """Return why nothing can be proved at all, or nothing."""
    if np.abs(couplings).max(initial=0.0) > LARGEST_COUPLING:
        return f"couplings larger than {LARGEST_COUPLING:g}"
    return ""


def proof_entries(evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget) -> Entries:
    """Return entries relative to a ground state, with scales that are subtracted exactly."""
    return ordered_entries(evaluator, couplings, budget, slack=PROOF_SLACK).unrounded()


def surface_entries(evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget) -> Entries:
    """Return entries for all sign structures of a surface, in the order of the dissection."""
    entries = assigned_entries(evaluator, couplings, budget).unrounded()
    return replace(entries, order=any_order(evaluator.split.num_edges))


def enclose_entries(
    evaluator: PfaffianEvaluator, entries: Entries, **how: Any
) -> PfaffianEnclosure:
    """Enclose the Pfaffian of entries that have an order."""
    return enclose(
        evaluator.elimination,
        entries.gauged,
        entries.scale,
        entries.signs,
        entries.order,
        **how,
    )


def enclose_structures(
    evaluator: PfaffianEvaluator, entries: Entries, **how: Any
) -> PfaffianEnclosure:
    """Enclose the mean of the Pfaffians of all sign structures: the sum over cuts.

    Each is known with its sign for the rounded entries, so their sum is. That is a sum of positive
    weights, the even sets of the trivial class: the rounding of the entries is charged once.
    """
    total = slack = Fraction(0)
    for flips in evaluator.flips:
        turned = entries.with_signs(flips)
        found = enclose_entries(evaluator, turned, **how)
        if not (found.sound and found.own_error < 0.5):
            return replace(found, sound=False)
        odd = found.negative != bool(np.count_nonzero(turned.signs < 0) % 2)
        size = Fraction(found.mantissa) * Fraction(2) ** found.exponent
        total += -size if odd else size
        off = Fraction(found.own_error)
        slack += size * off / (1 - off)  # e^x - 1 <= x / (1 - x)
    if not slack < total / 2:
        return replace(found, sound=False)
    share = slack / total
    exponent = total.numerator.bit_length() - total.denominator.bit_length()
    if total < Fraction(2) ** exponent:
        exponent -= 1
    return replace(
        found,
        mantissa=float(total / Fraction(2) ** exponent),  # rounded once
        exponent=exponent - 2 * evaluator.genus,
        negative=False,
        elimination=math.nextafter(float(share / (1 - share)), math.inf),
        product=2.0**-52,
    )


def log_partition_from(
    evaluator: PfaffianEvaluator, entries: Entries, found: PfaffianEnclosure
) -> LogPartition | None:
    """Return log Z = c log 2 + Σ g - Σ scale + log |Pf|, where the enclosure is sound."""
    if not (found.sound and math.isfinite(found.error)):
        return None
    components = evaluator.embedding.num_components
    twos = found.exponent + components
    scale = -entries.scale[entries.scale != 0.0]
    terms = np.concatenate([entries.gauged, scale])
    lower, upper, middle = enclose_sum(terms, found.mantissa, twos, found.error)
    excess = None
    if entries.packing is not None:  # relative to a ground state
        excess = float(enclose_sum(scale, found.mantissa, twos, 0.0)[2])
    stats: Stats = {
        "precision": "double-double" if found.wide else "double",
        "bound": "radii" if found.radii else "sweep",
        "error": found.error,
        "entries": found.entries,
        "elimination": found.elimination,
        "largest_front": found.largest_front,
    }
    return LogPartition.between(
        lower,
        upper,
        value=min(max(float(middle), lower), upper),
        num_variables=evaluator.num_spins,
        method="planar",
        proved=True,
        excess=excess,
        stats=stats,
    )


# -- logarithms as rational numbers with a bound on their error: no library function is trusted ----

BITS = 160
"""Of fixed-point numbers."""

TERMS = 56
"""Of the series: the next is below (1/3)^113 < 2^-179."""

LOG_ERROR = Fraction(1, 2**150)
"""Bound on the error of :func:`log_of` and :data:`LOG_2`."""


def log_of(x: float) -> Fraction:
    """Return the logarithm of a number in [1, 2], within :data:`LOG_ERROR`.

    ``log x = 2 artanh y``, y = (x - 1) / (x + 1) <= 1/3, in fixed point: y and every power,
    quotient and sum are off by a few units each, some 400 in all.

    >>> float(log_of(1.5)), float(log_of(1.0))
    (0.4054651081081644, 0.0)
    """
    if not 1.0 <= x <= 2.0:
        msg = f"`x` must lie between 1 and 2, got {x!r}"
        raise ValueError(msg)
    exact = Fraction(x)
    y = int((exact - 1) / (exact + 1) * 2**BITS)
    square = y * y >> BITS
    total, power = 0, y
    for k in range(TERMS):
        total += power // (2 * k + 1)
        power = power * square >> BITS
    return Fraction(2 * total, 2**BITS)


LOG_2 = log_of(2.0)


def enclose_sum(
    terms: ArrayLike, mantissa: float, twos: int, error: float
) -> tuple[float, float, Fraction]:
    """Enclose ``Σ terms + log mantissa + twos log 2``, itself off by ``error`` at most.

    Returns
    -------
    tuple
        The ends, rounded outwards, and the middle.
    """
    sums = [float(part.sum()) for part in slices(np.asarray(terms, np.float64))]  # exact, each
    high = math.fsum(sums)  # rounded once
    low = math.fsum([*sums, -high])
    log = Fraction(high) + Fraction(low) + log_of(mantissa) + twos * LOG_2
    slack = Fraction(error) + abs(Fraction(low)) / 2**53 + (abs(twos) + 1) * LOG_ERROR
    return -_rounded_up(slack - log), _rounded_up(log + slack), log


def _rounded_up(x: Fraction) -> float:
    """Return the least double that is not below a number."""
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)
