"""Markov random fields as pairwise energies, reduced, with the way back."""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.errors import InfeasibleError
from planaris.models import MarkovRandomField
from planaris.models.base import exact_sum, round_once
from planaris.models.encode import joint_states
from planaris.relax.cut_form import ROUNDING, UNIT
from planaris.typing import FloatArray, IntArray, LongArray

ROUNDED = 1e-5
"""Part of a constant that counts as the size of energies, so that its rounding closes no gap."""

POLLS = 64
"""Factors between two checks of the deadline."""

ENTRIES = 200_000
"""Entries of tables compared between two checks of the deadline."""

MAX_ELIMINATION = 200_000
"""Most entries looked at to eliminate a variable between two others."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """An eliminated variable: its best label given the labels of up to two others."""

    variable: int
    others: tuple[int, ...]
    label: LongArray


@dataclass(eq=False)
class LabelForm:
    """Minimise ``base + Σ nodes[i][x_i] + Σ tables[i, j][x_i, x_j]``; energies may be +inf.

    Variables keep their numbers; ``labels[i]`` lists the labels that are left. Variables that
    were eliminated are not in ``kept``.
    """

    model: MarkovRandomField
    cardinalities: list[int]
    nodes: list[FloatArray]
    tables: dict[tuple[int, int], FloatArray]
    labels: list[LongArray]
    neighbours: list[set[int]]
    base: float
    error: float = 0.0
    kept: set[int] = field(default_factory=set)
    tape: list[Elimination] = field(default_factory=list)

    @classmethod
    def from_model(
        cls, model: MarkovRandomField, *, eliminate: int = 2, budget: Budget = UNLIMITED
    ) -> LabelForm:
        """Make a model pairwise and reduce it.

        Factors of three or more variables become variables, numbered as
        :func:`~planaris.models.encode.mrf2pairwise` does. ``eliminate=1`` removes dominated
        labels and leaves, which keeps the value of the local relaxation; 2 also removes variables
        between two others, which may tighten it; 0 leaves the model as it is, for proofs about
        its own labels. ``TimeoutError`` if the time is over before the model is pairwise;
        reductions just end then.
        """
        cards, nodes, tables, constant, error = _pairwise_logs(model, budget)
        if constant == -math.inf:
            msg = "no state has positive weight: a factor without variables is zero"
            raise InfeasibleError(msg)
        count = len(cards)
        budget.check()
        form = cls(
            model,
            cards,
            [0.0 - logs for logs in nodes],
            tables,
            [np.arange(k) for k in cards],
            [set() for _ in range(count)],
            -constant,
            error,
            kept=set(range(count)),
        )
        for k, ((u, v), logs) in enumerate(tables.items()):
            if k % POLLS == 0:
                budget.check()
            tables[u, v] = 0.0 - logs
            form.neighbours[u].add(v)
            form.neighbours[v].add(u)
        if eliminate:
            form._reduce(eliminate, budget)
        return form

    def table(self, i: int, j: int) -> FloatArray:
        """Return the table of an edge with ``x_i`` as the rows."""
        return self.tables[i, j] if i < j else self.tables[j, i].T

    # -- reductions -------------------------------------------------------------------------

    def _reduce(self, eliminate: int, budget: Budget) -> None:
        queue = deque(self.kept)
        queued = set(queue)
        while queue and not budget.expired():
            i = queue.popleft()
            queued.discard(i)
            if i not in self.kept:
                continue
            touched = self._drop_labels(i, budget) | self._eliminate(i, eliminate)
            for j in touched - queued:
                queue.append(j)
                queued.add(j)

    def _drop_labels(self, i: int, budget: Budget) -> set[int]:
        """Drop labels of i that are impossible or strictly worse than another everywhere."""
        keep = self.nodes[i] < np.inf
        for j in self.neighbours[i]:
            keep &= (self.table(i, j) < np.inf).any(1)
        changed = self._keep(i, keep)
        if len(self.labels[i]) > 1:
            changed |= self._keep(i, ~self._dominated(i, budget))
        return {i, *self.neighbours[i]} if changed else set()

    def _dominated(self, i: int, budget: Budget) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Goldstein's criterion: label a loses to some b whatever the neighbours do."""
        node = self.nodes[i]
        widest = max((len(self.labels[j]) for j in self.neighbours[i]), default=1)
        polls = max(ENTRIES // (len(node) * widest), 1)
        worse = node[:, None] - node[None, :]
        size = np.abs(node).max()
        for j in self.neighbours[i]:
            table = self.table(i, j)
            finite = np.where(np.isfinite(table), np.abs(table), 0.0)
            size += float(finite.max(initial=0.0))
            with np.errstate(invalid="ignore"):
                for a in range(len(node)):
                    if a % polls == 0 and budget.expired():
                        return np.zeros(len(node), dtype=bool)
                    step = table[a] - table
                    np.copyto(step, np.inf, where=np.isnan(step))
                    worse[a] += step.min(1)
        return np.asarray((worse > 1e-12 * size + 1e-300).any(1))

    def _keep(self, i: int, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> bool:
        if keep.all():
            return False
        if not keep.any():
            msg = f"no state has positive weight: every label of variable {i} is excluded"
            raise InfeasibleError(msg, variable=i)
        self.labels[i], self.nodes[i] = self.labels[i][keep], self.nodes[i][keep]
        for j in self.neighbours[i]:
            key = (i, j) if i < j else (j, i)
            self.tables[key] = self.tables[key][keep] if i < j else self.tables[key][:, keep]
        return True

    def _eliminate(self, i: int, eliminate: int) -> set[int]:
        others = sorted(self.neighbours[i])
        if len(self.labels[i]) == 1:
            for j in others:
                self._add(j, self.table(i, j)[0])
            self._remove(i, (), self.labels[i])
            self._add_base(float(self.nodes[i][0]))
        elif not others:
            best = int(np.argmin(self.nodes[i]))
            self._remove(i, (), self.labels[i][best : best + 1])
            self._add_base(float(self.nodes[i][best]))
        elif len(others) == 1:
            (j,) = others
            total = self.nodes[i][:, None] + self.table(i, j)
            self._add(j, total.min(0))
            chosen = np.zeros(self.cardinalities[j], dtype=np.int64)
            chosen[self.labels[j]] = self.labels[i][total.argmin(0)]
            self._remove(i, (j,), chosen)
        elif len(others) == 2 and eliminate >= 2:
            return self._eliminate_between(i, *others)
        else:
            return set()
        return set(others)

    def _eliminate_between(self, i: int, j: int, k: int) -> set[int]:
        sizes = len(self.labels[i]), len(self.labels[j]), len(self.labels[k])
        if sizes[0] * sizes[1] * sizes[2] > MAX_ELIMINATION:
            return set()
        first, second = self.table(i, j), self.table(i, k)
        total = self.nodes[i][:, None, None] + first[:, :, None] + second[:, None, :]
        merged = total.min(0)
        chosen = np.zeros((self.cardinalities[j], self.cardinalities[k]), dtype=np.int64)
        chosen[np.ix_(self.labels[j], self.labels[k])] = self.labels[i][total.argmin(0)]
        old = self.tables.get((j, k))
        self.tables[j, k] = merged if old is None else old + merged
        self._charge(self.tables[j, k])
        self.neighbours[j].add(k)
        self.neighbours[k].add(j)
        self._remove(i, (j, k), chosen)
        return {j, k}

    def _remove(self, i: int, others: tuple[int, ...], label: LongArray) -> None:
        self.tape.append(Elimination(i, others, label))
        for j in self.neighbours[i]:
            self.neighbours[j].discard(i)
            del self.tables[(i, j) if i < j else (j, i)]
        self.neighbours[i] = set()
        self.kept.discard(i)

    def _add(self, j: int, energies: FloatArray) -> None:
        self.nodes[j] = self.nodes[j] + energies
        self._charge(self.nodes[j])

    def _add_base(self, energy: float) -> None:
        self.base += energy
        self.error += UNIT * abs(self.base)

    def _charge(self, values: FloatArray) -> None:
        """Note the rounding of sums of up to three terms, one entry of which a state uses."""
        finite = np.abs(values[np.isfinite(values)])
        self.error += 8 * UNIT * float(finite.max(initial=0.0))

    def energy_of(self, labels: LongArray) -> float:
        """Return the energy of labels of the model."""
        return float(self.model.energy(labels))

    @property
    def num_variables(self) -> int:
        """Variables of the model."""
        return self.model.num_variables

    @cached_property
    def _sizes(self) -> tuple[float, float, float]:
        """Return the constant, the sum of the least energies of all factors, the largest size."""
        model = self.model
        varies = np.repeat(np.diff(model.scope_offsets) > 0, np.diff(model.table_offsets))
        logs = model.log_values
        constant = -exact_sum(logs[~varies]) if np.all(np.isfinite(logs[~varies])) else 0.0
        largest = float(np.abs(logs[varies & np.isfinite(logs)]).max(initial=0.0))
        best = np.maximum.reduceat(logs, model.table_offsets[:-1]) if len(logs) else np.zeros(0)
        return constant, -exact_sum(best[np.isfinite(best)]), largest

    @property
    def magnitude(self) -> float:
        """Return the size of the numbers the energies are made of; of a constant, its rounding."""
        constant, _, largest = self._sizes
        return abs(self.base - constant) + largest + ROUNDED * abs(constant)

    def resolution(self, energy: float) -> float:
        """Return how close to the energy of the best state others count as equal.

        In a better state no factor lies further above its least energy than the best state does
        in all: penalties beyond that do not blur what is compared, but for their rounding.
        """
        constant, least, largest = self._sizes
        blur = min(largest, max(energy - least, 0.0))
        size = abs(self.base - constant) + blur + ROUNDED * (abs(constant) + largest)
        return max(self.model.energy_tolerance, ROUNDING * size)

    def absolute(self, bound: float) -> float:
        """Return a bound on energies: the same, as nothing is taken off."""
        return bound

    def lower_end(self, labels: LongArray, energy: float, bound: float) -> float:
        """Return the lower end of the interval for a state and a bound.

        Where one step of the energies is wider than a gap that counts, the gap stays open.
        """
        if math.isfinite(energy) and math.ulp(energy) > self.model.energy_tolerance:
            return min(bound, math.nextafter(energy, -math.inf))
        return bound

    # -- the reduced problem as arrays, and the way back ------------------------------------

    def arrays(
        self, budget: Budget = UNLIMITED
    ) -> tuple[LongArray, IntArray, FloatArray, IntArray, FloatArray]:
        """Return (variables, cardinalities, node energies, edges, edge energies).

        ``TimeoutError`` if the time is over before they are written down.
        """
        variables = np.array(sorted(self.kept), dtype=np.int64)
        index = {int(v): k for k, v in enumerate(variables)}
        cards = np.array([len(self.labels[v]) for v in variables], dtype=np.int32)
        keys = sorted(self.tables)
        edges = np.array([(index[u], index[v]) for u, v in keys], dtype=np.int32).reshape(-1, 2)
        nodes = np.concatenate([np.zeros(0), *(self.nodes[v] for v in variables)])
        ends = np.cumsum([0, *(self.tables[key].size for key in keys)]).tolist()
        tables, seen = np.empty(ends[-1]), 0
        for key, (first, last) in zip(keys, itertools.pairwise(ends), strict=True):
            if last - seen > ENTRIES:
                budget.check()
                seen = last
            tables[first:last] = self.tables[key].ravel()
        return variables, cards, nodes, edges, tables

    def lift(self, state: IntArray) -> LongArray:
        """Return labels of the model from those of the reduced problem."""
        full = np.zeros(len(self.cardinalities), dtype=np.int64)
        for k, v in enumerate(sorted(self.kept)):
            full[v] = self.labels[v][state[k]]
        for step in reversed(self.tape):
            at: Any = tuple(full[list(step.others)]) if step.others else 0
            full[step.variable] = step.label[at]
        return full[: self.model.num_variables]


def _pairwise_logs(
    mrf: MarkovRandomField, budget: Budget
) -> tuple[list[int], list[FloatArray], dict[tuple[int, int], FloatArray], float, float]:
    """Return labels, log potentials of variables and of pairs, the constant, and its rounding.

    Sums are rounded once; no state has another energy by more than the last number.
    """
    cards: list[int] = mrf.cardinalities.tolist()
    nodes: list[list[FloatArray]] = [[] for _ in cards]
    tables: dict[tuple[int, int], list[FloatArray]] = {}
    constants, entries, seen = [0.0], 0, 0
    for k in range(mrf.num_factors):
        scope, logs = mrf.scope(k).tolist(), mrf.log_table(k)
        entries += logs.size * (1 if len(scope) < 3 else 1 + sum(logs.shape))
        if k % POLLS == 0 or entries - seen > ENTRIES:
            budget.check()
            budget.check_memory(8 * entries, "the pairwise form", "use a smaller model")
            seen = entries
        if len(scope) == 0:
            constants.append(float(logs))
        elif len(scope) == 1:
            nodes[scope[0]].append(logs.ravel())
        elif len(scope) == 2:
            u, v = sorted(scope)
            tables.setdefault((u, v), []).append(logs if scope == [u, v] else logs.T)
        else:
            states, agreements = joint_states(logs)
            cluster = len(cards)
            cards.append(len(states))
            nodes.append([logs.ravel()[states]])
            tables |= {(v, cluster): [a] for v, a in zip(scope, agreements, strict=True)}
    constant = math.fsum(constants)
    error = UNIT * abs(constant) if math.isfinite(constant) and len(constants) > 2 else 0.0
    sums = [(v, round_once(some)) for v, some in enumerate(nodes) if len(some) > 1]
    pairs = [(pair, round_once(some)) for pair, some in tables.items() if len(some) > 1]
    budget.check()
    for _, logs in (*sums, *pairs):
        error += UNIT * float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
    singles = [some[0] if some else np.zeros(k) for some, k in zip(nodes, cards, strict=True)]
    for v, logs in sums:
        singles[v] = logs
    budget.check()
    whole = {pair: some[0] for pair, some in tables.items()} | dict(pairs)
    return cards, singles, whole, constant, error
