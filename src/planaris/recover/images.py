"""Binary images as observations: pixels are nodes, neighbours are edges."""

from __future__ import annotations

import numpy as np

from planaris.errors import ModelError
from planaris.generate import square_lattice
from planaris.models.arrays import as_real
from planaris.recover.observe import Observations, as_graph
from planaris.recover.weights import noise_of
from planaris.typing import ArrayLike, FloatArray

LEAST_NOISE = 1e-3
"""Estimates are kept away from zero: no pixel and no edge is ever certain."""


LARGEST_COUPLING = 2.0
"""Stronger ones mean fewer boundaries than images have: one in six thousand edges."""

MEDIAN_DEVIATION = 0.6745
"""Median of the size of a standard normal number."""


def observe_image(
    image: ArrayLike, *, guide: ArrayLike | None = None, threshold: float | None = None
) -> Observations:
    """Read a noisy binary image as observations of its pixels and of neighbouring pairs.

    Parameters
    ----------
    image : array_like, shape (rows, columns)
        Grey values; those above ``threshold`` are +1.
    guide : array_like, shape (rows, columns) or (rows, columns, channels), optional
        A picture of the same scene (a photograph, a depth map): a pair looks different where
        its contrast lies above three standard deviations of the picture's noise and above the
        level that best splits all contrasts. Without a guide
        all neighbours look alike, which is the usual smoothness.
    threshold : float, optional
        Default: the value that best splits the grey values.

    Examples
    --------
    >>> seen = observe_image([[0, 1, 9], [1, 0, 8]], guide=[[0, 0, 5], [0, 0, 5]])
    >>> seen.nodes.tolist(), seen.edges.tolist()
    ([-1, -1, 1, -1, -1, 1], [1, -1, 1, -1, 1, 1, 1])
    """
    grey = as_real("image", image)
    if grey.ndim != 2 or not np.isfinite(grey).all():
        msg = f"`image` must be a finite grey image (rows, columns), got shape {grey.shape}"
        raise ModelError(msg)
    lattice = square_lattice(*grey.shape)
    level = split_level(grey.ravel()) if threshold is None else threshold
    nodes = np.where(grey.ravel() > level, 1, -1)
    edges = np.ones(len(lattice.edges), dtype=np.int8)
    if guide is not None:
        picture = as_real("guide", guide)
        if picture.shape[:2] != grey.shape:
            msg = (
                f"`guide` must show the same pixels as `image` {grey.shape}, "
                f"got shape {picture.shape}"
            )
            raise ModelError(msg)
        values = picture.reshape(grey.size, -1)
        u, v = lattice.edges.T
        contrast = np.abs(values[u] - values[v]).max(axis=1)
        # Boundaries are few, so a split of all contrasts alone would cut into the noise.
        noise = float(np.median(contrast)) / MEDIAN_DEVIATION
        edges[contrast > max(split_level(contrast), 3.0 * noise)] = -1
    return Observations(as_graph(lattice), edges, nodes.astype(np.int8))


def image_noise(observations: Observations, shape: tuple[int, int]) -> tuple[float, float]:
    """Estimate the noise of an image without guide: p of "neighbours are alike", q of pixels.

    Neighbours alone cannot tell the two apart, pairs at distances one and two can: pixel noise
    lowers both correlations alike, boundaries lower the second twice as much.

    Returns
    -------
    p : float
        The noise whose weight makes a grid where all neighbours look alike have as many
        boundaries as the image (Onsager's ferromagnet). It is larger than the share of
        boundaries: edges around a face agree with each other and are no independent evidence.
    q : float
        Share of flipped pixels.

    Examples
    --------
    >>> import planaris as pl
    >>> rng = np.random.default_rng(0)
    >>> clean, noisy = pl.generate.noisy_image((100, 100), rng, noise=0.2)
    >>> p, q = image_noise(observe_image(noisy), (100, 100))
    >>> 0.2 < p < 0.3, abs(q - 0.2) < 0.02
    (True, True)
    """
    x = observations.nodes.reshape(shape).astype(np.float64)
    one, two = (_correlation(x, distance) for distance in (1, 2))
    pixels = min(max(2 * one - two, 1e-6), 1.0)  # (1 - 2q)², extrapolated to distance zero
    q = (1 - pixels**0.5) / 2
    p = noise_of(ferromagnetic_coupling(min(max(one / pixels, 0.0), 1.0)))
    return float(np.clip(p, LEAST_NOISE, 0.5)), float(np.clip(q, LEAST_NOISE, 0.5))


def ferromagnetic_coupling(correlation: float) -> float:
    """Return the coupling at which neighbours on the square lattice correlate this much.

    The inverse of Onsager's energy; 1/√2 is that of the critical point.

    >>> round(ferromagnetic_coupling(0.5**0.5), 6)
    0.440687
    """
    from scipy.optimize import brentq

    if correlation <= 0:
        return 0.0
    if correlation >= _onsager(LARGEST_COUPLING):
        return LARGEST_COUPLING
    return float(brentq(lambda j: _onsager(j) - correlation, 1e-6, LARGEST_COUPLING))


def _onsager(coupling: float) -> float:
    """Return ⟨s s'⟩ of neighbours on the infinite square lattice (Onsager 1944)."""
    from scipy.special import ellipkm1

    double = 2 * coupling
    tilt = 2 * np.tanh(double) ** 2 - 1
    # 1 - k² = tilt² for k = 2 sinh / cosh²; times zero where K is infinite.
    bend = 0.0 if tilt == 0 else tilt * float(ellipkm1(tilt**2))
    return float((1 + 2 / np.pi * bend) / (2 * np.tanh(double)))


def split_level(values: FloatArray) -> float:
    """Return the level that splits values in two with the least variance inside (Otsu).

    >>> split_level(np.array([0.0, 1.0, 9.0, 10.0]))
    5.0
    """
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) < 2:
        return float(levels[0]) if len(levels) else 0.0
    below = np.cumsum(counts)[:-1].astype(np.float64)
    above = counts.sum() - below
    sums = np.cumsum(counts * levels)
    means = sums[:-1] / below, (sums[-1] - sums[:-1]) / above
    at = int(np.argmax(below * above * (means[0] - means[1]) ** 2))
    return float((levels[at] + levels[at + 1]) / 2)


def _correlation(x: FloatArray, distance: int) -> float:
    right = x[:, distance:] * x[:, :-distance]
    down = x[distance:] * x[:-distance]
    total = right.size + down.size
    return float((right.sum() + down.sum()) / total) if total else 0.0
