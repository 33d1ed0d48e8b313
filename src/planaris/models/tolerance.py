"""How narrow an interval must be to count as exact (docs/conventions.md, "What exact means")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planaris.typing import Array, FloatArray

RELATIVE = 1e-10
"""Of the sum of the parameters, each counted at most as the scale of the model."""

SPLIT = 1e-10
"""Sizes that differ by less than this, relatively, are a tie that was split on purpose."""


def energy_tolerance(sizes: FloatArray, smallest: Callable[[], float] | None = None) -> float:
    """Return the widest interval around the minimum energy that counts as exact.

    It is 1e-10 times the sum of the sizes, none of them counted as more than the scale of the
    model: the median size, but where that is above 1, no more than the smallest difference
    that counts, or 1. A few huge parameters, or many huge penalties, therefore never hide
    differences of ordinary ones.

    Parameters
    ----------
    sizes : numpy.ndarray
        What each parameter can change: ``|J|`` and ``|h|``, or the range of a factor's table.
    smallest : callable, optional
        Returns the smallest difference that counts; default: the smallest size, or the
        smallest step between two sizes that are equal to ten digits.

    Examples
    --------
    >>> energy_tolerance(np.array([1.0, 2.0, 3.0]))
    3e-10
    >>> energy_tolerance(np.array([1e17, 1e17, 0.5, 0.0]))
    2.5e-10
    """
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 0.0
    scale = float(np.median(sizes))
    if scale > 1.0:
        least = _smallest_size(sizes) if smallest is None else smallest()
        scale = min(scale, max(1.0, least))
    return RELATIVE * float(np.minimum(sizes, scale).sum())


def _smallest_size(sizes: FloatArray) -> float:
    ordered = np.sort(sizes)
    steps = np.diff(ordered)
    split = steps[(steps > 0) & (steps < SPLIT * ordered[1:])]
    return min(float(ordered[0]), float(split.min(initial=np.inf)))


NEIGHBOURS = 100_000
"""Entries of a model that are first compared with the next one only."""


def smallest_step(values: FloatArray, table: Array) -> float:
    """Return the smallest difference of two finite entries of one table.

    A step below 1 that is found at once is as good as the smallest: no scale is below 1.

    >>> smallest_step(np.array([0.0, 5.0, 5.25, 9.0]), np.array([0, 0, 0, 1]))
    0.25
    """
    near, same = np.diff(values[:NEIGHBOURS]), np.diff(table[:NEIGHBOURS]) == 0
    near = np.abs(near[same & (near != 0.0) & np.isfinite(near)])
    if len(near) and near.min() < 1.0:
        return float(near.min())
    order = np.lexsort((values, table))
    steps, same = np.diff(values[order]), np.diff(table[order]) == 0
    steps = steps[same & np.isfinite(steps) & (steps > 0)]
    return float(steps.min(initial=np.inf))
