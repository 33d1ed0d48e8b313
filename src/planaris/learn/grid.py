"""Grid CRFs with a field at every pixel: piecewise and pseudo-likelihood training.

A grid with fields everywhere is not planar, so its likelihood has no exact gradient at size. Two
estimates that need none: *piecewise* (every pixel and every edge is a model of its own; a sum of
upper bounds on log Z) and *pseudo-likelihood* (every pixel given its neighbours). Both are
logistic regressions. See docs/theory/learning.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planaris.errors import ModelError
from planaris.learn.logistic import fit_logistic
from planaris.models import IsingModel
from planaris.models.arrays import as_real
from planaris.typing import ArrayLike, FloatArray, Int8Array

ImageFeatures = Callable[[FloatArray], FloatArray]
"""Takes an image (H, W) or (H, W, C), returns one row of features per pixel: (H, W, k)."""


@dataclass(frozen=True, eq=False)
class GridPotentials:
    """Weights of a grid model: P(s) ∝ exp(Σ β_uv s_u s_v + Σ β_u s_u).

    Attributes
    ----------
    nodes : numpy.ndarray
        ``β_u``, shape (H, W).
    right, down : numpy.ndarray
        ``β_uv`` to the right neighbour (H, W - 1) and to the one below (H - 1, W).
    """

    nodes: FloatArray
    right: FloatArray
    down: FloatArray

    @property
    def edges(self) -> FloatArray:
        """All ``β_uv`` in the order of :func:`planaris.generate.square_lattice`."""
        return np.concatenate([self.right.ravel(), self.down.ravel()])

    @property
    def model(self) -> IsingModel:
        """The Ising model; spin +1 is the foreground."""
        return IsingModel.from_image(self.nodes, self.right, self.down)


@dataclass(frozen=True, eq=False)
class GridCRF:
    """A trained grid CRF.

    Attributes
    ----------
    node_weights, edge_weights : numpy.ndarray
        ``β_u = ⟨node features, node_weights⟩``, ``β_uv = ⟨edge features, edge_weights⟩``.
    node_features, edge_features : callable
        What :func:`fit_grid_crf` was given.
    method : str
        How the weights were learned.

    Examples
    --------
    >>> import planaris as pl
    >>> masks = [np.arange(12)[:, None] + np.arange(9) > t for t in (6, 10, 14)]
    >>> images = [mask + 0.1 * np.sin(np.arange(9)) for mask in masks]
    >>> crf = fit_grid_crf(images, masks)
    >>> found = pl.ground_state(crf.model(images[1]))
    >>> found.exact, bool(((found.spins > 0).reshape(12, 9) == masks[1]).mean() > 0.95)
    (True, True)
    """

    node_weights: FloatArray
    edge_weights: FloatArray
    node_features: ImageFeatures
    edge_features: ImageFeatures
    method: str

    def potentials(self, image: ArrayLike) -> GridPotentials:
        """Return ``β_u`` and ``β_uv`` of an image."""
        x = as_image("image", image)
        right, down = _edge_rows(self.edge_features(x))
        return GridPotentials(
            self.node_features(x) @ self.node_weights,
            right @ self.edge_weights,
            down @ self.edge_weights,
        )

    def model(self, image: ArrayLike) -> IsingModel:
        """Return the Ising model of an image; spin +1 is the foreground."""
        return self.potentials(image).model


def pixel_features(image: FloatArray) -> FloatArray:
    """Return what a pixel tells about itself: grey levels, texture and place.

    A constant; grey level and local mean, each with its square; local contrast at two scales;
    place and its squares and product; and the products of grey level and place.

    >>> pixel_features(np.zeros((4, 5))).shape
    (4, 5, 15)
    """
    from scipy.ndimage import gaussian_filter

    grey = image if image.ndim == 2 else image.mean(axis=2)
    grey = (grey - grey.mean()) / (grey.std() or 1.0)
    columns = [np.ones_like(grey)]
    side = max(min(grey.shape), 1)
    for radius in (0.0, side / 60, side / 15):
        smooth = gaussian_filter(grey, radius) if radius else grey
        columns += [smooth, smooth**2]
    for radius in (side / 60, side / 15):
        mean = gaussian_filter(grey, radius)
        spread = gaussian_filter(grey**2, radius) - mean**2
        columns.append(np.sqrt(np.maximum(spread, 0.0)))
    y, x = (
        (axis - (length - 1) / 2) / (max(length - 1, 1) / 2)
        for axis, length in zip(np.indices(grey.shape), grey.shape, strict=True)
    )
    columns += [x, y, x * x, y * y, x * x * y * y, grey * (x * x + y * y)]
    return np.stack(columns, axis=-1)


def pair_features(image: FloatArray) -> FloatArray:
    """Return what is compared across an edge: the image at three scales.

    >>> pair_features(np.zeros((4, 5))).shape
    (4, 5, 3)
    """
    from scipy.ndimage import gaussian_filter

    grey = image if image.ndim == 2 else image.mean(axis=2)
    grey = (grey - grey.mean()) / (grey.std() or 1.0)
    return np.stack([grey, gaussian_filter(grey, 1.0), gaussian_filter(grey, 2.0)], axis=-1)


def fit_grid_crf(
    images: Sequence[ArrayLike],
    masks: Sequence[ArrayLike],
    *,
    method: str = "piecewise",
    regularization: float = 1.0,
    node_features: ImageFeatures = pixel_features,
    edge_features: ImageFeatures = pair_features,
) -> GridCRF:
    """Learn a grid CRF with a field at every pixel and a coupling at every edge.

    Parameters
    ----------
    images : sequence of array_like, shape (H, W) or (H, W, C)
        Of any sizes.
    masks : sequence of array_like of bool, shape (H, W)
        True is the foreground, spin +1.
    method : {"piecewise", "pseudo-likelihood"}
        Fields and couplings each fitted for themselves; or every pixel given its neighbours,
        which makes couplings strong and fields weak.
    regularization : float
        ``½ regularization ‖weights‖²`` is added to the negative log likelihood.
    node_features : callable
        Image to rows of features per pixel (H, W, k); should hold a constant.
    edge_features : callable
        Image to channels (H, W, c). An edge has the features 1, |Δ| and √|Δ| of each channel.

    Examples
    --------
    >>> masks = [np.arange(12)[:, None] + np.arange(9) > t for t in (6, 10, 14)]
    >>> images = [mask + 0.1 * np.sin(np.arange(9)) for mask in masks]
    >>> crf = fit_grid_crf(images, masks)
    >>> beta = crf.potentials(images[0])
    >>> beta.right.shape, bool(np.mean((beta.nodes > 0) == masks[0]) > 0.9)
    ((12, 8), True)
    """
    if method not in ("piecewise", "pseudo-likelihood"):
        msg = f"`method` must be 'piecewise' or 'pseudo-likelihood', got {method!r}"
        raise ModelError(msg)
    if not regularization > 0:
        msg = f"`regularization` must be above zero, got {regularization}"
        raise ModelError(msg)
    if len(images) != len(masks) or len(images) == 0:
        msg = f"`images` and `masks` must be as many, at least one; got {len(images)}, {len(masks)}"
        raise ModelError(msg)
    pixels, pairs, given = [], [], []
    for k, (image, mask) in enumerate(zip(images, masks, strict=True)):
        x = as_image(f"images[{k}]", image)
        s = _as_spins(f"masks[{k}]", mask, (x.shape[0], x.shape[1]))
        nodes = node_features(x)
        right, down = _edge_rows(edge_features(x))
        agree = (s[:, :-1] * s[:, 1:], s[:-1] * s[1:])
        pixels.append((nodes.reshape(-1, nodes.shape[-1]), s.ravel()))
        for rows, same in zip((right, down), agree, strict=True):
            pairs.append((rows.reshape(-1, rows.shape[-1]), same.ravel()))
        if method == "pseudo-likelihood":
            around = _around(right, down, s)
            together = np.concatenate([nodes, around], axis=-1)
            given.append((together.reshape(-1, together.shape[-1]), s.ravel()))
    count = pixels[0][0].shape[1]
    if method == "piecewise":
        node_weights = fit_logistic(pixels, regularization=regularization)
        edge_weights = fit_logistic(pairs, regularization=regularization)
    else:
        both = fit_logistic(given, regularization=regularization)
        node_weights, edge_weights = both[:count], both[count:]
    return GridCRF(node_weights, edge_weights, node_features, edge_features, method)


def as_image(name: str, image: ArrayLike) -> FloatArray:
    """Return an image (H, W) or (H, W, C) of finite numbers."""
    x = as_real(name, image)
    if x.ndim not in (2, 3):
        msg = f"`{name}` must have shape (H, W) or (H, W, C), got {x.shape}"
        if x.ndim == 1 and name == "X[0]":
            msg += "; `X` is a list of images: pass [image] for one"
        raise ModelError(msg)
    if not np.isfinite(x).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        msg = f"`{name}` must be finite, got {x[at]} at {at}"
        raise ModelError(msg)
    return x


def _as_spins(name: str, mask: ArrayLike, shape: tuple[int, int]) -> Int8Array:
    y = np.asarray(mask)
    if y.shape != shape:
        msg = f"`{name}` must have the shape {shape} of its image, got {y.shape}"
        raise ModelError(msg)
    if y.dtype != bool and not np.isin(y, (0, 1)).all() and not np.isin(y, (-1, 1)).all():
        msg = f"`{name}` must hold False and True, 0 and 1, or -1 and 1"
        raise ModelError(msg)
    return np.where(y > 0, 1, -1).astype(np.int8)


def _edge_rows(channels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the features of edges to the right and down: 1, |Δ|, √|Δ|."""
    found = []
    for axis in (1, 0):
        change = np.abs(np.diff(channels, axis=axis))
        one = np.ones((*change.shape[:2], 1))
        found.append(np.concatenate([one, change, np.sqrt(change)], axis=-1))
    return found[0], found[1]


def _around(right: FloatArray, down: FloatArray, spins: Int8Array) -> FloatArray:
    """Return Σ_u s_u · features_uv over the neighbours u of every pixel v."""
    total = np.zeros((*spins.shape, right.shape[-1]))
    s = spins[:, :, None]
    total[:, :-1] += right * s[:, 1:]
    total[:, 1:] += right * s[:, :-1]
    total[:-1] += down * s[1:]
    total[1:] += down * s[:-1]
    return total
