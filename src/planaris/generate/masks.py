"""Masks of made shapes, and pink noise that hides their outline (SK08 figure 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.errors import ModelError, require_one_of
from planaris.models.arrays import as_rng
from planaris.typing import BoolArray, FloatArray, Rng

SHAPES = ("disc", "star", "blob", "wave", "wedge", "letter")
"""What :func:`shape_mask` draws."""

LETTERS = {
    "C": ("111", "100", "100", "100", "111"),
    "F": ("111", "100", "110", "100", "100"),
    "L": ("100", "100", "100", "100", "111"),
    "T": ("111", "010", "010", "010", "010"),
    "Z": ("111", "001", "010", "100", "111"),
}


def shape_mask(
    shape: tuple[int, int],
    rng: Rng,
    *,
    kind: str | None = None,
    split_corners: bool = False,
) -> BoolArray:
    """Return the mask of a random shape.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    rng : numpy.random.Generator, int or None
        Source of the shape.
    kind : str, optional
        One of :data:`SHAPES`; default: drawn at random.
    split_corners : bool
        Move the shape until the top left pixel lies outside and the bottom right one inside
        (where the image has at least two pixels).

    Examples
    --------
    >>> mask = shape_mask((40, 60), np.random.default_rng(0), split_corners=True)
    >>> mask.shape, bool(mask[0, 0]), bool(mask[-1, -1])
    ((40, 60), False, True)
    """
    rng = as_rng(rng)
    if min(shape) < 1:
        msg = f"`shape` must have at least one row and one column, got {shape}"
        raise ModelError(msg)
    kind = SHAPES[int(rng.integers(len(SHAPES)))] if kind is None else kind
    require_one_of("kind", kind, SHAPES, ModelError)
    draw = globals()[f"_draw_{kind}"]
    y, x = _coordinates(shape)
    if not split_corners or shape == (1, 1):
        centre = rng.uniform(-0.2, 0.2, 2)
        return np.asarray(draw(x - centre[0], y - centre[1], rng, 0.75))
    for _ in range(1000):
        # Seen through a window at the corner of a larger shape: its outline crosses the image.
        centre, size = rng.uniform(0.2, 1.2, 2), rng.uniform(1.0, 1.9)
        mask = np.asarray(draw(x - centre[0], y - centre[1], rng, size))
        if mask[-1, -1] and not mask[0, 0] and 0.2 <= mask.mean() <= 0.8:
            return mask
    return np.asarray(x + y > 0)


def pink_noise(shape: tuple[int, int], rng: Rng, *, radius: float = 1.0) -> FloatArray:
    """Return uniform noise on [-½, ½], convolved with a Gaussian of ``radius`` pixels.

    White noise has standard deviation 0.289, this about 0.081 at a radius of one pixel.

    >>> round(float(pink_noise((200, 200), np.random.default_rng(0)).std()), 2)
    0.08
    """
    rng = as_rng(rng)
    from scipy.ndimage import gaussian_filter

    white = rng.random(shape) - 0.5
    return np.asarray(gaussian_filter(white, radius, mode="wrap"), dtype=np.float64)


def noisy_mask(mask: Any, noise_to_signal: float, rng: Rng, *, radius: float = 1.0) -> FloatArray:
    """Return a mask as 0 and 1 under ``noise_to_signal`` times :func:`pink_noise`.

    A signal-to-noise ratio of 1:8 is ``noise_to_signal=8``: the range of the white noise,
    before it is convolved, is eight times the step of the mask.

    >>> image = noisy_mask(np.eye(50), 8.0, np.random.default_rng(0))
    >>> bool(0.5 < image.std() < 0.8)
    True
    """
    rng = as_rng(rng)
    signal = np.asarray(mask, dtype=np.float64)
    return signal + noise_to_signal * pink_noise(signal.shape, rng, radius=radius)


def _coordinates(shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Return rows and columns from -1 to +1 across the shorter side."""
    rows, columns = np.indices(shape).astype(np.float64)
    scale = max(min(shape) - 1, 1) / 2
    return (rows - (shape[0] - 1) / 2) / scale, (columns - (shape[1] - 1) / 2) / scale


def _draw_disc(x: FloatArray, y: FloatArray, rng: np.random.Generator, size: float) -> BoolArray:
    stretch = rng.uniform(0.7, 1.4)
    return x**2 * stretch + y**2 / stretch < size**2


def _draw_star(x: FloatArray, y: FloatArray, rng: np.random.Generator, size: float) -> BoolArray:
    angle = np.arctan2(y, x) + rng.uniform(0, 2 * np.pi)
    points = int(rng.integers(3, 8))
    radius = size * (0.8 + 0.25 * np.cos(points * angle))
    return np.asarray(np.hypot(x, y) < radius)


def _draw_blob(x: FloatArray, y: FloatArray, rng: np.random.Generator, size: float) -> BoolArray:
    angle = np.arctan2(y, x)
    waves = [
        rng.normal(0, 0.25 / k) * np.cos(k * angle + rng.uniform(0, 2 * np.pi)) for k in range(1, 7)
    ]
    return np.asarray(np.hypot(x, y) < size * (0.9 + np.sum(waves, axis=0)))


def _draw_wave(x: FloatArray, y: FloatArray, rng: np.random.Generator, size: float) -> BoolArray:
    turn = rng.uniform(0, np.pi / 2)
    along, across = x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)
    swing = rng.uniform(0.1, 0.3) * np.sin(rng.uniform(2, 5) * along + rng.uniform(0, 2 * np.pi))
    return np.asarray(np.abs(across + swing) < 0.6 * size)


def _draw_wedge(x: FloatArray, y: FloatArray, rng: np.random.Generator, size: float) -> BoolArray:
    turn = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(3) / 3
    sides = [x * np.cos(t) + y * np.sin(t) < 0.55 * size for t in turn]
    return np.asarray(np.all(sides, axis=0))


def _draw_letter(x: FloatArray, y: FloatArray, rng: np.random.Generator, size: float) -> BoolArray:
    names = sorted(LETTERS)
    bitmap = np.array([list(row) for row in LETTERS[names[int(rng.integers(len(names)))]]]) == "1"
    rows, columns = bitmap.shape
    # One square of the bitmap is 2 * size / rows wide.
    row = np.floor((y / size + 1) * rows / 2).astype(int)
    column = np.floor(x / size * rows / 2 + columns / 2).astype(int)
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    return np.asarray(inside & bitmap[row.clip(0, rows - 1), column.clip(0, columns - 1)])
