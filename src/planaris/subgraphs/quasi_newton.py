"""Minimisation of smooth functions of many variables, with looks at the clock in between."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.typing import FloatArray

ARMIJO = 1e-3
"""Share of the expected decrease that a step must have."""

STEEP = 0.9
"""Share of the slope that may be left after a step."""

MAX_TRIALS = 20
"""Of lengths, for a step."""


def minimise_smooth(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    memory: int,
    max_steps: int,
    *,
    after: Callable[[FloatArray], None],
    budget: Budget = UNLIMITED,
) -> None:
    """Minimise a convex function by L-BFGS (Liu & Nocedal, Math. Program. 45, 1989, 503).

    SciPy's takes a step without a look at the clock. The function keeps the best point itself.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient at a point; infinity where it has none.
    start : float array
        Where to begin.
    memory : int
        Steps that the model of the curvature remembers.
    max_steps : int
        Most steps.
    after : callable
        Receives the point after every step; ends the search by raising.
    budget : Budget
        ``TimeoutError`` when its time is over.

    Examples
    --------
    >>> seen = []
    >>> def square(x):
    ...     seen.append(x)
    ...     return float((x**2) @ [1.0, 5.0]), 2 * x * [1.0, 5.0]
    >>> minimise_smooth(square, np.ones(2), 5, 20, after=lambda x: None)
    >>> bool(np.abs(seen[-1]).max() < 1e-6)
    True
    """
    point = start
    value, gradient = function(point)
    pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=memory)
    for _ in range(max_steps):
        size = float(np.linalg.norm(gradient))
        if size <= 1e-14 * (1.0 + abs(value)):
            return
        step = _direction(gradient, pairs, budget)
        slope = float(step @ gradient)
        if not slope < 0.0:  # the curvature has lost its digits
            pairs.clear()
            step, slope = -gradient, -size * size
        length, most = 1.0 if pairs else min(1.0, 1.0 / size), math.inf
        least = 0.0
        for _ in range(MAX_TRIALS):  # bisection for the weak conditions of Wolfe
            budget.check()
            trial = point + length * step
            found, turned = function(trial)
            if not found <= value + ARMIJO * length * slope:
                most = length
            elif float(turned @ step) < STEEP * slope:
                least = length
            else:
                break
            length = 4.0 * length if most == math.inf else (least + most) / 2
        if not found < value:
            return
        budget.check()
        moved, turn = trial - point, turned - gradient
        budget.check()
        if (curvature := float(moved @ turn)) > 1e-16 * float(turn @ turn):
            pairs.append((moved, turn, curvature))
        point, value, gradient = trial, found, turned
        after(point)


def _direction(
    gradient: FloatArray, pairs: deque[tuple[FloatArray, FloatArray, float]], budget: Budget
) -> FloatArray:
    """Return minus the gradient times the inverse of the curvature, as the pairs model it."""
    step = -gradient
    shares = []
    for moved, turn, curvature in reversed(pairs):
        budget.check()
        shares.append(float(moved @ step) / curvature)
        step -= shares[-1] * turn
    if pairs:
        _, turn, curvature = pairs[-1]
        step *= curvature / float(turn @ turn)
    for moved, turn, curvature in pairs:
        budget.check()
        step += (shares.pop() - float(turn @ step) / curvature) * moved
    return step
