"""The Lagrangian bound: T-joins under weights that multipliers of cycle inequalities change.

For multipliers λ >= 0 of rows ``A u >= b`` every state leaves at least ``b'λ`` plus the least
weight of a T-join under ``w - A'λ`` unsatisfied. This is concave and piecewise linear in λ; each
T-join found gives one piece. The model of these pieces is maximised near the best λ (a proximal
bundle method). The dual of that small quadratic program mixes the T-joins into a point u of their
polytope, whose violated cycle inequalities are added in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planaris.kernels.relaxations import separate_cycles
from planaris.relax.surfaces.joins import Held, Join, SurfaceJoins
from planaris.relax.surfaces.rows import CycleRows
from planaris.relax.surfaces.simplex_qp import minimize_over_simplex
from planaris.typing import BoolArray, FloatArray, LongArray

ROW_PATIENCE = 12
"""Masters in which a row had no multiplier before it leaves the program."""

JOIN_PATIENCE = 24
"""Masters in which a T-join had no weight before it is forgotten."""

MAX_ROWS = 16
"""Rows that are added at a time."""

POSITIVE_ROUNDS = 6
"""Times that the rows with positive multipliers are guessed again in a master."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound in units, and what proves it.

    Attributes
    ----------
    value : int
        No state that agrees with the held edges leaves less weight unsatisfied.
    rows, multipliers : int array
        Cycle inequalities and their multipliers, in units.
    join : Join
        Of the weights that are left.
    """

    value: int
    rows: LongArray
    multipliers: LongArray
    join: Join


@dataclass(eq=False)
class Pool:
    """T-joins found so far, their weights, and how they violate every row."""

    unsatisfied: BoolArray
    weight: FloatArray
    violation: FloatArray
    idle: LongArray

    @classmethod
    def empty(cls, num_edges: int) -> Pool:
        """Return a pool of no T-joins."""
        none = np.zeros((0, num_edges), dtype=bool)
        return cls(none, np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=np.int64))

    def keep(self, mask: BoolArray) -> None:
        """Forget the others."""
        self.unsatisfied, self.weight = self.unsatisfied[mask], self.weight[mask]
        self.violation, self.idle = self.violation[mask], self.idle[mask]


@dataclass(eq=False)
class Master:
    """Answer of the small quadratic program: the next multipliers and a mixture of T-joins."""

    multipliers: FloatArray
    value: float
    mixture: FloatArray


@dataclass(eq=False)
class Lagrangian:
    """Multipliers of cycle inequalities, the T-joins they led to, and the bound they prove.

    Weights of the quadratic programs are in multiples of ``scale`` units, about those of an edge.
    """

    joins: SurfaceJoins
    rows: CycleRows = field(init=False)
    pool: Pool = field(init=False)
    scale: float = field(init=False)

    def __post_init__(self) -> None:
        self.rows = CycleRows(self.joins.negative)
        self.pool = Pool.empty(len(self.joins.weights))
        self.scale = float(max(self.joins.weights.mean(), 1.0)) if len(self.joins.weights) else 1.0
        self.active: LongArray = np.zeros(0, dtype=np.int64)
        self.row_idle: LongArray = np.zeros(0, dtype=np.int64)

    # -- T-joins ----------------------------------------------------------------------------

    def evaluate(self, multipliers: FloatArray, held: Held) -> Bound:
        """Return the bound that multipliers of the active rows prove; keep its T-join."""
        units = np.maximum(np.rint(multipliers * self.scale), 0).astype(np.int64)
        used = np.flatnonzero(units)
        rows, units = self.active[used], units[used]
        weights = self.joins.weights - self.rows.combine(rows, units, len(self.joins.weights))
        join = self.joins.solve(weights, held)
        self.remember(join.unsatisfied)
        total = sum(
            a * b for a, b in zip(units.tolist(), self.rows.side[rows].tolist(), strict=True)
        )
        return Bound(join.bound + total, rows, units, join)

    def remember(self, unsatisfied: BoolArray) -> None:
        """Add a T-join to the pool."""
        pool = self.pool
        pool.unsatisfied = np.concatenate([pool.unsatisfied, unsatisfied[None]])
        pool.weight = np.append(pool.weight, self.joins.weigh(unsatisfied) / self.scale)
        violation = self.rows.violation(unsatisfied)[None]
        pool.violation = np.concatenate([pool.violation, violation])
        pool.idle = np.append(pool.idle, 0)

    # -- rows -------------------------------------------------------------------------------

    def separate(self, mixture: FloatArray, *, min_violation: float) -> int:
        """Add cycle inequalities that a mixture of T-joins violates; return how many."""
        model = self.joins.model
        cuts = separate_cycles(
            model.num_spins,
            model.edges,
            np.where(self.joins.negative, 1.0 - mixture, mixture),
            min_violation=min_violation,
            max_cuts=MAX_ROWS,
            max_per_edge=1,
            max_settled=0,
            exact_below=MAX_ROWS,
            budget=self.joins.budget,
        )
        first = len(self.rows)
        added = self.rows.add(cuts)
        if added:
            pool = self.pool
            more = [self.rows.violation(u, first) for u in pool.unsatisfied]
            pool.violation = np.column_stack([pool.violation, np.array(more).reshape(-1, added)])
            self.active = np.append(self.active, np.arange(first, first + added))
            self.row_idle = np.append(self.row_idle, np.zeros(added, dtype=np.int64))
        return added

    def purge(self, center: FloatArray) -> FloatArray:
        """Drop rows and T-joins that masters have not used for long; return what is left of λ."""
        stay = (center > 0) | (self.row_idle <= ROW_PATIENCE)
        self.active, self.row_idle = self.active[stay], self.row_idle[stay]
        self.pool.keep(self.pool.idle <= JOIN_PATIENCE)
        return center[stay]

    # -- the model of the bound -------------------------------------------------------------

    def master(self, center: FloatArray, step: float, held: Held) -> Master:
        """Maximise the least of the pieces less ``|λ - center|² / (2 step)`` over λ >= 0.

        The dual: T-joins are mixed so that the mixture's weight, and the squares of what it
        violates, are least; then λ is the center plus ``step`` times the violation.
        """
        pool = self.pool
        agree = np.all(pool.unsatisfied[:, held.mask] == held.value[held.mask], axis=1)
        use = np.flatnonzero(agree)
        pieces = pool.violation[np.ix_(use, self.active)]
        level = float(pool.weight[use].min())
        weight = pool.weight[use] - level
        share = None
        positive = np.ones(len(center), dtype=bool)
        for _ in range(POSITIVE_ROUNDS):
            # Rows whose multiplier ends at zero add nothing that depends on the mixture.
            part = pieces[:, positive]
            share = minimize_over_simplex(
                step * part @ part.T, weight + part @ center[positive], start=share
            )
            moved = center + step * (share @ pieces)
            if np.array_equal(moved > 0, positive):
                break
            positive = moved > 0
        assert share is not None, "the first round finds one"
        share[share < 1e-9] = 0.0
        multipliers = np.maximum(moved, 0.0)
        pool.idle += 1
        pool.idle[use[share > 0]] = 0
        self.row_idle = np.where(multipliers > 0, 0, self.row_idle + 1)
        value = level + float((weight + pieces @ multipliers).min())
        mixture = np.clip(share @ pool.unsatisfied[use], 0.0, 1.0)
        mixture[np.abs(mixture - np.rint(mixture)) < 1e-8] = np.rint(
            mixture[np.abs(mixture - np.rint(mixture)) < 1e-8]
        )
        return Master(multipliers, value, mixture)
