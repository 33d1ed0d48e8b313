"""Entropies of spins over relaxations of the marginal polytope: cuts and ρ improve in turns."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import scipy

from planaris.bounds.entropy.appearance import (
    Trees,
    appearance_of,
    given_trees,
    trees_with,
    uniform_tree_probabilities,
    weighted_tree_probabilities,
)
from planaris.bounds.entropy.barrier import BarrierSolver, Evidence, Polytope
from planaris.bounds.entropy.entropies import LogDetEntropy, TreeEntropy
from planaris.bounds.entropy.shortest_cycles import MIN_VIOLATION, shortest_cycles
from planaris.bounds.entropy.vertices import VertexSolver, all_vertices
from planaris.budget import UNLIMITED, Budget
from planaris.errors import TooLargeError
from planaris.kernels.relaxations import CycleCuts, improve_spins, separate_cycles
from planaris.models import IsingModel
from planaris.relax.cut_form import missing_edges, with_bias_spin
from planaris.relax.lp.facets import Rows, violated_rows
from planaris.result import (
    Bounds,
    GaussianEntropyBound,
    HeavyState,
    LogPartition,
    Pseudomarginals,
    TreeEntropyBound,
)
from planaris.subgraphs.families import heaviest_forest
from planaris.typing import FloatArray, IntArray

EPSILON = float(np.finfo(np.float64).eps)
MAX_MARGINAL_SPINS = 14
MAX_LOG_DET_SPINS = 60
INSIDE = 1e-14
"""Four times the least probability at a point that is proved."""

STATE_SECONDS = 0.1
"""For a state to bound log Z from below."""


class EntropyProgram:
    """One model, one entropy, one polytope; cuts and ρ improve in turns."""

    def __init__(
        self,
        model: IsingModel,
        entropy: str,
        polytope: str,
        *,
        tolerance: float,
        budget: Budget = UNLIMITED,
        families: tuple[str, ...] = (),
    ) -> None:
        self.model, self.kind, self.polytope_name = model, entropy, polytope
        self.tolerance, self.budget = tolerance, budget
        self.families, self.cuts, self.only_cycles = families, "all", True
        n = model.num_spins
        full = entropy == "log-det" or polytope == "psd" or "psd" in families
        _check_size(n, full=full, marginal=polytope == "marginal")
        self.pairs = model.edges
        if full:
            self.pairs = np.concatenate([model.edges, missing_edges(n, model.edges)])
        self.theta = np.zeros(n + len(self.pairs))
        self.theta[:n] = model.fields
        self.theta[n : n + model.num_edges] = model.couplings
        self.polytope = Polytope(n, self.pairs, psd=polytope == "psd")
        self.local_rows = len(self.polytope.sides)
        self.rho: FloatArray = np.zeros(len(self.pairs))
        self.upper, self.gap = np.inf, np.inf
        self.z: FloatArray = np.zeros(len(self.theta))
        self.trace: list[dict[str, float]] = []
        self.rounds = 0
        self.evidence: Evidence | None = None
        self.trees: Trees | None = None

    def set_rho(self, rho: FloatArray, trees: Trees | None = None) -> None:
        """Set the edge appearance probabilities; pairs that are no edges get none."""
        self.rho = np.zeros(len(self.pairs))
        self.rho[: self.model.num_edges] = rho[: self.model.num_edges]
        self.trees = trees

    def choose_rho(self, rho: FloatArray | Trees | str) -> None:
        """Set ρ as :func:`entropy_bound` names it."""
        n, edges = self.model.num_spins, self.model.edges
        if not isinstance(rho, str):
            trees = given_trees(n, edges, rho)
            self.set_rho(appearance_of(len(edges), trees), trees)
        elif rho == "weighted":
            _check_inverse(n)
            wanted = weighted_tree_probabilities(n, edges, np.abs(self.model.couplings))
            trees = trees_with(n, edges, wanted)
            self.set_rho(appearance_of(len(edges), trees), trees)
        else:
            _check_inverse(n)
            self.set_rho(uniform_tree_probabilities(n, edges), (np.zeros(0), []))

    def entropy(self) -> TreeEntropy | LogDetEntropy:
        """Return the entropy of the present ρ."""
        n = self.model.num_spins
        if self.kind == "log-det":
            return LogDetEntropy(n, self.pairs)
        return TreeEntropy(n, self.pairs, self.rho)

    def solve(self, *, max_rounds: int) -> str:
        """Maximise, cut, and repeat (SJ07 Algorithm 1)."""
        solver: BarrierSolver | VertexSolver
        if self.polytope_name == "marginal":
            solver = VertexSolver(
                self.theta, self.entropy(), all_vertices(self.model.num_spins, self.pairs)
            )
            solver.maximise(self.tolerance)
            self._take(solver, 0)
            return "optimal"
        solver = BarrierSolver(self.theta, self.entropy(), self.polytope)
        solver.budget = self.budget
        solver.z = 0.9 * self.z
        solver.restart()
        # Cuts need no precise point; the last rounds get one.
        precise = self.polytope_name != "cycle"
        for rounds in itertools.count():
            tolerance = self.tolerance if precise else max(20 * self.tolerance, 1e-2)
            solver.maximise(tolerance, start=1.0 if rounds == 0 else 0.02)
            if solver.late():
                self._take(solver, 0)
                return "time_limit"
            if self.polytope_name != "cycle":
                self._take(solver, 0)
                return "optimal"
            x = np.ascontiguousarray((1 - solver.z[self.model.num_spins :]) / 2)
            cuts = self.separate(x)
            if not len(cuts) and not precise:
                precise = True
                solver.maximise(self.tolerance, start=1e-3)
                x = np.ascontiguousarray((1 - solver.z[self.model.num_spins :]) / 2)
                cuts = self.separate(x)
            try:
                more = None if len(cuts) else self.more_rows(solver.z)
            except TimeoutError:
                self._take(solver, 0)
                return "time_limit"
            self._take(solver, len(cuts) if more is None else more[0].shape[0])
            if not len(cuts) and more is None:
                return "optimal"
            if rounds >= max_rounds:
                return "max_rounds"
            if self.budget.expired():
                return "time_limit"
            self.polytope.drop_slack(solver.z, self.local_rows)
            if more is None:
                self.polytope.add_cycles(cuts)
            else:
                self.only_cycles = False
                self.polytope.add_rows(*more)
            solver.restart()
        raise AssertionError

    def separate(self, x: FloatArray) -> CycleCuts:
        """Find violated cycles; the quick search alone suffices while it finds some."""
        n = self.model.num_spins
        if self.cuts == "shortest":
            return shortest_cycles(n, self.pairs, x)
        return separate_cycles(n, self.pairs, x, min_violation=MIN_VIOLATION, budget=self.budget)

    def more_rows(self, z: FloatArray) -> tuple[Any, FloatArray] | None:
        """Return violated rows of the other families, if any.

        ``TimeoutError`` when the time is over before.
        """
        self.budget.check()
        return facet_rows(self.model.num_spins, self.pairs, z, self.families, budget=self.budget)

    def _take(self, solver: BarrierSolver | VertexSolver, cuts: int) -> None:
        self.z, self.gap = solver.z, solver.upper - solver.value
        self.value = solver.value
        if solver.upper < self.upper:
            self.upper = solver.upper
            self.evidence = getattr(solver, "evidence", None)
        self.trace.append(
            {
                "round": self.rounds,
                "upper": self.upper + self.model.offset,
                "gap": self.gap,
                "cuts": cuts,
                "rows": len(self.polytope.sides),
                "seconds": self.budget.seconds(),
                "nodes": (1 + self.z[: self.model.num_spins]) / 2,  # type: ignore[dict-item]
            }
        )
        self.rounds += 1

    def improve_rho(self, *, max_rounds: int) -> str:
        """Conditional gradient on ρ: the bound falls along the tree of most information."""
        n = self.model.num_spins
        for k in range(max_rounds):
            if self.budget.expired():
                return "time_limit"
            edges, rho = self.model.edges, self.rho[: self.model.num_edges]
            information = TreeEntropy(n, self.pairs, self.rho).information(self.z)[: len(edges)]
            tree = np.zeros(len(edges))
            tree[heaviest_forest(n, edges, information)] = 1.0
            room = float(information @ (tree - rho))
            if room < 10 * self.tolerance:
                return "optimal"
            best, old = self.upper, rho
            step = 2.0 / (k + 4)
            for _ in range(4):
                self.set_rho((1 - step) * old + step * tree)
                self.solve(max_rounds=max_rounds)
                if self.upper < best:
                    break
                step /= 4
            else:
                self.set_rho(old)
                return "optimal"
        return "max_rounds"

    def result(self, status: str) -> LogPartition:
        """Return the bound with its pseudomarginals."""
        model = self.model
        n = model.num_spins
        edges, couplings = with_bias_spin(model)
        start = np.append(np.where(self.z[:n] < 0, -1, 1), 1).astype(np.int8)
        last = self.budget.unlimited().within(STATE_SECONDS)
        state = improve_spins(n + 1, edges, couplings, start, tabu_steps=4 * n, budget=last)
        spins = (state[:-1] * state[-1]).astype(np.int8)
        lower = math.nextafter(float(model.log_weight(spins)), -math.inf)
        crude = float(np.abs(self.theta).sum()) + n * math.log(2.0)
        crude *= 1.0 + 4 * EPSILON * (len(self.theta) + 1)
        # Not a number, or nothing: numbers too large for Newton's steps.
        best = self.upper if self.upper <= crude else crude
        if best != self.upper:
            self.evidence = None
        upper = math.nextafter(best + model.offset, math.inf)
        return LogPartition.between(
            min(lower, upper),
            upper,
            value=upper,
            num_variables=n,
            method="trw" if self.kind == "trw" else "logdet",
            status=status,
            pseudomarginals=Pseudomarginals(
                (1 + self.z[:n]) / 2, (1 + self.z[n : n + model.num_edges]) / 2
            ),
            rounds=self.rounds - 1,
            seconds=self.budget.seconds(),
            trace=self.trace,
            stats={
                "gap": self.gap,
                "rho": self.rho[: model.num_edges],
                "polytope": self.polytope_name,
            },
            certificate=Bounds(HeavyState(spins), self.proof()),
        )

    def proof(self) -> GaussianEntropyBound | None:
        """Return the tangent that gave the bound and its multipliers, where there are any."""
        # Uniform trees are those of all pairs for the checker, and here those of the edges.
        more_pairs = len(self.pairs) > self.model.num_edges
        no_trees = self.trees is None or (not self.trees[1] and more_pairs)
        lacks_trees = self.kind == "trw" and no_trees
        if self.evidence is None or lacks_trees or not self.only_cycles:
            return None
        if not _is_inside(self.model.num_spins, self.pairs, self.evidence.z):
            return None
        m, at = len(self.pairs), self.local_rows
        rows, duals = self.evidence.rows[at:], self.evidence.duals[at:]
        shared = {
            "pairs": self.pairs,
            "point": self.evidence.z,
            "local": self.evidence.duals[: 4 * m],
            "offsets": rows.indptr,
            "edges": rows.indices - self.model.num_spins,
            "odd": rows.data < 0,
            "multipliers": duals,
        }
        if self.kind == "log-det":
            return GaussianEntropyBound(**shared)
        weights, trees = self.trees or (np.zeros(0), [])
        members = np.concatenate([np.zeros(0, dtype=np.int64), *trees])
        offsets = np.cumsum([0, *map(len, trees)])
        return TreeEntropyBound(
            **shared, tree_weights=weights, tree_offsets=offsets, tree_edges=members
        )


def _is_inside(n: int, pairs: IntArray, z: FloatArray) -> bool:
    """Return whether no probability is so small that rounding decides about its logarithm.

    >>> _is_inside(2, np.array([[0, 1]]), np.array([0.0, 0.0, 1.0]))
    False
    """
    (u, v), both = z[pairs].T, z[n:]
    four = [1 + u + v + both, 1 + u - v - both, 1 - u + v - both, 1 - u - v + both, 1 - abs(z)]
    return all(float(p.min(initial=1.0)) > INSIDE for p in four)


def _check_size(n: int, *, full: bool, marginal: bool) -> None:
    if marginal and n > MAX_MARGINAL_SPINS:
        msg = (
            f"`polytope='marginal'` lists all states, so it takes at most {MAX_MARGINAL_SPINS} "
            f"spins, got {n}; use polytope='cycle'"
        )
        raise TooLargeError(msg, bytes_needed=8 * 2**n * n * n)
    if full and n > MAX_LOG_DET_SPINS:
        msg = (
            f"the moment matrix of all pairs is taken for at most {MAX_LOG_DET_SPINS} spins, "
            f"got {n}; use entropy='trw' with polytope='cycle'"
        )
        raise TooLargeError(msg, bytes_needed=8 * (n * n // 2) ** 2)


def _check_inverse(n: int) -> None:
    """Refuse the n × n inverse behind a uniform spanning tree before it is made."""
    instead = "give `rho`, or use planaris.log_partition(model, method='trw')"
    UNLIMITED.check_memory(24.0 * n * n, f"the uniform spanning tree of {n} spins", instead)


def facet_rows(
    n: int,
    pairs: IntArray,
    z: FloatArray,
    families: tuple[str, ...],
    *,
    budget: Budget = UNLIMITED,
) -> tuple[Any, FloatArray] | None:
    """Return rows ``rows @ z <= sides`` that z violates, or None.

    Means are moments with a bias spin n, so that wheels and eigenvectors see them too; ``"psd"``
    needs all pairs.

    >>> facet_rows(2, np.array([[0, 1]]), np.zeros(3), ("psd",)) is None
    True
    """
    if not families:
        return None
    edges = np.ascontiguousarray(
        np.concatenate([pairs, np.column_stack([np.arange(n), np.full(n, n)])]), dtype=np.int32
    )
    # Edge e of this graph is moment column[e]; x = P(ends differ).
    column = np.concatenate([n + np.arange(len(pairs)), np.arange(n)])
    x = np.ascontiguousarray((1 - z[column]) / 2)
    rows = violated_rows(n + 1, edges, x, families, budget=budget)
    return None if rows is None else _in_moments(rows, column)


def _in_moments(rows: Rows, column: IntArray) -> tuple[Any, FloatArray]:
    """Turn ``values @ x >= side`` with x = (1 - z) / 2 into ``values @ z <= Σ values - 2 side``."""
    offsets, columns, values, sides = rows
    owner = np.repeat(np.arange(len(sides)), np.diff(offsets))
    matrix = scipy.sparse.coo_array(
        (values, (owner, column[columns])), shape=(len(sides), len(column))
    )
    total = np.bincount(owner, values, len(sides))
    slack = 1e-14 * np.bincount(owner, np.abs(values), len(sides))
    return matrix.tocsr(), np.asarray(total - 2 * sides + slack)
