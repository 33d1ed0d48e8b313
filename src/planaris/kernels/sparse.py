"""Sparse symmetric matrices: orders of elimination, and factors without pivoting, compiled."""

from __future__ import annotations

import numpy as np

from planaris import _core
from planaris.budget import UNLIMITED, Budget, control
from planaris.kernels.elimination import FactorArrays, elimination_order
from planaris.typing import FloatArray, LongArray

BYTES_PER_ENTRY = 12
"""Of a factor."""


def least_degree_order(
    rows: LongArray, columns: LongArray, size: int, budget: Budget = UNLIMITED
) -> LongArray:
    """Return the place of every column in an order of elimination by least degree.

    The pattern is symmetric. ``TimeoutError`` when the time is over before.

    >>> star = np.array([0, 0, 0, 1, 2, 3]), np.array([1, 2, 3, 0, 0, 0])
    >>> int(least_degree_order(*star, 4)[0]) >= 2
    True
    """
    above = rows < columns
    scopes = np.column_stack([rows[above], columns[above]]).astype(np.int32)
    offsets = np.arange(0, scopes.size + 1, 2, dtype=np.int64)
    none = np.zeros(0)
    graph = FactorArrays(np.full(size, 2, np.int32), scopes.ravel(), offsets, none, offsets[:0])
    order, _, _ = elimination_order(graph, min_fill=False, max_bits=2.0**40, budget=budget)
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    return place


class SymmetricFactor:
    """A sparse symmetric matrix, factored along an order of elimination.

    Parameters
    ----------
    rows, columns, values : array
        Entries of the whole matrix; those at one place add up.
    place : array
        Place of every column in the order.
    budget : Budget
        ``TimeoutError`` when its time is over before, ``OverflowError`` if the factor needs more
        than its memory. ``FloatingPointError`` if a pivot is zero or not finite.

    Examples
    --------
    >>> two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([2.0, 1.0, 1.0, 2.0])
    >>> SymmetricFactor(*two, np.array([1, 0])).solve(np.array([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        rows: LongArray,
        columns: LongArray,
        values: FloatArray,
        place: LongArray,
        budget: Budget = UNLIMITED,
    ) -> None:
        self.place = place
        rows, columns = place[rows], place[columns]
        upper = np.flatnonzero(rows <= columns)
        upper = upper[np.argsort(columns[upper], kind="stable")]
        counts = np.bincount(columns[upper], minlength=len(place))
        self.factor = _core.factor_symmetric(
            np.concatenate([[0], np.cumsum(counts)]),
            rows[upper].astype(np.int32),
            values[upper],
            budget.bytes() // BYTES_PER_ENTRY,
            *control(budget.quiet()),
        )

    def solve(self, side: FloatArray, budget: Budget = UNLIMITED) -> FloatArray:
        """Return x with A x = side; ``TimeoutError`` when the time is over before."""
        sides = np.empty(len(self.place))
        sides[self.place] = side
        return self.factor.solve(sides, *control(budget.quiet()))[self.place]
