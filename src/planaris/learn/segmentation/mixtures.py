"""Mixtures of Gaussians over colours, fitted by expectation and maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.typing import FloatArray, LongArray

LEAST_SPREAD = 0.01
"""Smallest standard deviation of a component along any axis; colours run from 0 to 1."""

MOST_COLOURS = 5_000
"""Colours that a fit looks at; more are thinned out evenly."""


@dataclass(frozen=True, eq=False)
class ColourMixture:
    """A density of colours: a weighted sum of Gaussians.

    Attributes
    ----------
    weights : numpy.ndarray
        Shape (k,), adding up to one.
    means : numpy.ndarray
        Shape (k, channels).
    covariances : numpy.ndarray
        Shape (k, channels, channels).

    Examples
    --------
    >>> dark_and_light = np.repeat([[0.1], [0.9]], 50, axis=0)
    >>> mixture = fit_mixture(dark_and_light, 2, np.random.default_rng(0))
    >>> mixture.means[:, 0].round(2).tolist()
    [0.1, 0.9]
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    def log_density(self, colours: FloatArray) -> FloatArray:
        """Return the logarithm of the density at every row."""
        parts = self._log_parts(colours)
        most = parts.max(axis=1)
        return np.asarray(most + np.log(np.exp(parts - most[:, None]).sum(axis=1)))

    def _log_parts(self, colours: FloatArray) -> FloatArray:
        found = np.empty((len(colours), len(self.weights)))
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            root = np.linalg.cholesky(covariance)
            away = np.linalg.solve(root, (colours - mean).T)
            scale = np.log(np.diag(root)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
            found[:, k] = np.log(self.weights[k]) - scale - 0.5 * (away**2).sum(axis=0)
        return found


def fit_mixture(
    colours: FloatArray, components: int, rng: np.random.Generator, *, rounds: int = 6
) -> ColourMixture:
    """Fit a mixture to colours, shape (n, channels), n at least one.

    Components begin at cells of the colours split along their widest directions, as often done
    for GrabCut; those that lose all colours are dropped.
    """
    if len(colours) > MOST_COLOURS:
        colours = colours[rng.choice(len(colours), MOST_COLOURS, replace=False)]
    member = _split_cells(colours, components)
    share = (member[:, None] == np.arange(member.max() + 1)).astype(np.float64)
    mixture = _maximise(colours, share)
    for _ in range(rounds):
        parts = mixture._log_parts(colours)
        parts -= parts.max(axis=1, keepdims=True)
        share = np.exp(parts)
        share /= share.sum(axis=1, keepdims=True)
        mixture = _maximise(colours, share)
    return mixture


def _maximise(colours: FloatArray, share: FloatArray) -> ColourMixture:
    total = share.sum(axis=0)
    share, total = share[:, total > 1e-6], total[total > 1e-6]
    means = (share.T @ colours) / total[:, None]
    covariances = []
    for k, mean in enumerate(means):
        away = colours - mean
        spread = (share[:, k, None] * away).T @ away / total[k]
        covariances.append(spread + LEAST_SPREAD**2 * np.eye(len(mean)))
    return ColourMixture(total / total.sum(), means, np.array(covariances))


def _split_cells(colours: FloatArray, components: int) -> LongArray:
    """Return the cell of each colour; the cell of largest spread is halved, again and again."""
    member = np.zeros(len(colours), dtype=np.int64)
    for new in range(1, components):
        found = [_widest(colours[member == cell]) for cell in range(new)]
        cell = int(np.argmax([spread for spread, _ in found]))
        spread, axis = found[cell]
        if spread <= 1e-12:
            break
        inside = np.flatnonzero(member == cell)
        along = colours[inside] @ axis
        member[inside[along > along.mean()]] = new
    return member


def _widest(colours: FloatArray) -> tuple[float, FloatArray]:
    """Return the total spread of colours along their widest direction, and that direction."""
    away = colours - colours.mean(axis=0)
    values, axes = np.linalg.eigh(away.T @ away)
    return float(values[-1]), axes[:, -1]
