"""Edge appearance probabilities: distributions over spanning trees, and trees that have them."""

from __future__ import annotations

import numpy as np

from planaris.errors import ModelError
from planaris.kernels.graph import connected_components
from planaris.models.arrays import as_real
from planaris.subgraphs.families import heaviest_forest
from planaris.typing import FloatArray, IntArray, LongArray

Trees = tuple[FloatArray, list[LongArray]]
"""Weights of forests, and the edges of each."""

MAX_TREES = 400
"""Trees of a mixture, at most."""

CLOSE = 1e-9
"""A mixture whose probabilities are this near to the wanted ones is done."""


def uniform_tree_probabilities(n: int, pairs: IntArray) -> FloatArray:
    """Return each edge's probability to lie in a uniform spanning tree (or forest).

    Matrix-tree theorem: the effective resistance between its ends.

    >>> uniform_tree_probabilities(3, np.array([[0, 1], [1, 2], [0, 2]])).round(3).tolist()
    [0.667, 0.667, 0.667]
    """
    if not len(pairs):
        return np.zeros(0)
    inverse = _inverse_laplacian(n, pairs)
    u, v = pairs[:, 0], pairs[:, 1]
    resistance = inverse[u, u] + inverse[v, v] - 2 * inverse[u, v]
    return np.asarray(np.clip(resistance, 0.0, 1.0))


def weighted_tree_probabilities(n: int, pairs: IntArray, weights: FloatArray) -> FloatArray:
    """Return each edge's probability when a tree has the sum of its edges' weights (SJ07).

    With P(e), P(e, f) of the uniform spanning tree, ``ρ_e = Σ_f w_f P(e, f) / Σ_f w_f P(f)``.
    By the transfer-current theorem ``P(e, f) = K_ee K_ff - K_ef²``, K the transfer currents.

    >>> triangle = np.array([[0, 1], [1, 2], [0, 2]])
    >>> weighted_tree_probabilities(3, triangle, np.array([1.0, 0.0, 0.0])).tolist()
    [1.0, 0.5, 0.5]
    """
    if not len(pairs):
        return np.zeros(0)
    if not np.any(weights):
        return uniform_tree_probabilities(n, pairs)
    inverse = _inverse_laplacian(n, pairs)
    u, v = pairs[:, 0], pairs[:, 1]
    difference = inverse[u] - inverse[v]
    currents = difference[:, u] - difference[:, v]
    single = np.clip(np.diagonal(currents), 0.0, 1.0)
    both = np.outer(single, single) - currents**2
    np.fill_diagonal(both, single)
    size = np.abs(weights) / np.abs(weights).max()
    return np.asarray(np.clip(both @ size / (single @ size), 0.0, 1.0))


def _inverse_laplacian(n: int, pairs: IntArray) -> FloatArray:
    """Return the inverse of the Laplacian, one 11' block added per component."""
    label = connected_components(n, np.ascontiguousarray(pairs, dtype=np.int32))
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (pairs[:, 0], pairs[:, 1]), -1.0)
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    # The blocks make the Laplacian regular and leave resistances alone.
    for c in range(int(label.max(initial=-1)) + 1):
        at = np.flatnonzero(label == c)
        laplacian[np.ix_(at, at)] += 1.0 / len(at)
    return np.asarray(np.linalg.inv(laplacian))


def appearance_of(count: int, trees: Trees) -> FloatArray:
    """Return the edge appearance probabilities of weighted forests."""
    weights, members = trees
    owner = np.repeat(weights, [len(edges) for edges in members])
    edges = np.concatenate([np.zeros(0, dtype=np.int64), *members])
    return np.minimum(np.bincount(edges, owner, count), 1.0)


def given_trees(n: int, pairs: IntArray, rho: FloatArray | Trees) -> Trees:
    """Return forests that somebody gave, checked, or those nearest to given probabilities.

    No other probabilities bound log Z: they lie in the spanning tree polytope.

    >>> triangle = np.array([[0, 1], [1, 2], [0, 2]])
    >>> trees = given_trees(3, triangle, np.ones(3))
    >>> appearance_of(3, trees).round(3).tolist()
    [0.667, 0.667, 0.667]
    """
    if not isinstance(rho, tuple):
        wanted = as_real("rho", rho)
        if wanted.shape != (len(pairs),) or not np.isfinite(wanted).all():
            msg = f"`rho` must hold {len(pairs)} finite numbers, one per edge, got {rho!r}"
            raise ModelError(msg)
        return trees_with(n, pairs, np.clip(wanted, 0.0, 1.0))
    given, members = rho
    weights, forests = as_real("rho", given), [_as_forest(n, pairs, edges) for edges in members]
    if weights.shape != (len(forests),):
        msg = f"`rho` must have a weight per forest, got {weights.size} for {len(forests)}"
        raise ModelError(msg)
    total = float(weights.sum())
    if not (np.all(weights >= 0) and abs(total - 1.0) <= CLOSE):
        msg = f"`rho`: the weights of the forests must not be negative and add up to 1, got {total}"
        raise ModelError(msg)
    return weights / total, forests


def _as_forest(n: int, pairs: IntArray, members: LongArray) -> LongArray:
    edges = np.asarray(members)
    if edges.ndim != 1 or (edges.size and edges.dtype.kind not in "iu"):
        msg = f"`rho`: a forest must be a list of edges, got {members!r}"
        raise ModelError(msg)
    edges = edges.astype(np.int64)
    if edges.size and not 0 <= edges.min() <= edges.max() < len(pairs):
        msg = f"`rho`: forests must hold edges from 0 to {len(pairs) - 1}, got {edges.tolist()[:9]}"
        raise ModelError(msg)
    joined = connected_components(n, np.ascontiguousarray(pairs[edges], dtype=np.int32))
    if len(edges) + len(np.unique(joined)) != n:
        msg = f"`rho`: edges of a forest must close no cycle, got {edges.tolist()[:9]}"
        raise ModelError(msg)
    return edges


def trees_with(n: int, pairs: IntArray, rho: FloatArray) -> Trees:
    """Return weighted forests whose edge appearance probabilities are nearly ``rho``.

    The nearest point to ``rho`` of the hull of some forests, by non-negative least squares; the
    forest that is furthest in the direction of what is missing joins them.

    >>> triangle = np.array([[0, 1], [1, 2], [0, 2]])
    >>> weights, trees = trees_with(3, triangle, np.array([2.0, 2.0, 2.0]) / 3)
    >>> weights.round(3).tolist(), len(trees)
    ([0.333, 0.333, 0.333], 3)
    """
    from scipy.optimize import nnls

    trees = _covering_forests(n, pairs)
    columns = [_indicator(len(pairs), tree) for tree in trees]
    weights = np.full(len(trees), 1.0 / len(trees))
    large = 10.0 * max(len(pairs), 1)  # the weights add up to one, more or less
    for _ in range(MAX_TREES):
        matrix = np.vstack([np.array(columns).T, np.full(len(columns), large)])
        try:
            nearest, _ = nnls(matrix, np.append(rho, large))
        except RuntimeError:  # it gave up: the mixture before is one, too
            break
        weights = nearest / nearest.sum()
        rest = rho - matrix[:-1] @ weights
        tree = heaviest_forest(n, pairs, rest)
        fresh = _indicator(len(pairs), tree)
        if float(rest @ (fresh - matrix[:-1] @ weights)) < CLOSE:
            break
        trees.append(tree)
        columns.append(fresh)
    weights = np.append(weights, np.zeros(len(trees) - len(weights)))
    return _with_every_edge(len(pairs), weights, trees)


def _with_every_edge(count: int, weights: FloatArray, trees: list[LongArray]) -> Trees:
    """Drop forests without weight, but leave every edge a little."""
    rho = appearance_of(count, (weights, trees))
    if count and rho.min() < 1e-6:
        weights = (1 - 1e-5) * weights + 1e-5 / len(weights)
    used = np.flatnonzero(weights > 0)
    return weights[used], [trees[k] for k in used]


def _covering_forests(n: int, pairs: IntArray) -> list[LongArray]:
    count = np.zeros(len(pairs))
    trees: list[LongArray] = []
    while not trees or not count.all():
        trees.append(heaviest_forest(n, pairs, -count))
        count[trees[-1]] += 1
    return trees


def _indicator(count: int, tree: LongArray) -> FloatArray:
    chosen = np.zeros(count)
    chosen[tree] = 1.0
    return chosen
