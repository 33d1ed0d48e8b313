"""An upper bound on log Z by elimination whose tables are summed in groups."""

from __future__ import annotations

import math

import numpy as np

from planaris.models import MarkovRandomField
from planaris.result import MiniBuckets
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import require, runs, whole_row
from planaris.verify.recompute.elimination import MAX_ENTRIES, Recomputed

_UNIT = 2.0**-53

Table = tuple[tuple[int, ...], FloatArray]
"""Variables in increasing order, and logarithms with one axis for each."""


def mini_bucket_bound(model: MarkovRandomField, proof: MiniBuckets) -> Recomputed | None:
    """Return what the groups of the proof give; None if a group is too large a table.

    Whatever is shifted between the groups of one bucket adds up to nothing, and Hölder's
    inequality holds for any groups: so does the bound.
    """
    n = model.num_variables
    order, groups = whole_row(proof.order, "order"), whole_row(proof.groups, "groups")
    require(np.array_equal(np.sort(order), np.arange(n)), "every variable goes once")
    begins = runs(proof.group_offsets, "group_offsets", n, len(groups))
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    at: list[list[Table]] = [[] for _ in range(n)]
    terms, error = [0.0], 0.0
    for f in range(model.num_factors):
        _file(at, rank, terms, _sorted(model, f))
    for place, v in enumerate(order.tolist()):
        tables = at[place]
        named = groups[begins[place] : begins[place + 1]]
        require(len(named) == len(tables), "every table is in a group")
        if not tables:
            terms.append(math.log(model.cardinalities[v]))
            continue
        before = sum(_size(logs) for _, logs in tables)  # what is added up may cancel
        parts = _joined(tables, named)
        if parts is None:
            return None
        at[place] = []
        _balance(parts)
        for scope, logs in parts:
            # Every entry is off by some roundings of sums of numbers of these sizes.
            size = before + _size(logs) + 1.0
            error += 4 * _UNIT * (len(tables) + logs.shape[scope.index(v)] + 8) * size
            rest = tuple(u for u in scope if u != v)
            message = _power_sum(logs, scope.index(v), len(parts))
            _file(at, rank, terms, (rest, message))
    value = math.fsum(terms) if all(map(math.isfinite, terms)) else float(sum(terms))
    return Recomputed(value, error + 4 * _UNIT * (abs(value) + len(terms)))


def _size(logs: FloatArray) -> float:
    return float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))


def _sorted(model: MarkovRandomField, f: int) -> Table:
    scope = [int(v) for v in model.scope(f)]
    axes = sorted(range(len(scope)), key=scope.__getitem__)
    logs = np.asarray(model.log_table(f), dtype=np.float64).transpose(axes)
    return tuple(sorted(scope)), logs


def _file(at: list[list[Table]], rank: Array, terms: list[float], table: Table) -> None:
    if table[0]:
        at[min(int(rank[u]) for u in table[0])].append(table)
    else:
        terms.append(float(table[1]))


def _joined(tables: list[Table], named: Array) -> list[Table] | None:
    """Add up the tables of each group."""
    names = np.unique(named)
    require(np.array_equal(names, np.arange(len(names))), "groups are numbered from 0")
    parts = []
    for group in names.tolist():
        members = [table for table, k in zip(tables, named.tolist(), strict=True) if k == group]
        cards = {u: k for scope, logs in members for u, k in zip(scope, logs.shape, strict=True)}
        scope = tuple(sorted(cards))
        if math.prod(cards.values()) > MAX_ENTRIES:
            return None
        total = np.zeros([cards[u] for u in scope])
        for own, logs in members:
            total = total + logs.reshape([cards[u] if u in own else 1 for u in scope])
        parts.append((scope, total))
    return parts


def _balance(parts: list[Table]) -> None:
    """Shift the parts to equal sums of their powers over what not all of them depend on."""
    count = len(parts)
    if count == 1:
        return
    shared = set.intersection(*(set(scope) for scope, _ in parts))
    sums = []
    for scope, logs in parts:
        away = tuple(k for k, u in enumerate(scope) if u not in shared)
        sums.append(_log_sum(logs * count, away))
    mean = np.add.reduce(sums) / count
    for k, (scope, logs) in enumerate(parts):
        with np.errstate(invalid="ignore"):
            shift = (mean - sums[k]) / count
        shift = np.where(np.isfinite(shift), shift, 0.0)  # where a part is zero, so is the product
        spread = [m if u in shared else 1 for u, m in zip(scope, logs.shape, strict=True)]
        parts[k] = (scope, logs + shift.reshape(spread))


def _power_sum(logs: FloatArray, axis: int, count: int) -> FloatArray:
    """Return log (Σ f^count)^(1/count) over an axis."""
    return np.asarray(_log_sum(logs * count, (axis,)) / count)


def _log_sum(logs: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    top = logs.max(axis=axes, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(logs - shift).sum(axis=axes, keepdims=True)) + shift
    return np.asarray(np.squeeze(total, axis=axes))
