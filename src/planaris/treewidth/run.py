"""One planned and timed elimination, and the results that come out of it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from planaris.budget import Budget
from planaris.kernels import elimination, frontier
from planaris.kernels.elimination import LARGEST_LOG, FactorArrays
from planaris.models import IsingModel
from planaris.result import GroundState, LogPartition, Stats
from planaris.treewidth.flatten import Model, factor_marginals, num_variables
from planaris.treewidth.plan import (
    EliminationPlan,
    Task,
    for_this_call,
    plan_elimination,
    refuse_if_too_large,
    refuse_to_widen,
    wide_plan,
)
from planaris.treewidth.rounding import EPS, Total, bracket
from planaris.typing import Array, FloatArray, IntArray

METHOD = "treewidth"


class Run:
    """One planned and timed piece of work, and the results that come out of it."""

    def __init__(
        self,
        model: Model,
        task: Task,
        plan: EliminationPlan | None,
        budget: Budget,
    ) -> None:
        started = time.monotonic()
        self.model, self.budget = model, budget
        with budget.required("no elimination order was found"):
            if plan is None:
                self.plan = plan_elimination(model, task=task, time_limit=budget)
            else:
                self.plan = for_this_call(model, task, plan, budget)
        refuse_if_too_large(self.plan, budget.memory_limit)
        self.taken = math.nan
        self.offset = model.offset if isinstance(model, IsingModel) else 0.0
        self.stats: Stats = {
            "kind": self.plan.kind,
            "width": self.plan.width,
            "bytes": self.plan.bytes,
            "plan_seconds": time.monotonic() - started,
        }

    def sum(self, budget: Budget, *, marginals: bool) -> tuple[Total, FloatArray, FloatArray]:
        """Return log Z and marginals laid out as ``plan.arrays`` are."""
        plan, form = self.plan, self.plan.pairwise
        if form is None:
            total, nodes, factors = self._sum_clusters(plan.arrays, budget, marginals)
            if total.error < math.inf:
                return total, nodes, factors
            return self._sum_huge(budget, marginals)
        try:
            value, error, nodes, pairs, wide = frontier.frontier_sum(
                form.arrays,
                plan.order,
                marginals=marginals,
                spare=plan.spare,
                widen=plan.may_widen,
                budget=budget,
            )
        except FloatingPointError:
            refuse_to_widen(plan)
        self.stats |= {"wide_exponents": wide}
        total = Total((value, *form.constants), error + form.error)
        if marginals and total.value > -math.inf and not isinstance(self.model, IsingModel):
            pairs = factor_marginals(form, nodes, pairs)
        return total, nodes, pairs

    def _sum_clusters(
        self, arrays: FactorArrays, budget: Budget, marginals: bool
    ) -> tuple[Total, FloatArray, FloatArray]:
        value, rest, error, nodes, factors = elimination.eliminate_sum(
            arrays, self.plan.order, marginals=marginals, budget=budget
        )
        return Total((value, rest), error), nodes, factors

    def _sum_huge(self, budget: Budget, marginals: bool) -> tuple[Total, FloatArray, FloatArray]:
        """Return log Z and marginals where products of weights exceed all exponents."""
        constants, above, below, rounding = bracket(self.plan.arrays)
        high, nodes, factors = self._sum_clusters(above, budget, marginals)
        low, _, _ = self._sum_clusters(below, budget, False)
        best = self._bound_by_maximum(budget)
        if low.value == -math.inf:
            return best, nodes, factors
        apart = max(math.fsum([*high.terms, *(-x for x in low.terms)]), 0.0) * (1.0 + EPS)
        error = high.error + low.error + apart + 2 * rounding
        near = Total((*high.terms, *constants), error)
        return (near if error <= best.error else best), nodes, factors

    def max(self, budget: Budget, *, wide: bool = False) -> tuple[IntArray, Total]:
        """Return the best assignment and its log weight as computed."""
        plan = wide_plan(self.model, self.plan, budget, always=wide)
        if plan is not None or self.plan.pairwise is None:
            used = plan or self.plan
            labels, value, rest, error = elimination.eliminate_max(
                used.arrays, used.order, wide=plan is not None, budget=budget
            )
            return labels, Total((value, rest), error)
        form = self.plan.pairwise
        spins, value, error = frontier.frontier_max(
            form.arrays, self.plan.order, spare=self.plan.spare, budget=budget
        )
        return spins.astype(np.int32), Total((value, *form.constants), error + form.error)

    def _bound_by_maximum(self, budget: Budget) -> Total:
        """Return log Z from the largest weight.

        Z lies between the largest weight and as many times that as there are states.
        """
        _, best = self.max(budget, wide=True)
        cards = self.plan.arrays.cardinalities.astype(np.float64)
        states = float(np.log(cards).sum()) * (1.0 + 4 * EPS)
        return Total((*best.terms, states / 2), best.error + states / 2 * (1.0 + EPS))

    def sample(self, budget: Budget, count: int, seed: int) -> Array:
        """Return labels of samples, flat; too few when there are none."""
        plan, form = self.plan, self.plan.pairwise
        if form is None:
            arrays = plan.arrays
            if self.model.log_weight_size > LARGEST_LOG / 4:  # products may exceed all exponents
                total, _, _ = self._sum_clusters(arrays, budget, marginals=False)
                arrays = arrays if total.error < math.inf else bracket(arrays)[1]
            return elimination.eliminate_sample(arrays, plan.order, count, seed, budget=budget)
        return frontier.frontier_sample(
            form.arrays,
            plan.order,
            count,
            seed,
            spare=plan.spare,
            budget=budget,
        )

    @contextmanager
    def timed(self) -> Iterator[Budget]:
        """Watch the work and note the seconds it takes."""
        started, width = time.monotonic(), self.plan.width
        with self.budget.watch("elimination") as watched:
            try:
                yield watched
            except TimeoutError as error:
                what = f"elimination of width {width} did not finish"
                raise self.budget.late(what, width=width) from error
        self.taken = time.monotonic() - started

    def again(self, model: Model) -> Run:
        """Return the same work for another model."""
        return Run(model, self.plan.task, self.plan, self.budget)

    def marginal_error(self, total: Total) -> float:
        """Bound the error of a probability."""
        return min(2 * total.error, 1.0)

    def log_partition(self, total: Total) -> LogPartition:
        """Return log Z with the ends that rounding leaves."""
        total = total.plus(self.offset)
        return LogPartition.between(
            total.lower,
            total.upper,
            value=total.value,
            num_variables=num_variables(self.model),
            method=METHOD,
            seconds=self.taken,
            stats={**self.stats, "error": total.error},
        )

    def ground_state(self, assignment: IntArray, best: Total) -> GroundState:
        """Return the state with an interval around the least energy."""
        ising = isinstance(self.model, IsingModel)
        state = (2 * assignment - 1).astype(np.int8) if ising else assignment
        # Energies are rounded to nearest, and so is the bound: rounding keeps their order.
        lower = -best.plus(self.offset).nearest_above
        if 2 * best.error > self.model.energy_tolerance:  # a gap that counts stays open
            lower = min(lower, math.nextafter(float(self.model.energy(state)), -math.inf))
        return GroundState.of(
            self.model,
            state,
            lower,
            method=METHOD,
            seconds=self.taken,
            stats=self.stats,
        )
