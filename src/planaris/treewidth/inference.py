"""Exact inference by elimination: log Z, marginals, most probable states and samples."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.errors import InfeasibleError, ModelError, PrecisionError
from planaris.kernels import elimination, frontier
from planaris.kernels.elimination import FactorArrays
from planaris.models import IsingModel
from planaris.progress import ProgressOption
from planaris.result import GroundState, LogPartition, Marginals, Stats
from planaris.result.answers import MARGINAL_TOLERANCE
from planaris.treewidth.flatten import Model, factor_marginals, num_variables
from planaris.treewidth.plan import (
    EliminationPlan,
    Task,
    plan_elimination,
    refuse_if_too_large,
    wide_plan,
)
from planaris.treewidth.rounding import EPS, Total, bracket, shaken, size_of_logs
from planaris.typing import Array, FloatArray, IntArray, Rng

METHOD = "treewidth"


def log_partition(
    model: Model,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> LogPartition:
    """Compute the exact log partition function by elimination.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any discrete model; potentials may be zero and of any size.
    plan : EliminationPlan, optional
        Order to use, from :func:`plan_elimination`; default: the best of several.
    memory_limit : int, optional
        Bytes that tables may take; default half of the machine's memory.
    time_limit : float, optional
        Seconds, after which the work stops with a :class:`~planaris.errors.TimeLimitError`.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

    Returns
    -------
    LogPartition
        ``lower`` and ``upper`` enclose the rounding error. ``-inf`` when no state has weight.

    Raises
    ------
    TooLargeError
        With ``width``, ``bytes_needed`` and the methods that give bounds instead.

    Notes
    -----
    Weights are doubles with 64-bit exponents, so no temperature over- or underflows.

    Examples
    --------
    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> round(log_partition(frustrated).value, 6)
    2.797846
    """
    run = _Run(model, "log_partition", plan, time_limit, memory_limit, progress)
    with run.timed() as budget:
        total, _, _ = run.sum(budget, marginals=False)
    return run.log_partition(total)


def marginals(
    model: Model,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> Marginals:
    """Compute all exact marginals of variables and factors by elimination.

    Parameters
    ----------
    model, plan, memory_limit, time_limit, progress
        As for :func:`log_partition`.

    Returns
    -------
    Marginals
        Of an Ising model: arrays ``P(s_v = +1)`` and ``P(s_u = s_v)``; of a Markov random
        field: a table per variable and a table per factor. ``log_partition`` comes for free.

    Raises
    ------
    TooLargeError
        As for :func:`log_partition`.
    InfeasibleError
        When no state has weight.

    Examples
    --------
    >>> pair = IsingModel([(0, 1)], [0.5], fields=[1.0, 0.0])
    >>> found = marginals(pair)
    >>> found.nodes.round(4).tolist(), found.edges.round(4).tolist()
    ([0.8808, 0.676], [0.7311])
    """
    run = _Run(model, "marginals", plan, time_limit, memory_limit, progress)
    with run.timed() as budget:
        total, nodes, factors = run.sum(budget, marginals=True)
    if total.value == -math.inf:
        _refuse_infeasible("marginals")
    details: dict[str, Any] = {
        "method": METHOD,
        "log_partition": run.log_partition(total),
        "error": min(2 * total.error, 1.0),
        "seconds": run.taken,
        "stats": run.stats,
    }
    if details["error"] > MARGINAL_TOLERANCE:  # the bound is for the worst case
        details |= {"error": _moved(run, nodes, factors), "proved": False}
    nodes, factors = np.minimum(nodes, 1.0), np.minimum(factors, 1.0)  # sums of rounded numbers
    if isinstance(model, IsingModel):
        pairs = factors[: 4 * model.num_edges].reshape(-1, 4)
        equal = np.minimum(pairs[:, 0] + pairs[:, 3], 1.0)
        return Marginals(nodes=nodes[1::2].copy(), edges=equal, **details)
    tables = np.split(nodes, np.cumsum(model.cardinalities)[:-1]) if len(nodes) else []
    return Marginals(nodes=tables, edges=_factor_tables(factors, run.plan), **details)


def _moved(run: _Run, nodes: FloatArray, factors: FloatArray) -> float:
    """Return by how much marginals change with the last places of the numbers of the model."""
    if size_of_logs(run.model) > 2.0**50:  # small numbers are lost beside the large ones
        return 1.0
    again = _Run(shaken(run.model), "marginals", run.plan, run.budget)
    with again.timed() as budget:
        _, others, tables = again.sum(budget, marginals=True)
    moved = [np.abs(nodes - others), np.abs(factors - tables)]
    return 2 * max(float(x.max(initial=0.0)) for x in moved) + 4 * EPS


def ground_state(
    model: Model,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> GroundState:
    """Find a state of largest weight by elimination.

    Parameters
    ----------
    model, plan, memory_limit, time_limit, progress
        As for :func:`log_partition`.

    Returns
    -------
    GroundState
        ``energy`` is recomputed from the state; ``lower`` leaves room for the rounding of the
        maximisation. For a Markov random field read ``assignment``.

    Raises
    ------
    TooLargeError
        As for :func:`log_partition`.
    InfeasibleError
        When no state has weight.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1.0, -2.0], fields=[0.5, 0.0, 0.0])
    >>> best = ground_state(model)
    >>> best.spins.tolist(), best.energy
    ([1, 1, -1], -3.5)
    """
    run = _Run(model, "ground_state", plan, time_limit, memory_limit, progress)
    with run.timed() as budget:
        assignment, best = run.max(budget)
    if best.value == -math.inf:
        _refuse_infeasible("most probable state")
    return run.ground_state(assignment, best)


map_state = ground_state


def sample(
    model: Model,
    num_samples: int,
    rng: Rng = None,
    *,
    plan: EliminationPlan | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> Array:
    """Draw independent exact samples by elimination.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any discrete model.
    num_samples : int
        How many.
    rng : numpy.random.Generator, int or None
        Source of randomness.
    plan, memory_limit, time_limit, progress
        As for :func:`log_partition`.

    Returns
    -------
    numpy.ndarray
        One state per row: int8 spins for an Ising model, int32 labels otherwise.

    Examples
    --------
    >>> stiff = IsingModel([(0, 1)], [50.0])
    >>> states = sample(stiff, 5, np.random.default_rng(1))
    >>> states.shape, bool((states[:, 0] == states[:, 1]).all())
    ((5, 2), True)
    """
    if num_samples < 0:
        msg = f"`num_samples` must not be negative, got {num_samples}"
        raise ModelError(msg)
    budget = Budget.of(time_limit, memory_limit=memory_limit, progress=progress)
    uneven = EPS * size_of_logs(model) > MARGINAL_TOLERANCE
    if uneven and not marginals(model, plan=plan, time_limit=budget).exact:
        msg = (
            "samples of this model would be decided by the last places of its numbers, which are "
            f"as large as {size_of_logs(model):.2g} in all; scale it down"
        )
        raise PrecisionError(msg)
    run = _Run(model, "sample", plan, budget)
    seed = int(np.random.default_rng(rng).integers(2**63))
    with run.timed() as watched:
        flat = run.sample(watched, num_samples, seed)
    n = num_variables(model)
    if flat.size != n * num_samples or _is_constant_zero(model):
        _refuse_infeasible("samples")
    states = flat.reshape(num_samples, n)
    spins = isinstance(model, IsingModel)
    return (2 * states - 1).astype(np.int8) if spins else states.astype(np.int32, copy=False)


class _Run:
    """One planned and timed piece of work, and the results that come out of it."""

    def __init__(
        self,
        model: Model,
        task: Task,
        plan: EliminationPlan | None,
        time_limit: TimeLimit,
        memory_limit: int | None = None,
        progress: ProgressOption = None,
    ) -> None:
        started = time.monotonic()
        self.model = model
        self.budget = Budget.of(time_limit, memory_limit=memory_limit, progress=progress)
        with self.budget.required("no elimination order was found"):
            if plan is None:
                self.plan = plan_elimination(model, task=task, time_limit=self.budget)
            else:  # the same order, costed for this task and these numbers
                self.plan = plan_elimination(
                    model, task=task, kind=plan.kind, order=plan.order, time_limit=self.budget
                )
        refuse_if_too_large(self.plan, self.budget.memory_limit)
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
        value, error, nodes, pairs, wide = frontier.frontier_sum(
            form.arrays,
            plan.order,
            marginals=marginals,
            spare=plan.spare,
            budget=budget,
        )
        self.stats["wide_exponents"] = wide
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
        constants, above, below = bracket(self.plan.arrays)
        high, nodes, factors = self._sum_clusters(above, budget, marginals)
        low, _, _ = self._sum_clusters(below, budget, False)
        best = self._bound_by_maximum(budget)
        if low.value == -math.inf:
            return best, nodes, factors
        apart = max(math.fsum([*high.terms, *(-x for x in low.terms)]), 0.0) * (1.0 + EPS)
        error = high.error + low.error + apart
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
            return elimination.eliminate_sample(plan.arrays, plan.order, count, seed, budget=budget)
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
        late = self.budget.required(f"elimination of width {width} did not finish", width=width)
        with self.budget.watch("elimination") as watched, late:
            yield watched
        self.taken = time.monotonic() - started

    def log_partition(self, total: Total) -> LogPartition:
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


def _factor_tables(flat: FloatArray, plan: EliminationPlan) -> list[FloatArray]:
    cards, scopes, offsets, _, tables = plan.arrays
    shapes = np.split(cards[scopes], offsets[1:-1])
    return [
        flat[tables[k] : tables[k + 1]].reshape(tuple(shapes[k].tolist()))
        for k in range(len(tables) - 1)
    ]


def _is_constant_zero(model: Model) -> bool:
    """Whether a factor without variables is zero."""
    if isinstance(model, IsingModel):
        return False
    constants = model.table_offsets[:-1][np.diff(model.scope_offsets) == 0]
    return bool(np.any(model.log_values[constants] == -math.inf))


def _refuse_infeasible(what: str) -> NoReturn:
    msg = f"the model has no {what}: every state violates a hard constraint (has weight zero)"
    raise InfeasibleError(msg)
