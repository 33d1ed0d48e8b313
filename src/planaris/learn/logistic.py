"""Logistic regression on spins by Newton's method: few weights, many rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planaris.typing import FloatArray, Int8Array

MAX_STEPS = 50
TOLERANCE = 1e-8
"""Newton decrement, relative to the objective, at which to stop."""


def fit_logistic(
    blocks: Sequence[tuple[FloatArray, Int8Array]], *, regularization: float = 1.0
) -> FloatArray:
    """Return ``w`` that minimises ``Σ log(1 + exp(-2 s ⟨x, w⟩)) + ½ regularization ‖w‖²``.

    So that P(s | x) ∝ exp(s ⟨x, w⟩): a spin in the field ⟨x, w⟩.

    Parameters
    ----------
    blocks : sequence of pairs
        Rows ``x`` (n, k) and spins ``s`` (n,), one pair per image.
    regularization : float
        Above zero: separable data have a solution, too.

    Examples
    --------
    >>> x, s = np.ones((4, 1)), np.array([1, 1, 1, -1], dtype=np.int8)
    >>> fit_logistic([(x, s)], regularization=1e-9).round(4).tolist()  # ½ log 3
    [0.5493]
    """
    weights = np.zeros(blocks[0][0].shape[1])
    value, gradient, hessian = evaluate_logistic(blocks, weights, regularization)
    for _ in range(MAX_STEPS):
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement <= TOLERANCE * max(value, 1e-300):
            break
        size = 1.0
        while True:
            trial = evaluate_logistic(blocks, weights - size * step, regularization)
            if trial[0] <= value - 1e-4 * size * decrement or size < 1e-8:
                break
            size /= 2
        weights = weights - size * step
        value, gradient, hessian = trial
    return weights


def evaluate_logistic(
    blocks: Sequence[tuple[FloatArray, Int8Array]], weights: FloatArray, regularization: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return the objective of :func:`fit_logistic`, its gradient and its Hessian."""
    k = len(weights)
    value = regularization * float(weights @ weights) / 2
    gradient = regularization * weights
    hessian = regularization * np.eye(k)
    for x, s in blocks:
        z = 2.0 * s * (x @ weights)
        value += float(np.logaddexp(0.0, -z).sum())
        wrong = np.exp(-np.logaddexp(0.0, z))
        gradient = gradient - 2.0 * (x.T @ (wrong * s))
        hessian = hessian + 4.0 * (x.T @ (x * (wrong * (1.0 - wrong))[:, None]))
    return value, gradient, hessian
