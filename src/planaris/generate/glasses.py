"""Spin glasses and images on plane lattices."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.generate.lattices import Lattice, square_lattice
from planaris.models import IsingModel
from planaris.models.arrays import as_number, as_rng
from planaris.typing import ArrayLike, FloatArray, Rng


def spin_glass(
    lattice: Lattice | int | tuple[int, int] | Any,
    rng: Rng = None,
    *,
    disorder: str = "gaussian",
    negative: float = 0.5,
    beta: float = 1.0,
) -> IsingModel:
    """Return a zero-field spin glass with independent couplings.

    Parameters
    ----------
    lattice : Lattice, Embedding, int or (int, int)
        A drawing (:func:`cylinder`, :func:`torus`, …), a graph on a surface
        (:func:`planaris.embed.torus_lattice`), L for the open L×L square lattice, or its rows
        and columns.
    rng : numpy.random.Generator, int or None
        Source of the couplings.
    disorder : {"gaussian", "bimodal"}
        Standard normal couplings, or ±1 (the ±J glass).
    negative : float
        Probability of -1 in the ±J glass, from 0 to 1.
    beta : float
        Inverse temperature; multiplies the couplings.

    Examples
    --------
    >>> spin_glass(10, np.random.default_rng(0), disorder="bimodal")
    IsingModel(100 spins, 180 edges, no fields)
    >>> spin_glass((20, 30), 1)
    IsingModel(600 spins, 1150 edges, no fields)
    """
    rng = as_rng(rng)
    drawing: Any = _drawing(lattice)
    if not (hasattr(drawing, "edges") and hasattr(drawing, "num_vertices")):
        msg = (
            "`lattice` must be a size, a pair of sizes, a Lattice or an Embedding, got "
            f"{type(lattice).__name__}; square_lattice(rows, columns) makes a Lattice"
        )
        raise ModelError(msg)
    count = len(drawing.edges)
    if disorder == "gaussian" and negative != 0.5:
        msg = f"`negative` = {negative} is for `disorder='bimodal'`, the ±J glass"
        raise ModelError(msg)
    if not 0 <= as_number("negative", negative) <= 1:
        msg = f"`negative` must be a probability, from 0 to 1, got {negative}"
        raise ModelError(msg)
    if disorder == "gaussian":
        couplings = rng.standard_normal(count)
    elif disorder == "bimodal":
        couplings = np.where(rng.random(count) < negative, -1.0, 1.0)
    else:
        msg = f"`disorder` must be 'gaussian' or 'bimodal', got {disorder!r}"
        raise ModelError(msg)
    positions = getattr(drawing, "positions", None)
    return IsingModel(
        drawing.edges, beta * couplings, num_spins=drawing.num_vertices, positions=positions
    )


def _drawing(lattice: Any) -> Any:
    if isinstance(lattice, Integral):
        return square_lattice(int(lattice))
    plain = isinstance(lattice, tuple | list) and not hasattr(lattice, "edges")
    if plain and len(lattice) == 2 and all(isinstance(side, Integral) for side in lattice):
        return square_lattice(int(lattice[0]), int(lattice[1]))
    return lattice


def noisy_image(
    shape: tuple[int, int], rng: Rng, *, noise: float = 0.2
) -> tuple[FloatArray, FloatArray]:
    """Return a picture of smooth blobs in -1 and +1, and a copy with pixels flipped.

    >>> clean, noisy = noisy_image((32, 48), np.random.default_rng(0))
    >>> clean.shape, bool(0.1 < (clean != noisy).mean() < 0.3)
    ((32, 48), True)
    """
    rng = as_rng(rng)
    from scipy.ndimage import gaussian_filter

    field = gaussian_filter(
        rng.standard_normal(shape), sigma=max(min(shape) / 10, 1.0), mode="wrap"
    )
    clean = np.where(field > np.median(field), 1.0, -1.0)
    return clean, np.where(rng.random(shape) < noise, -clean, clean)


def image_grid(
    image: ArrayLike, *, smoothness: float = 1.0, data: float = 0.0, contrast: float = 0.0
) -> IsingModel:
    """Return the grid model of a grey image.

    Neighbours are coupled by ``smoothness * exp(-contrast * |difference|)``, pixels are drawn
    to their grey value by the field ``data * value``.

    >>> image_grid([[0.0, 1.0], [1.0, -1.0]], data=0.5).fields.tolist()
    [0.0, 0.5, 0.5, -0.5]
    """
    x = np.asarray(image, dtype=np.float64)
    right = smoothness * np.exp(-contrast * np.abs(np.diff(x, axis=1)))
    down = smoothness * np.exp(-contrast * np.abs(np.diff(x, axis=0)))
    return IsingModel.from_image(data * x, right, down)
