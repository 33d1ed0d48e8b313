"""Logarithms as rational numbers with a bound on their error: no library function is trusted."""

from __future__ import annotations

import math
from fractions import Fraction

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
    terms: list[float], mantissa: float, twos: int, error: float
) -> tuple[float, float, Fraction]:
    """Enclose ``Σ terms + log mantissa + twos log 2``, itself off by ``error`` at most.

    Returns
    -------
    tuple
        The ends, rounded outwards, and the middle.
    """
    middle = math.fsum(terms)  # rounded once
    log = Fraction(middle) + log_of(mantissa) + twos * LOG_2
    slack = Fraction(error) + abs(Fraction(middle)) / 2**53 + (abs(twos) + 1) * LOG_ERROR
    lower = math.nextafter(float(log - slack), -math.inf)
    upper = math.nextafter(float(log + slack), math.inf)
    return lower, upper, log
