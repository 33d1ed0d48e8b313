"""What a tree of labels and messages says about the least energy of a Markov random field.

Messages move energy between tables without changing any sum: from an edge to its variables, from
a triplet (which starts with none) to its edges. So the least entries of all tables add up to a
lower bound; a tree of decisions on labels bounds every branch by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.models import MarkovRandomField
from planaris.models.encode import mrf2pairwise
from planaris.result import LabelCycles, LabelTree
from planaris.typing import Array, BoolArray, FloatArray
from planaris.verify.demands import real_row, require, runs, whole_numbers, whole_row

_UNIT = 2.0**-53


def table_sizes(model: MarkovRandomField) -> list[float]:
    """Return the largest finite size in every table."""
    tables = (np.asarray(model.log_table(k)) for k in range(model.num_factors))
    return [float(np.abs(t[np.isfinite(t)]).max(initial=0.0)) for t in tables]


@dataclass(frozen=True)
class LabelBound:
    """A lower bound on all energies, all rounding charged, and how much that was."""

    value: float
    charged: float


def label_bound(model: MarkovRandomField, proof: LabelTree) -> LabelBound:
    """Return a lower bound on all energies, rounded down.

    Raises
    ------
    VerificationError
        When the proof is broken.
    """
    field = model if model.is_pairwise else mrf2pairwise(model)[0]
    problem = _Tables(field, proof)
    lowest = LabelBound(math.inf, 0.0)
    for node, alive in _leaves(problem, proof):
        bound = problem.least(problem.split(_messages(proof, node)), alive)
        require(not math.isnan(bound.value), "the bound of a leaf is a number")
        lowest = min(lowest, bound, key=lambda leaf: leaf.value)
    return lowest


def label_cycle_bound(model: MarkovRandomField, proof: LabelCycles) -> LabelBound:
    """Return a lower bound on all energies from messages and cycles of projections."""
    tree = proof.messages
    require(isinstance(tree, LabelTree), "there are messages")
    field = model if model.is_pairwise else mrf2pairwise(model)[0]
    problem = _Tables(field, tree)
    require(np.array_equal(np.asarray(tree.branch_variable).ravel(), [-1]), "there is one leaf")
    parts = problem.split(_messages(tree, 0))
    terms = _move_cycles(problem, parts, proof)
    bound = problem.least(parts, [np.ones(k, dtype=bool) for k in problem.cards], terms)
    require(not math.isnan(bound.value), "the bound is a number")
    return bound


def _move_cycles(problem: _Tables, parts: _Parts, proof: LabelCycles) -> list[float]:
    """Take multiples of the rows from the tables; return what they are at least."""
    weights = real_row(proof.multipliers, "multipliers")
    edges = whole_row(proof.row_edges, "row_edges").tolist()
    odd = (whole_row(proof.odd, "odd") != 0).tolist()
    sets = whole_row(proof.sets, "sets")
    rows = runs(proof.row_offsets, "row_offsets", len(weights), len(edges)).tolist()
    begins = runs(proof.set_offsets, "set_offsets", 2 * len(edges), len(sets)).tolist()
    require(len(odd) == len(edges), "items are marked or not")
    require(bool(np.all((weights >= 0) & (weights <= 1e200))), "multipliers are >= 0")
    terms = []
    for r, weight in enumerate(weights.tolist()):
        met: dict[tuple[int, frozenset[int]], int] = {}
        marks = 0
        for at in range(rows[r], rows[r + 1]):
            require(0 <= edges[at] < len(problem.edges), "items have edges")
            labels = [sets[begins[2 * at + k] : begins[2 * at + k + 1]] for k in range(2)]
            for i, chosen in zip(problem.edges[edges[at]], labels, strict=True):
                inside = bool(np.all((chosen >= 0) & (chosen < problem.cards[i])))
                key = i, frozenset(chosen.tolist())
                require(inside and len(key[1]) == len(chosen), "sets have labels, each once")
                met[key] = met.get(key, 0) + 1
            marks += odd[at]
            signed = -weight if odd[at] else weight
            parts.move_to_row(edges[at], problem.edges[edges[at]], labels, signed)
        require(marks % 2 == 1, "an odd number of items of a row is marked")
        require(all(times % 2 == 0 for times in met.values()), "a row meets every set evenly")
        terms.append(weight * (1.0 - marks))
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
    seen = np.zeros(len(child), dtype=bool)
    stack = [(0, [np.ones(k, dtype=bool) for k in problem.cards])]
    while stack:
        node, alive = stack.pop()
        require(0 <= node < len(seen) and not seen[node], "the nodes form a tree")
        seen[node] = True
        i, a = int(variable[node]), int(label[node])
        if i < 0:
            yield node, alive
            continue
        require(i < len(alive) and 0 <= a < len(alive[i]), "decisions are about labels")
        only, rest = alive[i] & (np.arange(len(alive[i])) == a), alive[i].copy()
        rest[a] = False
        stack.append((int(child[node, 0]), [*alive[:i], only, *alive[i + 1 :]]))
        stack.append((int(child[node, 1]), [*alive[:i], rest, *alive[i + 1 :]]))


class _Tables:
    """Energies of a pairwise field on the edges of a proof, and its triplets."""

    def __init__(self, field: MarkovRandomField, proof: LabelTree) -> None:
        self.cards = [int(k) for k in field.cardinalities]
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
        self.nodes = [np.zeros(k) for k in self.cards]
        self.node_size = [np.zeros(k) for k in self.cards]
        self.tables = [np.zeros((self.cards[u], self.cards[v])) for u, v in self.edges]
        self.table_size = [np.zeros_like(table) for table in self.tables]
        for k in range(field.num_factors):
            self._add(tuple(map(int, field.scope(k))), -np.asarray(field.log_table(k)))

    def _add(self, scope: tuple[int, ...], energy: Array) -> None:
        if not scope:
            self.constant.append(float(energy))
        elif len(scope) == 1:
            self.nodes[scope[0]] += energy
            self.node_size[scope[0]] += np.abs(energy)
        else:
            u, v = sorted(scope)
            require((u, v) in self.place, "every pair with a table has an edge")
            turned = energy if scope == (u, v) else energy.T
            self.tables[self.place[u, v]] += turned
            self.table_size[self.place[u, v]] += np.abs(turned)

    def least(
        self, parts: _Parts, alive: list[BoolArray], more: list[float] | None = None
    ) -> LabelBound:
        """Add up the least entries of all tables, and more terms; +inf if no state is left."""
        possible = self._consistent(alive)
        if possible is None:
            return LabelBound(math.inf, 0.0)
        terms = [*self.constant, *(more or [])]
        charged = 0.0

        def take(values: FloatArray, slop: FloatArray) -> None:
            nonlocal charged
            least = float((values - slop).min())
            terms.append(least)
            charged += float(values.min()) - least if math.isfinite(least) else 0.0

        for i, value in enumerate(parts.nodes):
            slop = _slop(parts.node_size[i], parts.degree[i])
            take(value[possible[i]], slop[possible[i]])
        for e, value in enumerate(parts.tables):
            left = np.ix_(*(possible[i] for i in self.edges[e]))
            take(value[left], _slop(parts.table_size[e], parts.shares[e])[left])
        for t, (i, j, k) in enumerate(self.triplets):
            ij, ik, jk = parts.given[t]
            total = -(ij[:, :, None] + ik[:, None, :] + jk[None, :, :])
            size = np.abs(ij)[:, :, None] + np.abs(ik)[:, None, :] + np.abs(jk)[None, :, :]
            for pair, axis in (((i, j), 2), ((i, k), 1), ((j, k), 0)):
                closed = np.isinf(self.tables[self.place[pair]])
                total = np.where(np.expand_dims(closed, axis), np.inf, total)
            left = np.ix_(possible[i], possible[j], possible[k])
            take(total[left], _slop(size, 3)[left])
        if any(term == math.inf for term in terms):
            return LabelBound(math.inf, 0.0)
        total_value = math.fsum(terms)
        rounding = 2 * _UNIT * math.fsum(map(abs, more or []))
        lowest = float(np.nextafter(total_value, -math.inf)) - rounding
        return LabelBound(lowest, charged + rounding)

    def split(self, messages: FloatArray) -> _Parts:
        """Return the tables after the messages."""
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
        # Sums that overflow would look like labels that cannot be.
        require(bool(np.all(np.abs(messages) <= 1e200)), "messages are at most 1e200")
        return parts

    def _consistent(self, alive: list[BoolArray]) -> list[BoolArray] | None:
        """Drop labels that hard constraints leave no partner; None if a variable has none left."""
        left = [mask & np.isfinite(self.nodes[i]) for i, mask in enumerate(alive)]
        hard = [e for e, table in enumerate(self.tables) if np.isinf(table).any()]
        changed = True
        while changed:
            if not all(mask.any() for mask in left):
                return None
            changed = False
            for e in hard:
                u, v = self.edges[e]
                open_pairs = np.isfinite(self.tables[e]) & left[u][:, None] & left[v][None, :]
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
        self.degree = np.full(len(self.nodes), 8)
        self.shares = np.full(len(self.tables), 8)
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

    def move_to_row(self, e: int, ends: Any, labels: list[Array], weight: float) -> None:
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
    """Bound the rounding of sums; nothing is charged where the sum is infinite."""
    return np.where(np.isfinite(size), 1.01 * _UNIT * (terms + 8) * size, 0.0)
