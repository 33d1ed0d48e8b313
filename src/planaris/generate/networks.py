"""Graphs that are no lattices: road-like planar networks, random regular graphs."""

from __future__ import annotations

import numpy as np

from planaris.errors import ModelError
from planaris.generate.lattices import Lattice, random_triangulation
from planaris.models.arrays import as_rng
from planaris.typing import IntArray, Rng


def road_network(num_vertices: int, rng: Rng) -> Lattice:
    """Return the relative neighbourhood graph of uniform points: planar, connected, road-like.

    Two points are joined unless a third is closer to both than they are to each other. The mean
    degree is about 2.5, as in street networks, with faces of many sizes.

    >>> roads = road_network(200, np.random.default_rng(0))
    >>> roads.num_vertices, 199 <= len(roads.edges) <= 300
    (200, True)
    """
    rng = as_rng(rng)
    from scipy.spatial import cKDTree

    full = random_triangulation(num_vertices, rng)
    if num_vertices < 3:
        return full
    points = full.positions
    u, v = full.edges.T
    length = np.linalg.norm(points[u] - points[v], axis=1)
    # A point closer to both ends than they are apart lies in a disc around the midpoint.
    near = cKDTree(points).query_ball_point(
        (points[u] + points[v]) / 2, length * (np.sqrt(0.75) + 1e-9), return_sorted=False
    )
    sizes = np.array([len(found) for found in near])
    edge = np.repeat(np.arange(len(u)), sizes)
    third = np.concatenate([np.asarray(found, dtype=np.int64) for found in near])
    far = np.maximum(
        np.linalg.norm(points[third] - points[u[edge]], axis=1),
        np.linalg.norm(points[third] - points[v[edge]], axis=1),
    )
    other = (third != u[edge]) & (third != v[edge])
    blocked = np.bincount(edge, weights=other & (far < length[edge]), minlength=len(u)) > 0
    return Lattice(np.ascontiguousarray(full.edges[~blocked]), points)


def random_regular_graph(degree: int, num_vertices: int, rng: Rng) -> tuple[int, IntArray]:
    """Return a random regular graph as (num_vertices, edges): an expander, almost surely.

    >>> count, edges = random_regular_graph(3, 10, np.random.default_rng(0))
    >>> count, np.bincount(edges.ravel()).tolist()
    (10, [3, 3, 3, 3, 3, 3, 3, 3, 3, 3])
    """
    rng = as_rng(rng)
    import networkx as nx

    if not 0 <= degree < max(num_vertices, 1) or degree * num_vertices % 2:
        msg = (
            "`degree` must be below `num_vertices` and their product even, "
            f"got {degree} and {num_vertices}"
        )
        raise ModelError(msg)
    graph = nx.random_regular_graph(degree, num_vertices, seed=int(rng.integers(2**31)))
    edges = np.array(sorted(tuple(sorted(edge)) for edge in graph.edges), dtype=np.int32)
    return num_vertices, edges.reshape(-1, 2)
