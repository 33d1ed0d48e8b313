"""Elimination orders, and what they will cost before anything is allocated."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from planaris.errors import TooLargeError
from planaris.kernels import elimination as kernel
from planaris.kernels.elimination import FactorArrays, TreeSize
from planaris.treewidth.flatten import Model, to_factor_arrays
from planaris.typing import IntArray

Task = Literal["log_partition", "marginals", "ground_state", "sample"]

SEARCH_SECONDS = 0.2
"""Time spent on looking for a better order, once a first one is known."""

MAX_BITS = 40.0
"""Orders whose largest table has more than 2^40 entries are not followed to their end."""

_SCALED_BYTES = 16
_DOUBLE_BYTES = 8


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """An elimination order and its cost.

    Attributes
    ----------
    order : numpy.ndarray
        Variables in the order in which they are summed out.
    width : int
        Variables of the largest table, minus one: an upper bound on the treewidth.
    bytes : int
        Memory that the tables will take.
    entries : float
        Table entries to be computed: the work.
    complete : bool
        False when every order tried was so wide that it was given up; ``width`` and ``bytes``
        are then what they had reached by then.
    """

    order: IntArray
    width: int
    bytes: int
    entries: float
    task: Task
    complete: bool = True
    arrays: FactorArrays = field(repr=False, kw_only=True)


def default_memory_limit() -> int:
    """Return half of this machine's memory, in bytes."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) // 2


def plan_elimination(
    model: Model,
    *,
    task: Task = "marginals",
    order: IntArray | None = None,
    search_seconds: float = SEARCH_SECONDS,
) -> EliminationPlan:
    """Find an elimination order and say what it will cost.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        The model.
    task : {"log_partition", "marginals", "ground_state", "sample"}
        What the order is for; memory differs.
    order : array_like of int, optional
        An order of all variables to use instead of looking for one.
    search_seconds : float
        Time for random restarts of the greedy search.

    Returns
    -------
    EliminationPlan
        With ``order``, ``width``, ``bytes`` and ``entries``.

    Examples
    --------
    >>> from planaris import IsingModel
    >>> cycle = IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], 1.0)
    >>> plan_elimination(cycle).width
    2
    """
    arrays = to_factor_arrays(model)
    if order is not None:
        size = kernel.elimination_tree(arrays, np.ascontiguousarray(order, dtype=np.int32))
        return _as_plan(arrays, size, task)
    best, bits, entries = _best_order(arrays, search_seconds)
    if bits > MAX_BITS:
        needed = int(2.0 ** min(bits, 1000.0)) * _SCALED_BYTES
        return EliminationPlan(
            best, int(bits) - 1, needed, entries, task, complete=False, arrays=arrays
        )
    return _as_plan(arrays, kernel.elimination_tree(arrays, best), task)


def _best_order(arrays: FactorArrays, search_seconds: float) -> tuple[IntArray, float, float]:
    """Try min-degree, then min-fill, then min-fill with random ties while time lasts."""
    started = time.monotonic()
    best = kernel.elimination_order(arrays, min_fill=False, max_bits=MAX_BITS)
    took = time.monotonic() - started
    n = len(arrays.cardinalities)
    if best[1] <= np.log2(arrays.cardinalities.max(initial=1)) * 2 or best[2] < 64.0 * n:
        return best  # a tree, or nothing to gain
    deadline = time.monotonic() + search_seconds
    seed = 0
    while True:
        now = time.monotonic()
        if now + (took if seed else 0.0) > deadline and seed:
            return best
        found = _timed_order(arrays, seed, max(30 * search_seconds, 0.1), min(best[1], MAX_BITS))
        took = time.monotonic() - now
        if found is not None and (found[1] <= MAX_BITS, -found[2]) > (
            best[1] <= MAX_BITS,
            -best[2],
        ):
            best = found
        seed += 1


def _timed_order(
    arrays: FactorArrays, seed: int, seconds: float, max_bits: float
) -> tuple[IntArray, float, float] | None:
    try:
        return kernel.elimination_order(
            arrays, min_fill=True, seed=seed, max_bits=max_bits + 1e-9, seconds=seconds
        )
    except RuntimeError:  # the kernel's word for a passed deadline
        return None


def _as_plan(arrays: FactorArrays, size: TreeSize, task: Task) -> EliminationPlan:
    factors = len(arrays.log_values) * _SCALED_BYTES
    if task == "log_partition":
        needed = (size.largest_table + size.stack_entries) * _SCALED_BYTES + factors
    elif task == "ground_state":
        needed = (size.largest_table + size.message_entries) * _DOUBLE_BYTES
    else:
        needed = (size.largest_table + size.message_entries) * _SCALED_BYTES + factors
        needed += size.largest_table * _DOUBLE_BYTES * (task == "marginals")
    return EliminationPlan(
        size.order, size.width, int(needed), size.total_entries, task, arrays=arrays
    )


_INSTEAD: dict[Task, str] = {
    "log_partition": "planaris.log_partition(model, method='trw') or method='pdc' gives bounds",
    "marginals": "planaris.marginals(model, method='trw') gives approximate ones",
    "ground_state": (
        "planaris.ground_state(model, method='cycle-lp'), 'mplp' or 'branch-and-cut' gives an "
        "interval"
    ),
    "sample": "a planar or submodular model may be sampled by another method",
}


def refuse_if_too_large(plan: EliminationPlan, memory_limit: int | None) -> None:
    """Raise TooLargeError when the plan needs more than ``memory_limit`` bytes."""
    limit = default_memory_limit() if memory_limit is None else memory_limit
    if plan.complete and plan.bytes <= limit:
        return
    at_least = "" if plan.complete else "at least "
    msg = (
        f"elimination needs {at_least}{plan.bytes} bytes ({_readable(plan.bytes)}), because its "
        f"best order has width {at_least}{plan.width}; `memory_limit` is {limit} bytes "
        f"({_readable(limit)}). {_INSTEAD[plan.task]}"
    )
    raise TooLargeError(msg, bytes_needed=plan.bytes, width=plan.width, order=plan.order)


def _readable(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.3g} PiB"
