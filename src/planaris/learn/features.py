"""Features of the edges of an image: what tells a boundary from noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from planaris.errors import ModelError
from planaris.typing import ArrayLike, FloatArray, IntArray

EdgeFeature = Callable[[FloatArray, IntArray], FloatArray]
"""Takes an image (H, W, C) and edges (m, 2) between pixels, returns columns (m, k)."""


def _bias(image: FloatArray, edges: IntArray) -> FloatArray:
    return np.ones((len(edges), 1))


def _difference(image: FloatArray, edges: IntArray) -> FloatArray:
    flat = image.reshape(-1, image.shape[2])
    return np.asarray(np.abs(flat[edges[:, 0]] - flat[edges[:, 1]]))


def _distance(image: FloatArray, edges: IntArray) -> FloatArray:
    return np.asarray(np.linalg.norm(_difference(image, edges), axis=1, keepdims=True))


def _smooth(image: FloatArray, edges: IntArray) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    return _difference(gaussian_filter(image, (1.0, 1.0, 0.0)), edges)


def _gradient(image: FloatArray, edges: IntArray) -> FloatArray:
    """Sobel gradient across the edge, over six pixels: less noise than one difference."""
    from scipy.ndimage import sobel

    along = np.stack([sobel(image, axis=k, mode="nearest") / 8 for k in (0, 1)])
    flat = along.reshape(2, -1, image.shape[2])
    vertical = (np.abs(np.diff(edges, axis=1)[:, 0]) != 1) | (image.shape[1] == 1)
    axis = np.where(vertical, 0, 1)
    mean = (flat[axis, edges[:, 0]] + flat[axis, edges[:, 1]]) / 2
    return np.abs(mean)


def _contrast(image: FloatArray, edges: IntArray) -> FloatArray:
    """exp(-d² / 2⟨d²⟩): one where the colours agree, near zero at strong edges."""
    squared = _distance(image, edges) ** 2
    scale = 2.0 * float(squared.mean()) if len(squared) else 1.0
    return np.exp(-squared / scale) if scale > 0 else np.ones_like(squared)


FEATURES: dict[str, EdgeFeature] = {
    "bias": _bias,
    "difference": _difference,
    "distance": _distance,
    "smooth": _smooth,
    "gradient": _gradient,
    "contrast": _contrast,
}
"""By name: a constant; |Δ| of every channel; the length of Δ; |Δ| of the image under a Gaussian
of one pixel; the Sobel gradient across the edge; exp(-d² / 2⟨d²⟩)."""


def edge_features(
    image: ArrayLike,
    edges: IntArray,
    features: Sequence[str | EdgeFeature] = ("bias", "difference"),
) -> FloatArray:
    """Return the features of every edge, one row per edge.

    Parameters
    ----------
    image : array_like, shape (H, W) or (H, W, C)
        Pixels are numbered row by row.
    edges : array of int, shape (m, 2)
        Pairs of pixels.
    features : sequence of str or callable
        Names of :data:`FEATURES`, or functions of image (H, W, C) and edges.

    Examples
    --------
    >>> edge_features([[0.0, 3.0, 1.0]], np.array([[0, 1], [1, 2]])).tolist()
    [[1.0, 3.0], [1.0, 2.0]]
    """
    x = np.asarray(image, dtype=np.float64)
    x = x[:, :, None] if x.ndim == 2 else x
    columns = []
    for feature in features:
        if isinstance(feature, str) and feature not in FEATURES:
            msg = (
                f"`features` must be functions or names out of {', '.join(FEATURES)}; "
                f"got {feature!r}"
            )
            raise ModelError(msg)
        make = FEATURES[feature] if isinstance(feature, str) else feature
        found = np.asarray(make(x, edges), dtype=np.float64)
        columns.append(found[:, None] if found.ndim == 1 else found)
    if not columns:
        msg = "`features` must name at least one feature"
        raise ModelError(msg)
    return np.concatenate(columns, axis=1)


def group_features(features: ArrayLike, groups: ArrayLike, num_groups: int) -> FloatArray:
    """Give every group of edges its own parameters: features (m, k) become (m, k · groups).

    >>> group_features([[1.0, 5.0], [1.0, 7.0]], [0, 1], 2).tolist()
    [[1.0, 5.0, 0.0, 0.0], [0.0, 0.0, 1.0, 7.0]]
    """
    x = np.asarray(features, dtype=np.float64)
    group = np.asarray(groups, dtype=np.int64)
    if group.shape != (len(x),) or (
        group.size and not 0 <= group.min() <= group.max() < num_groups
    ):
        msg = f"`groups` must hold {len(x)} numbers from 0 to {num_groups - 1}"
        raise ModelError(msg)
    spread = np.zeros((len(x), num_groups, x.shape[1]))
    spread[np.arange(len(x)), group] = x
    return spread.reshape(len(x), -1)
