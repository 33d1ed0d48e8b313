"""Climbing the likelihood of observed nodes and edges together."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from planaris.errors import PrecisionError
from planaris.models import IsingModel
from planaris.recover.noise_levels.levels import LARGEST_WEIGHT, Levels
from planaris.recover.observe import Observations
from planaris.recover.weights import noise_of
from planaris.result import Marginals
from planaris.typing import FloatArray

SCAN = (0.0, 0.2, 0.5, 0.9, 1.5, 3.5, LARGEST_WEIGHT)
"""Weights to scan: little graphs have likelihoods with several maxima, and saddles at zero."""

SCANNED = 200
"""Most likelihoods of a scan over single levels."""

HIGHER = 1e-6
"""A log likelihood that is higher by less is not climbed again."""

LEAST_LIMIT = 1.0
"""Limit on weights that is not halved any more; noise of .12."""


def climb_joint(
    observations: Observations,
    known: tuple[Levels, Levels],
    marginals: Callable[[IsingModel], Marginals],
    start: tuple[float, float],
    *,
    scan: bool = False,
) -> tuple[tuple[Any, Any], tuple[Any, Any], float]:
    """Return noise of edges and of nodes, each with its error, and the log likelihood.

    Parameters
    ----------
    observations : Observations
        What was seen.
    known : tuple of Levels
        What is known of the noise of edges and nodes.
    marginals : callable
        Marginals of a model, with its log Z.
    start : tuple of float
        Weights of edges and nodes to climb from.
    scan : bool
        Whether to climb from wherever a coarse scan finds a higher likelihood, too.
    """
    n = observations.graph.num_nodes
    seen = observations.edges != 0, observations.nodes != 0
    splits = known[0].num_free

    def likelihood(x: np.ndarray) -> tuple[float, np.ndarray]:
        # Zero weights would change the order.
        J = np.maximum(known[0].weights(x[:splits]), 1e-9)
        h = np.maximum(known[1].weights(x[splits:]), 1e-9)
        found = marginals(observations.model(J, h))
        value = found.log_z - n * math.log(2)
        value -= float(log2cosh(J)[seen[0]].sum() + log2cosh(h)[seen[1]].sum())
        agree = np.asarray(found.edges)[observations.graph.merged]
        edge = observations.edges * (2 * agree - 1) - np.tanh(J) * seen[0]
        node = observations.nodes * (2 * np.asarray(found.nodes) - 1) - np.tanh(h) * seen[1]
        return value, np.concatenate([known[0].sums(edge), known[1].sums(node)])

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = likelihood(x)
        return -value, -gradient

    best = np.concatenate([np.full(side.num_free, w) for side, w in zip(known, start, strict=True)])
    if len(best):
        best = _minimised(negative, best)
        if scan:
            best = highest(negative, best, splits)
    errors = standard_errors(likelihood, best)
    edges = known[0].result(best[:splits], errors[:splits])
    nodes = known[1].result(best[splits:], errors[splits:])
    return edges, nodes, likelihood(best)[0]


def _minimised(
    negative: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray
) -> np.ndarray:
    """Return the weights of least negative likelihood.

    A first step may lead to weights so large that marginals are refused: smaller ones are tried.
    """
    from scipy.optimize import minimize

    largest = LARGEST_WEIGHT
    while True:
        try:
            best: np.ndarray = minimize(
                negative,
                np.minimum(start, largest),
                jac=True,
                bounds=[(0.0, largest)] * len(start),
                method="L-BFGS-B",
                options={"maxiter": 60, "ftol": 1e-10, "gtol": 1e-4},
            ).x
        except PrecisionError:
            largest /= 2
            if largest < LEAST_LIMIT:
                raise
            continue
        if largest < LARGEST_WEIGHT and np.any(best >= largest):
            msg = f"the likelihood is largest at weights above {largest:g}, which are too strong"
            raise PrecisionError(msg)
        return best


def highest(
    negative: Callable[[np.ndarray], tuple[float, np.ndarray]], best: np.ndarray, splits: int
) -> np.ndarray:
    """Return the best of where climbs from peaks of a scan lead to.

    First all edges and all nodes have one weight each, then one level at a time is changed, until
    none is better or ``SCANNED`` have been tried.
    """
    from scipy.ndimage import minimum_filter

    least = _value(negative, best)
    sides = [part for part in (slice(0, splits), slice(splits, None)) if len(best[part])]

    def alike(weights: tuple[float, ...]) -> np.ndarray:
        trial = best.copy()
        for part, weight in zip(sides, weights, strict=True):
            trial[part] = weight
        return trial

    points = [alike(weights) for weights in product(SCAN, repeat=len(sides))]
    values = np.array([_value(negative, trial) for trial in points])
    around = minimum_filter(values.reshape([len(SCAN)] * len(sides)), size=3).ravel()
    for k in np.flatnonzero((values == around) & np.isfinite(values)).tolist():
        best, least = _better(best, least, *_climbed(negative, points[k], float(values[k])))
    scanned, improved = 0, len(best) > len(sides)
    while improved:
        improved = False
        for k, weight in product(range(len(best)), SCAN):
            trial = best.copy()
            trial[k] = weight
            value = _value(negative, trial)
            scanned += 1
            if value < least - HIGHER:
                best, least = _better(best, least, *_climbed(negative, trial, value))
                improved = True
            if scanned >= SCANNED:
                return best
    return best


def _climbed(
    negative: Callable[[np.ndarray], tuple[float, np.ndarray]], trial: np.ndarray, value: float
) -> tuple[np.ndarray, float]:
    """Return where a climb leads to, or where it began if it does not get higher."""
    try:
        found = _minimised(negative, trial)
    except PrecisionError:  # the likelihood is largest where marginals are refused
        return trial, value
    reached = _value(negative, found)
    return (found, reached) if reached < value else (trial, value)


def _better(
    best: np.ndarray, least: float, found: np.ndarray, value: float
) -> tuple[np.ndarray, float]:
    return (found, value) if value < least - HIGHER else (best, least)


def _value(
    negative: Callable[[np.ndarray], tuple[float, np.ndarray]], weights: np.ndarray
) -> float:
    """Return the negative likelihood, infinite at weights that are too strong for marginals."""
    try:
        return negative(weights)[0]
    except PrecisionError:
        return math.inf


def standard_errors(
    likelihood: Callable[[np.ndarray], tuple[float, np.ndarray]], best: np.ndarray
) -> np.ndarray:
    """Return standard errors of the noise of every free level from the observed information."""
    step = 1e-3
    hessian = np.zeros((len(best), len(best)))
    for k in range(len(best)):
        up, down = best.copy(), best.copy()
        up[k] += step
        down[k] = max(down[k] - step, 0.0)
        hessian[k] = (likelihood(up)[1] - likelihood(down)[1]) / (up[k] - down[k])
    if not len(best):
        return np.zeros(0)
    information = -(hessian + hessian.T) / 2
    values, vectors = np.linalg.eigh(information)
    flat = values <= 1e-6 * max(float(np.abs(values).max()), 1.0)
    spread = (vectors**2) @ np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, values))
    spread[(vectors**2 @ flat) > 1e-6] = math.inf
    noise = np.array([noise_of(w) for w in best.tolist()])
    return np.asarray(2 * noise * (1 - noise) * np.sqrt(spread))


def log2cosh(x: FloatArray) -> FloatArray:
    """Return log(2 cosh x).

    >>> log2cosh(np.array([0.0, 1000.0])).round(4).tolist()
    [0.6931, 1000.0]
    """
    return np.asarray(np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))))
