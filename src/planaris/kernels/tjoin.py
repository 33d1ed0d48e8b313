"""Minimum-weight T-joins with packings of T-cuts that prove them lightest, compiled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from planaris import _core
from planaris.budget import Budget, control
from planaris.show import one_line
from planaris.typing import FloatArray, IntArray, LongArray

PreparedTJoins = _core.TJoinSolver
"""A weighted graph prepared for T-joins of many sets of vertices."""

TJoinSolution = _core.TJoinSolution
"""A T-join, its weight, a lower bound and the packing of T-cuts that proves it."""


@dataclass(frozen=True, eq=False)
class CutPacking:
    """Values on nested odd sets that prove a T-join lightest.

    Set ``k`` holds the vertices ``order[start[k]:stop[k]]`` and has the value
    ``value(k)``; any two sets are nested or disjoint, and ``parent[k] < k`` is the smallest set
    around set ``k``, or -1.

    Attributes
    ----------
    order : int array
        The vertices that lie in some set, each once.
    start, stop, parent : int array
        One entry per set.
    digits : int array
        Either one int64 per set, or one row per set of digits in base 2^32, lowest first.
    exponent : int
        Values count units of ``2**exponent``.
    """

    order: IntArray
    start: IntArray
    stop: IntArray
    parent: IntArray
    digits: LongArray
    exponent: int

    __repr__ = one_line

    @property
    def num_sets(self) -> int:
        """Number of sets with a positive value."""
        return len(self.start)

    def members(self, k: int) -> IntArray:
        """Return the vertices of set `k`."""
        return self.order[self.start[k] : self.stop[k]]

    @property
    def values(self) -> FloatArray:
        """The values of all sets, rounded."""
        digits = self.digits if self.digits.ndim == 2 else self.digits[:, None]
        total = np.zeros(self.num_sets)
        for column in reversed(range(digits.shape[1])):
            total += np.ldexp(digits[:, column].astype(np.float64), self.exponent + 32 * column)
        return total

    def value(self, k: int) -> Fraction:
        """Return the value of set `k`, exactly."""
        return scaled(as_integer(np.atleast_1d(self.digits[k])), self.exponent)


def as_integer(digits: Iterable[int]) -> int:
    """Return the number with these digits in base 2^32, lowest first."""
    total = 0
    for k, digit in enumerate(digits):
        total += int(digit) << (32 * k)
    return total


def scaled(numerator: int, exponent: int) -> Fraction:
    """Return ``numerator * 2**exponent``."""
    return Fraction(numerator) * Fraction(2) ** exponent


def packing_of(found: TJoinSolution) -> CutPacking:
    """Return the packing of a solution, whose values count half units."""
    digits = found.num_digits
    values = found.values if digits == 0 else found.values.reshape(-1, digits)
    return CutPacking(
        found.order, found.start, found.stop, found.parent, values, found.exponent - 1
    )


def solve_tjoin(
    num_vertices: int,
    edges: IntArray,
    weights: LongArray | FloatArray,
    odd: IntArray,
    boundary: IntArray,
    *,
    perfect: bool,
    start: Any,
    budget: Budget,
) -> TJoinSolution:
    """Return a lightest T-join, or the best one found within the budget."""
    integral = weights.dtype == np.int64
    call = cast("Any", _core.minimum_tjoin_int if integral else _core.minimum_tjoin_float)
    found: TJoinSolution = call(
        num_vertices,
        edges,
        weights,
        odd,
        boundary,
        perfect,
        start,
        *control(budget),
        budget.workers(),
    )
    return found
