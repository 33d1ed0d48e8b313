"""The quadratic program of bundle methods: a concave quadratic over the simplex."""

from __future__ import annotations

import numpy as np

from planaris.typing import FloatArray

RIDGE = 1e-13
"""Relative to the largest diagonal entry; turns rays of a singular form into long steps."""


def maximise_on_simplex(
    linear: FloatArray, slopes: FloatArray, curvature: float, start: FloatArray | None = None
) -> FloatArray:
    """Return α ≥ 0, Σα = 1 that maximises ``⟨linear, α⟩ - ‖slopesᵀ α‖² / 2 curvature``.

    The dual of ``min ½ curvature ‖w‖² + max_k (linear_k + ⟨slopes_k, w⟩)``: any α in the simplex
    bounds that minimum from below. By active sets, as in Wolfe's nearest-point algorithm.

    Parameters
    ----------
    linear : numpy.ndarray, shape (k,)
        Offsets of the planes.
    slopes : numpy.ndarray, shape (k, d)
        Their slopes.
    curvature : float
        Above zero.
    start : numpy.ndarray, shape (k,), optional
        A point of the simplex.

    Examples
    --------
    >>> alpha = maximise_on_simplex(np.array([0.0, 0.0]), np.array([[1.0], [-3.0]]), 1.0)
    >>> alpha.round(6).tolist()
    [0.75, 0.25]
    """
    count = len(linear)
    form = slopes @ slopes.T / curvature
    ridge = RIDGE * float(np.trace(form) / count + np.abs(linear).max(initial=0.0) + 1e-300)
    scale = float(np.abs(linear).max(initial=0.0) + np.abs(form).max(initial=0.0))
    if start is None:
        start = np.zeros(count)
        start[int(np.argmax(linear - np.diag(form) / 2))] = 1.0
    alpha = start.copy()
    for _ in range(20 * count + 20):
        reduced = linear - form @ alpha
        best = int(np.argmax(reduced))
        if reduced[best] - alpha @ reduced <= 1e-14 * scale:
            break
        support = np.union1d(np.flatnonzero(alpha > 0), [best])
        moved = _settle(alpha, support, linear, form, ridge)
        if _value(moved, linear, form) <= _value(alpha, linear, form):
            break  # rounding: no plane improves on what is there
        alpha = moved
    return alpha


def _value(alpha: FloatArray, linear: FloatArray, form: FloatArray) -> float:
    return float(linear @ alpha - alpha @ form @ alpha / 2)


def _settle(
    alpha: FloatArray, support: FloatArray, linear: FloatArray, form: FloatArray, ridge: float
) -> FloatArray:
    """Move to the best point of the face that ``support`` spans, dropping what reaches zero."""
    alpha = alpha.copy()
    support = np.asarray(support, dtype=np.int64)
    while True:
        size = len(support)
        system = np.ones((size + 1, size + 1))
        system[:size, :size] = form[np.ix_(support, support)] + ridge * np.eye(size)
        system[size, size] = 0.0
        wanted = np.linalg.solve(system, np.append(linear[support], 1.0))[:size]
        now = alpha[support]
        if np.all(wanted >= 0):
            alpha[support] = wanted
            break
        falling = wanted < 0
        step = float(np.min(now[falling] / (now[falling] - wanted[falling])))
        moved = now + step * (wanted - now)
        gone = falling & (moved <= 1e-15)
        gone[np.flatnonzero(falling)[np.argmin(moved[falling])]] = True
        moved[gone] = 0.0
        alpha[support] = np.maximum(moved, 0.0)
        support = support[~gone]
    return np.asarray(alpha / alpha.sum())
