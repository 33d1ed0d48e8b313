"""When an interval counts as exact: the rule of docs/conventions.md, from the model alone.

Nothing that a result says about itself is used here: a result that calls itself exact is held
against these numbers.
"""

from __future__ import annotations

import math

import numpy as np

from planaris.models import IsingModel, MarkovRandomField
from planaris.typing import FloatArray

MARGINALS = 1e-6
"""Largest error of a probability that counts as exact."""


def energy_tolerance(model: IsingModel | MarkovRandomField) -> float:
    """Return the widest interval around the least energy that counts as exact.

    It is 1e-10 times the sum of what the parameters can change, each counted as the scale of the
    model at most: the median of those that are not zero, but no more than 1, or than the least of
    them if that is larger.

    Examples
    --------
    >>> energy_tolerance(IsingModel([(0, 1), (1, 2)], [1.0, 1e17], fields=[0.5, 0.0, 0.0]))
    2.5e-10
    """
    sizes = _ranges(model)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 0.0
    with np.errstate(over="ignore"):  # of the mean of two
        scale = min(np.median(sizes), max(1.0, sizes.min()))
    return 1e-10 * math.fsum(np.minimum(sizes, scale).tolist())


def makes_difference(model: IsingModel | MarkovRandomField) -> bool:
    """Return whether any two states that are allowed can differ in energy.

    The tolerance does not tell: of couplings below 1e-313 it is rounded to zero.

    >>> makes_difference(IsingModel([(0, 1)], [1e-320])), makes_difference(IsingModel([], []))
    (True, False)
    """
    return bool(np.any(_ranges(model) > 0))


def log_partition_tolerance(model: IsingModel | MarkovRandomField) -> float:
    """Return the widest interval around log Z that counts as exact: 1e-6, or 1e-9 per variable."""
    count = model.num_spins if isinstance(model, IsingModel) else model.num_variables
    return max(1e-6, 1e-9 * count)


def is_tolerance(claimed: float, found: float) -> bool:
    """Return whether a tolerance is the one of the model, up to the rounding of its sum."""
    return abs(claimed - found) <= 1e-12 * found


def _ranges(model: IsingModel | MarkovRandomField) -> FloatArray:
    """Return how much each coupling, field or table can change an energy, up to a factor."""
    if isinstance(model, IsingModel):
        sizes: FloatArray = np.abs(np.concatenate([model.couplings, model.fields]))
        return sizes
    tables = [np.asarray(model.log_table(k)) for k in range(model.num_factors)]
    finite = [table[np.isfinite(table)] for table in tables]
    return np.array([table.max() - table.min() for table in finite if table.size], dtype=np.float64)
