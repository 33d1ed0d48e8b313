"""Exact inference for binary pairwise models along a linear layout, compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from planaris import _core
from planaris.budget import Budget, control, team
from planaris.typing import Array, FloatArray, Int8Array, IntArray

MAX_BITS = 40


class PairwiseArrays(NamedTuple):
    """A binary pairwise model: logarithms of potentials by edge and by spin, flat."""

    edges: IntArray
    pairs: FloatArray
    singles: FloatArray


def greedy_layout(edges: IntArray, num_spins: int, *, budget: Budget | None = None) -> IntArray:
    """Return spins in an order that keeps the frontier small."""
    return _core.frontier_layout(edges, num_spins, *control(budget))


def frontier_width(edges: IntArray, layout: IntArray, limit: int) -> int:
    """Return the most spins that are in the table at once; counting stops above ``limit``."""
    return _core.frontier_width(edges, layout, limit)


def frontier_cost(edges: IntArray, layout: IntArray) -> tuple[int, float, int]:
    """Return (spins in the table, updates of entries, checkpoints wanted)."""
    return _core.frontier_cost(edges, layout, MAX_BITS)


@dataclass(frozen=True, eq=False)
class FrontierOps:
    """Every update of the table, for tables that are kept elsewhere.

    Attributes
    ----------
    places : numpy.ndarray
        Rows of kind (0 replace, 1 pair, 2 push, 3 pop), slot, control, old spin, new spin, spin,
        edge, control edge; -1 where there is none.
    logs : numpy.ndarray
        Rows of eight: [control][old][new]; [control][label] of a pair; [label] of a push.
    log_constant, constant_error : float
        Of the normalisation: the largest logarithm of every factor is zero.
    max_bits : int
        Most spins in the table.
    feasible : bool
        False when a factor is zero everywhere.
    """

    places: IntArray
    logs: FloatArray
    log_constant: float
    constant_error: float
    max_bits: int
    feasible: bool


def frontier_ops(arrays: PairwiseArrays, layout: IntArray, max_bits: int) -> FrontierOps:
    """Return the updates of the table when spins enter in the order of ``layout``."""
    found = _core.frontier_ops(*arrays, layout, max_bits)
    return FrontierOps(
        found.places.reshape(-1, 8),
        found.logs.reshape(-1, 8),
        found.log_constant,
        found.constant_error,
        found.max_bits,
        found.feasible,
    )


def frontier_sum(
    arrays: PairwiseArrays,
    layout: IntArray,
    *,
    marginals: bool,
    spare: int,
    widen: bool = True,
    budget: Budget | None = None,
) -> tuple[float, float, FloatArray, FloatArray, bool]:
    """Return (log Z, error bound, node tables, edge tables, whether exponents were wide).

    Entries get exponents of their own, and tables twice the size, where they would underflow.
    Without ``widen`` that is a ``FloatingPointError``.
    """
    found = _core.frontier_sum(*arrays, layout, marginals, False, widen, spare, *team(budget))
    if found.underflowed:
        msg = "entries of the table underflow"
        raise FloatingPointError(msg)
    return found.log_partition, found.error, found.singles, found.pairs, found.wide_exponents


class Ends(NamedTuple):
    """Ends of P(s_v = +1) of every spin and of P(+1, +1) and P(-1, -1) of every edge."""

    nodes_lower: FloatArray
    nodes_upper: FloatArray
    up_lower: FloatArray
    up_upper: FloatArray
    down_lower: FloatArray
    down_upper: FloatArray


class WindowTrace(NamedTuple):
    """The windows that narrowed something, and which of them each end comes from (-1: none).

    ``sides`` are +1 for upper ends and -1 for lower ends. ``spins`` of a window come in the order
    in which they are summed over; ``walls`` are the spins around it that are known well.
    """

    sides: Array
    spin_offsets: Array
    spins: Array
    wall_offsets: Array
    walls: Array
    nodes_lower: Array
    nodes_upper: Array
    up_lower: Array
    up_upper: Array
    down_lower: Array
    down_upper: Array


class WindowSizes(NamedTuple):
    """What windows are laid around spins whose marginals are known less well than ``goal``.

    ``core`` spins at most, within ``across`` levels of a search across the layout, have a window of
    ``spins`` spins, whose table has ``max_bits`` of them at once. Spins that are up, or down, but
    for a probability of ``wall`` may bound it. So may, in windows for upper ends, spins that are
    held up because P(s = +1) is guessed to be within ``held`` of 1; likewise for lower ends.
    """

    core: int
    across: int
    spins: int
    max_bits: int
    goal: float
    wall: float
    held: float


def narrow_by_windows(
    edges: IntArray,
    couplings: FloatArray,
    fields: FloatArray,
    ends: Ends,
    guess: FloatArray,
    sizes: WindowSizes,
    *,
    trace: Callable[[WindowTrace], None] | None = None,
    budget: Budget | None = None,
) -> tuple[Ends, bool]:
    """Return narrower ends of a model without negative couplings, and whether time was left.

    ``guess`` of every P(s_v = +1) says which spins are held; the ends hold whatever it is.
    ``trace`` is called with the windows that narrowed them.
    """
    lengths = (sizes.core, sizes.across, sizes.spins, sizes.max_bits)
    given = (edges, couplings, fields, *ends, guess, *lengths, *sizes[4:])
    found = _core.narrow_by_windows(*given, trace is not None, *team(budget))
    if trace is not None:
        made = found.trace
        trace(WindowTrace(*(getattr(made, name) for name in WindowTrace._fields)))
    return Ends(*(getattr(found, name) for name in Ends._fields)), found.in_time


def frontier_max(
    arrays: PairwiseArrays,
    layout: IntArray,
    *,
    spare: int,
    budget: Budget | None = None,
) -> tuple[Int8Array, float, float]:
    """Return (best labels, log weight as computed, error bound); no labels if infeasible."""
    return _core.frontier_max(*arrays, layout, spare, *team(budget))


def frontier_sample(
    arrays: PairwiseArrays,
    layout: IntArray,
    num_samples: int,
    seed: int,
    *,
    spare: int,
    budget: Budget | None = None,
) -> Int8Array:
    """Return labels of independent samples, flat; empty if infeasible."""
    return _core.frontier_sample(*arrays, layout, num_samples, seed, False, spare, *team(budget))
