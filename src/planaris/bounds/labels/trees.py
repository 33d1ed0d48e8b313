"""Tree-reweighted upper bounds for pairwise models with any number of labels.

As for spins (:mod:`planaris.bounds.decomposition.trees`), with a table per message:
whatever the messages, tree T with edge tables θ_e / ρ_e and vertex tables
b_v - Σ_{w: vw in T} u_{w→v} is a
split of the model whose mean over the trees is the model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from planaris.budget import UNLIMITED, Budget, TimeLimit
from planaris.kernels.relaxations import LabelTables, forest_log_partition, sweep_labels
from planaris.models import MarkovRandomField
from planaris.models.tables import PairwiseView, alike, parts_ending_at
from planaris.result import Bounds, LabelTrees, LogPartition, Pseudomarginals
from planaris.subgraphs.bias_model import EPSILON
from planaris.subgraphs.convex_combination import Callback
from planaris.subgraphs.families import heaviest_forest
from planaris.typing import FloatArray, LongArray

MAX_ROUNDS = 60
"""Trees added, at most."""

LEAST_FALL = 1e-3
"""Rounds end when the best tree promises less than this, per variable."""

ENTRIES_AT_ONCE = 2**16
"""Entries of pseudomarginals computed between two checks of the deadline."""

TREE_ENTRIES_AT_ONCE = 2**19
"""Entries of tables of which trees are proved between two checks of the deadline."""

FLOOR = 40.0
"""Zeros become this much less than the least log potential of their table: a bound still."""


class LabelMixture:
    """Spanning trees of a pairwise model, their weights, and messages that split it.

    Parameters
    ----------
    mrf : MarkovRandomField
        Pairwise.
    budget : Budget
        Time for message passing.
    """

    def __init__(self, mrf: MarkovRandomField, *, budget: Budget = UNLIMITED) -> None:
        with budget.for_structure():
            self.view: PairwiseView = mrf.pairwise_view()
        budget.check()
        view = self.view
        self.n, self.edges = mrf.num_variables, np.ascontiguousarray(view.edges, dtype=np.int32)
        self.node_offsets = np.ascontiguousarray(view.node_offsets, dtype=np.int64)
        self.edge_offsets = np.ascontiguousarray(view.edge_offsets, dtype=np.int64)
        self.node_logs = without_zeros(view.node_logs, self.node_offsets)
        self.edge_logs = without_zeros(view.edge_logs, self.edge_offsets)
        self.budget = budget
        budget.check()
        cards = np.diff(self.node_offsets)
        # Message h goes to the other end of half-edge h: its entries belong to that vertex.
        towards = self.edges[:, ::-1].ravel()
        sizes = cards[towards]
        self.message_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rank = np.arange(int(sizes.sum())) - np.repeat(self.message_offsets[:-1], sizes)
        self.entry = np.repeat(self.node_offsets[towards], sizes) + rank
        self.edge_of_entry = np.repeat(np.arange(2 * len(self.edges)) // 2, sizes)
        budget.check()
        self.trees, self.weights = self._first_trees(budget), np.zeros(0)
        self.weights = np.full(len(self.trees), 1 / len(self.trees))
        self.rho = np.minimum(self.weights @ np.array(self.trees), 1.0)
        self.messages = np.zeros(int(sizes.sum()))
        self.change, self.damping = math.inf, 0.0

    def _first_trees(self, budget: Budget) -> list[FloatArray]:
        """Return indicators of spanning forests that hold every edge."""
        count = np.zeros(len(self.edges))
        trees: list[FloatArray] = []
        while not trees or not count.all():
            budget.check()
            trees.append(self._heaviest(-count))
            count += trees[-1]
        return trees

    def tables(self) -> LabelTables:
        """Return the model's tables, those of edges divided by ρ."""
        share = np.repeat(self.rho, np.diff(self.edge_offsets))
        return LabelTables(
            self.node_offsets, self.node_logs, self.edge_offsets, self.edge_logs / share
        )

    def sweep(self, max_sweeps: int, tolerance: float) -> bool:
        """Pass messages until they move less than ``tolerance``; return whether they do."""
        last = math.inf
        for _ in range(0, max_sweeps, 4):
            self.messages, _, self.change = sweep_labels(
                self.edges,
                self.tables(),
                self.rho,
                self.messages,
                max_sweeps=4,
                tolerance=tolerance,
                damping=self.damping,
                budget=self.budget,
            )
            if self.change <= tolerance or self.budget.expired():
                break
            if self.change > last:
                self.damping = min(0.9, 0.5 + 0.5 * self.damping)
            last = self.change
        return self.change <= tolerance

    def beliefs(self) -> FloatArray:
        """Return b of every vertex, flat."""
        weighted = self.rho[self.edge_of_entry] * self.messages
        return np.asarray(self.node_logs + np.bincount(self.entry, weighted, len(self.node_logs)))

    def joints(self) -> Iterator[tuple[LongArray, FloatArray]]:
        """Yield some edges of one shape and pseudomarginals, shape (edges, labels, labels)."""
        beliefs, logs = self.beliefs(), self.tables().edge_logs
        for at, a, b in self._alike():
            u, v = self.edges[at].T
            tables = logs[self.edge_offsets[at][:, None] + np.arange(a * b)].reshape(-1, a, b)
            forth, back = self.message_offsets[2 * at], self.message_offsets[2 * at + 1]
            left = beliefs[self.node_offsets[u][:, None] + np.arange(a)]
            left = left - self.messages[back[:, None] + np.arange(a)]
            right = beliefs[self.node_offsets[v][:, None] + np.arange(b)]
            right = right - self.messages[forth[:, None] + np.arange(b)]
            joint = tables + left[:, :, None] + right[:, None, :]
            joint = np.exp(joint - joint.max((1, 2), keepdims=True))
            yield at, joint / joint.sum((1, 2), keepdims=True)

    def _alike(self) -> Iterator[tuple[LongArray, int, int]]:
        """Yield edges to work on at once, and the numbers of labels of their ends."""
        for a, b, members in alike(np.diff(self.node_offsets)[self.edges]):
            step = max(ENTRIES_AT_ONCE // (a * b), 1)
            for first in range(0, len(members), step):
                yield members[first : first + step], a, b

    def information(self) -> FloatArray:
        """Return the mutual information of the pseudomarginals of every edge."""
        found = np.zeros(len(self.edges))
        for at, joint in self.joints():
            self.budget.check()
            product = joint.sum(2, keepdims=True) * joint.sum(1, keepdims=True)
            ratio = np.log(np.maximum(joint, 1e-300)) - np.log(np.maximum(product, 1e-300))
            found[at] = np.maximum((joint * ratio).sum((1, 2)), 0.0)
        return found

    def pairs(self, budget: Budget = UNLIMITED) -> list[FloatArray] | None:
        """Return the pseudomarginals of the edges, those of the pairwise view; None when late."""
        found: list[FloatArray] = [np.zeros(0)] * len(self.edges)
        for at, joint in self.joints():
            if budget.expired():
                return None
            for e, table in zip(at.tolist(), joint, strict=True):
                found[e] = table
        return found

    def _heaviest(self, weights: FloatArray) -> FloatArray:
        """Return the indicator of a spanning forest of largest weight."""
        tree = np.zeros(len(self.edges))
        tree[heaviest_forest(self.n, self.edges, weights, self.budget)] = 1.0
        return tree

    def improve(self, k: int) -> bool:
        """Add the tree of most information at the weight of round ``k``.

        Return False, and add none, if it promises too little or time is up.
        """
        try:
            information = self.information()
            tree = self._heaviest(information)
        except TimeoutError:
            return False
        if float(information @ (tree - self.rho)) < LEAST_FALL * self.n:
            return False
        step = 2.0 / (k + 4)
        self.trees.append(tree)
        self.weights = np.append((1 - step) * self.weights, step)
        self.rho = np.minimum((1 - step) * self.rho + step * tree, 1.0)
        return True

    def upper(self, budget: Budget = UNLIMITED) -> float:
        """Return a proved bound on log Z: log Z of every tree, and what rounding left over.

        ``TimeoutError`` if the time is over before.
        """
        beliefs, tables = self.beliefs(), self.tables()
        sizes = np.diff(self.edge_offsets)
        total, slack = 0.0, 0.0
        mean_nodes, share = np.zeros(len(beliefs)), np.zeros(len(self.edges))
        weights = self.weights / self.weights.sum()
        stride = max(TREE_ENTRIES_AT_ONCE // (len(self.edge_logs) + 1), 1)
        for k, (weight, tree) in enumerate(zip(weights.tolist(), self.trees, strict=True)):
            if k % stride == 0:
                budget.check()
            inside = tree[self.edge_of_entry] > 0
            taken = np.bincount(self.entry[inside], self.messages[inside], len(beliefs))
            nodes = beliefs - taken
            chosen = np.flatnonzero(tree)
            kept = np.repeat(tree > 0, sizes)
            offsets = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
            part = LabelTables(self.node_offsets, nodes, offsets, tables.edge_logs[kept])
            value = forest_log_partition(np.ascontiguousarray(self.edges[chosen]), part)
            total += weight * value
            slack += weight * self._rounding(value, nodes, tables.edge_logs[kept])
            mean_nodes += weight * nodes
            share += weight * tree
        budget.check()
        left = self.node_logs - mean_nodes
        left_edges = self.edge_logs - np.repeat(share, sizes) * tables.edge_logs
        # log Z grows by no more than the largest entries of what the trees miss.
        miss = np.maximum.reduceat(left, self.node_offsets[:-1]).sum() if self.n else 0.0
        if len(self.edges):
            miss += np.maximum.reduceat(left_edges, self.edge_offsets[:-1]).sum()
        scale = float(np.abs(beliefs).sum() + np.abs(self.edge_logs).sum()) + abs(total)
        slack += 8 * EPSILON * len(weights) * scale
        bound = total + float(miss) + slack + self.view.constant
        return bound + 4 * EPSILON * abs(bound)

    def _rounding(self, value: float, nodes: FloatArray, edges: FloatArray) -> float:
        size = abs(value) + float(np.abs(nodes).sum() + 2 * np.abs(edges).sum()) + self.n
        cards = np.diff(self.node_offsets)
        degree = np.bincount(self.edges.ravel(), minlength=1)
        return EPSILON * (self.n + 64 + int(cards.max()) + int(degree.max())) * size

    def nodes(self) -> list[FloatArray]:
        """Return the pseudomarginals of the variables."""
        beliefs, first = self.beliefs(), self.node_offsets[:-1]
        sizes = np.diff(self.node_offsets)
        weights = np.exp(beliefs - np.repeat(np.maximum.reduceat(beliefs, first), sizes))
        weights /= np.repeat(np.add.reduceat(weights, first), sizes)
        return parts_ending_at(weights, self.node_offsets[1:])

    def likeliest(self) -> LongArray:
        """Return the label of largest pseudomarginal of every variable, the first of equal ones."""
        beliefs, sizes = self.beliefs(), np.diff(self.node_offsets)
        tops = np.repeat(np.maximum.reduceat(beliefs, self.node_offsets[:-1]), sizes)
        at = np.flatnonzero(beliefs == tops)[::-1]
        owner = np.repeat(np.arange(self.n), sizes)[at]
        labels = np.zeros(self.n, dtype=np.int64)
        labels[owner] = at - self.node_offsets[owner]
        return labels

    def proof(self) -> LabelTrees:
        """Return the split as plain arrays."""
        chosen = [np.flatnonzero(tree) for tree in self.trees]
        # Of an edge, the message to its second end comes first here.
        turned = np.arange(2 * len(self.edges)) ^ 1
        sizes = np.diff(self.message_offsets)[turned]
        begin = np.cumsum(sizes) - sizes
        taken = np.arange(len(self.messages)) + np.repeat(
            self.message_offsets[turned] - begin, sizes
        )
        return LabelTrees(
            weights=self.weights / self.weights.sum(),
            edges=self.edges,
            tree_offsets=np.cumsum([0, *map(len, chosen)]),
            tree_edges=np.concatenate([np.zeros(0, dtype=np.int64), *chosen]),
            messages=self.messages[taken],
        )

    def seconds_to_prove(self) -> float:
        """Estimate the time of :meth:`upper`, and of :meth:`pairs` after it."""
        return 8e-9 * len(self.trees) * (len(self.edge_logs) + 20 * len(self.messages) + 1000)


def label_trw(
    mrf: MarkovRandomField,
    *,
    max_iterations: int = MAX_ROUNDS,
    time_limit: TimeLimit = None,
    callback: Callback | None = None,
) -> LogPartition:
    """Bound log Z of a pairwise model from above; see :func:`planaris.bounds.trw`."""
    started = time.monotonic()
    budget = Budget.of(time_limit)
    try:
        with budget.for_structure():
            value = mrf.pairwise_view().constant
        if not mrf.num_variables or value == -math.inf:
            return LogPartition.around(value, 0.0, num_variables=mrf.num_variables, method="trw")
        mixture, status = LabelMixture(mrf, budget=budget), "max_iterations"
        budget.reserve(mixture.seconds_to_prove()).check()
    except TimeoutError:
        return without_trees(mrf, budget)
    for k in range(max_iterations):
        mixture.budget = budget.reserve(mixture.seconds_to_prove())
        mixture.sweep(4, 1e-3)
        if callback is not None:
            callback(mixture.upper())
        if mixture.budget.expired() or not mixture.improve(k):
            status = "time_limit" if mixture.budget.expired() else "optimal"
            break
    if max_iterations and status != "time_limit":
        mixture.sweep(400, 1e-6)
    try:
        upper = mixture.upper(budget.to_finish())
    except TimeoutError:
        return without_trees(mrf, budget)
    return LogPartition.between(
        -math.inf,
        upper,
        num_variables=mrf.num_variables,
        method="trw",
        status=status,
        pseudomarginals=Pseudomarginals(mixture.nodes(), mixture.pairs(budget)),
        seconds=time.monotonic() - started,
        certificate=Bounds(None, mixture.proof()),
        stats={"rho": mixture.rho, "trees": len(mixture.trees), "change": mixture.change},
    )


def without_trees(mrf: MarkovRandomField, budget: Budget) -> LogPartition:
    """Return what holds without trees."""
    cards = mrf.cardinalities
    uniform = parts_ending_at(np.repeat(1 / cards, cards), np.cumsum(cards))
    return LogPartition.between(
        -math.inf,
        table_upper(mrf),
        num_variables=mrf.num_variables,
        method="trw",
        status="time_limit",
        pseudomarginals=Pseudomarginals(uniform, None),
        seconds=budget.seconds(),
    )


def table_upper(mrf: MarkovRandomField) -> float:
    """Return Σ log of the largest entries plus the log of the number of states.

    >>> round(table_upper(MarkovRandomField([2, 2], [((0, 1), [[1, 2], [3, 4]])])), 6)
    2.772589
    """
    first = mrf.table_offsets[:-1]
    tops = np.maximum.reduceat(mrf.log_values, first) if len(first) else np.zeros(0)
    if np.any(tops == -math.inf):
        return -math.inf
    terms = [*tops.tolist(), *np.log(mrf.cardinalities.astype(np.float64)).tolist()]
    return math.fsum(terms) + 8 * EPSILON * math.fsum(map(abs, terms))


def without_zeros(logs: FloatArray, offsets: LongArray) -> FloatArray:
    """Return the tables with zeros raised to a small potential, which log Z cannot fall by."""
    zeros = np.isneginf(logs)
    if not zeros.any():
        return np.array(logs, dtype=np.float64)
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    least = np.full(len(offsets) - 1, math.inf)
    np.minimum.at(least, owner[~zeros], logs[~zeros])
    floor = np.where(np.isfinite(least), least, 0.0) - FLOOR
    return np.where(zeros, floor[owner], logs)
