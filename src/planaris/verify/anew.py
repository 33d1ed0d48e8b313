"""log Z of a whole model anew: by plain elimination where it is narrow, else by a determinant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planaris.errors import MethodError
from planaris.models import IsingModel, MarkovRandomField, mrf2ising
from planaris.verify.determinant import log_partition_by_determinant
from planaris.verify.elimination import Recomputed, recompute

LARGE = 1000
"""Models of more variables are tried as determinants first: they are seldom narrow."""

_UNIT = 2.0**-53


def log_partition_anew(model: IsingModel | MarkovRandomField) -> Recomputed | None:
    """Return log Z, computed by what fits; None if nothing does."""
    large = len(model.cardinalities if isinstance(model, MarkovRandomField) else model.fields)
    ways: list[Callable[[], Recomputed | None]] = [
        lambda: recompute(model, task="sum"),
        lambda: _by_determinant(model),
    ]
    for way in ways if large <= LARGE else ways[::-1]:
        found = way()
        if found is not None:
            return found
    return None


def _by_determinant(model: IsingModel | MarkovRandomField) -> Recomputed | None:
    if isinstance(model, IsingModel):
        return log_partition_by_determinant(model)
    try:
        ising, _ = mrf2ising(model)
    except MethodError:  # more labels, larger factors or hard constraints
        return None
    found = log_partition_by_determinant(ising)
    if found is None:
        return None
    rounding = 8 * _UNIT * float(np.abs(model.log_values).sum() + abs(ising.offset))
    return replace(found, slack=found.slack + rounding)
