"""Sums of doubles, exact and rounded once: what an energy is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from planaris.typing import FloatArray

EPS = float(np.finfo(np.float64).eps)

BITS = 51
"""Partial sums of a slice stay below this many bits, so that none of them rounds."""


def sum_below(*terms: float) -> float:
    """Return the largest double that is no more than a sum.

    >>> sum_below(1e6, -1e-300) < 1e6 == sum_below(1e6, 0.0)
    True
    """
    total = math.fsum(terms)
    if not math.isfinite(total):
        return total
    return math.nextafter(total, -math.inf) if math.fsum([*terms, -total]) < 0 else total


def slices(values: FloatArray) -> list[FloatArray]:
    """Split numbers into slices that add up to them, each with sums that do not round.

    All numbers of a slice are multiples of one power of two, and their absolute values add up to
    at most ``2**51`` times it. Any signed partial sum of a slice is then a double, whatever the
    order: matrix products over a slice are exact. Minus infinity stays in the first slice.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in slices(np.array([1e17, 0.25, -3.0]))]
    [[1e+17, 0.0, 0.0], [0.0, 0.25, -3.0]]
    """
    infinite = values == -np.inf
    rest = np.where(infinite, 0.0, values)
    found: list[FloatArray] = []
    while np.any(rest):
        largest = float(np.abs(rest).max())
        unit = max(math.frexp(largest)[1] + len(rest).bit_length() - BITS, -1074)
        part = _round_to(rest, unit)
        rest = rest - part
        found.append(part)
    found = found or [np.zeros(len(values))]
    if np.any(infinite):
        found[0] = np.where(infinite, -np.inf, found[0])
    return found


def _round_to(values: FloatArray, unit: int) -> FloatArray:
    """Round to multiples of ``2**unit``, for values below ``2**(unit + 51)``."""
    if -1022 <= unit <= 970:
        large = math.ldexp(1.5, unit + 52)  # its last place is the unit
        return (values + large) - large
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -unit)), unit))


def round_once(sums: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of several arrays, entry by entry, as if rounded once.

    >>> import numpy as np
    >>> round_once([np.array([1e17]), np.array([-1e17]), np.array([0.25])]).tolist()
    [0.25]
    """
    if len(sums) == 1:
        return sums[0]
    if len(sums) == 2:
        return np.asarray(sums[0] + sums[1])
    terms = np.stack([np.ravel(part) for part in sums], axis=1)
    with np.errstate(invalid="ignore"):
        above, below = _two_roundings(terms)
    for row in np.flatnonzero(~(above == below)):
        below[row] = math.fsum(terms[row].tolist())
    return below.reshape(np.shape(sums[0]))


def _two_roundings(terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return numbers between which the sums of the rows, correctly rounded, lie."""
    high = terms[:, 0]
    rest, size = np.zeros(len(high)), np.zeros(len(high))
    for term in terms.T[1:]:
        total = high + term
        other = total - high
        error = (high - (total - other)) + (term - other)  # exact (Knuth)
        rest, size, high = rest + error, size + np.abs(error), total
    slack = 2.0 * EPS * terms.shape[1] * size
    return high + (rest + slack), high + (rest - slack)


def exact_sums(values: FloatArray, add: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return ``add(values)``, a signed sum of the values, correctly rounded to nearest.

    Parameters
    ----------
    values : numpy.ndarray
        Finite numbers or minus infinity.
    add : callable
        Adds up an array like ``values``: every number at most once, with either sign.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([1e17, 0.25, -1e17])
    >>> float(values.sum()), float(exact_sums(values, np.sum))
    (0.0, 0.25)
    """
    return round_once([np.asarray(add(part)) for part in slices(values)])
