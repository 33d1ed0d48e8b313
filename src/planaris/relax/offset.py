"""Searches go without the constant of a model, which would hide small energies in its rounding."""

from __future__ import annotations

import math
from dataclasses import replace

from planaris.models import IsingModel
from planaris.result import GroundState


def with_offset(found: GroundState, model: IsingModel) -> GroundState:
    """Return the result for a model from that for the same model without its offset.

    Examples
    --------
    >>> pair = IsingModel([(0, 1)], [1.0], offset=2.0)
    >>> bare = GroundState([1, 1], -1.0, -1.0, -1.0, True, "graph-cut", {"trace": []})
    >>> with_offset(bare, pair).energy
    -3.0
    """
    energy = float(model.energy(found.spins))
    below = math.nextafter(found.lower - model.offset, -math.inf)
    lower = energy if found.lower == found.energy else min(below, energy)
    trace = [
        {**row, "lower": row["lower"] - model.offset, "upper": row["upper"] - model.offset}
        for row in found.stats["trace"]
    ]
    stats = {**found.stats, "trace": trace}
    return replace(found, energy=energy, lower=lower, upper=energy, stats=stats)
