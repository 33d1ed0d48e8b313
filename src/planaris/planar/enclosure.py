"""log Z of plane models with an interval that is a theorem about the computation.

See docs/theory/rigour.md. The ground state, the scaling and the order only decide how narrow the
interval is: it holds for any.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.budget import Budget
from planaris.kernels.enclosure import PfaffianEnclosure, enclose
from planaris.planar.entries import Entries
from planaris.planar.exact_logs import enclose_sum
from planaris.planar.precision_ladder import ordered_entries
from planaris.planar.results import certificate_of
from planaris.result import LogPartition, Stats
from planaris.result.answers import log_partition_tolerance
from planaris.typing import FloatArray

if TYPE_CHECKING:
    from planaris.planar.evaluator import PfaffianEvaluator

WARM_DEPTH = 12.0
"""Sums of moats around a face up to which errors are swept down the tree rather than carried up:
the sweep's bound grows exponentially with that depth, radii with the size of what is warm."""

PROOF_SLACK = 0.1
"""Sets of faces are not waited for while entries grow by no more than e to this power."""

LARGEST_COUPLING = 345.0
"""Larger ones have exponentials that leave the range of doubles."""


def prove_log_partition(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> LogPartition | str:
    """Return log Z with a proved interval that counts as exact, or why there is none."""
    if evaluator.genus:
        return "the embedding is not plane"
    if np.abs(couplings).max(initial=0.0) > LARGEST_COUPLING:
        return f"couplings larger than {LARGEST_COUPLING:g}"
    entries = proof_entries(evaluator, couplings, budget)
    tolerance = log_partition_tolerance(evaluator.num_spins)
    best: LogPartition | None = None
    for radii in _methods(entries):
        found = enclose_entries(evaluator, entries, radii=radii, budget=budget)
        proved = log_partition_from(evaluator, entries, found)
        if proved is not None and (best is None or proved.gap < best.gap):
            best = proved
        if best is not None and best.gap <= tolerance:
            return replace(best, certificate=certificate_of(evaluator, couplings))
    width = "none" if best is None else f"{best.gap:.1e}"
    return f"too cold or too large for the bound of rounding errors: {width}"


def proof_entries(evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget) -> Entries:
    """Return entries relative to a ground state, with scales that are subtracted exactly."""
    return ordered_entries(evaluator, couplings, budget, slack=PROOF_SLACK).unrounded()


def _methods(entries: Entries) -> tuple[bool, bool]:
    """Return whether to carry radii: the likely way first, then the other."""
    cold = entries.deepest > WARM_DEPTH
    return cold, not cold


def enclose_entries(
    evaluator: PfaffianEvaluator, entries: Entries, *, radii: bool, **options: Any
) -> PfaffianEnclosure:
    """Enclose the Pfaffian of entries that have an order."""
    return enclose(
        evaluator.elimination,
        entries.gauged,
        entries.scale,
        entries.signs,
        entries.order,
        radii=radii,
        **options,
    )


def log_partition_from(
    evaluator: PfaffianEvaluator, entries: Entries, found: PfaffianEnclosure
) -> LogPartition | None:
    """Return log Z = c log 2 + Σ g - Σ scale + log |Pf|, where the enclosure is sound."""
    if not (found.sound and math.isfinite(found.error)):
        return None
    components = evaluator.embedding.num_components
    scale = (-entries.scale).tolist()
    lower, upper, middle = enclose_sum(
        entries.gauged.tolist() + scale, found.mantissa, found.exponent + components, found.error
    )
    _, _, excess = enclose_sum(scale, found.mantissa, found.exponent + components, 0.0)
    stats: Stats = {
        "precision": "double",
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
        excess=float(excess),
        stats=stats,
    )
