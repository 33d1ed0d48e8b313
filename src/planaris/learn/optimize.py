"""Minimise ½ λ ‖w‖² + risk(w), with a lower bound on the minimum at every step.

Likelihood is smooth: L-BFGS, and strong convexity bounds the gap by ‖gradient‖² / 2λ. Margin is
not: a bundle method, whose planes lie below the risk everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from planaris.budget import ProgressCallback
from planaris.learn.risks import Plane
from planaris.notebook import Shown
from planaris.typing import FloatArray

MAX_PLANES = 200
SERIOUS = 0.1
"""Part of the predicted decrease that a step must bring to be taken."""

RIDGE = 1e-13
"""Relative to the largest diagonal entry; turns rays of a singular form into long steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Training(Shown):
    """Weights with an interval that contains the least objective.

    Attributes
    ----------
    weights : numpy.ndarray
        The best that were seen.
    objective : float
        Their objective, at least the minimum.
    lower : float
        At most the minimum.
    converged : bool
        Whether the gap is as small as was asked for.
    history : list of dict
        Per evaluation: ``round``, ``seconds``, ``objective``, ``upper`` (the best so far),
        ``lower`` and ``weights``.
    """

    weights: FloatArray
    objective: float
    lower: float
    converged: bool
    history: list[dict[str, Any]] = field(repr=False)

    @property
    def gap(self) -> float:
        """How far the objective may be above its minimum."""
        return self.objective - self.lower


class _Record:
    """Keeps the best weights, the best bound and the history; says when to stop."""

    def __init__(self, tol: float, max_iter: int, progress: ProgressCallback | None) -> None:
        self.tol, self.max_iter, self.progress = tol, max_iter, progress
        self.started = perf_counter()
        self.weights: FloatArray = np.zeros(0)
        self.upper, self.lower = np.inf, 0.0
        self.first = np.inf
        self.history: list[dict[str, Any]] = []

    def add(self, weights: FloatArray, objective: float, lower: float) -> None:
        if objective < self.upper:
            self.upper, self.weights = objective, weights.copy()
        # The objective is never below the minimum, so rounding must not lift the bound above it.
        self.lower = min(max(self.lower, lower), self.upper)
        self.history.append(
            {
                "round": len(self.history),
                "seconds": perf_counter() - self.started,
                "objective": objective,
                "upper": self.upper,
                "lower": self.lower,
                "weights": weights.copy(),
            }
        )
        if self.progress is not None:
            self.progress(self._fraction())

    def _fraction(self) -> float:
        """Digits of the gap that have been won, or rounds that have been used."""
        wanted = self.tol * max(1.0, abs(self.upper))
        self.first = max(self.upper - self.lower, wanted) if np.isinf(self.first) else self.first
        now = max(self.upper - self.lower, wanted, 1e-300)
        digits = np.log(max(self.first / max(wanted, 1e-300), 1.0 + 1e-12))
        won = 1.0 - np.log(now / max(wanted, 1e-300)) / digits if wanted > 0 else 0.0
        return float(np.clip(max(won, len(self.history) / self.max_iter), 0.0, 1.0))

    @property
    def converged(self) -> bool:
        gap = self.upper - self.lower
        return bool(self.history) and gap <= self.tol * max(1.0, abs(self.upper))

    @property
    def finished(self) -> bool:
        return self.converged or len(self.history) >= self.max_iter

    def result(self) -> Training:
        return Training(self.weights, self.upper, self.lower, self.converged, self.history)


def minimise_smooth(
    risk: Callable[[FloatArray], Plane],
    start: FloatArray,
    regularization: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 200,
    progress: ProgressCallback | None = None,
) -> Training:
    """Minimise ``½ λ ‖w‖² + risk(w)`` by L-BFGS.

    Parameters
    ----------
    risk : callable
        Weights to the tangent :class:`Plane` there; convex, smooth, not negative.
    start : numpy.ndarray
        First weights.
    regularization : float
        ``λ`` above zero.
    tol : float
        Stop when the gap is at most this, relative to the objective where that is above one.
    max_iter : int
        Evaluations.
    progress : callable, optional
        Told the fraction done.

    Examples
    --------
    >>> def parabola(w):  # ‖w‖² - 6 w + 9
    ...     return Plane(9.0 - float(w @ w), 2 * w - 6)
    >>> found = minimise_smooth(parabola, np.zeros(1), 1.0, tol=1e-9)
    >>> found.weights.round(4).tolist(), found.converged
    ([2.0], True)
    """
    from scipy.optimize import minimize

    record = _Record(tol, max_iter, progress)

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = _regularised(risk(weights), weights, regularization)
        record.add(weights, value, _convex_bound(value, gradient, regularization))
        if record.finished:
            raise _FinishedError
        return value, gradient

    # L-BFGS forgets the curvature when it stops for rounding: start again from the best.
    weights = np.asarray(start, dtype=np.float64)
    for _ in range(3):
        try:
            minimize(
                objective,
                weights,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": max_iter, "maxfun": max_iter, "ftol": 0.0, "gtol": 0.0},
            )
        except _FinishedError:
            break
        weights = record.weights
    return record.result()


def _regularised(
    plane: Plane, weights: FloatArray, regularization: float
) -> tuple[float, FloatArray]:
    """Return ``½ λ ‖w‖² + plane(w)`` and its gradient."""
    value = plane.at(weights) + regularization * float(weights @ weights) / 2
    return value, plane.slope + regularization * weights


def _convex_bound(value: float, gradient: FloatArray, regularization: float) -> float:
    """Bound the minimum: F(v) ≥ F(w) + ⟨∇F(w), v - w⟩ + ½ λ ‖v - w‖² for every v."""
    return value - float(gradient @ gradient) / (2 * regularization)


class _FinishedError(Exception):
    """The gap is closed, or the evaluations are used up."""


def minimise_by_bundle(
    risk: Callable[[FloatArray], Plane],
    start: FloatArray,
    regularization: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 200,
    progress: ProgressCallback | None = None,
) -> Training:
    """Minimise ``½ λ ‖w‖² + max over planes``, by a bundle method with a trust region.

    Planes found so far, with the plane zero, are a model of the risk from below. Each step
    minimises the model plus ``½ ρ ‖w - centre‖²``; ρ shrinks where the model is good and grows
    where it is not (Schramm and Zowe's BT). The model alone, ρ = 0, bounds the minimum.

    Parameters
    ----------
    risk : callable
        Weights to the :class:`Plane` that touches the risk there; planes lie below the risk.
    start, regularization, tol, max_iter, progress
        As for :func:`minimise_smooth`.

    Examples
    --------
    >>> def hinge(w):  # max(0, 2 - w)
    ...     return Plane(2.0, np.array([-1.0])) if w[0] < 2 else Plane(0.0, np.zeros(1))
    >>> found = minimise_by_bundle(hinge, np.zeros(1), 0.5, tol=1e-9)
    >>> found.weights.round(4).tolist(), round(found.objective, 6)
    ([2.0], 1.0)
    """
    record = _Record(tol, max_iter, progress)
    model = _Model(len(start), regularization)

    def evaluate(weights: FloatArray) -> tuple[float, FloatArray]:
        plane = risk(weights)
        model.add(plane)
        return _regularised(plane, weights, regularization)

    centre = np.asarray(start, dtype=np.float64).copy()
    best, gradient = evaluate(centre)
    record.add(centre, best, model.lower_bound())
    # Polyak's step length for the lower bound zero: objective / ‖gradient‖.
    rho = float(gradient @ gradient) / max(best, 1e-300)
    while not record.finished:
        weights, predicted = model.step(centre, rho)
        value, _ = evaluate(weights)
        record.add(weights, value, model.lower_bound())
        expected = best - predicted
        if value <= best - SERIOUS * expected:
            if value <= best - 0.5 * expected:
                rho /= 4.0
            centre, best = weights, value
        elif value > best + expected:
            rho *= 2.0  # the model is bad as far out as this
        if rho < 1e-9 * regularization:
            rho = 0.0
    return record.result()


class _Model:
    """Planes below the risk, the plane zero among them."""

    def __init__(self, dimension: int, regularization: float) -> None:
        self.regularization = regularization
        self.offsets = np.zeros(1)
        self.slopes = np.zeros((1, dimension))
        self.alpha = np.ones(1)

    def add(self, plane: Plane) -> None:
        self.offsets = np.append(self.offsets, plane.offset)
        self.slopes = np.concatenate([self.slopes, plane.slope[None]])
        self.alpha = np.append(self.alpha, 0.0)
        if len(self.offsets) > MAX_PLANES:
            idle = np.flatnonzero(self.alpha[1:-1] <= 0)
            drop = 1 + int(idle[0]) if len(idle) else 1
            self.offsets = np.delete(self.offsets, drop)
            self.slopes = np.delete(self.slopes, drop, axis=0)
            kept = np.delete(self.alpha, drop)
            self.alpha = kept / kept.sum() if kept.sum() > 0 else np.eye(len(kept))[0]

    def lower_bound(self) -> float:
        """Minimise the model; any point of the simplex bounds it from below."""
        self.alpha = maximise_on_simplex(self.offsets, self.slopes, self.regularization, self.alpha)
        pull = self.slopes.T @ self.alpha
        return float(self.offsets @ self.alpha - pull @ pull / (2 * self.regularization))

    def step(self, centre: FloatArray, rho: float) -> tuple[FloatArray, float]:
        """Return the minimiser near the centre, and the objective the model predicts there."""
        curvature = self.regularization + rho
        around = rho / curvature * centre
        alpha = maximise_on_simplex(self.offsets + self.slopes @ around, self.slopes, curvature)
        weights = around - self.slopes.T @ alpha / curvature
        risk = float(np.max(self.offsets + self.slopes @ weights))
        return weights, risk + self.regularization * float(weights @ weights) / 2


def minimise_by_subgradient(
    risk: Callable[[FloatArray], Plane],
    start: FloatArray,
    regularization: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 200,
    progress: ProgressCallback | None = None,
) -> Training:
    """Minimise by subgradient steps of length r / √t: the plain method, to compare with.

    r is Polyak's length of the first step for the lower bound zero, objective / ‖gradient‖. The
    bound is that of strong convexity at each step, which hardly ever closes.
    """
    record = _Record(tol, max_iter, progress)
    weights = np.asarray(start, dtype=np.float64).copy()
    length: float | None = None
    while not record.finished:
        objective, gradient = _regularised(risk(weights), weights, regularization)
        record.add(weights, objective, _convex_bound(objective, gradient, regularization))
        size = float(np.linalg.norm(gradient))
        if size == 0.0:
            break
        length = objective / size if length is None else length
        weights = weights - length / np.sqrt(len(record.history)) * gradient / size
    return record.result()


# -- the quadratic program of bundle methods ---------------------------------------------------


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
