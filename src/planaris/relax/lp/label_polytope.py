"""Local and cycle relaxations of models with any labels: projection graphs (SJ07)."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget, control
from planaris.errors import InfeasibleError, require_one_of
from planaris.kernels.relaxations import CycleCuts, MessagePassing, separate_cycles
from planaris.models import MarkovRandomField
from planaris.models.base import sum_below
from planaris.relax.label_form import LabelForm
from planaris.relax.lp.cycle_polytope import INTEGRAL
from planaris.relax.lp.growing_lp import GrowingLP
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, LabelCycles, LabelTree, Pseudomarginals
from planaris.typing import BoolArray, FloatArray, LongArray

PROJECTIONS = ("none", "single", "k", "full")
MAX_FULL_LABELS = 5
"""Fractional labels of a variable of which the full projection takes all subsets."""

Part = tuple[int, LongArray]
"""A variable and the labels on one side of a partition of its labels."""

Item = tuple[int, Part, Part, bool]
"""An edge, the parts of its ends that are compared, and whether it is marked as odd."""


ENTRY_SECONDS = 2e-6
"""Estimated time per entry of a table to set up the linear program."""


class LabelRelaxation:
    """The linear program of a reduced model, with rows for projected cycles.

    Columns are the node pseudomarginals, then the finite entries of the edge tables. Rows say
    that they are consistent; more rows are cycle inequalities of projections, in which
    ``P([x_i in A] != [x_j in B]) = μ_i(A) + μ_j(B) - 2 μ_ij(A, B)``.
    """

    def __init__(self, form: LabelForm, budget: Budget = UNLIMITED) -> None:
        self.form = form
        self.started = time.monotonic()
        _, self.cards, nodes, self.edges, tables = form.arrays(budget)
        # The program is made and given to HiGHS without a look at the clock.
        budget.reserve(ENTRY_SECONDS * len(tables)).check()
        self.node_first = np.concatenate([[0], np.cumsum(self.cards, dtype=np.int64)])
        sizes = self.cards[self.edges].astype(np.int64)
        self.table_first = np.concatenate([[0], np.cumsum(sizes.prod(1))])
        self.finite: BoolArray = np.isfinite(tables)
        count = len(nodes) + int(self.finite.sum())
        # Column of every table entry; -1 where the pair is forbidden.
        self.column = np.where(self.finite, len(nodes) + np.cumsum(self.finite) - 1, -1)
        owner = np.repeat(np.arange(len(self.edges)), np.diff(self.table_first))
        groups = np.concatenate(
            [
                np.repeat(np.arange(len(self.cards)), self.cards),
                len(self.cards) + owner[self.finite],
            ]
        )
        cost = np.concatenate([nodes, tables[self.finite]])
        self.lp = GrowingLP(cost, np.zeros(count), np.ones(count), groups=groups)
        self.engine = MessagePassing(self.cards, nodes, self.edges, tables, *control(budget))
        self._add_local_rows(owner)
        self.state: LongArray = np.zeros(form.model.num_variables, dtype=np.int64)
        self.lower, self.energy = -np.inf, float(form.model.energy(self.state))
        self.trace: list[dict[str, float]] = []
        self.rows: list[list[Item]] = []
        self.duals: FloatArray = np.zeros(0)

    def _add_local_rows(self, owner: LongArray) -> None:
        """Add Σ_x μ_i(x) = 1 and, for both ends of every edge, Σ_y μ_ij(x, y) = μ_i(x)."""
        count = len(self.cards)
        labels = np.arange(self.node_first[-1])
        if count:
            ones = np.ones(count)
            self.lp.add_rows(self.node_first, labels, np.ones(len(labels)), ones, ones)
        if not len(self.edges):
            return
        rank = np.arange(len(owner)) - self.table_first[owner]
        columns_of = self.cards[self.edges[:, 1]][owner]
        ends = self.edges[owner]
        node_u = self.node_first[ends[:, 0]] + rank // columns_of
        node_v = self.node_first[ends[:, 1]] + rank % columns_of
        # One row per edge, end and label: key = place among all of them.
        widths = self.cards[self.edges]
        begins = np.concatenate([[0], np.cumsum(widths.sum(1))])
        row_u = begins[owner] + rank // columns_of
        row_v = begins[owner] + widths[owner, 0] + rank % columns_of
        rows = np.concatenate([row_u[self.finite], row_v[self.finite]])
        columns = np.tile(self.column[self.finite], 2)
        total = int(begins[-1])
        node_of_row = np.zeros(total, dtype=np.int64)
        node_of_row[row_u], node_of_row[row_v] = node_u, node_v
        rows = np.concatenate([rows, np.arange(total)])
        columns = np.concatenate([columns, node_of_row])
        values = np.concatenate([np.ones(len(rows) - total), -np.ones(total)])
        order = np.argsort(rows, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=total))])
        zero = np.zeros(total)
        self.lp.add_rows(offsets, columns[order], values[order], zero, zero)

    def table(self, e: int) -> FloatArray:
        """Return the pseudomarginals of an edge."""
        here = slice(self.table_first[e], self.table_first[e + 1])
        values = np.where(self.finite[here], self.lp.x[self.column[here]], 0.0)
        return values.reshape(self.cards[self.edges[e]])

    def node(self, i: int) -> FloatArray:
        """Return the pseudomarginals of a variable."""
        return self.lp.x[self.node_first[i] : self.node_first[i + 1]]

    # -- projections ------------------------------------------------------------------------

    def parts(self, projection: str) -> list[Part]:
        """Return partitions of the labels of fractional variables.

        Variables at a single label need none: a cycle through them is a sum of others.
        """
        out: list[Part] = []
        for i in range(len(self.cards)):
            mu = self.node(i)
            labels = np.flatnonzero((mu > INTEGRAL) & (mu < 1 - INTEGRAL))
            if len(labels) < 2:
                continue
            if projection == "single":
                chosen: list[Any] = [labels[[int(np.argmax(mu[labels]))]]]
            elif projection == "k" or len(labels) > MAX_FULL_LABELS:
                chosen = [labels[[k]] for k in range(len(labels))]
                if projection == "full":
                    chosen += [np.array(pair) for pair in itertools.combinations(labels, 2)]
            else:
                # All subsets that do not hold the last label: one of each pair of sides.
                chosen = [
                    np.array(subset)
                    for size in range(1, len(labels))
                    for subset in itertools.combinations(labels[:-1], size)
                ]
            if len(labels) == 2:
                chosen = chosen[:1]
            out += [(i, part) for part in chosen]
        return out

    def separate(
        self, projection: str, budget: Budget = UNLIMITED
    ) -> tuple[CycleCuts, list[tuple[int, Part, Part]]]:
        """Find violated cycles of the projection graph, and what its edges stand for.

        ``TimeoutError`` when the time is over before the graph is there, none if it is over then.
        """
        parts = self.parts(projection)
        of: dict[int, list[int]] = {}
        for p, (i, _) in enumerate(parts):
            of.setdefault(i, []).append(p)
        ends, values, meaning = [], [], []
        for e, (u, v) in enumerate(self.edges.tolist()):
            if u not in of or v not in of:
                continue
            budget.check()
            table = self.table(e)
            for p, q in itertools.product(of[u], of[v]):
                a, b = parts[p][1], parts[q][1]
                both = table[np.ix_(a, b)].sum()
                ends.append((p, q))
                values.append(self.node(u)[a].sum() + self.node(v)[b].sum() - 2 * both)
                meaning.append((e, parts[p], parts[q]))
        graph = np.array(ends, dtype=np.int32).reshape(-1, 2)
        x = np.clip(np.array(values, dtype=np.float64), 0.0, 1.0)
        return separate_cycles(len(parts), graph, x, max_per_edge=1, budget=budget), meaning

    def add(self, cuts: CycleCuts, meaning: list[tuple[int, Part, Part]]) -> None:
        """Lift cycle inequalities of the projection graph to rows."""
        offsets, columns, values, sides = [0], [], [], []
        for k in range(len(cuts)):
            row: dict[int, float] = {}
            here = range(cuts.offsets[k], cuts.offsets[k + 1])
            for at in here:
                e, (u, a), (v, b) = meaning[cuts.edges[at]]
                sign = -1.0 if cuts.odd[at] else 1.0
                for label in self.node_first[u] + a:
                    row[int(label)] = row.get(int(label), 0.0) + sign
                for label in self.node_first[v] + b:
                    row[int(label)] = row.get(int(label), 0.0) + sign
                width = int(self.cards[v])
                for x, y in itertools.product(a.tolist(), b.tolist()):
                    column = int(self.column[self.table_first[e] + x * width + y])
                    if column >= 0:
                        row[column] = row.get(column, 0.0) - 2 * sign
            columns += list(row)
            values += list(row.values())
            offsets.append(len(columns))
            sides.append(1.0 - sum(int(cuts.odd[at]) for at in here))
        self.lp.add_rows(np.array(offsets), np.array(columns), np.array(values), np.array(sides))
        self.rows += [
            [
                (*meaning[edge], bool(odd))
                for edge, odd in zip(cuts.edges[first:last], cuts.odd[first:last], strict=True)
            ]
            for first, last in itertools.pairwise(cuts.offsets.tolist())
        ]

    # -- the loop ---------------------------------------------------------------------------

    def offer(self) -> None:
        """Round the node pseudomarginals, improve, and keep the best state."""
        labels = np.array(
            [int(np.argmax(self.node(i))) for i in range(len(self.cards))], dtype=np.int32
        )
        state = self.form.lift(self.engine.improve(labels, *control(None)))
        energy = float(self.form.model.energy(state))
        if energy < self.energy:
            self.energy, self.state = energy, state

    def closed(self) -> bool:
        """Return whether the interval is closed."""
        return bool(self.energy - self.lower <= self.form.resolution(self.energy))

    def proof(self) -> LabelCycles:
        """Return the multipliers of the bound, of a model that was not reduced."""
        local = int(self.cards[self.edges].sum())
        first = len(self.cards)
        messages = self.duals[first : first + local]
        weights = np.maximum(self.duals[first + local :], 0.0)
        rows = [(row, w) for row, w in zip(self.rows, weights.tolist(), strict=False) if w > 0]
        items = [item for row, _ in rows for item in row]
        sets = [labels for _, (_, a), (_, b), _ in items for labels in (a, b)]
        none = np.zeros(0, dtype=np.int64)
        return LabelCycles(
            messages=LabelTree(
                edges=self.edges,
                triplets=none,
                branch_variable=np.array([-1]),
                branch_label=np.array([-1]),
                child=np.array([[-1, -1]]),
                message_offsets=np.array([0, len(messages)]),
                messages=messages,
            ),
            row_offsets=np.cumsum([0, *(len(row) for row, _ in rows)]),
            row_edges=np.array([item[0] for item in items], dtype=np.int64),
            odd=np.array([item[3] for item in items], dtype=np.int64),
            set_offsets=np.cumsum([0, *map(len, sets)]),
            sets=np.concatenate([none, *sets]),
            multipliers=np.array([w for _, w in rows]),
        )

    def run(self, projection: str, budget: Budget, *, max_rounds: int | None) -> str:
        """Cut until nothing is violated, the interval is closed, or time is up."""
        for rounds in itertools.count():
            status = self.lp.solve(budget=budget, presolve=rounds == 0)
            if status == "infeasible":
                msg = "no state has positive weight: the hard constraints contradict each other"
                raise InfeasibleError(msg)
            bound = sum_below(self.form.base, self.lp.safe_bound(), -self.form.error)
            if bound > self.lower:
                self.lower, self.duals = bound, np.array(self.lp.row_dual)
            self.offer()
            spent = budget.seconds()
            line = {"round": rounds, "lower": self.lower, "upper": self.energy, "seconds": spent}
            self.trace.append(line)
            line["cuts"] = 0
            if status == "stopped" or budget.expired():
                return "time_limit"
            if self.closed():
                return "closed"
            if projection == "none":
                return "optimal"
            if max_rounds is not None and rounds >= max_rounds:
                return "max_rounds"
            try:
                cuts, meaning = self.separate(projection, budget)
                budget.check()
            except TimeoutError:
                return "time_limit"
            if not len(cuts):
                return "optimal"
            line["cuts"] = len(cuts)
            self.add(cuts, meaning)
        raise AssertionError


def label_relaxation(
    model: MarkovRandomField,
    *,
    projection: str,
    budget: Budget,
    max_rounds: int | None = None,
) -> GroundState:
    """Bound the minimum energy over LOCAL and the cycle inequalities of a projection graph.

    Parameters
    ----------
    model : MarkovRandomField
        Any model; factors of three variables or more become clusters.
    projection : {"none", "single", "k", "full"}
        Partitions of the labels: none, the likeliest label against the rest, every label
        against the rest, or all.
    budget : Budget
        With ``prove`` the multipliers are kept as a certificate; the model is then not reduced.
        Not where labels of a single variable are excluded.
    max_rounds
        See :func:`planaris.relax.cycle_lp`.
    """
    require_one_of("projection", projection, PROJECTIONS)
    # Labels that cannot be are no columns of a program: without reductions none may be left.
    prove = budget.prove and not any(np.isneginf(model.log_table(k)).any() for k in _single(model))
    method = "local-lp" if projection == "none" else "cycle-lp"
    try:
        form = LabelForm.from_model(model, eliminate=0 if prove else 1, budget=budget.share(0.5))
        relaxation = LabelRelaxation(form, budget)
    except TimeoutError:
        return trivial_ground_state(model, method, budget)
    status = relaxation.run(projection, budget, max_rounds=max_rounds)
    nodes = [relaxation.node(i) for i in range(len(relaxation.cards))]
    integral = [float(mu.max()) > 1 - INTEGRAL for mu in nodes]
    share = float(np.mean(integral)) if integral else 1.0
    return GroundState.of(
        model,
        relaxation.state,
        form.lower_end(relaxation.state, relaxation.energy, relaxation.lower),
        method=method,
        status=status,
        pseudomarginals=Pseudomarginals(_lift_nodes(form, nodes), None, share),
        rounds=len(relaxation.trace) - 1,
        seconds=time.monotonic() - relaxation.started,
        trace=relaxation.trace,
        certificate=relaxation.proof() if prove else None,
        stats={
            "projection": projection,
            "rows": relaxation.lp.num_rows,
            "iterations": relaxation.lp.iterations,
            "reduced_variables": len(nodes),
        },
    )


def _single(model: MarkovRandomField) -> LongArray:
    """Return the factors of one variable."""
    return np.flatnonzero(np.diff(model.scope_offsets) == 1)


def _lift_nodes(form: LabelForm, nodes: list[FloatArray]) -> list[FloatArray]:
    """Return node pseudomarginals of the model: eliminated leaves follow their neighbour."""
    full = [np.zeros(k) for k in form.cardinalities]
    for v, mu in zip(sorted(form.kept), nodes, strict=True):
        full[v][form.labels[v]] = mu
    for step in reversed(form.tape):
        weight = full[step.others[0]] if step.others else np.ones(1)
        np.add.at(full[step.variable], step.label, weight)
    return full[: form.model.num_variables]
