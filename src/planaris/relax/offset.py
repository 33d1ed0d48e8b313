"""Searches go without the constant of a model, which would hide small energies in its rounding."""

from __future__ import annotations

import math

from planaris.models import IsingModel
from planaris.result import GroundState


def with_offset(found: GroundState, model: IsingModel) -> GroundState:
    """Return the result for a model from that for the same model without its offset.

    Examples
    --------
    >>> pair = IsingModel([(0, 1)], [1.0], offset=2.0)
    >>> bare = GroundState.of(pair.without_offset(), [1, 1], -1.0, method="graph-cut")
    >>> with_offset(bare, pair).energy
    -3.0
    """
    # A bound is at most the least energy rounded to nearest; rounding keeps the order of sums.
    lower = math.fsum([math.nextafter(found.lower, -math.inf), -model.offset])
    if not found.exact:  # a gap that counts stays open
        lower = min(lower, math.nextafter(float(model.energy(found.spins)), -math.inf))
    trace = [
        {**row, "lower": row["lower"] - model.offset, "upper": row["upper"] - model.offset}
        for row in found.trace
    ]
    return found.restated(model, found.spins, lower, trace=trace)
