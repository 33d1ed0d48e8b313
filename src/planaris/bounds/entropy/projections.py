"""Cycle inequalities of projections of models with labels (SJ07 section 4).

A part is a set A of labels of a variable i, and the projected spin is [x_i in A]. A cycle of
parts with an odd set F of its edges says ``Σ_{C-F} P(≠) + Σ_F (1 - P(≠)) >= 1`` where
``P(≠) = P([x_i in A] != [x_j in B])``. Every state satisfies it, whatever the parts are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.kernels.relaxations import separate_cycles
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

PROJECTIONS = ("single", "k", "full")

MAX_FULL_LABELS = 5
"""Labels of a variable of which the full projection takes all subsets; else pairs."""

LEAST_MASS = 1e-3
"""Labels less likely than this get no part of their own."""

MIN_VIOLATION = 1e-3
"""Rows violated by less are left out."""

MAX_PROJECTED_EDGES = 4_000_000
"""Edges of a projection graph, at most."""


@dataclass(frozen=True, eq=False)
class CycleRows:
    """Rows ``Σ sign P([x_u in A] != [x_v in B]) >= side``, one item per edge of a cycle.

    Attributes
    ----------
    offsets : numpy.ndarray
        Items of row k are ``offsets[k]`` to ``offsets[k + 1]``.
    edges : numpy.ndarray
        Edge of the model of every item.
    odd : numpy.ndarray
        Whether the item is in F; its sign is then -1.
    first, second : numpy.ndarray
        Labels in A and in B, shape (items, most labels).
    """

    offsets: LongArray
    edges: LongArray
    odd: BoolArray
    first: BoolArray
    second: BoolArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def owner(self) -> LongArray:
        """Row of every item."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def sides(self) -> FloatArray:
        """``1 - |F|`` of every row."""
        return np.asarray(1.0 - np.bincount(self.owner, self.odd, len(self)), dtype=np.float64)

    def tables(self) -> FloatArray:
        """Return sign · [[x in A] != [y in B]] of every item, shape (items, labels, labels)."""
        differ = self.first[:, :, None] != self.second[:, None, :]
        return np.asarray(np.where(self.odd[:, None, None], -1.0, 1.0) * differ)

    def at(self, pairs: FloatArray) -> FloatArray:
        """Return the left sides of all rows for tables of all edges, padded with zeros."""
        value = np.einsum("iab,iab->i", self.tables(), pairs[self.edges])
        return np.asarray(np.bincount(self.owner, value, len(self)), dtype=np.float64)

    def tilt(self, multipliers: FloatArray, num_edges: int) -> FloatArray:
        """Return Σ_rows multiplier · row as tables of the edges."""
        k = self.first.shape[1]
        total = np.zeros((num_edges, k, k))
        np.add.at(total, self.edges, multipliers[self.owner][:, None, None] * self.tables())
        return total

    def joined(self, more: CycleRows) -> CycleRows:
        """Return these rows and more of them."""
        return CycleRows(
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.edges, more.edges]),
            np.concatenate([self.odd, more.odd]),
            np.concatenate([self.first, more.first]),
            np.concatenate([self.second, more.second]),
        )

    def chosen(self, keep: BoolArray) -> CycleRows:
        """Return some of the rows."""
        items = keep[self.owner]
        lengths = np.diff(self.offsets)[keep]
        return CycleRows(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            self.edges[items],
            self.odd[items],
            self.first[items],
            self.second[items],
        )


def no_rows(labels: int) -> CycleRows:
    """Return no rows."""
    none = np.zeros((0, labels), dtype=bool)
    empty = np.zeros(0, dtype=np.int64)
    return CycleRows(np.zeros(1, dtype=np.int64), empty, np.zeros(0, dtype=bool), none, none)


def label_parts(nodes: FloatArray, cards: LongArray, projection: str) -> BoolArray:
    """Return parts of every variable, shape (variables, parts, labels); unused ones are empty.

    >>> nodes = np.array([[0.5, 0.3, 0.2]])
    >>> label_parts(nodes, np.array([3]), "single").astype(int).tolist()
    [[[1, 0, 0]]]
    >>> label_parts(nodes, np.array([3]), "k").astype(int).tolist()
    [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]
    """
    found: list[list[tuple[int, ...]]] = []
    for mu, count in zip(nodes, cards.tolist(), strict=True):
        labels = np.flatnonzero(mu[:count] > LEAST_MASS).tolist()
        found.append(_parts_of(labels, int(np.argmax(mu[:count])) if count else 0, projection))
    widest = max((len(parts) for parts in found), default=0)
    masks = np.zeros((len(found), widest, nodes.shape[1]), dtype=bool)
    for i, parts in enumerate(found):
        for p, chosen in enumerate(parts):
            masks[i, p, list(chosen)] = True
    return masks


def _parts_of(labels: list[int], likeliest: int, projection: str) -> list[tuple[int, ...]]:
    if len(labels) < 2:
        return []
    if len(labels) == 2 or projection == "single":
        return [(likeliest,)]
    if projection == "k":
        return [(label,) for label in labels]
    if len(labels) > MAX_FULL_LABELS:
        return [(label,) for label in labels] + list(itertools.combinations(labels, 2))
    # All subsets without the last label: one of each pair of sides.
    sizes = range(1, len(labels))
    return [part for size in sizes for part in itertools.combinations(labels[:-1], size)]


def separate_projected(
    nodes: FloatArray,
    pairs: FloatArray,
    cards: LongArray,
    edges: IntArray,
    projection: str,
    *,
    budget: Budget = UNLIMITED,
) -> CycleRows:
    """Find violated cycle inequalities of a projection graph.

    Parameters
    ----------
    nodes, pairs : numpy.ndarray
        Pseudomarginals, shapes (n, labels) and (m, labels, labels), zeros where a variable has
        fewer labels.
    cards, edges : numpy.ndarray
        Labels of every variable; pairs of variables.
    projection : {"single", "k", "full"}
        The likeliest label against the rest, each label against the rest, or all subsets.
    budget : Budget
        Time and threads.
    """
    parts = label_parts(nodes, cards, projection)
    exists: BoolArray = np.asarray(parts.any(2))
    if not exists.any() or len(edges) * parts.shape[1] ** 2 > MAX_PROJECTED_EDGES:
        return no_rows(nodes.shape[1])
    number = np.cumsum(exists.ravel()).reshape(exists.shape) - 1
    mass = np.einsum("npx,nx->np", parts, nodes)
    u, v = edges[:, 0], edges[:, 1]
    both = np.einsum("epx,exy,eqy->epq", parts[u].astype(float), pairs, parts[v].astype(float))
    differ = mass[u][:, :, None] + mass[v][:, None, :] - 2 * both
    e, p, q = np.nonzero(exists[u][:, :, None] & exists[v][:, None, :])
    graph = np.column_stack([number[u[e], p], number[v[e], q]]).astype(np.int32)
    x = np.ascontiguousarray(np.clip(differ[e, p, q], 0.0, 1.0))
    cuts = separate_cycles(
        int(exists.sum()),
        np.ascontiguousarray(graph),
        x,
        min_violation=MIN_VIOLATION,
        max_per_edge=1,
        budget=budget,
    )
    at = cuts.edges.astype(np.int64)
    return CycleRows(
        np.asarray(cuts.offsets, dtype=np.int64),
        e[at],
        cuts.odd.astype(bool),
        parts[u[e[at]], p[at]],
        parts[v[e[at]], q[at]],
    )
