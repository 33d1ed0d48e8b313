"""Elimination orders, and what they will cost before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, cast

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError, ModelError, TooLargeError
from planaris.kernels import elimination, frontier
from planaris.kernels.elimination import FactorArrays
from planaris.machine import available_bytes, readable
from planaris.models.base import memo_of
from planaris.treewidth.flatten import (
    Model,
    PairwiseForm,
    num_variables,
    to_factor_arrays,
    to_pairwise_form,
)
from planaris.treewidth.layouts import best_layout, layout_cost
from planaris.treewidth.rounding import EPS
from planaris.typing import ArrayLike, IntArray

Task = Literal["log_partition", "marginals", "ground_state", "sample"]
Kind = Literal["clusters", "frontier"]

SEARCH_SECONDS = 0.2
"""Time spent on looking for a better order, once a first one is known."""

FAR_OFF = 8.0
"""The search for an order below `good_enough` ends if the first orders are this many times
slower."""

FIRST_ORDERS = 3
"""Number of these first orders."""

MAX_BITS = 40.0
"""Orders with a table of more than 2^40 entries are abandoned."""

BLURRED = 2.0**27
"""Size of log weights above which a frontier loses more digits of log Z than clusters."""

SHARP_SECONDS = 20.0
"""Longest elimination by clusters that is preferred to a faster frontier which would lose small
numbers."""

FINE = 0.1
"""Share of the energy tolerance that ground states by doubles may lose."""

WIDE_SECONDS = 2.0
"""Longest search for a ground state with numbers of twice the length."""

_MAX_LAYOUT_SPINS = 200_000
_MAX_STRIP = 20_000  # variables; ordered in a few milliseconds
_WORTH_A_STRIP = 5e5  # entries of tables; fewer take less time than that order
_SCALED_BYTES = 16
_DOUBLE_BYTES = 8
# Seconds per table entry and per variable, measured on two cores: only their ratios matter.
_CLUSTER_SECONDS = {"log_partition": 12e-9, "marginals": 40e-9, "ground_state": 6e-9}
_BINARY_SECONDS = 6e-9  # marginals by clusters of binary variables
_FRONTIER_SECONDS = {"log_partition": 0.3e-9, "marginals": 1.1e-9, "ground_state": 0.8e-9}
_FRONTIER_STEP_SECONDS = 6e-6


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """An elimination order and its cost.

    Attributes
    ----------
    order : numpy.ndarray
        Variables in the order in which they are summed out (``kind == "clusters"``) or in
        which they enter the table (``kind == "frontier"``).
    width : int
        Upper bound on the treewidth (pathwidth, for a frontier) that the order shows.
    bytes : int
        Memory that the tables will take.
    entries : float
        Table entries to be computed: the work.
    seconds : float
        Rough estimate of the time.
    kind : {"clusters", "frontier"}
        One table per variable, or one table for all.
    task : str
        What the plan is for.
    may_widen : bool
        False when a frontier has no room for entries with exponents of their own.
    complete : bool
        False when every order tried was so wide that it was given up; ``width`` and ``bytes``
        are then what they had reached by then.
    """

    order: IntArray
    width: int
    bytes: int
    entries: float
    seconds: float
    kind: Kind
    task: Task
    complete: bool = True
    spare: int = field(default=0, repr=False)
    may_widen: bool = field(default=True, repr=False)
    arrays: FactorArrays = field(repr=False, kw_only=True)
    pairwise: PairwiseForm | None = field(default=None, repr=False, kw_only=True)


default_memory_limit = available_bytes


def plan_elimination(
    model: Model,
    *,
    task: Task = "marginals",
    kind: Kind | None = None,
    order: ArrayLike | None = None,
    memory_limit: int | None = None,
    search_seconds: float = SEARCH_SECONDS,
    good_enough: float = 0.0,
    time_limit: TimeLimit = None,
) -> EliminationPlan:
    """Find an elimination order and say what it will cost.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        The model.
    task : {"log_partition", "marginals", "ground_state", "sample"}
        What the order is for; memory differs.
    kind : {"clusters", "frontier"}, optional
        Keep one table per variable (any model), or a single table that moves through the
        model (binary pairwise models). Default: what is estimated to be faster and fits.
    order : array_like of int, optional
        An order of all variables to use instead of looking for one; needs ``kind``.
    memory_limit : int, optional
        Bytes that may be used; a frontier then keeps fewer checkpoints.
    search_seconds : float
        Time for random restarts of the greedy search.
    good_enough : float
        Seconds that the work may take: the search ends with the first order that takes no
        longer, or early where none will.
    time_limit : float, optional
        Seconds, after which ``TimeoutError`` is raised if no order is known.

    Returns
    -------
    EliminationPlan
        With ``order``, ``width``, ``bytes``, ``entries``. It may exceed ``memory_limit``.

    Examples
    --------
    >>> from planaris.models import IsingModel
    >>> cycle = IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], 1.0)
    >>> plan_elimination(cycle).width
    2
    """
    budget = Budget.of(time_limit, memory_limit=memory_limit)
    if order is not None:
        return _find_plan(model, task, kind, order, search_seconds, good_enough, budget)
    searched = None if kind is None else (search_seconds, good_enough)
    known, key = memo_of(model), ("elimination", task, kind, searched, budget.bytes())
    if key not in known:
        found = _find_plan(model, task, kind, None, search_seconds, good_enough, budget)
        if not found.complete:  # with more time there may be one
            return found
        known[key] = found
    plan: EliminationPlan = known[key]
    return plan


def for_this_call(
    model: Model, task: Task, plan: EliminationPlan, budget: Budget
) -> EliminationPlan:
    """Return a plan with the same order, costed for this task and for the numbers of this model."""
    limit, known = budget.bytes(), cast("Any", memo_of(model).items())
    if plan.task == task and any(at[-1] == limit for at, found in known if found is plan):
        return plan
    if plan.task == task and plan.complete and plan.bytes <= limit:
        arrays, form = to_factor_arrays(model), plan.pairwise and to_pairwise_form(model)
        same = all(np.array_equal(arrays[k], plan.arrays[k]) for k in range(3))
        if same and (form is None) == (plan.pairwise is None):
            return replace(plan, arrays=arrays, pairwise=form)
    return plan_elimination(model, task=task, kind=plan.kind, order=plan.order, time_limit=budget)


def _find_plan(
    model: Model,
    task: Task,
    kind: Kind | None,
    order: ArrayLike | None,
    search_seconds: float,
    good_enough: float,
    budget: Budget,
) -> EliminationPlan:
    if order is not None:
        order = _checked_order(order, num_variables(model), kind)
    plans: list[EliminationPlan] = []
    arrays = to_factor_arrays(model)
    if kind != "frontier":
        first = order if order is not None else _quick_order(arrays, budget)
        plans.append(_plan_clusters(arrays, task, first, budget))
    if kind != "clusters" and (not plans or _worth_a_frontier(plans[0])):
        plans += _plan_frontier(model, arrays, task, order, budget)
    if not plans:
        msg = (
            "`kind='frontier'` needs a binary pairwise model whose frontier has at most "
            f"{frontier.MAX_BITS} spins; use kind='clusters'"
        )
        raise MethodError(msg)
    if len(plans) == 1 and plans[0].seconds < 0.01:
        return plans[0]
    limit = budget.bytes()
    sharp = task != "ground_state" and model.log_weight_size > BLURRED
    best = _cheapest(plans, limit, sharp)
    if kind == "frontier" or order is not None or best.seconds < max(0.01, good_enough):
        return best
    # A search is worth a fraction of the work it may save.
    seconds = search_seconds if best.bytes > limit else min(search_seconds, 0.3 * best.seconds)
    enough = good_enough / _cluster_pace(arrays, task)
    found = _search_order(plans[0].arrays, plans[0], enough, budget.share(0.5).within(seconds))
    if found is None:
        return best
    return _cheapest([*plans, _plan_clusters(*found, budget)], limit, sharp)


def _cheapest(plans: list[EliminationPlan], limit: int, sharp: bool = False) -> EliminationPlan:
    """Return the cheapest plan; of those that fit easily one that keeps small numbers."""

    def blurs(plan: EliminationPlan) -> bool:
        return plan.kind == "frontier" or plan.seconds > SHARP_SECONDS

    return min(
        plans, key=lambda p: (not p.complete, p.bytes > limit, sharp and blurs(p), p.seconds)
    )


def wide_plan(
    model: Model, plan: EliminationPlan, budget: Budget, *, always: bool = False
) -> EliminationPlan | None:
    """Return a plan for tables of twice the length, where doubles would lose small parts.

    None where doubles do, or where such tables take too much memory or time.
    """
    rounding = EPS * model.log_weight_size * len(plan.order)
    if rounding <= FINE * model.energy_tolerance and not always:
        return None
    if plan.kind != "clusters":
        first = _quick_order(plan.arrays, budget)
        plan = _plan_clusters(plan.arrays, "ground_state", first, budget)
    slow = 4 * plan.seconds > min(WIDE_SECONDS, budget.remaining())
    fits = plan.complete and 2 * plan.bytes <= budget.bytes() and (always or not slow)
    return plan if fits else None


def _checked_order(order: ArrayLike, count: int, kind: Kind | None) -> IntArray:
    array = np.ascontiguousarray(order, dtype=np.int32)
    if kind is None or not np.array_equal(np.sort(array), np.arange(count)):
        msg = f"`order` must name each of the {count} variables once, with `kind` given"
        raise ModelError(msg)
    return array


def _worth_a_frontier(clusters: EliminationPlan) -> bool:
    return not clusters.complete or clusters.seconds > 0.002 + 1e-6 * len(clusters.order)


# -- one table per variable -----------------------------------------------------------------


def _plan_clusters(
    arrays: FactorArrays, task: Task, order: IntArray, budget: Budget
) -> EliminationPlan:
    try:
        size = elimination.elimination_tree(arrays, order, MAX_BITS, budget=budget.quiet())
    except OverflowError:  # a table would have more than 2^MAX_BITS entries
        return EliminationPlan(
            order,
            int(MAX_BITS / np.log2(max(arrays.cardinalities.max(), 2))),
            int(2.0**MAX_BITS) * _SCALED_BYTES,
            2.0**MAX_BITS,
            float("inf"),
            "clusters",
            task,
            complete=False,
            arrays=arrays,
        )
    factors = len(arrays.log_values) * _SCALED_BYTES
    if task == "log_partition":
        needed = (size.largest_table + size.stack_entries) * _SCALED_BYTES + factors
    elif task == "ground_state":
        needed = (size.largest_table + size.message_entries) * _DOUBLE_BYTES
    else:
        needed = (size.largest_table + size.message_entries) * _SCALED_BYTES + factors
        needed += size.largest_table * _DOUBLE_BYTES * (task == "marginals")
    pace = _cluster_pace(arrays, task)
    return EliminationPlan(
        size.order,
        size.width,
        int(needed),
        size.total_entries,
        pace * size.total_entries + 1e-6 * len(order),
        "clusters",
        task,
        arrays=arrays,
    )


def _cluster_pace(arrays: FactorArrays, task: Task) -> float:
    """Return the seconds for every entry of a table."""
    if task == "marginals" and arrays.cardinalities.max(initial=1) <= 2:
        return _BINARY_SECONDS
    return _CLUSTER_SECONDS.get(task, _CLUSTER_SECONDS["log_partition"])


def _quick_order(arrays: FactorArrays, budget: Budget) -> IntArray:
    """Return the best of min-degree, the variables as numbered (rows of a grid), and a strip's."""
    best, bits, entries = elimination.elimination_order(
        arrays, min_fill=False, max_bits=MAX_BITS, budget=budget
    )
    n = len(arrays.cardinalities)
    if entries <= 64.0 * n:
        return best  # a tree, or next to nothing to gain
    others = [np.arange(n, dtype=np.int32)]
    if n <= _MAX_STRIP and entries > _WORTH_A_STRIP and not _may_have_layouts(arrays):
        others.append(_along(arrays))
    for order in others:
        try:
            size = elimination.elimination_tree(
                arrays, order, min(bits, MAX_BITS), budget=budget.quiet()
            )
        except OverflowError:  # wider than what we have
            continue
        if bits > MAX_BITS or size.total_entries < entries:
            best, bits, entries = order, min(bits, MAX_BITS), size.total_entries
    return best


def _may_have_layouts(arrays: FactorArrays) -> bool:
    """Return whether the model may be binary and pairwise: its frontier follows strips itself."""
    largest, arity = arrays.cardinalities.max(initial=1), np.diff(arrays.scope_offsets)
    return bool(largest <= 2 and arity.max(initial=0) <= 2)


def _along(arrays: FactorArrays) -> IntArray:
    """Return the variables from one end of the graph to the other (Cuthill and McKee).

    On strips, however their variables are numbered, no order is much narrower, and min-degree
    and min-fill may be twice as wide.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    shape = len(arrays.scope_offsets) - 1, len(arrays.cardinalities)
    incidence = csr_matrix(
        (np.ones(len(arrays.scopes)), arrays.scopes, arrays.scope_offsets), shape
    )
    graph = csr_matrix(incidence.T @ incidence)
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    return np.ascontiguousarray(order, dtype=np.int32)


def _search_order(
    arrays: FactorArrays, start: EliminationPlan, enough: float, budget: Budget
) -> tuple[FactorArrays, Task, IntArray] | None:
    """Try min-fill, then min-fill with random ties, until time is up or entries are ``enough``."""
    best: IntArray | None = None
    entries = start.entries
    bits = MAX_BITS
    for seed in range(10_000):
        if budget.expired():
            break
        try:
            found = elimination.elimination_order(
                arrays, min_fill=True, seed=seed, max_bits=bits, budget=budget
            )
        except TimeoutError:
            break
        if found[1] <= bits and (found[2] < entries or not start.complete):
            best, entries = found[0], min(found[2], 2.0**MAX_BITS)
            bits = min(bits, found[1] + 1.0)
        if entries <= enough or (seed >= FIRST_ORDERS and entries > FAR_OFF * enough > 0):
            break
    return None if best is None else (arrays, start.task, best)


# -- one table for all ----------------------------------------------------------------------


def _plan_frontier(
    model: Model, arrays: FactorArrays, task: Task, order: IntArray | None, budget: Budget
) -> list[EliminationPlan]:
    form = to_pairwise_form(model)
    if form is None or num_variables(model) > _MAX_LAYOUT_SPINS:
        return []
    if order is None:
        layout, cost = best_layout(model, form, budget)
    else:
        layout, cost = order, layout_cost(form.arrays.edges, order)
    if cost is None:
        return []
    bits, entries, spare = cost
    table = _DOUBLE_BYTES * 2**bits
    spare, tables, may_widen = _frontier_tables(task, spare, budget.bytes() // table)
    pace = _FRONTIER_SECONDS.get(task, _FRONTIER_SECONDS["ground_state"])
    plan = EliminationPlan(
        layout,
        bits,
        tables * table,
        entries,
        pace * entries + _FRONTIER_STEP_SECONDS * len(layout),
        "frontier",
        task,
        spare=spare,
        may_widen=may_widen,
        arrays=arrays,
        pairwise=form,
    )
    return [plan]


def _frontier_tables(task: Task, wanted: int, room: int) -> tuple[int, int, bool]:
    """Return checkpoints, tables in all, and whether entries may get exponents of their own.

    Those take twice the memory. Beside checkpoints there are the table of the sweep forward, the
    one of the sweep back and, with exponents, the first.
    """
    if task == "log_partition":
        return 0, 2, True
    if task != "marginals" or room >= 7:
        spare = max(1, min(wanted, room - 6))
        return spare, spare + 6, True
    spare = max(1, min(wanted, room - 2))
    return spare, spare + 2, False


# -- too large ------------------------------------------------------------------------------

_INSTEAD: dict[Task, str] = {
    "log_partition": "planaris.log_partition(model, method='trw') or method='pdc' gives bounds",
    "marginals": "planaris.marginals(model, method='trw') gives approximate ones",
    "ground_state": (
        "planaris.ground_state(model, method='cycle-lp'), 'mplp' or 'branch-and-cut' gives an "
        "interval"
    ),
    "sample": (
        "Planar Ising models, and those on a surface (`embedding`), are sampled by Pfaffians; "
        "method='tensor-network' samples from an estimate of other lattices"
    ),
}


def _instead(plan: EliminationPlan) -> str:
    """Return what to do where memory is short."""
    if plan.task == "marginals" and np.diff(plan.arrays.scope_offsets).max(initial=0) > 2:
        return (
            "Estimates need factors of at most two variables: `planaris.models.mrf2pairwise` "
            "gives such a model, for method='trw'"
        )
    return _INSTEAD[plan.task]


def refuse_if_too_large(plan: EliminationPlan, memory_limit: int | None) -> None:
    """Raise TooLargeError when the plan needs more than ``memory_limit`` bytes."""
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if plan.complete and plan.bytes <= limit:
        return
    at_least = "" if plan.complete else "at least "
    msg = (
        f"elimination needs {at_least}{plan.bytes} bytes ({readable(plan.bytes)}), because its "
        f"best order has width {at_least}{plan.width}; `memory_limit` is {limit} bytes "
        f"({readable(limit)}). {_instead(plan)}"
    )
    raise TooLargeError(msg, bytes_needed=plan.bytes, width=plan.width, order=plan.order)


def refuse_to_widen(plan: EliminationPlan) -> NoReturn:
    """Raise TooLargeError where entries need exponents of their own and memory is short."""
    needed = 7 * _DOUBLE_BYTES * 2**plan.width
    msg = (
        "entries of the table underflow, and tables with exponents of their own need "
        f"{needed} bytes ({readable(needed)}). {_instead(plan)}"
    )
    raise TooLargeError(msg, bytes_needed=needed, width=plan.width, order=plan.order)
