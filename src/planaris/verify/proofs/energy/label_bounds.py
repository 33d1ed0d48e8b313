"""Lower bounds on the energies of a Markov random field from a tree of labels and messages.

Messages move energy between tables without changing any sum: from an edge to its variables, from
a triplet (which starts with none) to its edges. So the least entries of all tables add up to a
lower bound; a tree of decisions on labels bounds every branch by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from planaris.models import MarkovRandomField
from planaris.result import LabelCycles, LabelTree
from planaris.typing import Array, BoolArray, FloatArray
from planaris.verify.conversions import as_pairwise
from planaris.verify.proof_arrays import real_row, require, tree_leaves, whole_numbers
from planaris.verify.proofs.label_cycles import rows_of_cycles

_UNIT = 2.0**-53


LARGE = 1e200
"""Larger numbers are not added up as doubles: sums that overflow look like forbidden labels."""


@dataclass(frozen=True)
class LabelBound:
    """A lower bound on all energies, all rounding charged, and how much that was."""

    value: Fraction | float
    charged: float


def label_bound(model: MarkovRandomField, proof: LabelTree, allowed: float) -> LabelBound:
    """Return a lower bound on all energies, rounded down.

    Parameters
    ----------
    model : MarkovRandomField
        The model.
    proof : LabelTree
        Decisions and messages.
    allowed : float
        Where rounding would cost more than this, rational numbers are used.

    Raises
    ------
    VerificationError
        When the proof is broken.
    """
    mrf = model if model.is_pairwise else as_pairwise(model)
    problem = _Tables(mrf, proof)
    lowest = LabelBound(math.inf, 0.0)
    for node, alive in _leaves(problem, proof):
        messages = _messages(proof, node)
        bound = problem.least(problem.split(messages), alive)
        if not (problem.fits(messages) and bound.charged <= allowed):
            exactly = _Tables(mrf, proof, exact=True)
            bound = exactly.least(exactly.split(messages), alive)
        lowest = min(lowest, bound, key=lambda leaf: leaf.value)
    return lowest


def label_cycle_bound(model: MarkovRandomField, proof: LabelCycles, allowed: float) -> LabelBound:
    """Return a lower bound on all energies from messages and cycles of projections."""
    tree = proof.messages
    require(isinstance(tree, LabelTree), "there are messages")
    assert isinstance(tree, LabelTree), "checked"
    mrf = model if model.is_pairwise else as_pairwise(model)
    require(np.array_equal(np.asarray(tree.branch_variable).ravel(), [-1]), "there is one leaf")
    messages, weights = _messages(tree, 0), real_row(proof.multipliers, "multipliers")

    def found(problem: _Tables) -> LabelBound:
        parts = problem.split(messages)
        terms = _move_cycles(problem, parts, proof)
        return problem.least(parts, [np.ones(k, dtype=bool) for k in problem.cards], terms)

    problem = _Tables(mrf, tree)
    bound = found(problem)
    if problem.fits(messages, weights) and bound.charged <= allowed:
        return bound
    return found(_Tables(mrf, tree, exact=True))


def _move_cycles(problem: _Tables, parts: _Parts, proof: LabelCycles) -> list[Any]:
    """Take multiples of the rows from the tables; return what they are at least."""
    weights, rows = rows_of_cycles(proof, problem.edges, problem.cards)
    require(bool(np.all(weights < math.inf)), "multipliers are finite")
    terms = []
    for weight, items in zip(problem.numbers(weights).tolist(), rows, strict=True):
        for item in items:
            signed = -weight if item.odd else weight
            parts.move_to_row(item.edge, problem.edges[item.edge], item.labels, signed)
        terms.append(weight * (1 - sum(item.odd for item in items)))
    return terms


def _messages(proof: LabelTree, node: int) -> FloatArray:
    begins = whole_numbers(proof.message_offsets, "message_offsets")
    require(len(begins) == len(np.atleast_1d(proof.branch_variable)) + 1, "every node has a run")
    first, last = int(begins[node]), int(begins[node + 1])
    require(0 <= first <= last <= len(proof.messages), "messages of a node are a run")
    return np.asarray(proof.messages, dtype=np.float64)[first:last]


def _leaves(problem: _Tables, proof: LabelTree) -> Iterator[tuple[int, list[BoolArray]]]:
    """Yield (leaf, labels left), every node visited once."""
    variable, label = (np.asarray(a).ravel() for a in (proof.branch_variable, proof.branch_label))
    child = np.asarray(proof.child).reshape(-1, 2)
    require(len(variable) == len(label) == len(child) > 0, "every node has two children")

    def split(node: int, alive: list[BoolArray]) -> tuple[list[BoolArray], list[BoolArray]] | None:
        i, a = int(variable[node]), int(label[node])
        if i < 0:
            return None
        require(i < len(alive) and 0 <= a < len(alive[i]), "decisions are about labels")
        is_a = np.arange(len(alive[i])) == a
        only, rest = alive[i] & is_a, alive[i] & ~is_a
        return [*alive[:i], only, *alive[i + 1 :]], [*alive[:i], rest, *alive[i + 1 :]]

    return tree_leaves(child, [np.ones(k, dtype=bool) for k in problem.cards], split)


class _Tables:
    """Energies of a pairwise mrf on the edges of a proof, and its triplets.

    Numbers are doubles or, where ``exact``, fractions; forbidden labels hold zeros and are not
    ``open``.
    """

    def __init__(self, mrf: MarkovRandomField, proof: LabelTree, *, exact: bool = False) -> None:
        self.exact = exact
        self.cards = [int(k) for k in mrf.cardinalities]
        count = len(self.cards)
        self.edges = [(int(u), int(v)) for u, v in np.asarray(proof.edges).reshape(-1, 2)]
        require(all(0 <= u < v < count for u, v in self.edges), "edges are pairs of variables")
        self.place = {pair: e for e, pair in enumerate(self.edges)}
        require(len(self.place) == len(self.edges), "edges are listed once")
        self.triplets = [tuple(map(int, t)) for t in np.asarray(proof.triplets).reshape(-1, 3)]
        for i, j, k in self.triplets:
            pairs = ((i, j), (i, k), (j, k))
            require(all(pair in self.place for pair in pairs), "triplets have their edges")
        self.constant: list[float] = []
        shapes = [(self.cards[u], self.cards[v]) for u, v in self.edges]
        kind: Any = object if exact else np.float64
        self.nodes = [np.zeros(k, dtype=kind) for k in self.cards]
        self.node_size = [np.zeros(k, dtype=kind) for k in self.cards]
        self.open_nodes = [np.ones(k, dtype=bool) for k in self.cards]
        self.tables = [np.zeros(shape, dtype=kind) for shape in shapes]
        self.table_size = [np.zeros(shape, dtype=kind) for shape in shapes]
        self.open_tables = [np.ones(shape, dtype=bool) for shape in shapes]
        self.node_terms = np.full(count, 8)
        self.table_terms = np.full(len(self.edges), 8)
        for k in range(mrf.num_factors):
            self._add(tuple(map(int, mrf.scope(k))), -np.asarray(mrf.log_table(k)))
        self.largest = float(np.abs(mrf.log_values[np.isfinite(mrf.log_values)]).max(initial=0))

    def numbers(self, values: FloatArray) -> Array:
        """Return finite doubles as the numbers that are used here."""
        if not self.exact:
            return values
        flat = [Fraction(value) for value in values.ravel().tolist()]
        return np.array([*flat, None], dtype=object)[:-1].reshape(values.shape)

    def fits(self, *values: FloatArray) -> bool:
        """Return whether sums of these numbers and those of the model are doubles."""
        return max(self.largest, *(float(np.abs(v).max(initial=0.0)) for v in values)) <= LARGE

    def _add(self, scope: tuple[int, ...], energy: Array) -> None:
        if not scope:
            self.constant.append(float(energy))
            return
        allowed = np.isfinite(energy)
        numbers = self.numbers(np.where(allowed, energy, 0.0))
        values: list[Any]
        sizes: list[Any]
        allowing: list[Any]
        if len(scope) == 1:
            at, values, sizes, allowing = scope[0], self.nodes, self.node_size, self.open_nodes
            self.node_terms[at] += 1
        else:
            pair = min(scope), max(scope)
            require(pair in self.place, "every pair with a table has an edge")
            at, values, sizes = self.place[pair], self.tables, self.table_size
            allowing = self.open_tables
            self.table_terms[at] += 1
            if scope != pair:
                numbers, allowed = numbers.T, allowed.T
        values[at] = values[at] + numbers
        sizes[at] = sizes[at] + np.abs(numbers)
        allowing[at] &= allowed

    def least(
        self, parts: _Parts, alive: list[BoolArray], more: list[Any] | None = None
    ) -> LabelBound:
        """Add up the least entries of all tables, and more terms; +inf if no state is left."""
        possible = self._consistent(alive)
        if possible is None or math.inf in self.constant:
            return LabelBound(math.inf, 0.0)
        terms: list[Any] = [*self.constant, *(more or [])]
        charged = 0.0
        for values, size, count, chosen in self._blocks(parts, possible):
            if not chosen.any():
                return LabelBound(math.inf, 0.0)
            if self.exact:
                terms.append(values[chosen].min())
                continue
            least = float((values - _slop(size, count))[chosen].min())
            terms.append(least)
            charged += float(values[chosen].min()) - least
        if self.exact:
            return LabelBound(sum(map(Fraction, terms), Fraction(0)), 0.0)
        if not all(map(math.isfinite, terms)):
            return LabelBound(-math.inf, math.inf)
        rounding = 2 * _UNIT * math.fsum(map(abs, more or []))
        lowest = math.nextafter(math.fsum(terms), -math.inf) - rounding
        return LabelBound(lowest, charged + rounding + math.ulp(lowest))

    def _blocks(self, parts: _Parts, possible: list[BoolArray]) -> Iterator[tuple[Any, ...]]:
        """Yield tables, the sizes of their sums, how many terms they have, and what is allowed."""
        for i, value in enumerate(parts.nodes):
            yield value, parts.node_size[i], parts.degree[i], possible[i]
        for e, value in enumerate(parts.tables):
            u, v = self.edges[e]
            chosen = self.open_tables[e] & possible[u][:, None] & possible[v][None, :]
            yield value, parts.table_size[e], parts.shares[e], chosen
        for (i, j, k), given in zip(self.triplets, parts.given, strict=True):
            total: Any = 0
            size: Any = 0
            chosen = np.ones((1, 1, 1), dtype=bool)
            for pair, table, axis in zip(((i, j), (i, k), (j, k)), given, (2, 1, 0), strict=True):
                total = total - np.expand_dims(table, axis)
                size = size + np.expand_dims(np.abs(table), axis)
                chosen = chosen & np.expand_dims(self.open_tables[self.place[pair]], axis)
            chosen = chosen & possible[i][:, None, None]
            chosen = chosen & possible[j][None, :, None] & possible[k][None, None, :]
            yield total, size, 3, chosen

    def split(self, messages: FloatArray) -> _Parts:
        """Return the tables after the messages."""
        require(bool(np.all(np.isfinite(messages))), "messages are finite")
        messages = self.numbers(messages)
        parts = _Parts(self)
        at = 0
        for e, (u, v) in enumerate(self.edges):
            for axis, i in enumerate((u, v)):
                m = messages[at : at + self.cards[i]]
                require(len(m) == self.cards[i], "there is a message for every label")
                at += self.cards[i]
                parts.move_to_node(e, axis, i, m)
        for i, j, k in self.triplets:
            given = []
            for a, b in ((i, j), (i, k), (j, k)):
                size = self.cards[a] * self.cards[b]
                table = messages[at : at + size]
                require(len(table) == size, "there is a table for every pair of a triplet")
                at += size
                given.append(table.reshape(self.cards[a], self.cards[b]))
                parts.move_to_edge(self.place[a, b], given[-1])
            parts.given.append(given)
        require(at == len(messages), "messages fit")
        return parts

    def _consistent(self, alive: list[BoolArray]) -> list[BoolArray] | None:
        """Drop labels that hard constraints leave no partner; None if a variable has none left."""
        left = [mask & self.open_nodes[i] for i, mask in enumerate(alive)]
        hard = [e for e, allowed in enumerate(self.open_tables) if not allowed.all()]
        changed = True
        while changed:
            if not all(mask.any() for mask in left):
                return None
            changed = False
            for e in hard:
                u, v = self.edges[e]
                open_pairs = self.open_tables[e] & left[u][:, None] & left[v][None, :]
                for i, kept in ((u, open_pairs.any(1)), (v, open_pairs.any(0))):
                    if np.any(left[i] & ~kept):
                        left[i] = left[i] & kept
                        changed = True
        return left


class _Parts:
    """Tables after the messages, and the sizes of what was added up in them."""

    def __init__(self, problem: _Tables) -> None:
        self.nodes = [np.array(node) for node in problem.nodes]
        self.tables = [np.array(table) for table in problem.tables]
        self.node_size = [np.array(size) for size in problem.node_size]
        self.table_size = [np.array(size) for size in problem.table_size]
        self.degree = problem.node_terms.copy()
        self.shares = problem.table_terms.copy()
        self.given: list[list[FloatArray]] = []

    def move_to_node(self, e: int, axis: int, i: int, message: FloatArray) -> None:
        """Take a message from an edge and give it to one of its variables."""
        self.nodes[i] += message
        self.node_size[i] += np.abs(message)
        along = message[:, None] if axis == 0 else message[None, :]
        self.tables[e] -= along
        self.table_size[e] += np.abs(along)
        self.degree[i] += 1
        self.shares[e] += 1

    def move_to_row(self, e: int, ends: Any, labels: tuple[Array, Array], weight: float) -> None:
        """Take ``weight`` times P([x_i in A] != [x_j in B]) from the tables of an edge."""
        for i, chosen in zip(ends, labels, strict=True):
            self.nodes[i][chosen] -= weight
            self.node_size[i][chosen] += abs(weight)
            self.degree[i] += 1
        both = np.ix_(*labels)
        self.tables[e][both] += 2 * weight
        self.table_size[e][both] += 2 * abs(weight)
        self.shares[e] += 1

    def move_to_edge(self, e: int, table: FloatArray) -> None:
        """Give an edge what a triplet sends."""
        self.tables[e] += table
        self.table_size[e] += np.abs(table)
        self.shares[e] += 1


def _slop(size: Any, terms: int) -> Any:
    """Bound the rounding of sums."""
    return 1.01 * _UNIT * (terms + 8) * size
