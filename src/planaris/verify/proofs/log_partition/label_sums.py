"""Bounds on log Z of Markov random fields: mixtures of trees, independent labels, cutsets."""

from __future__ import annotations

import math

import numpy as np

from planaris.models import MarkovRandomField
from planaris.result import CutsetSum, LabelField, LabelTrees, LabelTreesOverCycles
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import (
    indices,
    pairs_of,
    real_row,
    require,
    whole_numbers,
)
from planaris.verify.proofs.label_cycles import rows_of_cycles
from planaris.verify.proofs.log_partition.forests import (
    Forest,
    WeightedForests,
    forest_log_partitions,
)
from planaris.verify.recompute.elimination import Factor, Recomputed, eliminate

_UNIT = 2.0**-53
BATCH_ENTRIES = 2**23
"""Entries of the tables of forests that are looked at together."""

BATCH_TERMS = 256
"""Assignments of a cutset that are summed together, at most."""


def label_trees_bound(model: MarkovRandomField, proof: LabelTrees) -> Recomputed | None:
    """Return Σ weights log Z(forest); the forests are the model on average by construction."""
    if not model.is_pairwise:
        return None
    return _mixture_bound(model, _Tables(model, proof), proof)


def label_trees_over_cycles_bound(
    model: MarkovRandomField, proof: LabelTreesOverCycles
) -> Recomputed | None:
    """Return the bound of the tilted model less what its rows are at least."""
    if not model.is_pairwise:
        return None
    require(isinstance(proof.trees, LabelTrees), "there are trees")
    assert isinstance(proof.trees, LabelTrees), "checked"
    tables = _Tables(model, proof.trees)
    terms, moved = _tilt(tables, proof)
    found = _mixture_bound(model, tables, proof.trees)
    value = math.fsum([found.value, *(-term for term in terms)])
    count = len(terms) + 8
    return Recomputed(value, found.slack + 8 * _UNIT * (count * moved + abs(value)))


def _tilt(tables: _Tables, proof: LabelTreesOverCycles) -> tuple[list[float], float]:
    """Add multiples of the rows to the tables; return what they are at least, and how much."""
    weights, rows = rows_of_cycles(proof, tables.edges.tolist(), tables.cards.tolist())
    require(bool(np.all(weights <= 1e200)), "multipliers are 0 to 1e200")
    terms, moved = [], 0.0
    label = np.arange(tables.real.shape[1])
    for weight, items in zip(weights.tolist(), rows, strict=True):
        for item in items:
            first, second = (np.isin(label, chosen) for chosen in item.labels)
            signed = -weight if item.odd else weight
            tables.tables[item.edge] += signed * (first[:, None] != second[None, :])
            moved += weight
        terms.append(weight * (1 - sum(item.odd for item in items)))
    largest = float(np.abs(tables.tables[np.isfinite(tables.tables)]).max(initial=0.0))
    return terms, moved + len(tables.edges) * largest


def _mixture_bound(model: MarkovRandomField, tables: _Tables, proof: LabelTrees) -> Recomputed:
    trees = WeightedForests.of(
        model.num_variables, tables.edges, proof.weights, proof.tree_offsets, proof.tree_edges
    )
    weights, rho = trees.weights, trees.rho
    require(bool(np.all(rho > 1e-9)), "every edge is in some forest")
    values, slacks = tables.log_partitions(trees.members, rho)
    used = weights > 0
    value = math.fsum([*(weights * values)[used].tolist(), *tables.constants])
    slack = float(weights @ slacks) + tables.slack(rho, len(weights))
    return Recomputed(value, slack + (8 * _UNIT * abs(value) if math.isfinite(value) else 0.0))


class _Tables:
    """A pairwise field as padded tables, one per variable and edge, and messages."""

    def __init__(self, model: MarkovRandomField, proof: LabelTrees) -> None:
        self.cards = model.cardinalities.astype(np.int64)
        n, k = len(self.cards), int(self.cards.max(initial=1))
        self.edges = pairs_of(proof.edges, "edges")
        pairs = [(int(u), int(v)) for u, v in self.edges]
        place = {pair: e for e, pair in enumerate(pairs)}
        require(len(place) == len(pairs), "edges are listed once")
        require(all(0 <= u < v < n for u, v in pairs), "edges are pairs of variables")
        self.real = np.arange(k) < self.cards[:, None]
        self.nodes = np.where(self.real, 0.0, -np.inf)
        self.tables = np.zeros((len(pairs), k, k))
        self.constants: list[float] = []
        self.merged = 0.0  # sizes of all factors: those on the same variables may cancel
        for f in range(model.num_factors):
            scope, logs = [int(v) for v in model.scope(f)], np.asarray(model.log_table(f))
            if not scope:
                self.constants.append(float(logs))
                continue
            self.merged += float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
            if len(scope) == 1:
                self.nodes[scope[0], : len(logs)] += logs
            else:
                u, v = sorted(scope)
                require((u, v) in place, "every pair with a table has an edge")
                turned = logs if scope == [u, v] else logs.T
                self.tables[place[u, v], : len(turned), : turned.shape[1]] += turned
        self.messages = self._padded(real_row(proof.messages, "messages"))

    def _padded(self, flat: FloatArray) -> FloatArray:
        """Return messages of shape (edges, 2, labels)."""
        sizes = self.cards[self.edges]
        require(flat.shape == (int(sizes.sum()),), "there is a message for every label")
        require(bool(np.all(np.abs(flat) <= 1e200)), "messages are at most 1e200")
        padded = np.zeros((len(self.edges), 2, self.real.shape[1]))
        padded[self.real[self.edges]] = flat
        return padded

    def log_partitions(self, trees: list[Array], rho: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log Z of the forests, and their slacks, some forests at a time."""
        n, k = self.nodes.shape
        beliefs = self.nodes.copy()
        np.add.at(beliefs, self.edges, rho[:, None, None] * self.messages)
        step = max(1, BATCH_ENTRIES // max(1, n * k * (k + 1)))
        values, slacks = [], []
        for first in range(0, len(trees), step):
            some = trees[first : first + step]
            nodes = np.tile(beliefs, (len(some), 1, 1))
            for forest, tree in zip(nodes, some, strict=True):
                np.subtract.at(forest, self.edges[tree], self.messages[tree])
            every = np.concatenate(some)
            shift = np.repeat(np.arange(len(some)) * n, [len(tree) for tree in some])
            part = Forest(
                np.repeat(np.arange(len(some)), n),
                nodes.reshape(-1, k),
                self.edges[every] + shift[:, None],
                self.tables[every] / rho[every][:, None, None],
            )
            found = forest_log_partitions(part, len(some))
            values.append(found[0])
            slacks.append(found[1])
        return np.concatenate(values), np.concatenate(slacks)

    def slack(self, rho: FloatArray, forests: int) -> float:
        """Return what rounding may make of the average of the forests."""
        sizes = [
            np.where(np.isfinite(logs), np.abs(logs), 0.0).max(axis=axes, initial=0.0).sum()
            for logs, axes in ((self.nodes, 1), (self.tables, (1, 2)), (self.messages, (1, 2)))
        ]
        degree = int(np.bincount(self.edges.ravel(), minlength=1).max())
        return 8 * _UNIT * (forests + degree + 8) * float(sum(sizes) + self.merged + len(rho) + 1)


def label_field_bound(model: MarkovRandomField, proof: LabelField) -> Recomputed | None:
    """Return E_q log weight + H(q) for independent labels."""
    cards = model.cardinalities.astype(np.int64)
    flat = real_row(proof.probabilities, "probabilities")
    require(flat.shape == (int(cards.sum()),), "every label has a probability")
    require(bool(np.all(flat >= 0)), "no probability is below zero")
    q = np.split(flat, np.cumsum(cards)[:-1]) if len(cards) else []
    require(all(abs(float(p.sum()) - 1.0) <= 1e-9 for p in q), "probabilities add up to one")
    q = [p / p.sum() for p in q]
    terms, size = [], 0.0
    for f in range(model.num_factors):
        mean = np.asarray(model.log_table(f), dtype=np.float64)
        used = np.isfinite(mean)
        size += float(np.abs(mean[used]).max(initial=0.0))
        for v in reversed(model.scope(f).tolist()):
            with np.errstate(invalid="ignore"):
                mean = np.where(q[v] > 0, mean * q[v], 0.0).sum(-1)
        terms.append(float(mean))
    for p in q:
        terms += (-p[p > 0] * np.log(p[p > 0])).tolist()
    value = math.fsum(terms) if all(map(math.isfinite, terms)) else -math.inf
    labels = int(cards.max(initial=1))
    return Recomputed(value, 16 * _UNIT * (labels + 16) * (size + len(cards) + 1.0))


def cutset_bound(model: MarkovRandomField, proof: CutsetSum) -> Recomputed | None:
    """Return log Σ over the assignments of Z(assignment); None if those are too wide.

    Some assignments at a time are the labels of one more variable, which all tables of assigned
    variables depend on instead.
    """
    fixed = indices(proof.variables, "variables", model.num_variables)
    labels = whole_numbers(proof.labels, "labels")
    require(labels.ndim == 2 and labels.shape[1] == len(fixed), "assignments name labels")
    require(len(np.unique(fixed)) == len(fixed), "variables are assigned once")
    require(bool(np.all((labels >= 0) & (labels < model.cardinalities[fixed]))), "labels exist")
    require(len(np.unique(labels, axis=0)) == len(labels) > 0, "assignments differ")
    found: list[Recomputed] = []
    first, size = 0, BATCH_TERMS
    while first < len(labels):
        some = labels[first : first + size]
        one = _conditioned(model, fixed, some)
        if one is not None:
            found.append(one)
            first += len(some)
        elif len(some) == 1:
            return None
        else:
            size = max(1, len(some) // 4)
    total = float(np.logaddexp.reduce([one.value for one in found]))
    slack = max(one.slack for one in found) + 8 * _UNIT * (len(found) + 4) * (abs(total) + 1)
    return Recomputed(total, slack)


def _conditioned(model: MarkovRandomField, fixed: Array, labels: Array) -> Recomputed | None:
    column = {int(v): k for k, v in enumerate(fixed)}
    which = model.num_variables  # one label per assignment
    cards = [1 if v in column else int(k) for v, k in enumerate(model.cardinalities)]
    factors: list[Factor] = [((which,), np.zeros(len(labels)))]
    constants: list[float] = []
    for f in range(model.num_factors):
        scope, logs = [int(v) for v in model.scope(f)], np.asarray(model.log_table(f))
        free = [v for v in scope if v not in column]
        if len(free) == len(scope):
            if scope:
                factors.append((tuple(scope), logs))
            else:
                constants.append(float(logs))
            continue
        held = [k for k, v in enumerate(scope) if v in column]
        moved = np.moveaxis(logs, held, range(len(held)))
        table = moved[tuple(labels[:, column[scope[k]]] for k in held)]
        factors.append(((which, *free), table))
    return eliminate([*cards, len(labels)], factors, constants, task="sum")
