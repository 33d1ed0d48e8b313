"""Maps of where weights contradict the truth, on the pixels of an image (GRSY15 Fig. 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planaris.typing import Array, ArrayLike, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RED, BLUE = "#d1495b", "#3d7dca"


def draw_bad_nodes(axes: Axes, truth: ArrayLike, bad: ArrayLike) -> None:
    """Draw the mask in grey, and bad pixels red where the truth is -1, blue where it is +1.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    truth : array_like of int, shape (rows, columns)
        Labels -1 and +1.
    bad : array_like of bool, shape (rows, columns)
        Pixels whose weight has the wrong sign.
    """
    from matplotlib.colors import to_rgb

    y, wrong = np.asarray(truth), np.asarray(bad, dtype=bool)
    picture = _grey(y)
    picture[wrong & (y < 0)] = to_rgb(RED)
    picture[wrong & (y > 0)] = to_rgb(BLUE)
    axes.imshow(picture, interpolation="nearest")
    axes.set_axis_off()


def draw_bad_edges(axes: Axes, truth: ArrayLike, edges: IntArray, bad: ArrayLike) -> None:
    """Draw bad edges of a grid: red between equal pixels, blue between different ones.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    truth : array_like of int, shape (rows, columns)
        Labels -1 and +1.
    edges : numpy.ndarray, shape (m, 2)
        Pairs of pixels, numbered row by row.
    bad : array_like of bool, shape (m,)
        Edges whose weight has the wrong sign.
    """
    from matplotlib.collections import LineCollection

    y = np.asarray(truth)
    chosen = np.asarray(edges)[np.asarray(bad, dtype=bool)]
    row, column = np.divmod(chosen, y.shape[1])
    middle = np.stack([column.mean(axis=1), row.mean(axis=1)], axis=1)
    # A bad edge is drawn as the border between its two pixels.
    across = np.stack([np.diff(row, axis=1)[:, 0], np.diff(column, axis=1)[:, 0]], axis=1) / 2
    flat = y.ravel()
    equal = flat[chosen[:, 0]] == flat[chosen[:, 1]]
    axes.imshow(_grey(y), interpolation="nearest")
    for kind, colour in ((equal, RED), (~equal, BLUE)):
        ends = np.stack([middle[kind] - across[kind], middle[kind] + across[kind]], axis=1)
        axes.add_collection(LineCollection(list(ends), colors=colour, linewidths=1.2))
    axes.set_axis_off()


def _grey(truth: Array) -> FloatArray:
    """Return the mask as a picture in two greys."""
    return np.where(truth[..., None] > 0, 0.72, 0.92) * np.ones(3)
