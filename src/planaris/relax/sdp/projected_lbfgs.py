"""Minimisation over variables of which some must not be negative.

L-BFGS steps in the variables that are free to move, projected (two-metric projection, Bertsekas
1982). For a few thousand variables this takes far less time per step than L-BFGS-B, which looks
for the minimum of its model along all the kinks of the projection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from planaris.typing import BoolArray, FloatArray

MEMORY = 10
"""Steps that the model of the curvature remembers."""

ARMIJO = 1e-4
"""Share of the expected decrease that a step must have."""

MAX_HALVINGS = 12
"""Halvings of a step before the search gives up."""


def minimize_projected(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounded: BoolArray,
    *,
    iterations: int,
    stop: Callable[[], bool] = lambda: False,
) -> FloatArray:
    """Minimise a smooth convex function over variables that are bounded by zero where marked.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient at a point.
    start : float array
        Where to begin; negative entries that are bounded are set to zero.
    bounded : bool array
        Variables that must not be negative.
    iterations : int
        Most steps.
    stop : callable
        Ends the search when it returns True; asked after every step and refused trial.

    Returns
    -------
    float array
        The best point.

    Examples
    --------
    >>> target = np.array([1.0, -2.0, -3.0])
    >>> square = lambda x: (float(((x - target) ** 2).sum()), 2 * (x - target))
    >>> bounded = np.array([True, True, False])
    >>> minimize_projected(square, np.zeros(3), bounded, iterations=20).round(6).tolist()
    [1.0, 0.0, -3.0]
    """
    point = np.where(bounded, np.maximum(start, 0.0), start)
    value, gradient = function(point)
    memory: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=MEMORY)
    for _ in range(iterations):
        held = bounded & (point <= 0.0) & (gradient > 0.0)
        slope = np.where(held, 0.0, gradient)
        size = float(np.linalg.norm(slope))
        if stop() or size <= 1e-12 * (1.0 + float(np.linalg.norm(gradient))):
            break
        step = _direction(slope, memory, ~held)
        if not float(step @ slope) < -1e-10 * size * float(np.linalg.norm(step)):
            memory.clear()
            step = -slope
        length = 1.0 if memory else min(1.0, 1.0 / size)
        for _ in range(MAX_HALVINGS):
            trial = point + length * step
            np.maximum(trial, 0.0, out=trial, where=bounded)
            after, next_gradient = function(trial)
            expected = float(gradient @ (trial - point))
            if after <= value + ARMIJO * min(expected, 0.0):
                break
            if stop():
                return point
            # The minimum of the parabola through what is known, within reason.
            curved = after - value - expected
            ratio = -expected / (2 * curved) if curved > 0 else 0.5
            length *= min(max(ratio, 0.1), 0.5)
        else:
            break
        moved, turned = trial - point, next_gradient - gradient
        if float(moved @ turned) > 1e-12 * float(np.linalg.norm(moved) * np.linalg.norm(turned)):
            memory.append((moved, turned))
        point, value, gradient = trial, after, next_gradient
    return point


def _direction(
    slope: FloatArray, memory: deque[tuple[FloatArray, FloatArray]], free: BoolArray
) -> FloatArray:
    """Return minus the slope times the inverse of the curvature, as L-BFGS models it."""
    if not memory:
        return -slope
    # Steps, turns and the slope as rows; all that is needed of them are their inner products.
    move = np.flatnonzero(free)
    rows = [*(s for s, _ in memory), *(y for _, y in memory), slope]
    basis = np.stack([row[move] for row in rows])
    product = basis @ basis.T
    count = len(memory)
    curved = product.diagonal(count)[:count]
    lengths = product.diagonal()[count : 2 * count]
    good = np.flatnonzero(curved > 1e-12 * lengths)
    share = np.zeros(2 * count + 1)  # of the rows in the direction
    share[-1] = -1.0
    for k in good[::-1]:
        share[count + k] = -(product[k] @ share) / curved[k]
    first = -share[count : 2 * count]
    if len(good):
        share *= curved[good[-1]] / lengths[good[-1]]
    for k in good:
        share[k] = first[k] - (product[count + k] @ share) / curved[k]
    step = np.zeros(len(slope))
    step[move] = share @ basis
    return step
