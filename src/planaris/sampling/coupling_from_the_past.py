"""Exact samples of attractive grids in any field, by coupling from the past.

Couplings that are not negative make heat-bath updates monotone: chains started with all spins up
and all spins down, fed with the same random numbers, enclose every other chain. Where the two have
met, the state is an exact sample (Propp and Wilson 1996); where they have not yet, they bound it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.progress import ProgressCallback
from planaris.typing import Array, FloatArray


def bound_probabilities(
    fields: FloatArray,
    right: FloatArray,
    down: FloatArray,
    *,
    num_samples: int = 16,
    max_sweeps: int = 128,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the share of exact samples in which each pixel is +1.

    Parameters
    ----------
    fields : numpy.ndarray, shape (H, W)
        Field of every pixel.
    right, down : numpy.ndarray, shapes (H, W - 1) and (H - 1, W)
        Couplings, not negative.
    num_samples : int
        Independent samples; the share has a standard error of at most ``0.5 / sqrt`` of it.
    max_sweeps : int
        How far into the past to start at most.
    seed : int
        The result is a function of it.
    progress : callable, optional
        Told the fraction done.

    Returns
    -------
    lower, upper : numpy.ndarray
        Equal where all samples are decided.

    Examples
    --------
    >>> low, high = bound_probabilities(np.array([[9.0, 0.0]]), np.array([[9.0]]),
    ...                                 np.zeros((0, 2)))
    >>> low.tolist(), high.tolist()
    ([[1.0, 1.0]], [[1.0, 1.0]])
    """
    if np.any(right < 0) or np.any(down < 0):
        msg = "`right` and `down` must not be negative: updates would not be monotone"
        raise ModelError(msg)
    shape = fields.shape
    row, column = np.indices(shape)
    colours = [(row + column) % 2 == parity for parity in (0, 1)]
    open_samples = np.arange(num_samples)
    low = np.zeros((num_samples, *shape), dtype=np.int8)
    high = np.zeros_like(low)
    sweeps = 4
    while True:
        chains = [np.full((len(open_samples), *shape), s, dtype=np.int8) for s in (-1, 1)]
        for step in range(-sweeps, 0):
            random = np.random.default_rng([seed, -step]).random((2, num_samples, *shape))
            for half, colour in enumerate(colours):
                u = random[half][open_samples]
                chains = [_update(c, colour, u, fields, right, down) for c in chains]
            if progress is not None:
                progress(min((2 * sweeps - 4 + step) / (2 * max_sweeps), 1.0))  # of all rounds
        low[open_samples], high[open_samples] = chains
        met = (chains[0] == chains[1]).all(axis=(1, 2))
        open_samples = open_samples[~met]
        if len(open_samples) == 0 or sweeps >= max_sweeps:
            break
        sweeps *= 2
    return (low > 0).mean(axis=0), (high > 0).mean(axis=0)


def _update(
    spins: Any,
    colour: Array,
    u: FloatArray,
    fields: FloatArray,
    right: FloatArray,
    down: FloatArray,
) -> Any:
    """Draw the pixels of one colour given their neighbours: +1 where u < σ(2 · field)."""
    total = np.broadcast_to(fields, spins.shape).copy()
    total[:, :, :-1] += right * spins[:, :, 1:]
    total[:, :, 1:] += right * spins[:, :, :-1]
    total[:, :-1] += down * spins[:, 1:]
    total[:, 1:] += down * spins[:, :-1]
    with np.errstate(over="ignore"):
        up = u * (1.0 + np.exp(-2.0 * total)) < 1.0
    return np.where(colour, np.where(up, 1, -1), spins).astype(np.int8)
