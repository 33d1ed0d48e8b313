"""Lower bounds on the energies of a Markov random field from the steps of a search over labels.

Every step keeps a lower bound: a label that is no better than another may go, a variable that is
eliminated leaves its least energy to its neighbours, and messages move energy between tables
without changing any sum. Numbers are doubles rounded down or, where that would cost too much,
fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from planaris.models import MarkovRandomField
from planaris.result import LabelCycles, LabelSteps, LabelTree, Proof
from planaris.typing import Array, FloatArray, LongArray
from planaris.verify.conversions import as_pairwise
from planaris.verify.proof_arrays import real_row, require, runs, whole_row
from planaris.verify.proofs.energy.label_bounds import LabelBound, label_bound, label_cycle_bound

_UNIT = 2.0**-53

IMPOSSIBLE, DOMINATED, ELIMINATED, MESSAGES, TOO_DEAR = range(5)

ARGUMENTS = {IMPOSSIBLE: 2, DOMINATED: 3, ELIMINATED: 1, MESSAGES: 0, TOO_DEAR: 2}


def bound_by_labels(model: MarkovRandomField, proof: Proof | None, allowed: float) -> LabelBound:
    """Return a lower bound on all energies from a proof about labels, of any kind."""
    if isinstance(proof, LabelTree):
        return label_bound(model, proof, allowed)
    if isinstance(proof, LabelCycles):
        return label_cycle_bound(model, proof, allowed)
    require(isinstance(proof, LabelSteps), "the proof is about labels")
    assert isinstance(proof, LabelSteps), "checked"
    return label_steps_bound(model, proof, allowed)


def label_steps_bound(model: MarkovRandomField, proof: LabelSteps, allowed: float) -> LabelBound:
    """Return a lower bound on all energies, rounded down.

    Parameters
    ----------
    model : MarkovRandomField
        The model.
    proof : LabelSteps
        The steps of a search.
    allowed : float
        Where rounding may cost more than this, rational numbers are used.

    Raises
    ------
    VerificationError
        When a step does not hold.
    """
    mrf = model if model.is_pairwise else as_pairwise(model)
    read = _Steps(proof)
    finite = np.abs(mrf.log_values[np.isfinite(mrf.log_values)])
    largest = max(float(finite.max(initial=0.0)), float(np.abs(read.numbers).max(initial=0.0)))
    terms = 16 * (len(read.steps) + mrf.num_factors + mrf.num_variables)
    charged = _UNIT * largest * terms
    if charged <= allowed and largest < 1e200:
        return LabelBound(_lowest(_Tables.of(mrf, exact=False), read), charged)
    return LabelBound(_lowest(_Tables.of(mrf, exact=True), read), 0.0)


class _Steps:
    """The arrays of a proof, checked, and what belongs to a node."""

    def __init__(self, proof: LabelSteps) -> None:
        self.variable = whole_row(proof.branch_variable, "branch_variable").tolist()
        self.label = whole_row(proof.branch_label, "branch_label").tolist()
        count = len(self.variable)
        child = np.asarray(proof.child)
        require(count > 0 and child.shape == (count, 2), "every node has two children")
        self.child = whole_row(child.ravel(), "child").reshape(-1, 2).tolist()
        require(len(self.label) == count, "every node has a decision")
        self.steps = whole_row(proof.steps, "steps").tolist()
        self.numbers = real_row(proof.numbers, "numbers")
        require(bool(np.all(np.isfinite(self.numbers))), "messages are finite")
        self.begins = runs(proof.step_offsets, "step_offsets", count, len(self.steps)).tolist()
        self.first = runs(proof.number_offsets, "number_offsets", count, len(self.numbers)).tolist()

    def of_node(self, node: int) -> Iterator[tuple[int, list[int]]]:
        """Yield (kind, arguments)."""
        at, end = self.begins[node], self.begins[node + 1]
        while at < end:
            kind = self.steps[at]
            require(kind in ARGUMENTS, "steps are of a known kind")
            last = at + 1 + ARGUMENTS[kind]
            require(last <= end, "steps are whole")
            yield kind, self.steps[at + 1 : last]
            at = last

    def messages_of_node(self, node: int) -> FloatArray:
        """Return the numbers of a node."""
        return self.numbers[self.first[node] : self.first[node + 1]]


def _lowest(root: _Tables, read: _Steps) -> Any:
    """Return the lowest bound of all labels that went and of all leaves."""
    lowest: Any = math.inf
    seen = [False] * len(read.child)
    stack = [(0, root)]
    while stack:
        node, tables = stack.pop()
        require(0 <= node < len(seen) and not seen[node], "the nodes form a tree")
        seen[node] = True
        worker = _Node(tables, read.messages_of_node(node))
        for kind, arguments in read.of_node(node):
            worker.take(kind, arguments)
        worker.finish()
        lowest = min(lowest, worker.lowest)
        i, a = read.variable[node], read.label[node]
        if i < 0:
            lowest = min(lowest, worker.leaf())
            continue
        require(a in tables.labels.get(i, ()), "decisions are about labels that are left")
        for child, equal in zip(read.child[node], (True, False), strict=True):
            kept = np.equal(tables.labels[i], a) == equal
            part = tables.copy()
            part.keep(i, kept)
            stack.append((child, part))
    return lowest


@dataclass
class _Tables:
    """Energies of what is left: labels of variables, tables of pairs u < v, a constant."""

    exact: bool
    labels: dict[int, LongArray] = field(default_factory=dict)
    nodes: dict[int, Array] = field(default_factory=dict)
    tables: dict[tuple[int, int], Array] = field(default_factory=dict)
    around: dict[int, tuple[int, ...]] = field(default_factory=dict)
    terms: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, mrf: MarkovRandomField, *, exact: bool) -> _Tables:
        """Add up the factors of a pairwise MRF."""
        self = cls(exact)
        for i, count in enumerate(mrf.cardinalities.tolist()):
            self.labels[i] = np.arange(count)
            self.nodes[i] = self.numbers(np.zeros(count))
            self.around[i] = ()
        for k in range(mrf.num_factors):
            scope, energy = mrf.scope(k).tolist(), self.numbers(0.0 - np.asarray(mrf.log_table(k)))
            if len(scope) == 0:
                self.terms.append(energy.item())
            elif len(scope) == 1:
                self.nodes[scope[0]] = self.sum(self.nodes[scope[0]], energy)
            else:
                self.add(scope[0], scope[1], energy)
        return self

    def numbers(self, values: FloatArray) -> Array:
        """Return doubles as the numbers that are used here."""
        if not self.exact:
            return values
        flat = [Fraction(x) if math.isfinite(x) else x for x in values.ravel().tolist()]
        return np.array([*flat, None], dtype=object)[:-1].reshape(values.shape)

    def sum(self, *parts: Array) -> Array:
        """Add arrays up, rounded down; infinite entries stay so."""
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        if self.exact:
            return total
        size = np.abs(parts[0])
        for part in parts[1:]:
            size = size + np.abs(part)
        return np.where(np.isinf(total), total, total - 1.01 * _UNIT * (len(parts) + 1) * size)

    def total(self, terms: Iterable[Any]) -> Any:
        """Return a sum of numbers, rounded down."""
        every = list(terms)
        if math.inf in every:
            return math.inf
        if self.exact:
            return sum(every, Fraction(0))
        return math.nextafter(math.fsum(every), -math.inf)

    def copy(self) -> _Tables:
        """Return a copy; arrays are never changed in place."""
        return _Tables(
            self.exact,
            dict(self.labels),
            dict(self.nodes),
            dict(self.tables),
            dict(self.around),
            list(self.terms),
        )

    def add(self, u: int, v: int, energy: Array) -> None:
        """Add energy to the table of a pair, the first variable as rows."""
        pair, energy = ((u, v), energy) if u < v else ((v, u), energy.T)
        if pair in self.tables:
            self.tables[pair] = self.sum(self.tables[pair], energy)
            return
        self.tables[pair] = energy
        self.around[u] = (*self.around[u], v)
        self.around[v] = (*self.around[v], u)

    def table(self, i: int, j: int) -> Array:
        """Return the table of a pair with i as the rows."""
        return self.tables[i, j] if i < j else self.tables[j, i].T

    def keep(self, i: int, kept: Array) -> None:
        """Drop labels of a variable."""
        self.labels[i], self.nodes[i] = self.labels[i][kept], self.nodes[i][kept]
        for j in self.around[i]:
            if i < j:
                self.tables[i, j] = self.tables[i, j][kept]
            else:
                self.tables[j, i] = self.tables[j, i][:, kept]

    def eliminate(self, i: int) -> None:
        """Leave the least energy of a variable to its neighbours."""
        others, node = self.around[i], self.nodes[i]
        tables = [self.table(i, j) for j in others]
        require(len(node) == 1 or len(others) <= 2, "who is eliminated has two neighbours at most")
        del self.labels[i], self.nodes[i], self.around[i]
        for j in others:
            self.around[j] = tuple(k for k in self.around[j] if k != i)
            del self.tables[min(i, j), max(i, j)]
        if len(node) == 1 or not others:
            self.terms.append(_least(node))
            for j, table in zip(others, tables, strict=True):
                self.nodes[j] = self.sum(self.nodes[j], table[0])
        elif len(others) == 1:
            best = self.sum(node[:, None], tables[0]).min(0)
            self.nodes[others[0]] = self.sum(self.nodes[others[0]], best)
        else:
            rows = [self.sum(node, column) for column in tables[0].T]
            best = np.array([self.sum(row[:, None], tables[1]).min(0) for row in rows])
            self.add(others[0], others[1], best.reshape(len(rows), -1))


class _Node:
    """The steps of one node, applied to the tables its parent left."""

    def __init__(self, tables: _Tables, messages: FloatArray) -> None:
        self.tables, self.messages, self.at = tables, messages, 0
        self.lowest: Any = math.inf
        self.bound: Any = None
        self.charged: list[Any] = []  # for dominated labels, since the last messages
        self.slack: dict[int, Array] = {}
        self.labels: dict[int, LongArray] = {}
        self.empty = False
        self.waiting: tuple[int, int, list[list[int]]] = (-1, -1, [])

    def take(self, kind: int, arguments: list[int]) -> None:
        """Apply a step; those that drop labels of one variable wait for each other."""
        if kind in (ELIMINATED, MESSAGES) or self.waiting[:2] != (kind, arguments[0]):
            self.finish()
        if kind == MESSAGES:
            self._pass_messages()
            return
        require(arguments[0] in self.tables.labels, "steps are about variables that are left")
        if kind == ELIMINATED:
            self.bound = None
            self.tables.eliminate(arguments[0])
        elif self.waiting[2]:
            self.waiting[2].append(arguments[1:])
        else:
            self.waiting = (kind, arguments[0], [arguments[1:]])

    def finish(self) -> None:
        """Drop the labels that wait."""
        kind, i, waiting = self.waiting
        self.waiting = (-1, -1, [])
        if not waiting:
            return
        place = {int(a): k for k, a in enumerate(self.tables.labels[i])}
        require(all(a in place for each in waiting for a in each), "steps are about labels left")
        at = np.array([[place[a] for a in each] for each in waiting])
        gone = at[:, 0]
        require(len(set(gone.tolist())) == len(gone), "labels go once")
        if kind == IMPOSSIBLE:
            self._check_impossible(i, gone)
        elif kind == DOMINATED:
            self._charge_dominated(i, at)
        else:
            self._charge_dear(i, self.tables.labels[i][gone])
        kept = np.ones(len(place), dtype=bool)
        kept[gone] = False
        self.tables.keep(i, kept)
        self.empty |= not kept.any()

    def _check_impossible(self, i: int, gone: LongArray) -> None:
        possible = np.equal(self.tables.nodes[i][gone], math.inf) == False  # noqa: E712
        for j in self.tables.around[i]:
            possible &= (self.tables.table(i, j)[gone] < math.inf).any(1)
        require(not bool(possible.any()), "labels that are called impossible are")

    def _charge_dominated(self, i: int, at: LongArray) -> None:
        """To take another label instead may cost a little, by rounding: that is charged."""
        a, b = at.T
        went: set[int] = set()
        for loser, winner in at.tolist():
            require(winner not in went and winner != loser, "the better label is left")
            went.add(loser)
        parts = [self._difference(self.tables.nodes[i][a], self.tables.nodes[i][b])]
        for j in self.tables.around[i]:
            table = self.tables.table(i, j)
            parts.append(self._difference(table[a], table[b]).min(1, initial=math.inf))
        # A label that is impossible may go whatever the others say.
        sure = np.any([np.equal(part, math.inf) for part in parts], axis=0)
        worst = self.tables.sum(*(np.where(np.equal(p, math.inf), 0, p) for p in parts))
        deficits = np.where(sure, 0, np.where(worst < 0, worst, 0))
        require(bool(np.all(deficits > -math.inf)), "a label goes for one that is as good")
        self.tables.terms += deficits.tolist()
        self.charged += deficits.tolist()

    def _difference(self, mine: Array, other: Array) -> Array:
        """Return mine - other, rounded down; +inf where mine is impossible."""
        impossible = np.equal(mine, math.inf)
        other = np.where(impossible, 0, other)
        return np.where(
            impossible, math.inf, self.tables.sum(np.where(impossible, 0, mine), -other)
        )

    def _charge_dear(self, i: int, labels: LongArray) -> None:
        require(self.bound is not None and i in self.slack, "there are messages before")
        place = {int(a): k for k, a in enumerate(self.labels[i])}
        require(all(a in place for a in labels.tolist()), "messages are about labels that go")
        # A label that was dominated since the messages may stand behind the one that goes now.
        least = min(self.slack[i][place[a]] for a in labels.tolist())
        self.lowest = min(self.lowest, self.tables.total([self.bound, least, *self.charged]))

    def _pass_messages(self) -> None:
        """Read the messages of all edges; find the bound, and what every label costs beyond."""
        tables = self.tables
        self.charged = []
        self.labels = dict(tables.labels)
        self.slack = {i: tables.numbers(np.zeros(len(a))) for i, a in self.labels.items()}
        if any(len(labels) == 0 for labels in self.labels.values()):
            self.bound = math.inf
            return
        beliefs = {i: [node] for i, node in tables.nodes.items()}
        rests, terms = [], list(tables.terms)
        for u, v in sorted(tables.tables):
            sent = []
            for i in (u, v):
                end = self.at + len(self.labels[i])
                require(end <= len(self.messages), "there is a message for every label")
                sent.append(tables.numbers(self.messages[self.at : end]))
                beliefs[i].append(sent[-1])
                self.at = end
            rests.append(((u, v), tables.tables[u, v], sent))
        for (u, v), least, rows, columns in _least_rests(tables, rests):
            terms.append(least)
            if least < math.inf:
                self.slack[u] = self.slack[u] + (rows - least)
                self.slack[v] = self.slack[v] + (columns - least)
        for i, parts in beliefs.items():
            belief = tables.sum(*parts)
            terms.append(_least(belief))
            if terms[-1] < math.inf:
                self.slack[i] = self.slack[i] + (belief - terms[-1])
            if not tables.exact:  # terms that are not negative: rounding is relative
                self.slack[i] = self.slack[i] * (1 - 4 * _UNIT * (len(parts) + 4))
        self.bound = tables.total(terms)

    def leaf(self) -> Any:
        """Return the bound of a node without children."""
        if self.empty:
            return math.inf
        require(self.bound is not None, "a leaf has messages")
        return self.bound


def _least_rests(tables: _Tables, rests: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield (pair, least entry, least of rows, of columns) of tables less their messages."""
    if tables.exact:
        for pair, table, (to_u, to_v) in rests:
            rest = table - to_u[:, None] - to_v[None, :]
            yield pair, _least(rest), rest.min(1), rest.min(0)
        return
    by_shape: dict[tuple[int, ...], list[Any]] = {}
    for item in rests:
        by_shape.setdefault(item[1].shape, []).append(item)
    for items in by_shape.values():
        table = np.array([item[1] for item in items])
        to_u, to_v = (np.array([item[2][side] for item in items]) for side in (0, 1))
        rest = tables.sum(table, -to_u[:, :, None], -to_v[:, None, :])
        rows, columns = rest.min(2), rest.min(1)
        for k, least in enumerate(rows.min(1).tolist()):
            yield items[k][0], least, rows[k], columns[k]


def _least(values: Array) -> Any:
    return values.min() if values.dtype == object else float(values.min())
