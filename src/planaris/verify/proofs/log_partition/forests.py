"""log Z of many forests at once, with any number of labels: from the leaves to the roots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import components, indices, real_row, require, runs

_UNIT = 2.0**-53
_AT_ONCE = 2**22
"""Vertices of graphs side by side, at most."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Forests side by side.

    Attributes
    ----------
    owner : numpy.ndarray
        The forest of every vertex.
    nodes : numpy.ndarray
        Log potentials, shape (vertices, labels); minus infinity for labels a vertex has not.
    edges, tables : numpy.ndarray
        Pairs of vertices, and their log potentials, shape (edges, labels, labels).
    """

    owner: Array
    nodes: FloatArray
    edges: Array
    tables: FloatArray


def are_forests(num_vertices: int, graphs: list[Array]) -> list[bool]:
    """Return of every graph, given by its edges, whether they close no cycle.

    >>> triangle = np.array([(0, 1), (1, 2), (0, 2)])
    >>> are_forests(3, [triangle, triangle[:2], triangle[:0]])
    [False, True, True]
    """
    step = max(_AT_ONCE // max(num_vertices, 1), 1)
    found: list[bool] = []
    for first in range(0, len(graphs), step):
        found += _are_forests(num_vertices, graphs[first : first + step])
    return found


def _are_forests(num_vertices: int, graphs: list[Array]) -> list[bool]:
    """Return the same of some graphs, side by side."""
    counts = np.array([len(edges) for edges in graphs])
    place = np.repeat(np.arange(len(graphs)), counts) * num_vertices
    edges = np.concatenate(graphs).reshape(-1, 2) + place[:, None]
    _, label = components(len(graphs) * num_vertices, *edges.T)
    first = np.unique(label, return_index=True)[1]
    trees = np.bincount(first // max(num_vertices, 1), minlength=len(graphs))
    return [bool(forest) for forest in trees == num_vertices - counts]


@dataclass(frozen=True, eq=False)
class WeightedForests:
    """Forests among the edges of a graph, their weights, and the weight of every edge."""

    weights: FloatArray
    members: list[Array]
    rho: FloatArray

    @classmethod
    def of(
        cls, num_vertices: int, edges: Array, weights: Any, offsets: Any, chosen: Any
    ) -> WeightedForests:
        """Read the forests of a proof, or refuse it."""
        given = real_row(weights, "weights")
        among = indices(chosen, "edges of forests", len(edges))
        begins = runs(offsets, "offsets of forests", len(given), len(among))
        total = math.fsum(given.tolist())
        require(bool(np.all(given >= 0)), "no weight is below zero")
        require(abs(total - 1.0) <= 1e-9, "the weights of the forests add up to one")
        members = np.split(among, begins[1:-1]) if len(given) else []
        once = all(len(np.unique(some)) == len(some) for some in members)
        require(once, "a forest has an edge once")
        forests = are_forests(num_vertices, [edges[some] for some in members])
        require(all(forests), "forests have no cycles")
        rho = np.zeros(len(edges))
        np.add.at(rho, among, np.repeat(given, np.diff(begins)))
        return cls(given / total, members, rho / total)


def forest_log_partitions(forest: Forest, count: int) -> tuple[FloatArray, FloatArray]:
    """Return log Z of each of ``count`` forests, and what rounding may have done to it.

    >>> pair = Forest(np.zeros(2, int), np.zeros((2, 3)), np.array([[0, 1]]), np.zeros((1, 3, 3)))
    >>> bool(abs(forest_log_partitions(pair, 1)[0][0] - np.log(9)) < 1e-12)
    True
    """
    size, labels = forest.nodes.shape
    parent, link, depth = _rooted(size, forest.edges)
    nodes = forest.nodes.copy()
    order = np.argsort(-depth, kind="stable")
    ends = np.searchsorted(-depth[order], np.arange(-int(depth.max(initial=0)), 1), side="right")
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        level = order[first:last]
        if parent[level[0]] < 0:
            break
        up, e = parent[level], link[level]
        forward = (forest.edges[e, 0] == level)[:, None, None]
        table = np.where(forward, forest.tables[e], forest.tables[e].transpose(0, 2, 1))
        np.add.at(nodes, up, _log_sum(nodes[level][:, :, None] + table))
    roots = np.flatnonzero(parent < 0)
    sums = _log_sum(nodes[roots][:, :, None])[:, 0]
    values = np.zeros(count)
    np.add.at(values, forest.owner[roots], sums)
    largest = _largest(forest.nodes, 1) + math.log(labels + 1)
    total = np.bincount(forest.owner, largest, count)
    total += np.bincount(forest.owner[forest.edges[:, 0]], _largest(forest.tables, (1, 2)), count)
    vertices = np.bincount(forest.owner, minlength=count)
    return values, 4 * (labels + 8) * vertices * _UNIT * (total + 1.0)


def _largest(logs: FloatArray, axes: int | tuple[int, int]) -> FloatArray:
    sizes = np.where(np.isfinite(logs), np.abs(logs), 0.0)
    return np.asarray(sizes.max(axis=axes, initial=0.0))


def _rooted(size: int, edges: Array) -> tuple[Array, Array, Array]:
    """Return of every vertex its parent, the edge to it (both -1 at roots) and its depth."""
    _, label = components(size, *edges.T)
    first = np.unique(label, return_index=True)[1]  # one root per tree, all below one more vertex
    tails = np.concatenate([edges[:, 0], np.full(len(first), size)])
    heads = np.concatenate([edges[:, 1], first])
    ones = np.ones(len(tails))
    graph = coo_array((ones, (tails, heads)), shape=(size + 1, size + 1)).tocsr()
    order, above = breadth_first_order(graph, size, directed=False)
    parent = np.asarray(above[:size], dtype=np.int64)
    parent[parent == size] = -1
    link = np.full(size, -1)
    for near, far in ((0, 1), (1, 0)):
        down = parent[edges[:, near]] == edges[:, far]
        link[edges[down, near]] = np.flatnonzero(down)
    depth = np.zeros(size + 1, dtype=np.int64)
    for v, p in zip(order[1:].tolist(), above[order[1:]].tolist(), strict=True):
        depth[v] = depth[p] + 1
    return parent, link, depth[:size]


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return log Σ exp over the second axis."""
    top = logs.max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray((np.log(np.exp(logs - shift).sum(axis=1, keepdims=True)) + shift)[:, 0])
