"""Symmetric positive definite systems of Newton steps, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.bounds.entropy.entropies import DENSE_SIZE
from planaris.budget import Budget
from planaris.kernels.relaxations import SymmetricFactor, least_degree_order
from planaris.typing import FloatArray, LongArray

RAISED = 1e-14
"""Added to the diagonal, which is scaled to ones."""

MOST_PER_COLUMN, MOST_ENTRIES = 14, 2**15
"""Entries of a column, on average, or of a matrix up to which an order is found in milliseconds."""

HUB, MOST_IN_TIME = 100, (160_000, 80_000)
"""Entries of a large column; those of a matrix without and with one that take up to 20 ms."""


class NewtonSystems:
    """Solves one system after the other; sparse ones of one pattern in one order."""

    def __init__(self) -> None:
        self.pattern: tuple[LongArray, LongArray] | None = None
        self.place: LongArray = np.zeros(0, dtype=np.int64)

    def solve(self, curve: Any, gradient: FloatArray, budget: Budget) -> FloatArray:
        """Solve up to a little rounding.

        ``FloatingPointError`` if a number is not finite; for sparse systems ``TimeoutError`` when
        the time is over before, ``OverflowError`` if they need more memory than there is.
        """
        scale = 1 / np.sqrt(np.maximum(curve.diagonal(), 1e-300))
        side = scale * gradient
        if isinstance(curve, np.ndarray) or curve.shape[0] <= DENSE_SIZE:
            dense = curve if isinstance(curve, np.ndarray) else curve.toarray()
            return np.asarray(scale * _solve_dense(dense * scale * scale[:, None], side))
        return np.asarray(scale * self._solve_sparse(curve.tocoo(), scale, side, budget))

    def _solve_sparse(
        self, curve: Any, scale: FloatArray, side: FloatArray, budget: Budget
    ) -> FloatArray:
        rows, columns = curve.coords
        rows, columns = rows.astype(np.int64), columns.astype(np.int64)
        values = curve.data * scale[rows] * scale[columns]
        values[rows == columns] += RAISED
        _check_finite(values, side)
        budget.check()
        self._find_order(rows, columns, len(side), budget)
        budget.check()
        return SymmetricFactor(rows, columns, values, self.place, budget).solve(side, budget)

    def _find_order(self, rows: LongArray, columns: LongArray, size: int, budget: Budget) -> None:
        """Find an order of elimination, by least degree, unless the pattern is the last one."""
        if self.pattern is not None and all(map(np.array_equal, self.pattern, (rows, columns))):
            return
        self.pattern = None
        most = MOST_IN_TIME[int(np.bincount(rows).max(initial=0)) > HUB]
        if len(rows) <= min(max(MOST_PER_COLUMN * size, MOST_ENTRIES), most):
            self.place = _quick_order(rows, columns, size)
        else:
            self.place = least_degree_order(rows, columns, size, budget)
        self.pattern = rows, columns


def _quick_order(rows: LongArray, columns: LongArray, size: int) -> LongArray:
    """Return the place of every column, by SuperLU: quick, but it does not look at the clock.

    Its orders come with factors, so it is given a matrix whose incomplete factor is diagonal.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import spilu

    values = np.where(rows == columns, 1.0, 1e-9)
    factor = spilu(
        csc_array((values, (rows, columns)), shape=(size, size)),
        drop_tol=1e-3,
        fill_factor=1.0,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return np.asarray(factor.perm_c, dtype=np.int64)


def _solve_dense(scaled: FloatArray, side: FloatArray) -> FloatArray:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scaled[np.diag_indices(len(side))] += RAISED
    _check_finite(scaled, side)
    try:
        return np.asarray(cho_solve(cho_factor(scaled), side))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(scaled, side, rcond=None)[0])


def _check_finite(*arrays: FloatArray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        msg = "a Newton step has numbers that are not finite"
        raise FloatingPointError(msg)
