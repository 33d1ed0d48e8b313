"""Convex quadratic programs over the unit simplex, by an active-set method."""

from __future__ import annotations

import numpy as np

from planaris.typing import FloatArray, LongArray

TOLERANCE = 1e-11
"""Relative to the entries: what counts as a negative reduced cost."""


def minimize_over_simplex(
    hessian: FloatArray, linear: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    """Minimise ``a @ hessian @ a / 2 + linear @ a`` over ``a >= 0, sum(a) == 1``.

    Parameters
    ----------
    hessian : float array, shape (k, k)
        Positive semidefinite.
    linear : float array, shape (k,)
        The linear term.
    start : float array, optional
        A point of the simplex to start from.

    Returns
    -------
    float array
        A minimiser, up to rounding.

    Examples
    --------
    >>> minimize_over_simplex(np.eye(3), np.array([0.0, 0.0, 5.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    count = len(linear)
    if start is None:
        point = np.zeros(count)
        point[int(np.argmin(np.diag(hessian) / 2 + linear))] = 1.0
    else:
        point = np.array(start)
    size = float(np.abs(hessian).max(initial=0.0) + np.abs(linear).max(initial=0.0)) or 1.0
    free = point > 0
    for _ in range(50 * (count + 1)):
        chosen = np.flatnonzero(free).astype(np.int64)
        target = _on_face(hessian, linear, chosen, size)
        step = target - point[chosen]
        falling = step < 0
        reach = np.full(len(chosen), np.inf)
        reach[falling] = -point[chosen][falling] / step[falling]
        first = int(np.argmin(reach)) if len(reach) else 0
        if len(reach) and reach[first] < 1.0:
            point[chosen] += reach[first] * step
            point[chosen[first]] = 0.0
            free[chosen[first]] = False
            if not free.any():  # rounding only
                break
            continue
        point[chosen] = target
        slope = hessian @ point + linear
        level = float(slope[chosen] @ point[chosen])
        slope[free] = np.inf
        enter = int(np.argmin(slope))
        if not slope[enter] < level - TOLERANCE * size:
            break
        free[enter] = True
    point = np.maximum(point, 0.0)
    return np.asarray(point / point.sum())


def _on_face(hessian: FloatArray, linear: FloatArray, chosen: LongArray, size: float) -> FloatArray:
    """Return the minimiser over the affine hull of some vertices of the simplex."""
    k = len(chosen)
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = hessian[np.ix_(chosen, chosen)]
    system[np.arange(k), np.arange(k)] += 1e-13 * size
    system[:k, k] = system[k, :k] = size
    right = np.append(-linear[chosen], size)
    return np.asarray(np.linalg.solve(system, right)[:k])
