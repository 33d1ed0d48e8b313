"""log Z and moments of tractable subgraphs: forests, elimination or Pfaffians."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from planaris.budget import UNLIMITED, Budget, control
from planaris.errors import MethodError, NotPlanarError
from planaris.kernels import elimination, frontier
from planaris.kernels.graph import biconnected_components, connected_components
from planaris.kernels.relaxations import Forest
from planaris.models import IsingModel
from planaris.planar.plan import plan
from planaris.subgraphs.bias_model import EPSILON, LOG2, BiasModel
from planaris.treewidth import EliminationPlan, plan_elimination
from planaris.typing import FloatArray, LongArray

SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
"""s_u s_v in the order of a table over two spins."""

MAX_FRONTIER = 22
"""Spins in the table of a linear layout, at most."""

SPINS_AT_ONCE = 2**17
"""Spins of forests that are solved together, between checks of the deadline."""

MAX_ELIMINATION_SECONDS = 30.0
"""Estimated time of one elimination above which a subgraph is refused."""


@dataclass(frozen=True, eq=False)
class Values:
    """log Z of every piece, bounds on its rounding error, and E s_u s_v of every member."""

    logs: FloatArray
    errors: FloatArray
    moments: FloatArray


class Solver(Protocol):
    """Evaluates some of the pieces."""

    pieces: LongArray
    members: LongArray
    """Places of the pieces' edges in the flat arrays of all pieces."""
    seconds: float
    """Estimated time of one evaluation."""
    errors_are_proved: bool
    """Whether log Z lies below a value plus its error, which then is what :meth:`certify` says."""

    def evaluate(self, couplings: FloatArray, budget: Budget = UNLIMITED) -> Values:
        """Return values of these pieces for the couplings at ``members``.

        ``TimeoutError`` when the time is over before.
        """
        ...

    def certify(self, couplings: FloatArray) -> FloatArray:
        """Return proved upper bounds on log Z of these pieces."""
        ...


class Pieces:
    """Subgraphs of one bias model, their edges laid out one subgraph after the other.

    Parameters
    ----------
    bare : BiasModel
        The model.
    subgraphs : list of numpy.ndarray
        Edges of every subgraph.
    """

    def __init__(
        self, bare: BiasModel, subgraphs: list[LongArray], *, budget: Budget = UNLIMITED
    ) -> None:
        self.bare = bare
        self.subgraphs = [np.asarray(s, dtype=np.int64) for s in subgraphs]
        sizes = np.array([len(s) for s in self.subgraphs], dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.edge = np.empty(self.offsets[-1], dtype=np.int64)
        self.piece = np.empty(self.offsets[-1], dtype=np.int64)
        rest = ~bare.at_apex
        cones: list[int] = []
        others: list[int] = []
        for r, members in enumerate(self.subgraphs):
            budget.check()
            own = slice(self.offsets[r], self.offsets[r + 1])
            self.edge[own], self.piece[own] = members, r
            (cones if _is_forest(bare, members[rest[members]]) else others).append(r)
        at_once = max(SPINS_AT_ONCE // max(bare.num_spins, 1), 1)
        self.solvers: list[Solver] = [
            _Cones(self, np.array(cones[k : k + at_once]), budget)
            for k in range(0, len(cones), at_once)
        ]
        for r in others:
            budget.check()
            self.solvers.append(_best_solver(self, r, budget))

    def seconds(self) -> float:
        """Estimate the time of one evaluation."""
        return sum(solver.seconds for solver in self.solvers)

    def __len__(self) -> int:
        return len(self.subgraphs)

    def members_of(self, piece: int) -> LongArray:
        """Return the places of a piece's edges in flat arrays."""
        return np.arange(self.offsets[piece], self.offsets[piece + 1])

    def evaluate(self, couplings: FloatArray, *, budget: Budget = UNLIMITED) -> Values:
        """Return the values of all pieces for flat couplings; ``TimeoutError`` when late."""
        logs, errors = np.zeros(len(self)), np.zeros(len(self))
        moments = np.zeros(len(self.edge))
        for solver in self.solvers:
            budget.check()
            found = solver.evaluate(couplings[solver.members], budget)
            budget.check()
            logs[solver.pieces], errors[solver.pieces] = found.logs, found.errors
            moments[solver.members] = found.moments
        return Values(logs, errors, moments)

    def certify(self, couplings: FloatArray, known: Values | None = None) -> FloatArray:
        """Return proved upper bounds on log Z of all pieces.

        ``known`` are their values for these couplings, if they were computed before.
        """
        uppers = np.zeros(len(self))
        for solver in self.solvers:
            at = solver.pieces
            if known is not None and solver.errors_are_proved:
                uppers[at] = known.logs[at] + known.errors[at]
            else:
                uppers[at] = solver.certify(couplings[solver.members])
        return uppers


def _is_forest(bare: BiasModel, members: LongArray) -> bool:
    if len(members) >= max(bare.num_spins, 1):
        return False
    labels = connected_components(bare.num_spins, np.ascontiguousarray(bare.edges[members]))
    return bare.num_spins - (int(labels.max(initial=-1)) + 1) == len(members)


class _Cones:
    """Forests with the apex joined to any of their spins: forests with fields, many at once."""

    errors_are_proved = True

    def __init__(self, pieces: Pieces, chosen: LongArray, budget: Budget) -> None:
        bare, n = pieces.bare, pieces.bare.num_spins
        self.pieces, self.num_spins = chosen, n
        self.members = np.concatenate([pieces.members_of(r) for r in chosen])
        at_apex, is_field, between, field_spin = bare.at_apex, [], [], []
        for k, r in enumerate(chosen.tolist()):
            budget.check()
            members = pieces.subgraphs[r]
            is_field.append(at_apex[members])
            between.append(bare.edges[members[~is_field[k]]] + n * k)
            field_spin.append(bare.away_from_apex(members[is_field[k]]) + n * k)
        budget.check()
        copies = np.arange(len(chosen))
        self.is_field, self.field_spin = np.concatenate(is_field), np.concatenate(field_spin)
        self.owner = np.repeat(copies, [len(x) for x in between])
        self.field_owner = np.repeat(copies, [len(x) for x in field_spin])
        joined = np.ascontiguousarray(np.concatenate(between), dtype=np.int32)
        self.forest = Forest(n * len(chosen), joined, *control(budget))
        budget.check()
        self.seconds = 2.5e-7 * n * len(chosen)
        degree = np.bincount(joined.ravel(), minlength=1)
        self.additions = n + 32 + int(degree.max(initial=0))

    def evaluate(self, couplings: FloatArray, budget: Budget = UNLIMITED) -> Values:
        between, fields = self._split(couplings)
        budget.check()
        logs, spins, pairs = self.forest.evaluate(between, fields, *control(budget))
        budget.check()
        moments = np.empty(len(couplings))
        moments[self.is_field], moments[~self.is_field] = spins[self.field_spin], pairs
        budget.check()
        return Values(*self._totals(couplings, logs), moments)

    def certify(self, couplings: FloatArray) -> FloatArray:
        total, errors = self._totals(couplings, self.forest.log_values(*self._split(couplings)))
        return total + errors

    def _split(self, couplings: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the couplings of the forests and the fields of their spins."""
        fields = np.zeros(self.num_spins * len(self.pieces))
        fields[self.field_spin] = couplings[self.is_field]
        return couplings[~self.is_field], fields

    def _totals(self, couplings: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log Z of every forest and a bound on its rounding error."""
        count, n = len(self.pieces), self.num_spins
        total = logs.reshape(count, n).sum(1)
        # Without any fields or edges a bincount holds integers.
        sizes = np.zeros(count)
        sizes += np.bincount(self.field_owner, np.abs(couplings[self.is_field]), count)
        sizes += 2 * np.bincount(self.owner, np.abs(couplings[~self.is_field]), count)
        # |∂ log Z / ∂ field| <= 1: rounding of a message does no more harm above than its size.
        return total, EPSILON * (self.additions * (np.abs(total) + n) + 32 * sizes)


class _Eliminated:
    """A piece of small treewidth: one order, many couplings. The apex is held at +1."""

    errors_are_proved = True

    def __init__(self, pieces: Pieces, piece: int, budget: Budget) -> None:
        bare = pieces.bare
        self.pieces, self.members = np.array([piece]), pieces.members_of(piece)
        members = pieces.subgraphs[piece]
        self.is_field = bare.at_apex[members]
        ends = bare.edges[members]
        spins = np.setdiff1d(ends, [bare.apex])
        place = np.zeros(bare.num_spins, dtype=np.int64)
        place[spins] = np.arange(len(spins))
        between = ends[~self.is_field]
        self.edges = np.ascontiguousarray(place[between], dtype=np.int32)
        seen = ends[self.is_field]
        self.field_spin = place[np.where(seen[:, 0] == bare.apex, seen[:, 1], seen[:, 0])]
        self.count = len(spins)
        self.free = (bare.num_spins - self.count) * LOG2
        self.plan = self._plan(budget)
        self.seconds = self.plan.seconds if self.plan.complete else math.inf

    def _plan(self, budget: Budget) -> EliminationPlan:
        model = IsingModel(self.edges, np.ones(len(self.edges)), num_spins=self.count)
        limits: Any = {"task": "marginals", "time_limit": budget}
        plans = [plan_elimination(model, search_seconds=0.05, **limits)]
        # Bridges widen no layout, but a layout that follows them leaves the strip or cluster.
        budget.check()
        _, block, _ = biconnected_components(self.count, self.edges)
        inner = np.ascontiguousarray(self.edges[np.bincount(block, minlength=1)[block] > 1])
        layout = frontier.greedy_layout(inner, self.count)
        if frontier.frontier_width(self.edges, layout, MAX_FRONTIER) <= MAX_FRONTIER:
            plans.append(plan_elimination(model, kind="frontier", order=layout, **limits))
        return min(plans, key=lambda plan: (not plan.complete, plan.seconds))

    def evaluate(self, couplings: FloatArray, budget: Budget = UNLIMITED) -> Values:
        fields = np.zeros(self.count)
        fields[self.field_spin] = couplings[self.is_field]
        pairs = np.multiply.outer(couplings[~self.is_field], SIGNS).ravel()
        singles = np.multiply.outer(fields, [-1.0, 1.0]).ravel()
        form = self.plan.pairwise
        if form is None:
            arrays = self.plan.arrays._replace(log_values=np.concatenate([pairs, singles]))
            value, _, error, nodes, tables = elimination.eliminate_sum(
                arrays, self.plan.order, marginals=True, budget=budget
            )
        else:
            value, error, nodes, tables, _ = frontier.frontier_sum(
                form.arrays._replace(pairs=pairs, singles=singles),
                self.plan.order,
                marginals=True,
                spare=self.plan.spare,
                budget=budget,
            )
        moments = np.empty(len(couplings))
        moments[~self.is_field] = tables[: len(pairs)].reshape(-1, 4) @ SIGNS
        moments[self.is_field] = (nodes[1::2] - nodes[::2])[self.field_spin]
        total = value + self.free
        error += 4 * EPSILON * (abs(total) + self.free + 1)
        return Values(np.array([total]), np.array([error]), moments)

    def certify(self, couplings: FloatArray) -> FloatArray:
        found = self.evaluate(couplings)
        return found.logs + found.errors


class _Planar:
    """A planar piece: one dissection, many couplings."""

    errors_are_proved = False

    def __init__(self, pieces: Pieces, piece: int) -> None:
        self.pieces, self.members = np.array([piece]), pieces.members_of(piece)
        ends = pieces.bare.edges[pieces.subgraphs[piece]]
        spins, renumbered = np.unique(ends, return_inverse=True)
        self.count = len(spins)
        self.free = (pieces.bare.num_spins - len(spins)) * LOG2
        self.slack = 4 * EPSILON * (self.free + 1)
        edges = np.ascontiguousarray(renumbered.reshape(-1, 2), dtype=np.int32)
        self.plan = plan((self.count, edges))
        self.threads = 1 if self.count < 2000 else None
        self.seconds = _planar_seconds(self.count)

    def evaluate(self, couplings: FloatArray, budget: Budget = UNLIMITED) -> Values:
        found = self.plan.marginals(couplings, time_limit=replace(budget, threads=self.threads))
        total = found.log_z + self.free
        error = 1e-11 * (abs(total) + len(couplings)) + self.slack
        return Values(np.array([total]), np.array([error]), 2.0 * np.asarray(found.edges) - 1.0)

    def certify(self, couplings: FloatArray) -> FloatArray:
        upper = self.plan.log_partition(couplings, threads=self.threads).upper + self.free
        return np.array([upper + self.slack])


def _planar_seconds(num_spins: int) -> float:
    """Estimate the time of one planar evaluation; only the ratio to elimination matters."""
    return 5e-6 * num_spins + 5e-7 * num_spins * math.sqrt(num_spins)


def _best_solver(pieces: Pieces, piece: int, budget: Budget) -> Solver:
    """Choose between elimination and the planar route; refuse what fits neither."""
    eliminated = _Eliminated(pieces, piece, budget)
    if eliminated.seconds <= _planar_seconds(eliminated.count):
        return eliminated
    try:
        with budget.for_structure():
            return _Planar(pieces, piece)
    except NotPlanarError as error:
        if not eliminated.plan.complete:
            budget.check()  # there may be an order that was not found in time
        if eliminated.seconds <= MAX_ELIMINATION_SECONDS:
            return eliminated
        msg = (
            f"`subgraphs[{piece}]` must be planar (with its fields as edges to one more spin) or "
            f"of small treewidth, but it is not planar and its elimination has width "
            f"{eliminated.plan.width}"
        )
        raise MethodError(msg, subgraph=piece, width=eliminated.plan.width) from error
