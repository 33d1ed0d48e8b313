"""Inequalities beyond cycles for moments of spins: odd wheels, and eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from planaris.kernels.relaxations import separate_wheels
from planaris.relax.lp.facets import Rows, psd_rows, wheel_rows
from planaris.typing import FloatArray, IntArray


def facet_rows(
    n: int, pairs: IntArray, z: FloatArray, families: tuple[str, ...]
) -> tuple[Any, FloatArray] | None:
    """Return rows ``rows @ z <= sides`` that z violates, or None.

    Means are moments with a bias spin n, so that wheels and eigenvectors see them too; ``"psd"``
    needs all pairs.

    >>> facet_rows(2, np.array([[0, 1]]), np.zeros(3), ("psd",)) is None
    True
    """
    if not families:
        return None
    edges = np.ascontiguousarray(
        np.concatenate([pairs, np.column_stack([np.arange(n), np.full(n, n)])]), dtype=np.int32
    )
    # Edge e of this graph is moment column[e]; x = P(ends differ).
    column = np.concatenate([n + np.arange(len(pairs)), np.arange(n)])
    x = np.ascontiguousarray((1 - z[column]) / 2)
    if "wheels" in families:
        wheels = separate_wheels(n + 1, edges, x)
        if len(wheels):
            return _in_moments(wheel_rows(wheels), column)
    if "psd" in families:
        rows = psd_rows(n + 1, edges, x)
        if len(rows[3]):
            return _in_moments(rows, column)
    return None


def _in_moments(rows: Rows, column: IntArray) -> tuple[Any, FloatArray]:
    """Turn ``values @ x >= side`` with x = (1 - z) / 2 into ``values @ z <= Σ values - 2 side``."""
    offsets, columns, values, sides = rows
    owner = np.repeat(np.arange(len(sides)), np.diff(offsets))
    matrix = scipy.sparse.coo_array(
        (values, (owner, column[columns])), shape=(len(sides), len(column))
    )
    total = np.bincount(owner, values, len(sides))
    slack = 1e-14 * np.bincount(owner, np.abs(values), len(sides))
    return matrix.tocsr(), np.asarray(total - 2 * sides + slack)
