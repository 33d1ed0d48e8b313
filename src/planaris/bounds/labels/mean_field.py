"""Naive mean field for pairwise models with any number of labels: log Z >= E_q log w + H(q)."""

from __future__ import annotations

import math
import time

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError
from planaris.kernels.graph import colour_classes
from planaris.models import MarkovRandomField
from planaris.models.base import exact_sum
from planaris.models.tables import parts_ending_at
from planaris.result import Bounds, LabelField, LogPartition, Pseudomarginals
from planaris.subgraphs.bias_model import EPSILON
from planaris.typing import FloatArray, LongArray


def label_mean_field(
    mrf: MarkovRandomField,
    *,
    states: list[LongArray] | None = None,
    max_sweeps: int = 200,
    tolerance: float = 1e-7,
    time_limit: TimeLimit = None,
) -> LogPartition:
    """Bound log Z of a pairwise model without zeros from below by independent variables.

    Starts from no knowledge and from each of the given states.

    >>> pair = MarkovRandomField([3, 3], [((0, 1), np.exp(np.eye(3)))])
    >>> bool(label_mean_field(pair).lower <= np.log(3 * np.e + 6))
    True
    """
    if mrf.has_zeros or not mrf.is_pairwise:
        has = "has zeros" if mrf.has_zeros else "has factors of more than two variables"
        msg = (
            f"mean field needs a pairwise model without zeros, but this one {has}; "
            "`planaris.bounds.interval` takes any model"
        )
        raise MethodError(msg)
    started = time.monotonic()
    budget = Budget.of(time_limit)
    try:
        product = _Product(mrf, budget)
    except TimeoutError:
        return _out_of_time(mrf, budget)
    best, nodes, sweeps = -math.inf, product.uniform(), 0
    for q in [product.uniform(), *(product.at_state(state) for state in states or [])]:
        last = -math.inf
        for _ in range(max_sweeps + 1):
            lower = product.sweep(q, budget)
            sweeps += 1
            if lower > best:
                best, nodes = lower, q.copy()
            if lower - last < tolerance * (1 + abs(lower)) or budget.expired():
                break
            last = lower
    flat = nodes[product.real]
    tables = parts_ending_at(flat, np.cumsum(mrf.cardinalities))
    return LogPartition.between(
        best,
        math.inf,
        num_variables=mrf.num_variables,
        method="mean-field",
        pseudomarginals=Pseudomarginals(tables, None),
        rounds=sweeps,
        seconds=time.monotonic() - started,
        certificate=Bounds(LabelField(flat), None),
    )


def _out_of_time(mrf: MarkovRandomField, budget: Budget) -> LogPartition:
    """Return the bound of variables all of whose labels are alike."""
    cards = mrf.cardinalities.astype(np.float64)
    first, sizes = mrf.table_offsets[:-1], np.diff(mrf.table_offsets)
    means = np.add.reduceat(mrf.log_values, first) / sizes if len(first) else np.zeros(0)
    logs = np.log(cards)
    total = float(np.abs(mrf.log_values).sum() + logs.sum())
    slack = EPSILON * (int(sizes.max(initial=0)) + 64) * (total + 1)
    rows = {k: np.full((int((cards == k).sum()), k), 1 / k) for k in set(cards.astype(int))}
    tables = {k: iter(row) for k, row in rows.items()}
    return LogPartition.between(
        exact_sum(np.concatenate([means, logs])) - slack,
        math.inf,
        num_variables=mrf.num_variables,
        method="mean-field",
        status="time_limit",
        pseudomarginals=Pseudomarginals([next(tables[k]) for k in cards.astype(int)], None),
        seconds=budget.seconds(),
        certificate=Bounds(None, None),
    )


class _Product:
    """Tables padded to one number of labels; variables of one colour are updated together."""

    def __init__(self, mrf: MarkovRandomField, budget: Budget) -> None:
        with budget.for_structure():
            view = mrf.pairwise_view()
        budget.check()
        self.n, self.constant, self.edges = mrf.num_variables, view.constant, view.edges
        cards = mrf.cardinalities.astype(np.int64)
        k = int(cards.max(initial=1))
        self.real = np.arange(k) < cards[:, None]
        self.node = np.zeros((self.n, k))
        self.node[self.real] = view.node_logs
        self.table = np.zeros((len(view.edges), k, k))
        u, v = view.edges.T
        self.table[self.real[u][:, :, None] & self.real[v][:, None, :]] = view.edge_logs
        budget.check()
        self.colours = colour_classes(self.n, view.edges)
        self.size = float(np.abs(self.table).max((1, 2), initial=0.0).sum())
        self.size += float(np.abs(self.node).max(1, initial=0.0).sum()) + self.n

    def uniform(self) -> FloatArray:
        return np.asarray(self.real / np.maximum(self.real.sum(1, keepdims=True), 1))

    def at_state(self, state: LongArray) -> FloatArray:
        q = 0.1 * self.uniform()
        q[np.arange(self.n), state] += 0.9
        return q

    def sweep(self, q: FloatArray, budget: Budget) -> float:
        """Update every variable once, in place; return the bound, less its rounding.

        Variables that time is too short for keep their distributions: any product is a bound.
        """
        u, v = self.edges.T
        for members in self.colours:
            if budget.expired():
                break
            chosen = np.zeros(self.n, dtype=bool)
            chosen[members] = True
            logs = self.node.copy()
            for here, there, axes in ((u, v, "eab,eb->ea"), (v, u, "eab,ea->eb")):
                at = np.flatnonzero(chosen[here])
                np.add.at(logs, here[at], np.einsum(axes, self.table[at], q[there[at]]))
            fresh = np.where(self.real[members], logs[members], -np.inf)
            fresh = np.exp(fresh - fresh.max(1, keepdims=True))
            q[members] = fresh / fresh.sum(1, keepdims=True)
        pairs = np.einsum("eab,ea,eb->e", self.table, q[u], q[v])
        singles = (self.node * q).sum(1)
        entropy = -(q * np.log(np.maximum(q, 1e-300))).sum(1)
        bound = float(pairs.sum() + singles.sum() + entropy.sum()) + self.constant
        # q adds up to one but for rounding; log Z moves by that times the size of the tables.
        count = self.table.shape[-1] ** 2 if len(self.table) else self.node.shape[-1]
        return bound - EPSILON * (count + 64) * (self.size + abs(self.constant))
