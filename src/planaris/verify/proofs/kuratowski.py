"""Checks a proof that a graph is not planar."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from planaris.errors import VerificationError
from planaris.typing import ArrayLike, BoolArray, LongArray
from planaris.verify.proof_arrays import whole_numbers


def check_kuratowski(num_vertices: int, edges: ArrayLike, kuratowski_edges: ArrayLike) -> str:
    """Check that some edges of a graph form a subdivision of K5 or of K3,3.

    Parameters
    ----------
    num_vertices : int
        Vertices of the graph.
    edges : array_like of int, shape (m, 2)
        All edges of the graph.
    kuratowski_edges : array_like of int
        Indices of the edges that are claimed to form the subdivision.

    Returns
    -------
    str
        ``"K5"`` or ``"K3,3"``.

    Raises
    ------
    VerificationError
        If they do not.

    Notes
    -----
    Vertices of degree two are grouped into paths; the paths must join every pair of five
    vertices, or every vertex of one triple with every one of another, exactly once. By
    Kuratowski's theorem (1930) such a graph is not planar.

    Examples
    --------
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> check_kuratowski(5, k5, range(10))
    'K5'
    """
    chosen = whole_numbers(kuratowski_edges, "edges")
    graph = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= len(graph):
        msg = f"`kuratowski_edges` must name some of the {len(graph)} edges"
        raise VerificationError(msg)
    if len(np.unique(chosen)) < len(chosen):
        msg = "`kuratowski_edges` must name every edge at most once"
        raise VerificationError(msg)
    pairs = graph[chosen]
    degree = np.bincount(pairs.ravel(), minlength=num_vertices)
    if np.any(degree == 1):
        msg = f"vertex {np.flatnonzero(degree == 1)[0]} is a dead end"
        raise VerificationError(msg)
    branch = np.flatnonzero(degree > 2)
    want = {5: ("K5", 4, 10), 6: ("K3,3", 3, 9)}.get(len(branch))
    if want is None or np.any(degree[branch] != want[1]):
        msg = f"the branching vertices must be 5 of degree 4 or 6 of degree 3, got {len(branch)}"
        raise VerificationError(msg)
    joined = _joined_pairs(pairs, degree > 2, branch, num_vertices)
    adjacent = np.zeros((len(branch), len(branch)), dtype=bool)
    adjacent[joined[:, 0], joined[:, 1]] = adjacent[joined[:, 1], joined[:, 0]] = True
    if len(joined) != want[2] or np.diag(adjacent).any() or adjacent.sum() != 2 * want[2]:
        msg = "two branching vertices are joined twice, or one with itself"
        raise VerificationError(msg)
    if len(branch) == 6 and not _is_k33(adjacent):
        msg = "six branching vertices are joined, but not as in K3,3"
        raise VerificationError(msg)
    return want[0]


def _is_k33(adjacent: BoolArray) -> bool:
    """Whether vertices split into those adjacent to vertex 0 and those with equal neighbours."""
    same = (adjacent == adjacent[0]).all(1)
    return bool(same.sum() == 3 and np.array_equal(~same, adjacent[0]))


def _joined_pairs(
    pairs: LongArray, is_branch: BoolArray, branch: LongArray, num_vertices: int
) -> LongArray:
    """Return the pairs of branching vertices that edges and paths of degree two join."""
    name = np.full(num_vertices, -1)
    name[branch] = np.arange(len(branch))
    ends = is_branch[pairs].sum(1)
    direct = name[pairs[ends == 2]]
    inner = pairs[ends == 0]
    ones = np.ones(len(inner))
    shape = (num_vertices, num_vertices)
    _, path_of = connected_components(
        coo_array((ones, (inner[:, 0], inner[:, 1])), shape), directed=False
    )
    last = pairs[ends == 1]
    first_is_branch = is_branch[last[:, 0]]
    at = np.where(first_is_branch, last[:, 0], last[:, 1])
    path = path_of[np.where(first_is_branch, last[:, 1], last[:, 0])]
    used = np.unique(path_of[np.unique(pairs[~is_branch[pairs]])])
    if not np.array_equal(used, np.unique(path)):
        msg = "a cycle hangs on no branching vertex"
        raise VerificationError(msg)
    order = np.argsort(path, kind="stable")
    ends_of_paths = name[at[order]].reshape(-1, 2)  # a path of degree two has two ends
    return np.concatenate([direct, ends_of_paths])
