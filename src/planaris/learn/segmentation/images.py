"""Foreground and background of an image, with the doubt about every pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.budget import ProgressOption, watch
from planaris.errors import ModelError
from planaris.generate import square_lattice
from planaris.infer import ground_state
from planaris.learn.crf import PlanarCRF
from planaris.learn.grid import GridPotentials
from planaris.learn.instances import as_image, edge_features
from planaris.learn.segmentation.boxed import SHIFTS, cut_in_box
from planaris.learn.tied import TiedGraph
from planaris.models.arrays import as_count
from planaris.notebook import Shown
from planaris.sampling.coupling_from_the_past import bound_probabilities
from planaris.typing import ArrayLike, BoolArray, FloatArray, Int8Array

SMOOTHNESS = 1.0
"""Coupling of neighbours of the same colour."""
EDGE_CONTRAST = 0.5
"""Contrast of neighbours below which they prefer different labels, when there are no scribbles."""
COLOUR_WIDTH = 0.08
"""Width of the kernel around the colour of a scribbled pixel."""
MOST_EVIDENCE = 3.0
"""A colour shifts the log odds by at most this."""
KERNELS = 300
HELD = 30.0
"""Field of a scribbled pixel: e^-60 that it is wrong."""


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation(Shown):
    """A segmentation mask and its uncertainty.

    Attributes
    ----------
    mask : numpy.ndarray
        True in the foreground: a most probable state.
    lower, upper : numpy.ndarray
        Bounds on the share of exact samples with the pixel in the foreground; equal where all
        samples are decided.
    exact : bool
        Whether the mask is proved to be a most probable state.
    method : str
        How it was found.
    num_samples : int
        The shares have a standard error of at most ``0.5 / sqrt(num_samples)``. With a box they
        come from that many cuts under shifted fields instead: sensitivity, no probability.
    asked : bool
        Whether strokes, a box or a trained CRF said what the foreground is. Without them the
        mask tells regions apart, and which of them is called foreground means nothing.
    """

    mask: BoolArray
    lower: FloatArray
    upper: FloatArray
    exact: bool
    method: str
    num_samples: int
    asked: bool = True

    @property
    def uncertainty(self) -> FloatArray:
        """From 0 (sure) to 1 (even odds); the largest that the bounds allow."""
        nearest = np.clip(0.5, self.lower, self.upper)
        return np.asarray(1.0 - np.abs(2.0 * nearest - 1.0))


def read_strokes(scribbles: ArrayLike) -> Int8Array:
    """Return +1 at foreground strokes, -1 at background strokes, 0 elsewhere.

    Black is no stroke, red is background, any other bright colour foreground.

    >>> read_strokes([[[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]]]).tolist()
    [[0, -1, 1, 1]]
    """
    given = np.asarray(scribbles)
    x = given / 255.0 if given.dtype == np.uint8 else given.astype(np.float64)
    x = np.repeat(x[:, :, None], 3, axis=2) if x.ndim == 2 else x
    if x.ndim != 3 or x.shape[2] != 3:
        msg = f"`scribbles` must have shape (H, W) or (H, W, 3), got {x.shape}"
        raise ModelError(msg)
    bright = x.max(axis=2) > 0.35
    red = x[:, :, 0] > 2.0 * np.maximum(x[:, :, 1], x[:, :, 2])
    return np.where(bright, np.where(red, -1, 1), 0).astype(np.int8)


def segment_image(
    image: ArrayLike,
    scribbles: ArrayLike | None = None,
    *,
    box: Sequence[int] | None = None,
    crf: PlanarCRF | None = None,
    num_samples: int = 16,
    seed: int = 0,
    progress: ProgressOption = None,
) -> Segmentation:
    """Split an image into foreground and background.

    Parameters
    ----------
    image : array_like, shape (H, W) or (H, W, C)
        Values from 0 to 1, or bytes from 0 to 255.
    scribbles : array_like, shape (H, W) or (H, W, 3), optional
        Strokes, see :func:`read_strokes`. Their colours become fields, so the grid is not
        planar; it is attractive: the mask is a minimum cut.
    box : (int, int, int, int), optional
        Left, top, right and bottom of a box around the foreground, in pixels, the last two
        exclusive. Colours inside and outside become two mixtures of Gaussians, refitted to the
        mask and cut again until nothing changes, as GrabCut does. Each cut is exact; the
        mixtures are a local optimum.
    crf : PlanarCRF, optional
        A trained CRF. Without this, scribbles and box neighbours want to agree where they look
        alike and to differ where the contrast is strong: regions, not a foreground.
    num_samples : int
        Exact samples for the uncertainty.
    seed : int
        Of the samples.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Examples
    --------
    >>> image = np.zeros((12, 12))
    >>> image[3:9, 3:9] = 1.0
    >>> found = segment_image(image)
    >>> found.exact, int(found.mask.sum()), bool(found.uncertainty.max() < 0.5)
    (True, 36, True)
    >>> boxed = segment_image(image, box=(1, 1, 11, 11))
    >>> boxed.exact, int(boxed.mask.sum())
    (True, 36)
    """
    x = as_image("image", image)
    if np.asarray(image).dtype == np.uint8 and crf is None:
        x = x / 255.0
    if x.size == 0:
        msg = f"`image` must have pixels, got shape {x.shape}"
        raise ModelError(msg)
    if num_samples < 1:
        msg = f"`num_samples` must be at least 1, got {num_samples}"
        raise ModelError(msg)
    seed = as_count("seed", seed)
    with watch("segmentation", progress) as callback:
        if sum(given is not None for given in (scribbles, box, crf)) > 1:
            msg = "`scribbles`, `box` and `crf` cannot be used together"
            raise ModelError(msg)
        if box is not None:
            return _with_box(x, box, seed, callback)
        if scribbles is not None:
            return _with_strokes(x, read_strokes(scribbles), num_samples, seed, callback)
        if crf is not None:
            return _with_crf(x, crf, num_samples, seed)
        return _without_strokes(x, num_samples, seed)


def _contrast(image: FloatArray) -> tuple[Any, FloatArray]:
    lattice = square_lattice(*image.shape[:2])
    return lattice, edge_features(image, lattice.edges, ("contrast",))[:, 0]


def _without_strokes(image: FloatArray, num_samples: int, seed: int) -> Segmentation:
    lattice, contrast = _contrast(image)
    couplings = 2.0 * SMOOTHNESS * (contrast - EDGE_CONTRAST)
    graph = TiedGraph(lattice.num_vertices, lattice.edges, positions=lattice.positions)
    state = graph.ground_state(couplings)
    samples = graph.sample(couplings, num_samples, np.random.default_rng(seed))
    # A sample and its flip are one segmentation: count it as the one closer to the mask.
    closer = np.where((samples * state.astype(np.int64)).sum(axis=1) < 0, -1, 1)
    share = (samples * closer[:, None] > 0).mean(axis=0).reshape(image.shape[:2])
    mask = (state > 0).reshape(image.shape[:2])
    if _is_border_foreground(mask):
        mask, share = ~mask, 1.0 - share
    return Segmentation(mask, share, share, True, "planar", num_samples, asked=False)


def _with_box(image: FloatArray, box: Sequence[int], seed: int, progress: Any) -> Segmentation:
    _check_range(image)
    found = cut_in_box(image, box, seed=seed, progress=progress)
    mask = (found.state.spins > 0).reshape(image.shape[:2])
    share = found.steadiness()
    return Segmentation(mask, share, share, found.state.exact, found.state.method, len(SHIFTS))


def _check_range(image: FloatArray) -> None:
    if image.min() < 0 or image.max() > 1:
        found = f"{float(image.min()):g} to {float(image.max()):g}"
        msg = f"`image` must have values from 0 to 1 or be of bytes, got {found}"
        raise ModelError(msg)


def _with_crf(image: FloatArray, crf: PlanarCRF, num_samples: int, seed: int) -> Segmentation:
    told = PlanarCRF(**crf.get_params()).set_params(num_samples=num_samples, random_state=seed)
    told.coef_, told.classes_ = crf.coef_, crf.classes_
    mask = told.predict([image])[0] == told.classes_[1]
    share = told.predict_proba([image])[0]
    if told.fields is None and _is_border_foreground(mask):
        mask, share = ~mask, 1.0 - share
    return Segmentation(mask, share, share, told.decision == "map", "planar CRF", num_samples)


def _is_border_foreground(mask: BoolArray) -> bool:
    """Without fields the sign is free: what covers the border is called background."""
    border = np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]])
    return bool(border.mean() > 0.5)


def _with_strokes(
    image: FloatArray, strokes: Int8Array, num_samples: int, seed: int, progress: Any
) -> Segmentation:
    if strokes.shape != image.shape[:2]:
        msg = f"`scribbles` must have the size {image.shape[:2]} of the image, got {strokes.shape}"
        raise ModelError(msg)
    _check_range(image)
    if not (np.any(strokes > 0) and np.any(strokes < 0)):
        msg = (
            "`scribbles` must have strokes of both kinds: red for the background, another bright "
            "colour for the foreground"
        )
        raise ModelError(msg)
    rows, columns = image.shape[:2]
    _, contrast = _contrast(image)
    across = rows * (columns - 1)
    potentials = GridPotentials(
        _rounded(np.where(strokes != 0, HELD * strokes, _colour_fields(image, strokes))),
        _rounded(SMOOTHNESS * contrast[:across].reshape(rows, columns - 1)),
        _rounded(SMOOTHNESS * contrast[across:].reshape(rows - 1, columns)),
    )
    state = ground_state(potentials.model, "graph-cut")
    low, high = bound_probabilities(
        potentials.model, num_samples=num_samples, seed=seed, progress=progress
    )
    low, high = low.reshape(rows, columns), high.reshape(rows, columns)
    mask = (state.spins > 0).reshape(rows, columns)
    return Segmentation(mask, low, high, state.exact, state.method, num_samples)


def _rounded(weights: FloatArray) -> FloatArray:
    """Round to 24 bits after the point: a minimum cut is exact on weights of few bits."""
    return np.rint(weights * 2.0**24) / 2.0**24


def _colour_fields(image: FloatArray, strokes: Int8Array) -> FloatArray:
    """Return half the log odds of the colours under the strokes, by kernel densities."""
    flat = image.reshape(strokes.size, -1)
    log_density = []
    for sign in (1, -1):
        seen = flat[strokes.ravel() == sign]
        seen = seen[np.linspace(0, len(seen) - 1, min(len(seen), KERNELS)).astype(int)]
        total = np.zeros(len(flat))
        for colour in seen:
            squared = ((flat - colour) ** 2).sum(axis=1)
            total += np.exp(-squared / (2 * COLOUR_WIDTH**2))
        log_density.append(np.log(total / len(seen) + 1e-3))
    odds = np.clip(log_density[0] - log_density[1], -MOST_EVIDENCE, MOST_EVIDENCE)
    return np.asarray(odds / 2).reshape(strokes.shape)
