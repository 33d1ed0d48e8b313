"""Upper bounds on log Z of any discrete model: weighted mini-buckets (Liu and Ihler 2011)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.kernels import elimination
from planaris.models import MarkovRandomField
from planaris.result import MiniBuckets
from planaris.subgraphs.bias_model import EPSILON
from planaris.treewidth.flatten import to_factor_arrays
from planaris.typing import FloatArray, IntArray


@dataclass(eq=False)
class Table:
    """Logarithms over some variables, one axis each, in increasing order of variables."""

    scope: tuple[int, ...]
    logs: FloatArray


@dataclass(frozen=True, eq=False)
class MiniBucketBound:
    """An upper bound, and whether no bucket had to be split (then it is exact)."""

    upper: float
    splits: int
    largest: int
    order: IntArray
    groups: list[list[int]]
    """Of every variable in the order, the group of each of its tables."""

    def proof(self) -> MiniBuckets:
        """Return what a bound can be computed from again."""
        offsets = np.cumsum([0, *map(len, self.groups)])
        flat = [group for groups in self.groups for group in groups]
        return MiniBuckets(self.order, offsets, np.array(flat, dtype=np.int64))


POLLS = 64
"""Factors between two checks of the deadline."""


def elimination_order(mrf: MarkovRandomField, budget: Budget = UNLIMITED) -> IntArray:
    """Return a greedy elimination order."""
    return elimination.elimination_order(to_factor_arrays(mrf), min_fill=False, budget=budget)[0]


def mini_bucket_bound(
    mrf: MarkovRandomField, order: IntArray, max_entries: int, *, budget: Budget = UNLIMITED
) -> MiniBucketBound:
    """Eliminate variables in order, splitting buckets whose table would exceed ``max_entries``.

    Hölder's inequality: Σ_x Π f_j <= Π (Σ_x f_j^(1/w_j))^(w_j) for weights that add up to one;
    before the split, the parts are matched on what they share (which changes no product).
    """
    rank = np.empty(mrf.num_variables, dtype=np.int64)
    rank[order] = np.arange(mrf.num_variables)
    buckets: list[list[Table]] = [[] for _ in range(mrf.num_variables)]
    constant, size = 0.0, 0.0

    def place(table: Table) -> None:
        nonlocal constant
        if table.scope:
            buckets[min(rank[v] for v in table.scope)].append(table)
        else:
            constant += float(table.logs)

    for k in range(mrf.num_factors):
        if k % POLLS == 0:
            budget.check()
        place(_sorted_table(mrf, k))
    splits = largest = 0
    groups: list[list[int]] = []
    for position, v in enumerate(order.tolist()):
        budget.check()
        cards = mrf.cardinalities
        groups.append(_partition(buckets[position], cards, max_entries))
        if not buckets[position]:
            constant += math.log(cards[v])
            continue
        tables = _products(buckets[position], groups[-1], budget)
        buckets[position] = []
        splits += len(tables) - 1
        weight = 1.0 / len(tables)
        if len(tables) > 1:
            _match(tables, weight, budget)
        for table in tables:
            budget.check()
            largest = max(largest, table.logs.size)
            finite = np.abs(table.logs[np.isfinite(table.logs)])
            size += float(finite.max(initial=0.0)) + 1.0
            place(_sum_out(table, v, weight))
    if constant == -math.inf:
        return MiniBucketBound(constant, splits, largest, order, groups)
    # Every message is right to a few units in the last place of its largest entry, which the
    # sums that follow cannot enlarge: log-sums are 1-Lipschitz in the largest error.
    depth = float(np.diff(mrf.scope_offsets).max(initial=1)) + mrf.num_factors
    slack = EPSILON * (16 + depth) * (size + abs(constant) + float(np.log(cards_of(mrf)).sum()))
    return MiniBucketBound(constant + slack, splits, largest, order, groups)


def cards_of(mrf: MarkovRandomField) -> FloatArray:
    """Return the numbers of labels as floats."""
    return mrf.cardinalities.astype(np.float64)


def _sorted_table(mrf: MarkovRandomField, k: int) -> Table:
    scope = mrf.scope(k)
    order = np.argsort(scope, kind="stable")
    logs = np.ascontiguousarray(mrf.log_table(k).transpose(order))
    return Table(tuple(scope[order].tolist()), logs)


def _partition(bucket: list[Table], cards: IntArray, max_entries: int) -> list[int]:
    """Put tables, the largest first, into the first group whose joint table stays small."""
    scopes: list[set[int]] = []
    group_of = [0] * len(bucket)
    for k in sorted(range(len(bucket)), key=lambda k: -len(bucket[k].scope)):
        own = set(bucket[k].scope)
        for group, scope in enumerate(scopes):
            union = scope | own
            if math.prod(int(cards[v]) for v in union) <= max_entries or union == scope:
                scope |= own
                group_of[k] = group
                break
        else:
            group_of[k] = len(scopes)
            scopes.append(own)
    return group_of


def _products(bucket: list[Table], groups: list[int], budget: Budget) -> list[Table]:
    members: list[list[Table]] = [[] for _ in range(max(groups) + 1)]
    for table, group in zip(bucket, groups, strict=True):
        members[group].append(table)
    return [_product(tables, budget) for tables in members]


def _product(tables: list[Table], budget: Budget) -> Table:
    scope = tuple(sorted({v for table in tables for v in table.scope}))
    total: FloatArray | None = None
    for table in tables:
        budget.check()
        shape = iter(table.logs.shape)
        inside = set(table.scope)
        logs = table.logs.reshape([next(shape) if v in inside else 1 for v in scope])
        total = logs if total is None else total + logs
    assert total is not None
    cards = {v: k for t in tables for v, k in zip(t.scope, t.logs.shape, strict=True)}
    return Table(scope, np.array(np.broadcast_to(total, [cards[v] for v in scope])))


def _match(tables: list[Table], weight: float, budget: Budget) -> None:
    """Shift the parts towards equal (weighted) marginals on the variables they all share."""
    shared = set(tables[0].scope)
    for table in tables[1:]:
        shared &= set(table.scope)
    marginals = []
    for table in tables:
        budget.check()
        away = tuple(k for k, v in enumerate(table.scope) if v not in shared)
        marginals.append(_log_sum(table.logs / weight, away, keepdims=True))
    flat = [m.reshape([k for k in m.shape if k > 1] or [1]) for m in marginals]
    shape = np.broadcast_shapes(*(f.shape for f in flat))
    if any(f.shape != shape for f in flat):
        return
    mean = np.add.reduce(flat) / len(flat)
    for table, marginal, own in zip(tables, marginals, flat, strict=True):
        budget.check()
        with np.errstate(invalid="ignore"):
            shift = weight * (mean - own)
        # Where any part is zero the product is zero whatever the others hold.
        shift = np.where(np.isfinite(shift), shift, 0.0)
        table.logs = table.logs + shift.reshape(marginal.shape)


def _sum_out(table: Table, v: int, weight: float) -> Table:
    axis = table.scope.index(v)
    logs = (
        weight * _log_sum(table.logs / weight, (axis,))
        if weight < 1
        else _log_sum(table.logs, (axis,))
    )
    return Table(tuple(w for w in table.scope if w != v), np.asarray(logs))


def _log_sum(logs: FloatArray, axes: tuple[int, ...], *, keepdims: bool = False) -> FloatArray:
    if not axes:
        return logs
    top = logs.max(axis=axes, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(logs - safe).sum(axis=axes, keepdims=True)) + safe
    return np.asarray(total if keepdims else np.squeeze(total, axis=axes))
