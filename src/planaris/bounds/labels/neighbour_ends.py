"""Ends of marginals of Markov random fields: what neighbours can do at most.

Given all other variables, P(x_v = a) is 1 / (1 + Σ_b exp Σ_f (log f(b, ·) - log f(a, ·))). Every
difference lies between its least and its largest over the labels of the neighbours, whatever they
are, so the mean over them does too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planaris.models import MarkovRandomField
from planaris.result import Marginals
from planaris.typing import BoolArray, FloatArray, IntArray

UNIT = float(np.finfo(np.float64).eps)
ROUNDING = 64 * UNIT

MOST_ENTRIES = 50_000_000
"""Differences that are kept at most; where there are more, nothing is said."""


def with_neighbour_ends(mrf: MarkovRandomField, found: Marginals) -> Marginals:
    """Return an estimate, moved into ends that hold for every label and table, with them.

    >>> mrf = MarkovRandomField([2, 3], [((0,), [1, 2]), ((0, 1), [[1, 2, 3], [2, 1, 1]])])
    >>> guess = Marginals(
    ...     nodes=[np.full(2, 0.5), np.full(3, 1 / 3)],
    ...     edges=[np.full(2, 0.5), np.full((2, 3), 1 / 6)],
    ...     method="trw",
    ... )
    >>> ends = with_neighbour_ends(mrf, guess)
    >>> [np.round(x, 3).tolist() for x in (ends.nodes_lower[0], ends.nodes_upper[0])]
    [[0.2, 0.4], [0.6, 0.8]]
    """
    low, high = node_ends(mrf)
    factors = [_table_ends(mrf, k, low, high) for k in range(mrf.num_factors)]
    nodes = [np.clip(t, a, b) for t, a, b in zip(found.nodes, low, high, strict=True)]
    edges = [np.clip(t, a, b) for t, (a, b) in zip(found.edges, factors, strict=True)]
    ends = [*zip(nodes, low, high, strict=True)]
    ends += [(t, a, b) for t, (a, b) in zip(edges, factors, strict=True)]
    off = (np.max(np.maximum(t - a, b - t), initial=0.0) for t, a, b in ends)
    return replace(
        found,
        nodes=nodes,
        edges=edges,
        error=float(max(off, default=0.0)) + 4 * UNIT,
        nodes_lower=low,
        nodes_upper=high,
        edges_lower=[a for a, _ in factors],
        edges_upper=[b for _, b in factors],
    )


def node_ends(mrf: MarkovRandomField) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return lower and upper ends of the probability of every label."""
    n, labels = mrf.num_variables, int(mrf.cardinalities.max(initial=1))
    if n * labels**2 > MOST_ENTRIES:
        return [np.zeros(k) for k in mrf.cardinalities], [np.ones(k) for k in mrf.cardinalities]
    # [v, a, b]: how much log weight moves from label a to b.
    least, most = np.zeros((n, labels, labels)), np.zeros((n, labels, labels))
    size = np.zeros(n)
    for scopes, tables in _alike(mrf):
        for axis in range(scopes.shape[1]):
            _add_differences(scopes[:, axis], np.moveaxis(tables, axis + 1, 1), least, most, size)
    with np.errstate(over="ignore"):
        lower, upper = (1 / np.exp(x).sum(axis=2) for x in (_own(mrf, most), _own(mrf, least)))
    slack = ROUNDING * (1 + size[:, None])
    lower, upper = np.clip(lower - slack, 0.0, 1.0), np.clip(upper + slack, 0.0, 1.0)
    sizes = mrf.cardinalities.tolist()
    return [lower[v, :k] for v, k in enumerate(sizes)], [upper[v, :k] for v, k in enumerate(sizes)]


def _own(mrf: MarkovRandomField, moves: FloatArray) -> FloatArray:
    """Return the moves with those to labels that a variable does not have taken out."""
    absent = np.arange(moves.shape[2]) >= mrf.cardinalities[:, None]
    own: FloatArray = np.where(absent[:, None, :], -np.inf, moves)
    return own


def _alike(mrf: MarkovRandomField) -> list[tuple[IntArray, FloatArray]]:
    """Return scopes and tables of the factors, those of one shape together."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for k in range(mrf.num_factors):
        groups.setdefault(mrf.table_shape(k), []).append(k)
    return [
        (np.stack([mrf.scope(k) for k in ks]), np.stack([mrf.log_table(k) for k in ks]))
        for shape, ks in groups.items()
        if shape
    ]


def _add_differences(
    variables: IntArray,
    tables: FloatArray,
    least: FloatArray,
    most: FloatArray,
    size: FloatArray,
) -> None:
    """Add what tables of variables, whose labels are their first axis, can do at most."""
    rows = tables.reshape(*tables.shape[:2], -1)
    hard: BoolArray = np.asarray(np.isinf(rows).reshape(len(rows), -1).any(axis=1))
    rows = np.where(hard[:, np.newaxis, np.newaxis], 0.0, rows)
    np.add.at(size, variables, 4 * np.abs(rows).max(axis=(1, 2)))
    labels = rows.shape[1]
    for a in range(labels):
        for b in range(labels):
            if a == b:
                continue
            moved = rows[:, b] - rows[:, a]
            np.add.at(least[:, a, b], variables, np.where(hard, -np.inf, moved.min(axis=1)))
            np.add.at(most[:, a, b], variables, np.where(hard, np.inf, moved.max(axis=1)))


def _table_ends(
    mrf: MarkovRandomField, factor: int, low: list[FloatArray], high: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return ends of a table from those of its variables (Fréchet)."""
    scope = mrf.scope(factor).tolist()
    shape = mrf.table_shape(factor)
    lower, upper = np.full(shape, 1.0 - len(scope)), np.ones(shape)
    for axis, v in enumerate(scope):
        along = [-1 if k == axis else 1 for k in range(len(scope))]
        lower = lower + low[v].reshape(along)
        upper = np.minimum(upper, high[v].reshape(along))
    return np.clip(lower - ROUNDING * (len(scope) > 1), 0.0, 1.0), upper
