"""Cleaning a binary image along the edges of a second picture: a minimum cut, always exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.infer import ground_state
from planaris.models import IsingModel
from planaris.recover.estimators import Estimator, Recovery
from planaris.recover.images import LEAST_NOISE, ferromagnetic_coupling, image_noise
from planaris.recover.observe import Observations
from planaris.recover.weights import log_odds, noise_of

ACROSS = 0.15
"""Coupling across an edge of the guide, in units of that elsewhere: labels may change there."""


def guided_noise(observations: Observations, shape: tuple[int, int]) -> tuple[float, float]:
    """Estimate the noise of an image with a guide: p of pairs that look alike, q of pixels.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.recover import observe_image
    >>> clean, noisy = pl.generate.noisy_image((80, 80), np.random.default_rng(0), noise=0.2)
    >>> p, q = guided_noise(observe_image(noisy, guide=clean), (80, 80))
    >>> p < 0.05, abs(q - 0.2) < 0.03
    (True, True)
    """
    _, q = image_noise(observations, shape)
    edges = np.asarray(observations.graph.edges)
    u, v = edges[observations.edges > 0].T
    agree = observations.nodes[u].astype(np.float64) * observations.nodes[v]
    seen = float(agree.mean()) if len(agree) else 0.0
    # Pixel noise lowers the correlation of every pair by (1 - 2q)².
    correlation = seen / max((1.0 - 2.0 * q) ** 2, 1e-6)
    p = noise_of(ferromagnetic_coupling(min(max(correlation, 0.0), 1.0)))
    return float(np.clip(p, LEAST_NOISE, 0.5)), q


@dataclass(frozen=True)
class Guided(Estimator):
    """The most probable labels when pairs that look alike want to agree, and others hardly.

    A guide says where labels may change, not that they do. No coupling is negative, so the
    answer is a minimum cut: exact, and fast at any size.

    Parameters
    ----------
    p : float
        Noise of pairs that look alike.
    q : float
        Noise of nodes.
    time_limit : float, optional
        Seconds for the cut.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.recover import observe_image
    >>> clean, noisy = pl.generate.noisy_image((40, 40), np.random.default_rng(0), noise=0.2)
    >>> seen = observe_image(noisy, guide=clean)
    >>> found = Guided(*guided_noise(seen, (40, 40))).recover(seen)
    >>> found.exact, found.method, found.error(clean.ravel().astype(int)) < 0.02
    (True, 'graph-cut', True)
    """

    p: float
    q: float
    time_limit: float | None = None

    def _recover(self, observations: Observations, rng: np.random.Generator) -> Recovery:
        alike, node = log_odds(max(self.p, LEAST_NOISE)), log_odds(max(self.q, LEAST_NOISE))
        weights = np.where(observations.edges > 0, alike, ACROSS * alike)
        # Few bits, so that the cut is exact on these numbers.
        weights, node = np.rint(weights * 2.0**24) / 2.0**24, round(node * 2.0**24) / 2.0**24
        graph = observations.graph
        model = IsingModel(graph.edges, weights, node * observations.nodes.astype(np.float64))
        best = ground_state(model, "graph-cut", time_limit=self.time_limit)
        beliefs = (best.spins > 0).astype(np.float64)
        return Recovery(best.spins, beliefs, best.exact, best.method, p=self.p, q=self.q)
