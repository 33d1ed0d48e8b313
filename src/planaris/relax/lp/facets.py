"""Inequalities beyond cycles: bicycle odd wheels, and cuts from positive semidefiniteness."""

from __future__ import annotations

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.kernels.relaxations import WheelCuts, separate_wheels
from planaris.typing import Array, FloatArray, IntArray

Rows = tuple[Array, Array, FloatArray, FloatArray]
"""Offsets, columns, values and left sides of rows ``values @ x >= side``."""

MOST_ROWS = 10
"""Eigenvectors that make rows, those of the most negative eigenvalues."""


def violated_rows(
    num_spins: int,
    edges: IntArray,
    x: FloatArray,
    families: tuple[str, ...],
    *,
    budget: Budget = UNLIMITED,
) -> Rows | None:
    """Return rows of the first of these families that x violates, if any.

    ``TimeoutError`` when the time is over before.
    """
    if "wheels" in families:
        wheels = separate_wheels(num_spins, edges, np.ascontiguousarray(x), budget=budget)
        if len(wheels):
            return wheel_rows(wheels)
    if "psd" in families:
        rows = psd_rows(num_spins, edges, x)
        if len(rows[3]):
            return rows
    return None


def wheel_rows(cuts: WheelCuts) -> Rows:
    """Return wheels as rows: -Σ_{not flipped} x + Σ_{flipped} x >= #flipped - 2 |rim|."""
    values: FloatArray = np.asarray(2.0 * cuts.flipped - 1.0, dtype=np.float64)
    flips = np.concatenate([[0], np.cumsum(cuts.flipped, dtype=np.int64)])
    count = flips[cuts.offsets[1:]] - flips[cuts.offsets[:-1]]
    return cuts.offsets, cuts.edges, values, count - 2.0 * cuts.rim


def psd_rows(num_spins: int, edges: IntArray, x: FloatArray) -> Rows:
    """Return rows that cut off x if its moment matrix has negative eigenvalues.

    The graph must be complete. For an eigenvector v, every cut satisfies
    ``v' X v = (Σ v)² - 4 Σ v_i v_j x_ij >= 0`` with ``X_ij = 1 - 2 x_ij``.
    """
    matrix = np.eye(num_spins)
    u, v = edges[:, 0], edges[:, 1]
    matrix[u, v] = matrix[v, u] = 1.0 - 2.0 * x
    values, vectors = np.linalg.eigh(matrix)
    low = np.flatnonzero(values < -1e-4)[:MOST_ROWS]
    # Scaled so that rows have entries near one.
    chosen = vectors[:, low] * np.sqrt(num_spins)
    coefficients = -4.0 * chosen[u] * chosen[v]
    sides = -(chosen.sum(0) ** 2)
    # The products are rounded; a hair of slack keeps every cut feasible.
    sides -= 1e-14 * (np.abs(coefficients).sum(0) + chosen.sum(0) ** 2 + num_spins)
    offsets = np.arange(len(low) + 1) * len(edges)
    columns = np.tile(np.arange(len(edges)), len(low))
    return offsets, columns, np.ascontiguousarray(coefficients.T).ravel(), sides
