"""Sums and exponentials in doubles with bounds of their rounding errors.

Products of matrices may be summed in any order, with or without fused operations; what is used is
that every sum has at most as many roundings as it has terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any

import numpy as np

from planaris.typing import FloatArray

UNIT = 2.0**-53
TINY = 2.0**-900
"""More than all underflows of a sum."""

_DIGITS = Context(prec=30)
_EXTENDED = np.finfo(np.longdouble).eps == 2.0**-63


class Lost(Exception):
    """Nothing is proved: a denominator may be zero, or numbers leave the range of doubles."""


def gamma(terms: int) -> float:
    """Bound the relative error of a sum of so many products, each factor a double.

    >>> gamma(100) > 101 * 2.0**-53
    True
    """
    return 1.0001 * UNIT * (terms + 1)


def raised(values: FloatArray, terms: int) -> FloatArray:
    """Return upper bounds of sums that have no negative terms, from what doubles made of them."""
    found: FloatArray = values * (1.0 + 2.0 * gamma(terms + 4)) + TINY
    return found


def exponentials(*terms: Iterable[float]) -> FloatArray:
    """Return exp of sums and of their negatives, (2, count); off by less than 1.001 units each.

    Decimal arithmetic rounds exponentials correctly, and so does the conversion to doubles.

    >>> exponentials([0.0, 2.0], [0.0, -1.0])[0].tolist()
    [1.0, 2.718281828459045]
    """
    sums = [_added(map(Decimal, numbers)) for numbers in zip(*terms, strict=True)]
    if any(abs(x) > 300 for x in sums):
        raise Lost
    return np.array([[float(_DIGITS.exp(sign * x)) for x in sums] for sign in (1, -1)])


def _added(numbers: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for number in numbers:
        total = _DIGITS.add(total, number)
    return total


def logarithm(value: float, exponent: int) -> Decimal:
    """Return log(value · 2^exponent), right to 25 digits.

    >>> round(logarithm(1.0, 10), 6)
    Decimal('6.931472')
    """
    two = _DIGITS.multiply(Decimal(exponent), _DIGITS.ln(Decimal(2)))
    return _DIGITS.add(two, _DIGITS.ln(Decimal(value)))


def difference(
    a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, *, work: int
) -> tuple[FloatArray, float]:
    """Return |ab - cd| of matrices (2 × rows each), and what to charge for it.

    The charge is relative to |a||b| + |c||d|. 80-bit floats are used where the machine has them
    and products have no more than ``work`` terms.
    """
    count = a.shape[-1] + c.shape[-1]
    extended = _EXTENDED and c.shape[0] * d.shape[1] * count <= work
    kind: type[np.floating[Any]] = np.longdouble if extended else np.float64
    first = (a.astype(kind) @ b.astype(kind)).reshape(len(c), -1)
    gap = np.abs(first - c.astype(kind) @ d.astype(kind)).astype(np.float64)
    return gap * (1.0 + 4.0 * UNIT) + TINY, gamma(count) * (2.0**-10 if extended else 1.0)
