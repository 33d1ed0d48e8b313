"""Regions of wrong labels: boundaries, the flipping lemma, filled-in sets (GRSY15, section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.generate import square_lattice
from planaris.recover.observe import Graph, Observations, as_graph, as_labels
from planaris.typing import ArrayLike, BoolArray, LongArray


def boundary_edges(graph: Any, region: ArrayLike) -> BoolArray:
    """Return which edges have exactly one end in a set of nodes: δ(S).

    >>> boundary_edges((3, [(0, 1), (1, 2)]), [0]).tolist()
    [True, False]
    """
    frame = as_graph(graph)
    inside = _as_mask(region, frame.num_nodes)
    return np.asarray(inside[frame.edges[:, 0]] != inside[frame.edges[:, 1]])


def is_bad(observations: Observations, region: ArrayLike, truth: ArrayLike) -> bool:
    """Return whether at least half of the boundary of a set of nodes is bad.

    Parameters
    ----------
    observations : Observations
        What was seen.
    region : array_like
        Nodes of the set, or a mask.
    truth : array_like of int
        The labels behind the observations.

    Examples
    --------
    >>> from planaris.recover import observe
    >>> seen = observe((3, [(0, 1), (1, 2)]), 1, 0.0, 0.0, np.random.default_rng(0))
    >>> is_bad(seen, [1], 1), is_bad(seen, [1], [1, -1, 1])
    (False, True)
    """
    cut = boundary_edges(observations.graph, region)
    bad = observations.bad_edges(truth)
    return bool(2 * np.count_nonzero(cut & bad) >= np.count_nonzero(cut))


def wrong_regions(graph: Any, labels: ArrayLike, truth: ArrayLike) -> list[LongArray]:
    """Return the maximal connected sets of wrongly labelled nodes.

    >>> path = (4, [(0, 1), (1, 2), (2, 3)])
    >>> [region.tolist() for region in wrong_regions(path, [1, -1, 1, 1], 1)]
    [[1]]
    """
    frame = as_graph(graph)
    wrong = as_labels("labels", labels, frame.num_nodes) != as_labels(
        "truth", truth, frame.num_nodes
    )
    return _components_inside(frame, wrong)


def flipping_lemma_holds(observations: Observations, labels: ArrayLike, truth: ArrayLike) -> bool:
    """Return whether every maximal wrong region is bad, as it is for any optimum (Lemma 5.2).

    Labels that agree with the most edges satisfy it, whatever the sign and the noise, so a
    False is a proof that labels are not optimal.

    Examples
    --------
    >>> from planaris.recover import TwoStep, observe
    >>> import planaris as pl
    >>> seen = observe(pl.generate.square_lattice(8), 1, 0.1, 0.4, np.random.default_rng(0))
    >>> flipping_lemma_holds(seen, TwoStep().recover(seen).labels, 1)
    True
    """
    regions = wrong_regions(observations.graph, labels, truth)
    return all(is_bad(observations, region, truth) for region in regions)


# -- grids: which sides a region touches, and what fills it ----------------------------------


def region_type(shape: tuple[int, int], region: ArrayLike) -> int:
    """Return the type, 1 to 6, of a connected set of nodes of a grid.

    1: no node on the perimeter; 2: one side; 3: two adjacent sides; 4: two opposite sides;
    5: three sides; 6: all four. A corner lies on two sides.

    >>> [region_type((4, 4), s) for s in ([5], [1], [0], [1, 5, 9, 13])]
    [1, 2, 3, 4]
    """
    sides = _sides(shape, _as_mask(region, shape[0] * shape[1]))
    touched = int(sides.sum())
    if touched != 2:
        return {0: 1, 1: 2, 3: 5, 4: 6}[touched]
    top, bottom, left, right = sides
    return 4 if (top and bottom) or (left and right) else 3


def fill_in(shape: tuple[int, int], region: ArrayLike) -> LongArray:
    """Return the filled-in set F(S) of a connected set of a grid that is not of type 6.

    All connected components of the rest are added but one that has nodes on at least three
    sides (the largest, where there are several).

    Examples
    --------
    A ring around the middle of a 5×5 grid is filled:

    >>> ring = [6, 7, 8, 11, 13, 16, 17, 18]
    >>> fill_in((5, 5), ring).tolist()
    [6, 7, 8, 11, 12, 13, 16, 17, 18]
    """
    inside = _as_mask(region, shape[0] * shape[1])
    if not inside.any() or region_type(shape, inside) == 6:
        msg = "`region` must be a nonempty connected set that misses a side of the grid"
        raise ModelError(msg)
    rest = _components_inside(as_graph(square_lattice(*shape)), ~inside)
    three = [part for part in rest if _sides(shape, _as_mask(part, inside.size)).sum() >= 3]
    left_out = max(three, key=len)
    filled = np.ones(inside.size, dtype=bool)
    filled[left_out] = False
    return np.flatnonzero(filled)


def _sides(shape: tuple[int, int], inside: BoolArray) -> BoolArray:
    grid = inside.reshape(shape)
    return np.array([grid[0].any(), grid[-1].any(), grid[:, 0].any(), grid[:, -1].any()])


def _components_inside(frame: Graph, inside: BoolArray) -> list[LongArray]:
    """Return the connected components of the nodes of a mask."""
    leaves = ~(inside[frame.edges[:, 0]] & inside[frame.edges[:, 1]])
    _, label = frame.components_without(leaves)
    nodes = np.flatnonzero(inside)
    if not len(nodes):
        return []
    order = nodes[np.argsort(label[nodes], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _as_mask(region: ArrayLike, count: int) -> BoolArray:
    given = np.asarray(region)
    if given.dtype == bool:
        if given.shape != (count,):
            msg = f"`region` must have shape ({count},) as a mask, got {given.shape}"
            raise ModelError(msg)
        return given
    nodes = given.astype(np.int64).ravel()
    if nodes.size and not (nodes.min() >= 0 and nodes.max() < count):
        msg = f"`region` must hold nodes from 0 to {count - 1}, got {nodes.min()}…{nodes.max()}"
        raise ModelError(msg)
    mask = np.zeros(count, dtype=bool)
    mask[nodes] = True
    return mask
