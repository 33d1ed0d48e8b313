"""log Z with rigorous enclosures, on the plane and on surfaces of low genus.

See docs/theory/rigour.md. The ground state, the scaling and the order only decide how narrow the
interval is: it holds for any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.budget import Budget
from planaris.kernels.enclosure import SHARE, PfaffianEnclosure, enclose, enclose_sum
from planaris.kernels.pfaffian import any_order
from planaris.kernels.plane_models import PlaneModels, ProvedRows
from planaris.planar.pfaffian.entries import Entries
from planaris.planar.pfaffian.precision_ladder import (
    agreements,
    assigned_entries,
    ordered_entries,
)
from planaris.result import LogPartition, Marginals, Stats
from planaris.result.answers import MARGINAL_TOLERANCE, log_partition_tolerance
from planaris.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from planaris.planar.pfaffian.evaluator import PfaffianEvaluator

NARROW, NARROW_PER_SPIN = 1e-9, 5e-14
"""Where an interval is wider, by more than units of its last place, other bounds are tried."""

PROOF_SLACK = 0.1
"""Sets of faces are not waited for while entries grow by no more than e to this power."""

MARGINAL_INFLATION = 0.005
"""How much the sweep may enlarge its bounds to hold the errors of marginals down."""

LARGEST_COUPLING = 345.0
"""Larger ones have exponentials that leave the range of doubles."""


WAYS = (("", ""), ("double-double", "sweep"), ("double", "radii"), ("double-double", "radii"))
"""Precision and bound, as ``stats`` name them, behind the ways of :class:`ProvedRows`."""


@dataclass(frozen=True, eq=False)
class ProvedBatch:
    """What is proved of every row of couplings.

    Attributes
    ----------
    evaluator : PfaffianEvaluator
        Of the graph.
    couplings : numpy.ndarray
        One row per model.
    rows : ProvedRows
        The narrowest intervals that were found.
    proved, late : numpy.ndarray
        Whether that of a row counts as exact, and whether there was no time for it.
    """

    evaluator: PfaffianEvaluator
    couplings: FloatArray
    rows: ProvedRows
    proved: BoolArray
    late: BoolArray

    def result(self, k: int) -> LogPartition:
        """Return log Z of a row that is proved."""
        rows = self.rows
        precision, bound = WAYS[int(rows.way[k])]
        stats: Stats = {
            "precision": precision,
            "bound": bound,
            "error": float(rows.error[k]),
            "entries": float(rows.entries[k]),
            "elimination": float(rows.elimination[k]),
            "largest_front": int(rows.largest_front[k]),
        }
        return LogPartition.between(
            float(rows.lower[k]),
            float(rows.upper[k]),
            value=float(rows.value[k]),
            num_variables=self.evaluator.num_spins,
            method="planar",
            proved=True,
            excess=None if np.isnan(rows.excess[k]) else float(rows.excess[k]),
            certificate=self.evaluator.certificate(self.couplings[k]),
            stats=stats,
        )

    def reason(self, k: int) -> str:
        """Return why a row is not proved."""
        if np.abs(self.couplings[k]).max(initial=0.0) > LARGEST_COUPLING:
            return f"couplings larger than {LARGEST_COUPLING:g}"
        width = self.rows.upper[k] - self.rows.lower[k]
        return too_wide(float(width) if self.rows.way[k] else None)


def prove_rows(
    evaluator: PfaffianEvaluator,
    models: PlaneModels,
    couplings: FloatArray,
    chunks: Iterable[FloatArray],
    budget: Budget,
) -> ProvedBatch:
    """Return what can be proved of every row, given in chunks, a call of the core each.

    Threads take a row each, as many as there is memory for; they share rows of large graphs.
    """
    parts = [ProvedRows.none(0)]
    for chunk in chunks:
        if not parts[-1].tried.all():  # time is over
            parts.append(ProvedRows.none(len(chunk)))
            continue
        together = len(chunk) == 1 or not evaluator.in_batches
        part = models.prove(
            chunk,
            evaluator.embedding.num_components,
            narrow(evaluator),
            threads=budget.workers(bytes_each=0.0 if together else evaluator.memory("proofs")),
            share_rows=not together,
            budget=budget,
        )
        parts.append(part)
    rows = ProvedRows.joined(parts)
    tolerance = log_partition_tolerance(evaluator.num_spins)
    proved = (rows.way != 0) & (rows.upper - rows.lower <= tolerance)
    return ProvedBatch(evaluator, couplings, rows, proved, ~proved & ~rows.tried)


def prove_log_partition(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartition | str:
    """Return log Z with a proved interval that counts as exact, or why there is none.

    For surfaces, and graphs without edges; see :func:`prove_rows` for the others.
    """
    reason = _refusal(couplings)
    if reason:
        return reason
    make = surface_entries if evaluator.genus else proof_entries
    enclosed = enclose_structures if evaluator.genus else enclose_entries
    entries = make(evaluator, couplings, budget)
    tolerance = log_partition_tolerance(evaluator.num_spins)
    best: LogPartition | None = None
    try:
        for radii in (False, True):
            total = enclosed(evaluator, entries, radii=radii, wide=True, budget=budget)
            one = log_partition_from(evaluator, entries, total)
            if one is not None and (best is None or one.gap < best.gap):
                best = one
            if best is not None and best.gap <= narrow(evaluator) + 4 * math.ulp(best.value):
                break
    except TimeoutError:
        if best is None or best.gap > tolerance:
            raise
    if best is not None and best.gap <= tolerance:
        return replace(best, certificate=evaluator.certificate(couplings))
    return too_wide(None if best is None else best.gap, evaluator.genus)


def narrow(evaluator: PfaffianEvaluator) -> float:
    """Return how wide an interval may be before other bounds are tried."""
    return max(NARROW, NARROW_PER_SPIN * evaluator.num_spins)


def too_wide(width: float | None, genus: int = 0) -> str:
    """Return why an interval of this width, if there is any, proves nothing."""
    cancels = ", or what is summed with signs cancels" if genus else ""
    known = "none" if width is None else f"{width:.1e}"
    return f"too cold or too large for the bound of rounding errors{cancels}: {known}"


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
        excess = enclose_sum(scale, found.mantissa, twos, 0.0)[2]
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
        value=min(max(middle, lower), upper),
        num_variables=evaluator.num_spins,
        method="planar",
        proved=True,
        excess=excess,
        stats=stats,
    )
