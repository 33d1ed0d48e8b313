"""Tree-reweighted bounds on log Z over projected cycle inequalities, for any labels (SJ07).

Every state x satisfies every row, ``r(x) >= b``, so for multipliers λ >= 0
``log Z(θ) <= log Z(θ + λ r) - λ b``. The right side is bounded by trees for any messages
(:class:`~planaris.bounds.labels.trees.LabelMixture`); with the best λ and messages it is the
maximum of ``θ·μ + Σ H_i - Σ ρ_e I_e`` over LOCAL and the rows. So the bound holds at any stop, and
what proves it are the trees, the messages and λ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.bounds.entropy.appearance import (
    Trees,
    appearance_of,
    given_trees,
    trees_with,
    uniform_tree_probabilities,
    weighted_tree_probabilities,
)
from planaris.bounds.entropy.projections import CycleRows, no_rows, separate_projected
from planaris.bounds.labels.intervals import one_state
from planaris.bounds.labels.mean_field import label_mean_field
from planaris.bounds.labels.trees import LabelMixture, table_upper
from planaris.budget import UNLIMITED, Budget
from planaris.models import MarkovRandomField
from planaris.models.base import sum_below
from planaris.result import Bounds, LabelTreesOverCycles, LogPartition, Pseudomarginals
from planaris.result.proof import Proof
from planaris.subgraphs.bias_model import EPSILON
from planaris.typing import BoolArray, FloatArray

SWEEPS = 400
"""Most sweeps of messages for one value of the multipliers."""

SETTLED = 1e-7
"""Messages that move less have settled."""

STEPS = 40
"""Most steps of the multipliers between two separations."""

TREE_ROUNDS = 60
"""Most trees added by ``rho="optimal"``."""


class LabelTreeProgram:
    """Trees, messages and multipliers of rows; cuts and multipliers improve in turns."""

    def __init__(self, mrf: MarkovRandomField, *, tolerance: float, budget: Budget) -> None:
        self.mrf, self.tolerance, self.budget = mrf, tolerance, budget
        self.mixture = LabelMixture(mrf, budget=budget)
        self.cards = mrf.cardinalities.astype(np.int64)
        k = int(self.cards.max(initial=1))
        u, v = self.mixture.edges.T
        real = np.arange(k) < self.cards[:, None]
        self.inside: BoolArray = real[u][:, :, None] & real[v][:, None, :]
        self.own_logs = self.mixture.edge_logs.copy()
        self.rows = no_rows(k)
        self.multipliers: FloatArray = np.zeros(0)
        self.upper = math.inf
        self.proof: LabelTreesOverCycles | None = None
        self.trace: list[dict[str, float]] = []

    # -- trees ------------------------------------------------------------------------------

    def set_trees(self, trees: Trees) -> None:
        """Take these weighted forests, which hold every edge."""
        mixture = self.mixture
        weights, members = trees
        mixture.weights = np.asarray(weights, dtype=np.float64) / np.sum(weights)
        mixture.trees = [np.zeros(len(mixture.edges)) for _ in members]
        for indicator, tree in zip(mixture.trees, members, strict=True):
            indicator[tree] = 1.0
        mixture.rho = appearance_of(len(mixture.edges), (mixture.weights, members))

    def set_rho(self, rho: FloatArray | Trees | str) -> None:
        """Take edge appearance probabilities; ``"optimal"`` ones are found."""
        n, edges = self.mixture.n, self.mixture.edges
        if not isinstance(rho, str):
            self.set_trees(given_trees(n, edges, rho))
        elif rho == "optimal":
            self.improve_trees()
        else:
            UNLIMITED.check_memory(24.0 * n * n, f"spanning trees of {n} variables", "give `rho`")
            self.set_trees(trees_with(n, edges, self._named(rho)))

    def _named(self, rho: str) -> FloatArray:
        n, edges = self.mixture.n, self.mixture.edges
        if rho == "uniform" or not len(edges):
            return uniform_tree_probabilities(n, edges)
        first = self.mixture.edge_offsets[:-1]
        spread = np.maximum.reduceat(self.own_logs, first) - np.minimum.reduceat(
            self.own_logs, first
        )
        return weighted_tree_probabilities(n, edges, spread)

    def improve_trees(self) -> None:
        """Add trees along which the bound falls fastest, until none promises much."""
        mixture = self.mixture
        for k in range(TREE_ROUNDS):
            mixture.sweep(4, 1e-3)
            if self._late() or not mixture.improve(k):
                return

    # -- multipliers ------------------------------------------------------------------------

    def _late(self) -> bool:
        return self.budget.remaining() < 2 * self.mixture.seconds_to_prove()

    def evaluate(self, multipliers: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound for some multipliers, and its gradient; keep it if it is the best.

        ``TimeoutError`` where they are not there long after the deadline.
        """
        mixture = self.mixture
        tilt = self.rows.tilt(multipliers, len(mixture.edges))
        mixture.edge_logs = self.own_logs + tilt[self.inside]
        mixture.budget = self.budget.reserve(mixture.seconds_to_prove())
        mixture.sweep(SWEEPS, SETTLED)
        sides, finish = self.rows.sides, self.budget.to_finish()
        value = mixture.upper(finish) - sum_below(*(multipliers * sides).tolist())
        # The tilted tables are rounded sums of as many terms as rows meet an edge.
        met = float((multipliers[self.rows.owner]).sum()) + float(np.abs(self.own_logs).sum())
        value += EPSILON * (len(multipliers) + 4) * met if len(multipliers) else 0.0
        if value < self.upper:
            self.upper, self.multipliers = value, multipliers.copy()
            self.proof = self._proof(multipliers)
        return value, self.rows.at(self.pairs(finish)) - sides

    def _proof(self, multipliers: FloatArray) -> LabelTreesOverCycles:
        rows = self.rows
        sets = np.stack([rows.first, rows.second], axis=1).reshape(-1, rows.first.shape[1])
        return LabelTreesOverCycles(
            trees=self.mixture.proof(),
            row_offsets=rows.offsets,
            row_edges=rows.edges,
            odd=rows.odd.astype(np.int64),
            set_offsets=np.concatenate([[0], np.cumsum(sets.sum(1))]).astype(np.int64),
            sets=np.nonzero(sets)[1],
            multipliers=multipliers.copy(),
        )

    def descend(self, start: FloatArray) -> FloatArray:
        """Minimise the bound over multipliers by quasi-Newton steps."""
        from scipy.optimize import minimize

        last = [start]

        def value(x: FloatArray) -> tuple[float, FloatArray]:
            if self._late():
                raise TimeoutError
            last[0] = x.copy()
            return self.evaluate(x)

        try:
            if not len(start):
                self.evaluate(start)
                return start
            found = minimize(
                value,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, None)] * len(start),
                options={"maxiter": STEPS, "maxls": 10, "ftol": 0.01 * self.tolerance / self._size},
            )
            return np.asarray(found.x)
        except TimeoutError:
            return last[0]

    @property
    def _size(self) -> float:
        return max(abs(self.upper), 1.0) if math.isfinite(self.upper) else 1.0

    # -- the loop ---------------------------------------------------------------------------

    def pairs(self, budget: Budget = UNLIMITED) -> FloatArray:
        """Return the pseudomarginals of the edges, padded; ``TimeoutError`` when late."""
        k = self.rows.first.shape[1]
        tables = np.zeros((len(self.mixture.edges), k, k))
        for at, joint in self.mixture.joints():
            budget.check()
            tables[at, : joint.shape[1], : joint.shape[2]] = joint
        return tables

    def nodes(self) -> FloatArray:
        """Return the pseudomarginals of the variables, padded."""
        k = self.rows.first.shape[1]
        tables = np.zeros((len(self.cards), k))
        for row, mu in zip(tables, self.mixture.nodes(), strict=True):
            row[: len(mu)] = mu
        return tables

    def run(self, projection: str | None, *, max_rounds: int, grow: bool) -> str:
        """Cut until nothing is violated; ``grow`` adds a tree in every round."""
        multipliers = self.descend(np.zeros(0))
        for rounds in range(max_rounds + 1):
            if self._late():
                return "time_limit"
            try:
                fresh = self._separate(projection)
            except TimeoutError:
                return "time_limit"
            self._record(rounds, len(fresh))
            if not len(fresh):
                return "optimal"
            if rounds == max_rounds:
                return "max_rounds"
            before = self.upper
            keep = multipliers > 1e-9
            self.rows = self.rows.chosen(keep).joined(fresh)
            start = np.concatenate([multipliers[keep], np.zeros(len(fresh))])
            if grow and rounds % 2:
                self.mixture.improve(len(self.mixture.trees))
            multipliers = self.descend(start)
            if rounds > 3 and before - self.upper < 0.1 * self.tolerance:
                return "optimal"
        raise AssertionError

    def _separate(self, projection: str | None) -> CycleRows:
        if projection is None or not len(self.mixture.edges):
            return no_rows(self.rows.first.shape[1])
        nodes = self.nodes()
        self.budget.check()
        return separate_projected(
            nodes,
            self.pairs(self.budget),
            self.cards,
            self.mixture.edges,
            projection,
            budget=self.budget,
        )

    def _record(self, rounds: int, cuts: int) -> None:
        self.trace.append(
            {
                "round": rounds,
                "upper": self.upper,
                "cuts": cuts,
                "rows": len(self.rows),
                "seconds": self.budget.seconds(),
            }
        )

    def result(self, status: str, **stats: Any) -> LogPartition:
        """Return the bound with its pseudomarginals."""
        mrf, nodes, state = self.mrf, self.mixture.nodes(), self.mixture.likeliest()
        below: Proof | None
        lower, below = one_state(mrf, state)
        if not mrf.has_zeros:
            found = label_mean_field(mrf, states=[state], time_limit=self.budget.share(0.5))
            if found.lower > lower and isinstance(found.certificate, Bounds):
                lower, below = found.lower, found.certificate.lower
        finish, crude = self.budget.to_finish(), table_upper(mrf)
        upper = self.upper if self.upper <= crude else crude
        proof = self.proof if self.upper <= crude else None
        return LogPartition.between(
            min(lower, upper),
            upper,
            value=upper,
            num_variables=mrf.num_variables,
            method="trw",
            status=status,
            pseudomarginals=Pseudomarginals(nodes, self.mixture.pairs(finish)),
            rounds=max(len(self.trace) - 1, 0),
            seconds=self.budget.seconds(),
            trace=self.trace,
            certificate=Bounds(below, proof),
            stats={"rho": self.mixture.rho, "rows": len(self.rows), **stats},
        )
