"""Relaxations, compiled: cycle inequalities and local search, messages, search over labels.

``message[h]`` travels along half-edge ``h``: ``2e`` from ``edges[e, 0]`` to ``edges[e, 1]``,
``2e + 1`` back. Messages may be stopped anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planaris import _core
from planaris.budget import UNLIMITED, Budget, control
from planaris.kernels.elimination import FactorArrays, elimination_order
from planaris.typing import FloatArray, Int8Array, IntArray, LongArray

CutReduction = _core.CutReduction
"""A smaller model with the same minimum energy, and the way back."""

MessagePassing = _core.MessagePassing
"""Messages of a pairwise energy: sweeps, safe bounds, states, triplets."""


Forest = _core.Forest
"""``Forest(num_vertices, edges, *control(budget))``; its ``evaluate(couplings, fields,
*control(budget))`` returns (logs by vertex, which add up to log Z tree by tree; E s_v; E s_u s_v),
its ``log_values(couplings, fields)`` the first alone."""

LabelSearch = _core.LabelSearch
"""A search that can be stopped and gone on with; energies without the constant factors."""

LabelSearchRecords = _core.LabelSearchRecords
"""The steps of a search, for its proof."""


class _Cuts:
    """Violated inequalities."""

    violation: FloatArray

    def __len__(self) -> int:
        return len(self.violation)


@dataclass(frozen=True, eq=False)
class CycleCuts(_Cuts):
    """Violated cycle inequalities, the most violated first.

    Attributes
    ----------
    offsets : numpy.ndarray
        Where each cycle begins in ``edges``, and the end.
    edges : numpy.ndarray
        Edges of the cycles, in order around each.
    odd : numpy.ndarray
        1 for edges of the odd set F, else 0.
    violation : numpy.ndarray
        How much each is violated, at most one.
    num_found : int
        Different violated cycles before near-duplicates were dropped.
    """

    offsets: IntArray
    edges: IntArray
    odd: Int8Array
    violation: FloatArray
    num_found: int


@dataclass(frozen=True, eq=False)
class WheelCuts(_Cuts):
    """Violated bicycle odd wheels, the most violated first.

    Wheel k says ``Σ x_e (or 1 - x_e where flipped) <= 2 rim[k]`` over its edges.
    """

    offsets: IntArray
    edges: IntArray
    flipped: Int8Array
    rim: IntArray
    violation: FloatArray


@dataclass(frozen=True, eq=False)
class CliqueCuts(_Cuts):
    """Violated odd clique inequalities, the most violated first.

    Row k says ``Σ_{i<j} b_i b_j x_ij >= -(p - 1) / 2`` of its p spins with signs b.
    """

    spins: IntArray
    signs: Int8Array
    violation: FloatArray


def separate_cycles(
    num_spins: int,
    edges: IntArray,
    x: FloatArray,
    *,
    min_violation: float = 1e-6,
    max_cuts: int = 2**30,
    max_per_edge: int = 2,
    max_settled: int = 48,
    exact_below: int = 0,
    budget: Budget = UNLIMITED,
) -> CycleCuts:
    """Find violated cycle inequalities of ``x[e] = P(s_u != s_v)``.

    A quick search settles ``max_settled`` spins around each spin; when it finds no more than
    ``exact_below`` cycles, an exact search follows, which finds a cycle violated by more than
    ``min_violation`` whenever there is one (up to 1e-9 per edge of the cycle). When the time is
    over it finds nothing.
    """
    found = _core.separate_cycles(
        num_spins,
        edges,
        x,
        min_violation,
        max_cuts,
        max_per_edge,
        max_settled,
        exact_below,
        budget.workers(),
        *control(budget),
    )
    return CycleCuts(found.offsets, found.edges, found.odd, found.violation, found.num_found)


def separate_wheels(
    num_spins: int,
    edges: IntArray,
    x: FloatArray,
    *,
    min_violation: float = 1e-4,
    max_cuts: int = 200,
    budget: Budget = UNLIMITED,
) -> WheelCuts:
    """Find violated bicycle odd wheels; x must satisfy the triangle inequalities.

    ``TimeoutError`` when the time is over before.
    """
    found = _core.separate_wheels(
        num_spins, edges, x, min_violation, max_cuts, *control(budget.quiet())
    )
    return WheelCuts(found.offsets, found.edges, found.flipped, found.rim, found.violation)


def separate_triangles(
    x: FloatArray, *, min_violation: float, max_cuts: int, budget: Budget = UNLIMITED
) -> CliqueCuts:
    """Find the most violated triangles of a symmetric matrix with unit diagonal, of all.

    ``TimeoutError`` when the time is over before.
    """
    found = _core.separate_triangles(x, min_violation, max_cuts, *control(budget.quiet()))
    return CliqueCuts(found.spins, found.signs, found.violation)


def extend_cliques(
    x: FloatArray,
    spins: IntArray,
    signs: Int8Array,
    *,
    min_violation: float,
    max_cuts: int,
    budget: Budget = UNLIMITED,
) -> CliqueCuts:
    """Add to every clique the two spins that violate its inequality most, then exchange spins.

    ``TimeoutError`` when the time is over before.
    """
    found = _core.extend_cliques(x, spins, signs, min_violation, max_cuts, *control(budget.quiet()))
    return CliqueCuts(found.spins, found.signs, found.violation)


def reduce_cut(
    num_spins: int,
    edges: IntArray,
    couplings: FloatArray,
    *,
    keep_zero_edges: bool,
    budget: Budget | None = None,
) -> CutReduction:
    """Shrink a model by contractions and star-triangle moves.

    Only a reduction with ``keep_zero_edges`` can lift edge values; without, spins only.
    """
    return CutReduction(num_spins, edges, couplings, keep_zero_edges, *control(budget))


def round_disagreements(num_spins: int, edges: IntArray, x: FloatArray) -> Int8Array:
    """Return spins that follow a spanning tree of the most decided edges."""
    return _core.round_disagreements(num_spins, edges, x)


def improve_spins(
    num_spins: int,
    edges: IntArray,
    couplings: FloatArray,
    spins: Int8Array,
    *,
    tabu_steps: int = 0,
    seed: int = 0,
    budget: Budget | None = None,
) -> Int8Array:
    """Return a state at least as good, by single flips and then tabu search, within the budget."""
    model = num_spins, edges, couplings
    return _core.improve_spins(*model, spins, tabu_steps, seed, *control(budget))


# -- sparse symmetric matrices ---------------------------------------------------------------

BYTES_PER_ENTRY = 12
"""Memory per entry of the factor of a sparse matrix."""


def least_degree_order(
    rows: LongArray, columns: LongArray, size: int, budget: Budget = UNLIMITED
) -> LongArray:
    """Return the place of every column in an order of elimination by least degree.

    The pattern is symmetric. ``TimeoutError`` when the time is over before.

    >>> star = np.array([0, 0, 0, 1, 2, 3]), np.array([1, 2, 3, 0, 0, 0])
    >>> int(least_degree_order(*star, 4)[0]) >= 2
    True
    """
    above = rows < columns
    scopes = np.column_stack([rows[above], columns[above]]).astype(np.int32)
    offsets = np.arange(0, scopes.size + 1, 2, dtype=np.int64)
    none = np.zeros(0)
    graph = FactorArrays(np.full(size, 2, np.int32), scopes.ravel(), offsets, none, offsets[:0])
    order, _, _ = elimination_order(graph, min_fill=False, max_bits=2.0**40, budget=budget)
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    return place


class SymmetricFactor:
    """A sparse symmetric matrix, factored along an order of elimination.

    Parameters
    ----------
    rows, columns, values : array
        Entries of the whole matrix; those at one place add up.
    place : array
        Place of every column in the order.
    budget : Budget
        ``TimeoutError`` when its time is over before, ``OverflowError`` if the factor needs more
        than its memory. ``FloatingPointError`` if a pivot is zero or not finite.

    Examples
    --------
    >>> two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([2.0, 1.0, 1.0, 2.0])
    >>> SymmetricFactor(*two, np.array([1, 0])).solve(np.array([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        rows: LongArray,
        columns: LongArray,
        values: FloatArray,
        place: LongArray,
        budget: Budget = UNLIMITED,
    ) -> None:
        self.place = place
        rows, columns = place[rows], place[columns]
        upper = np.flatnonzero(rows <= columns)
        upper = upper[np.argsort(columns[upper], kind="stable")]
        counts = np.bincount(columns[upper], minlength=len(place))
        self.factor = _core.factor_symmetric(
            np.concatenate([[0], np.cumsum(counts)]),
            rows[upper].astype(np.int32),
            values[upper],
            budget.bytes() // BYTES_PER_ENTRY,
            *control(budget.quiet()),
        )

    def solve(self, side: FloatArray, budget: Budget = UNLIMITED) -> FloatArray:
        """Return x with A x = side; ``TimeoutError`` when the time is over before."""
        sides = np.empty(len(self.place))
        sides[self.place] = side
        return self.factor.solve(sides, *control(budget.quiet()))[self.place]


# -- message passing ---------------------------------------------------------------------------


class LabelTables(NamedTuple):
    """Log potentials of vertices and edges, flat; the first end of an edge is the slow axis."""

    node_offsets: LongArray
    node_logs: FloatArray
    edge_offsets: LongArray
    edge_logs: FloatArray


def sweep_spins(
    num_vertices: int,
    edges: IntArray,
    couplings: FloatArray,
    rho: FloatArray,
    fields: FloatArray,
    messages: FloatArray,
    *,
    max_sweeps: int,
    tolerance: float,
    damping: float = 0.0,
    budget: Budget | None = None,
) -> tuple[FloatArray, int, float]:
    """Return (messages: fields, sweeps, largest change in the last one).

    ``couplings`` are those of the model divided by ``rho``.
    """
    return _core.reweighted_spins(
        num_vertices,
        edges,
        couplings,
        rho,
        fields,
        messages,
        max_sweeps,
        tolerance,
        damping,
        *control(budget),
    )


def sweep_labels(
    edges: IntArray,
    tables: LabelTables,
    rho: FloatArray,
    messages: FloatArray,
    *,
    max_sweeps: int,
    tolerance: float,
    damping: float = 0.0,
    budget: Budget | None = None,
) -> tuple[FloatArray, int, float]:
    """Return (messages: an entry per label of the vertex they go to, sweeps, largest change).

    ``tables.edge_logs`` are those of the model divided by ``rho``.
    """
    return _core.reweighted_labels(
        edges, *tables, rho, messages, max_sweeps, tolerance, damping, *control(budget)
    )


def forest_log_partition(edges: IntArray, tables: LabelTables) -> float:
    """Return log Z of a forest."""
    return _core.forest_labels(edges, *tables)


# -- branch and bound over labels --------------------------------------------------------------
