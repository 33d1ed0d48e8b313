"""From noise levels to the weights of the posterior: half the log odds (GRSY15 eq. 4)."""

from __future__ import annotations

import math

import numpy as np

from planaris.models import IsingModel
from planaris.recover.observe import Observations, as_noise

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
    return float(1.0 / (1.0 + np.exp(min(2.0 * weight, 700.0)))) if weight < math.inf else 0.0


def posterior_model(observations: Observations, p: float, q: float) -> IsingModel:
    """Return the model of the labels given the observations, under a uniform prior.

    P(y | X) ∝ exp(Σ J X_uv y_u y_v + Σ h X_v y_v) with J and h half the log odds of p and q.
    Where a noise is zero, its observations outweigh all others together: they are kept if
    they can be.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((2, [(0, 1)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> posterior_model(seen, 0.1, 0.5).couplings.round(6).tolist()
    [1.098612]
    """
    edge, node = log_odds(p), log_odds(q)
    if math.isinf(node):
        others = 0.0 if math.isinf(edge) else edge * np.count_nonzero(observations.edges)
        node = others + CERTAIN
    if math.isinf(edge):
        edge = node * np.count_nonzero(observations.nodes) + CERTAIN
    return observations.model(edge, node)
