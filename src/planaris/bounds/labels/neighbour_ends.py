"""Intervals for marginals of Markov random fields, from extreme states of the neighbours.

Given all other variables, P(x_v = a) is 1 / (1 + Σ_b exp Σ_f (log f(b, ·) - log f(a, ·))). Every
difference lies between its least and its largest over the labels of the neighbours, whatever they
are, so the mean over them does too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.models import MarkovRandomField
from planaris.models.tables import parts_ending_at
from planaris.result import Marginals
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

UNIT = float(np.finfo(np.float64).eps)
ROUNDING = 64 * UNIT

MOST_ENTRIES = 50_000_000
"""Differences that are kept at most; where there are more, nothing is said."""

ENTRIES_AT_ONCE = 2**15
"""Entries of tables between two checks of the deadline."""

FACTORS_AT_ONCE = 2**11
"""Tables between two checks of the deadline."""

SECONDS_PER_FACTOR = 3e-6

SECONDS_PER_ENTRY = 2.5e-8
"""Estimated, per label of every table and every label of its variables."""


def seconds_for_ends(mrf: MarkovRandomField) -> float:
    """Estimate the time of :func:`with_neighbour_ends`."""
    labels = int(mrf.cardinalities.max(initial=1))
    entries = labels * len(mrf.log_values)
    return SECONDS_PER_FACTOR * mrf.num_factors + SECONDS_PER_ENTRY * entries


def with_neighbour_ends(
    mrf: MarkovRandomField, found: Marginals, budget: Budget = UNLIMITED
) -> Marginals:
    """Return an estimate, moved into ends that hold for every label and table, with them.

    ``TimeoutError`` is raised once the time is over.

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
    groups = _alike(mrf)
    budget.check()
    start = np.concatenate([[0], np.cumsum(mrf.cardinalities, dtype=np.int64)])
    low, high = _node_ends(mrf, groups, budget)
    flat = np.concatenate([np.zeros(0), *found.nodes])
    budget.check()
    nodes = _summing_to_one(flat, low, high, np.repeat(np.arange(len(start) - 1), np.diff(start)))
    error = float(np.max(np.maximum(nodes - low, high - nodes), initial=0.0))
    nothing = np.zeros(0)
    tables, lower, upper = ([nothing] * mrf.num_factors for _ in range(3))
    for group in groups:
        for some in group.parts():
            budget.check()
            a, b = some.table_ends(start, low, high)
            x = np.stack([found.edges[k] for k in some.factors])
            rows = np.arange(len(x)).repeat(x[0].size)
            x = _summing_to_one(x.ravel(), a.ravel(), b.ravel(), rows).reshape(x.shape)
            error = max(error, float(np.max(np.maximum(x - a, b - x), initial=0.0)))
            for into, made in ((tables, x), (lower, a), (upper, b)):
                for k, table in zip(some.factors.tolist(), made, strict=True):
                    into[k] = table
    return replace(
        found,
        nodes=parts_ending_at(nodes, start[1:]),
        edges=tables,
        error=error + 4 * UNIT,
        estimate=False,
        nodes_lower=parts_ending_at(low, start[1:]),
        nodes_upper=parts_ending_at(high, start[1:]),
        edges_lower=lower,
        edges_upper=upper,
        seconds=found.seconds if budget is UNLIMITED else budget.seconds(),
    )


def _summing_to_one(
    values: FloatArray, low: FloatArray, high: FloatArray, table: LongArray
) -> FloatArray:
    """Return tables, flat, moved between their ends such that each adds up to one.

    What is missing after clipping is shared by the room that the entries have left.
    """
    inside = np.clip(values, low, high)
    missing = 1.0 - np.bincount(table, inside)
    room = np.where(missing[table] > 0, high - inside, inside - low)
    total = np.bincount(table, room)
    share = np.divide(missing, total, out=np.zeros_like(missing), where=total > 0)
    moved: FloatArray = np.clip(inside + share[table] * room, low, high)
    return moved


@dataclass(frozen=True, eq=False)
class _Group:
    """Factors with tables of one shape, and their scopes, one per row."""

    factors: LongArray
    scopes: IntArray
    shape: tuple[int, ...]

    def parts(self) -> Iterator[_Group]:
        """Yield as many factors as are worked on between two checks of the deadline."""
        size = int(np.prod(self.shape, dtype=np.int64))
        step = min(max(ENTRIES_AT_ONCE // max(size, 1), 1), FACTORS_AT_ONCE)
        for k in range(0, len(self.factors), step):
            rows = slice(k, k + step)
            yield _Group(self.factors[rows], self.scopes[rows], self.shape)

    def log_tables(self, mrf: MarkovRandomField) -> FloatArray:
        """Return the tables, the factors as their first axis."""
        size = int(np.prod(self.shape, dtype=np.int64))
        first = mrf.table_offsets[self.factors]
        flat: FloatArray = mrf.log_values[first[:, None] + np.arange(size)]
        return flat.reshape(-1, *self.shape)

    def table_ends(
        self, start: LongArray, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return ends of the tables from those of their variables (Fréchet)."""
        rows, arity = len(self.factors), len(self.shape)
        lower = np.full((rows, *self.shape), 1.0 - arity)
        upper = np.ones((rows, *self.shape))
        for axis, labels in enumerate(self.shape):
            own = start[self.scopes[:, axis]][:, None] + np.arange(labels)
            along = [rows, *(labels if k == axis else 1 for k in range(arity))]
            lower = lower + low[own].reshape(along)
            upper = np.minimum(upper, high[own].reshape(along))
        return np.clip(lower - ROUNDING * (arity > 1), 0.0, 1.0), upper


def _alike(mrf: MarkovRandomField) -> list[_Group]:
    """Return the factors, those of one shape together, in the order of the first of each."""
    arities = np.diff(mrf.scope_offsets)
    groups: list[_Group] = []
    for arity in np.flatnonzero(np.bincount(arities)).tolist():
        factors = np.flatnonzero(arities == arity)
        scopes = mrf.scopes[mrf.scope_offsets[factors][:, None] + np.arange(arity)]
        shapes = mrf.cardinalities[scopes]
        order = np.lexsort(shapes.T) if arity else np.arange(len(factors))
        change = np.flatnonzero(np.any(np.diff(shapes[order], axis=0) != 0, axis=1)) + 1
        for at in np.split(order, change):
            groups.append(_Group(factors[at], scopes[at], tuple(shapes[at[0]].tolist())))
    return sorted(groups, key=lambda group: int(group.factors[0]))


def _node_ends(
    mrf: MarkovRandomField, groups: list[_Group], budget: Budget
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper ends of the probability of every label, flat."""
    n, labels = mrf.num_variables, int(mrf.cardinalities.max(initial=1))
    if n * labels**2 > MOST_ENTRIES:
        total = int(mrf.cardinalities.sum(dtype=np.int64))
        return np.zeros(total), np.ones(total)
    # [v, a, b]: how much log weight moves from label a to b.
    least, most = np.zeros((n, labels, labels)), np.zeros((n, labels, labels))
    size = np.zeros(n)
    for group in groups:
        for axis in range(len(group.shape)):
            for some in group.parts():
                budget.check()
                tables = np.moveaxis(some.log_tables(mrf), axis + 1, 1)
                _add_differences(some.scopes[:, axis], tables, least, most, size)
    budget.check()
    with np.errstate(over="ignore"):
        lower, upper = (1 / np.exp(x).sum(axis=2) for x in (_own(mrf, most), _own(mrf, least)))
    slack = ROUNDING * (1 + size[:, None])
    own = np.arange(labels) < mrf.cardinalities[:, None]
    return np.clip(lower - slack, 0.0, 1.0)[own], np.clip(upper + slack, 0.0, 1.0)[own]


def _own(mrf: MarkovRandomField, moves: FloatArray) -> FloatArray:
    """Return the moves with those to labels that a variable does not have taken out."""
    absent = np.arange(moves.shape[2]) >= mrf.cardinalities[:, None]
    own: FloatArray = np.where(absent[:, None, :], -np.inf, moves)
    return own


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
