"""From noise levels to the weights of the posterior: half the log odds (GRSY15 eq. 4)."""

from __future__ import annotations

import math

import numpy as np

from planaris.errors import ModelError
from planaris.models import IsingModel
from planaris.recover.observe import Observations, as_noise, as_noises
from planaris.typing import BoolArray, FloatArray

CERTAIN = 40.0
"""What breaking a certain observation costs beyond all others: a factor of e^-80."""


def log_odds(noise: float) -> float:
    """Return half the logarithm of the odds of an observation; infinite without noise.

    >>> round(log_odds(0.1), 6), log_odds(0.5), log_odds(0.0)
    (1.098612, 0.0, inf)
    """
    noise = as_noise("noise", noise)
    return math.inf if noise == 0 else 0.5 * (math.log1p(-noise) - math.log(noise))


def noise_of(weight: float) -> float:
    """Return the noise level of a weight: the inverse of :func:`log_odds`.

    >>> round(noise_of(log_odds(0.1)), 9), noise_of(math.inf)
    (0.1, 0.0)
    """
    if math.isnan(weight):
        msg = "`weight` must be a number, got nan"
        raise ModelError(msg)
    return float(1.0 / (1.0 + np.exp(min(2.0 * weight, 700.0)))) if weight < math.inf else 0.0


def log_odds_of(noise: float | FloatArray) -> float | FloatArray:
    """Return half the log odds of one noise level or of each.

    >>> log_odds_of(np.array([0.5, 0.0])).tolist()
    [0.0, inf]
    """
    if np.ndim(noise) == 0:
        return log_odds(float(noise))
    with np.errstate(divide="ignore"):
        return np.asarray(0.5 * (np.log1p(-np.asarray(noise)) - np.log(noise)))


def relative_weights(
    name: str, noise: float | FloatArray | None, length: int, seen: BoolArray
) -> float | FloatArray:
    """Return what observations of one kind weigh against each other: 1 where all are alike.

    Log odds, where noise is given per observation; certain ones outweigh all others together.

    >>> relative_weights("p", np.array([0.5, 0.1]), 2, np.array([True, True])).round(6).tolist()
    [0.0, 1.098612]
    """
    if noise is None or np.ndim(noise) == 0:
        return 1.0
    weights = np.asarray(log_odds_of(as_noises(name, noise, length)))
    certain = np.isinf(weights)
    total = float(weights[seen & ~certain].sum())
    return np.where(certain, total + CERTAIN, weights)


def posterior_model(
    observations: Observations, p: float | FloatArray, q: float | FloatArray
) -> IsingModel:
    """Return the model of the labels given the observations, under a uniform prior.

    P(y | X) ∝ exp(Σ J X_uv y_u y_v + Σ h X_v y_v) with J and h half the log odds of p and q,
    which are numbers or one per edge and one per node. Where a noise is zero, its observations
    outweigh all others together: they are kept if they can be.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((2, [(0, 1)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> posterior_model(seen, 0.1, 0.5).couplings.round(6).tolist()
    [1.098612]
    """
    graph = observations.graph
    p = as_noises("p", p, len(graph.edges))
    q = as_noises("q", q, graph.num_nodes)
    edge, node = log_odds_of(p), log_odds_of(q)
    seen = np.where(observations.edges == 0, 0.0, edge)
    others = float(seen[np.isfinite(seen)].sum())
    node = np.where(np.isinf(node), others + CERTAIN, node)
    told = np.where(observations.nodes == 0, 0.0, node)
    edge = np.where(np.isinf(edge), float(told.sum()) + others + CERTAIN, edge)
    if np.ndim(p) == 0 and np.ndim(q) == 0:
        return observations.model(float(edge), float(node))
    return observations.model(edge, node)
