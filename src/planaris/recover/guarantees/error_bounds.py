"""Theoretical bounds on the error of recovery (GRSY15, sections 5 and 6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.recover.observe import as_graph
from planaris.typing import ArrayLike, FloatArray

UPPER_VALID = 0.017
"""The constant 8 of the upper bound is proved up to this edge noise."""

LOWER_VALID = 0.078
"""The constant 5/2 of the lower bound is proved up to this edge noise."""


def upper_bound(p: ArrayLike, num_nodes: int) -> FloatArray:
    """Return 8p²N, which bounds the error of the two-step algorithm on square grids.

    Up to O(p√N) for nodes on the perimeter (Theorem 5.1 with the constant of its supplement);
    NaN above p = 0.017, where nothing is proved.

    >>> upper_bound([0.01, 0.1], 400).tolist()
    [0.32, nan]
    """
    noise = np.asarray(p, dtype=np.float64)
    return np.where(noise <= UPPER_VALID, 8.0 * noise**2 * num_nodes, np.nan)


def lower_bound(p: ArrayLike, q: ArrayLike, num_nodes: int) -> FloatArray:
    """Return (5/2)p²qN, below which no algorithm gets on square grids (Theorem 5.8).

    Half the nodes, given the labels of the other half, are ambiguous with probability at least
    5p²; then only their own observation tells. NaN above p = 0.078.

    >>> lower_bound([0.01, 0.1], 0.4, 400).round(9).tolist()
    [0.04, nan]
    """
    noise = np.asarray(p, dtype=np.float64)
    value = 2.5 * noise**2 * np.asarray(q, dtype=np.float64) * num_nodes
    return np.where(noise <= LOWER_VALID, value, np.nan)


def expander_bound(p: ArrayLike, expansion: float, num_nodes: int) -> FloatArray:
    """Return 3pN/c, which bounds the error of the two-step algorithm on regular expanders.

    Parameters
    ----------
    p : array_like of float
        Edge noise.
    expansion : float
        c with |δ(S)| ≥ c d |S| for all S of at most half the nodes; see
        :func:`planaris.recover.spectral_expansion`.
    num_nodes : int
        N, large enough (section 6).

    Examples
    --------
    >>> float(expander_bound(0.01, 0.25, 100))
    12.0
    """
    if not expansion > 0:
        msg = f"`expansion` must be positive, got {expansion}: the graph is no expander"
        raise ModelError(msg)
    return np.asarray(3.0 * np.asarray(p, dtype=np.float64) * num_nodes / expansion)


def single_flip_error(graph: Any, p: float) -> float:
    """Return the expected number of nodes wrong by themselves: the leading order of small p.

    A node of degree d is wrong when more than half its edges are bad, and half the time when
    exactly half are. On a large square grid that is 3p²N: 6p² of the nodes are ambiguous.

    Examples
    --------
    >>> import planaris as pl
    >>> grid = pl.generate.square_lattice(300)
    >>> round(single_flip_error(grid, 0.001) / 0.001**2 / 300**2, 1)
    3.0
    """
    from scipy.stats import binom

    frame = as_graph(graph)
    degrees = np.bincount(frame.edges.ravel(), minlength=frame.num_nodes)
    counts = np.bincount(degrees)
    d = np.flatnonzero(counts)
    wrong = binom.sf(d / 2, d, p) + 0.5 * np.where(d % 2 == 0, binom.pmf(d // 2, d, p), 0.0)
    return float(counts[d] @ wrong)


def bad_probability(boundary: ArrayLike, p: float) -> FloatArray:
    """Return the probability that at least half of so many boundary edges are bad.

    Lemma 5.5 bounds it by (3√p)^i.

    >>> bad_probability([1, 2, 4], 0.1).round(4).tolist()
    [0.1, 0.19, 0.0523]
    """
    from scipy.stats import binom

    size = np.asarray(boundary, dtype=np.int64)
    return np.asarray(binom.sf((size + 1) // 2 - 1, size, p))
