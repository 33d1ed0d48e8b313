"""Domains between clamped spins, eliminated to narrow ends of ferromagnets from one side.

Upper ends are those of the model as it is, lower ends those of the model with all spins turned
over: what is written here for upper ends serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event, Lock

import numpy as np

from planaris import treewidth
from planaris.budget import Budget
from planaris.errors import TimeLimitError
from planaris.kernels.frontier import Ends, WindowTrace
from planaris.models import IsingModel
from planaris.treewidth import EliminationPlan
from planaris.typing import Array, FloatArray

UNIT = float(np.finfo(np.float64).eps)

BLURRED = 1e-3
"""Rounding errors above are not worth taking."""

PROVED_ENTRIES = 2**25
"""Most entries of the tables of a domain where a proof is asked for, which is checked slower."""

Trace = Callable[[WindowTrace], None]

Narrow = Callable[["Side", Budget, Event], None]
"""Lowers the upper ends of a side, until time is up or the event is set."""


@dataclass(frozen=True, eq=False)
class Side:
    """A model seen from one side, and what is found there.

    ``solved`` are the spins of domains, in the order in which they were eliminated, and their
    walls; ``by`` says which of them the new ends of spins and of edges come from.
    """

    model: IsingModel
    low: FloatArray
    high: FloatArray
    guess: FloatArray
    new_high: FloatArray
    both_up: FloatArray
    both_down: FloatArray
    turned: bool = False
    solved: list[tuple[Array, Array]] = field(default_factory=list)
    by: tuple[Array, Array, Array] = field(init=False)
    lock: Lock = field(default_factory=Lock)  # while ends are narrowed

    def __post_init__(self) -> None:
        counts = (len(self.new_high), len(self.both_up), len(self.both_down))
        by = tuple(np.full(count, -1, dtype=np.int64) for count in counts)
        object.__setattr__(self, "by", by)

    @classmethod
    def upper(cls, model: IsingModel, known: Ends, guess: FloatArray) -> Side:
        """Return the model as it is."""
        low, high = known.nodes_lower, known.nodes_upper
        found = (high.copy(), known.up_upper.copy(), known.down_lower.copy())
        return cls(model, low, high, guess, *found)

    @classmethod
    def lower(cls, model: IsingModel, known: Ends, guess: FloatArray) -> Side:
        """Return the model with all spins turned over."""
        turned = IsingModel(model.edges, model.couplings, -model.fields)
        low, high = 1 - known.nodes_upper, 1 - known.nodes_lower
        found = (high.copy(), known.down_upper.copy(), known.up_lower.copy())
        return cls(turned, low, high, 1 - guess, *found, turned=True)


def narrow_both_sides(
    model: IsingModel,
    known: Ends,
    guess: FloatArray,
    narrow: Narrow,
    budget: Budget,
    trace: Trace | None = None,
) -> Ends:
    """Narrow ends from both sides, in two threads if there are as many.

    ``trace`` is called with the windows that narrowed them.
    """
    above, below = Side.upper(model, known, guess), Side.lower(model, known, guess)
    stop = Event()

    def in_time(side: Side, budget: Budget) -> None:
        with suppress(TimeLimitError, TimeoutError):  # what was found until then holds
            narrow(side, budget, stop)

    if budget.workers() < 2:
        in_time(above, budget)
        in_time(below, budget)
    else:
        quiet = replace(budget, progress=False)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(in_time, above, quiet)
            try:
                in_time(below, budget)
            except BaseException:
                stop.set()
                raise
            other.result()
    if trace is not None:
        trace(_traced(above, below))
    raised = np.maximum(known.nodes_lower, 1 - below.new_high)
    return Ends(
        # Turning over rounds; ends that were found have room for it, others stay what they are.
        np.where(below.new_high < below.high, raised, known.nodes_lower),
        above.new_high,
        below.both_down,
        above.both_up,
        above.both_down,
        below.both_up,
    )


def _traced(above: Side, below: Side) -> WindowTrace:
    """Return all domains that narrowed something as windows."""
    first = len(above.solved)
    solved = [*above.solved, *below.solved]
    none = np.zeros(0, dtype=np.int64)
    spins, walls = (list(some) for some in zip((none, none), *solved, strict=True))
    upper, up_upper, down_lower = above.by
    lower, down_upper, up_lower = (np.where(by < 0, -1, by + first) for by in below.by)
    return WindowTrace(
        np.repeat([1, -1], [first, len(below.solved)]),
        np.cumsum([len(some) for some in spins]),
        np.concatenate(spins),
        np.cumsum([len(some) for some in walls]),
        np.concatenate(walls),
        lower,
        upper,
        up_lower,
        up_upper,
        down_lower,
        down_upper,
    )


@dataclass(frozen=True, eq=False)
class Domain:
    """Spins that are eliminated together; ``wrong`` bounds what is wrong around each of them.

    ``walls`` are the spins around them that are held down.
    """

    spins: Array
    walls: Array
    edges: Array
    model: IsingModel
    wrong: FloatArray
    slack: float


def fits(plan: EliminationPlan, seconds: float, budget: Budget) -> bool:
    """Return whether a domain may be eliminated by a plan: in memory, in time, in a proof."""
    small = plan.complete and plan.bytes <= budget.bytes() // 8 and plan.seconds <= seconds
    return small and (plan.entries <= PROVED_ENTRIES or not budget.prove)


def solve(side: Side, domain: Domain, plan: EliminationPlan, budget: Budget) -> None:
    """Lower the ends of a domain.

    Walls are wrong with a probability of at most c. A function with values in [0, 1] and the mean
    g where they are right has a mean between g (1 - c) and g (1 - c) + c.
    """
    found = treewidth.marginals(domain.model, plan=plan, time_limit=budget)
    if not found.proved or not found.error <= BLURRED:
        return
    off = 2 * (found.error + domain.slack) * (1 + 2.0**-30) + 64 * UNIT
    up, equal = np.asarray(found.nodes), np.asarray(found.edges)
    at, c = domain.spins, domain.wrong
    u, v = domain.model.edges.T
    both_up = np.clip((up[u] + up[v] + equal - 1) / 2, 0.0, 1.0)
    both_down = np.clip((1 - up[u] - up[v] + equal) / 2, 0.0, 1.0)
    names, e = domain.edges, c[u]
    most, least = both_up + (1 - both_up) * e + 2 * off, both_down * (1 - e) - 2 * off
    with side.lock:
        number = len(side.solved)
        side.solved.append((domain.spins[plan.order], domain.walls))
        _improve(side.new_high, side.by[0], at, up + (1 - up) * c + off, number)
        _improve(side.both_up, side.by[1], names, most, number)
        _improve(side.both_down, side.by[2], names, least, number, sign=-1)


def _improve(
    ends: FloatArray, by: Array, at: Array, found: FloatArray, number: int, sign: int = 1
) -> None:
    """Lower ends (raise them with ``sign`` -1) to what was found, and note by which domain."""
    better = sign * found < sign * ends[at]
    ends[at[better]], by[at[better]] = found[better], number
