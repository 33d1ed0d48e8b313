"""Cuts, compiled: T-joins with packings of T-cuts, minimum cuts, and the spins of a cut."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from planaris import _core
from planaris.budget import Budget, control, structure_threads
from planaris.errors import InfeasibleError
from planaris.kernels.graph import connected_components
from planaris.notebook import Shown
from planaris.typing import Array, BoolArray, FloatArray, Int8Array, IntArray, LongArray

PreparedTJoins = _core.TJoinSolver
"""A weighted graph prepared for T-joins of many sets of vertices."""

TJoinSolution = _core.TJoinSolution
"""A T-join, its weight, a lower bound and the packing of T-cuts that proves it."""

COUNTERS = (
    "searches",
    "scans",
    "pushes",
    "pops",
    "blossoms",
    "expansions",
    "absorbed",
    "released",
    "largest_tree",
)

STEPS = ("layout", "graph", "search", "answer")
"""Steps of a T-join: places of the vertices, arcs in that order, the search, join and proof."""


@dataclass(frozen=True, eq=False, repr=False)
class CutPacking(Shown):
    """Values on nested odd sets that prove a T-join lightest.

    Set ``k`` holds the vertices ``order[start[k]:stop[k]]`` and has the value
    ``value(k)``; any two sets are nested or disjoint, and ``parent[k] < k`` is the smallest set
    around set ``k``, or -1.

    Attributes
    ----------
    order : int array
        The vertices that lie in some set, each once.
    start, stop, parent : int array
        One entry per set.
    digits : int array
        Either one int64 per set, or one row per set of digits in base 2^32, lowest first.
    exponent : int
        Values count units of ``2**exponent``.
    """

    order: IntArray
    start: IntArray
    stop: IntArray
    parent: IntArray
    digits: LongArray
    exponent: int

    @classmethod
    def empty(cls) -> CutPacking:
        """Return the packing of no sets, which proves that no T-join weighs less than nothing."""
        none = np.zeros(0, dtype=np.int32)
        return cls(none, none, none, none, np.zeros(0, dtype=np.int64), 0)

    @property
    def num_sets(self) -> int:
        """Number of sets with a positive value."""
        return len(self.start)

    def members(self, k: int) -> IntArray:
        """Return the vertices of set `k`."""
        return self.order[self.start[k] : self.stop[k]]

    @property
    def values(self) -> FloatArray:
        """The values of all sets, rounded."""
        digits = self.digits if self.digits.ndim == 2 else self.digits[:, None]
        total = np.zeros(self.num_sets)
        for column in reversed(range(digits.shape[1])):
            total += np.ldexp(digits[:, column].astype(np.float64), self.exponent + 32 * column)
        return total

    def crossings(self, edges: IntArray) -> Iterator[tuple[LongArray, LongArray]]:
        """Yield all pairs (set, edge) such that the set holds one end of the edge.

        Examples
        --------
        >>> from planaris.matching.tjoins import minimum_tjoin
        >>> path = np.array([(0, 1), (1, 2)], dtype=np.int32)
        >>> packing = minimum_tjoin(3, path, [1, 1], odd=[0, 2]).certificate
        >>> sum(len(sets) for sets, _ in packing.crossings(path)) > 0
        True
        """
        places = max(int(edges.max(initial=-1)), int(self.order.max(initial=-1))) + 1
        home = np.full(places, -1, dtype=np.int64)  # the innermost set that holds a vertex
        level = np.zeros(self.num_sets + 1, dtype=np.int64)  # the last entry: outside all sets
        parent = self.parent.tolist()
        for k in range(self.num_sets):  # parents come first
            home[self.members(k)] = k
            level[k] = level[parent[k]] + 1
        a, b = home[edges[:, 0]], home[edges[:, 1]]
        apart = np.flatnonzero(a != b)
        while apart.size:
            for side, other in ((a, b), (b, a)):
                climb = apart[side[apart] != other[apart]]
                climb = climb[level[side[climb]] >= np.maximum(level[other[climb]], 1)]
                yield side[climb], climb
                side[climb] = self.parent[side[climb]]
            apart = apart[a[apart] != b[apart]]

    def value(self, k: int) -> Fraction:
        """Return the value of set `k`, exactly."""
        return scaled(as_integer(np.atleast_1d(self.digits[k])), self.exponent)


@dataclass(frozen=True, eq=False, repr=False)
class TJoin(Shown):
    """A lightest T-join with its proof, or the best known: see ``matching.minimum_tjoin``.

    Attributes
    ----------
    join : int array
        Indices of the chosen edges, ascending.
    objective : int or float
        Their weight: exact for integers, correctly rounded for floats.
    numerator, exponent : int
        The weight as ``numerator * 2**exponent``, exact always.
    lower : int or float
        No T-join weighs less; the objective where ``exact``.
    exact : bool
        False when the time was over before a lightest T-join was found.
    certificate : CutPacking
        A packing of T-cuts of total value ``lower`` (before that was rounded down for floats,
        up for integers).
    stats : dict
        What the search did.
    seconds : dict
        Wall time of the steps: ``"layout"``, ``"graph"``, ``"search"`` and ``"answer"``.
    """

    join: IntArray
    objective: int | float
    numerator: int
    exponent: int
    lower: int | float
    exact: bool
    certificate: CutPacking = field(repr=False)
    stats: dict[str, int] = field(repr=False, default_factory=dict)
    seconds: dict[str, float] = field(repr=False, default_factory=dict)
    state: Any = field(repr=False, default=None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the solver's memory behind when pickled; a warm start then runs cold."""
        return {**self.__dict__, "state": None}


def as_integer(digits: Iterable[int]) -> int:
    """Return the number with these digits in base 2^32, lowest first."""
    total = 0
    for k, digit in enumerate(digits):
        total += int(digit) << (32 * k)
    return total


def scaled(numerator: int, exponent: int) -> Fraction:
    """Return ``numerator * 2**exponent``."""
    return Fraction(numerator) * Fraction(2) ** exponent


def rounded(numerator: int, exponent: int, *, integral: bool) -> int | float:
    """Return ``numerator * 2**exponent`` as an integer, or as a double rounded once."""
    if integral:
        return numerator
    if exponent > -1000 and numerator.bit_length() < 1000 - max(exponent, 0):
        return math.ldexp(float(numerator), exponent)  # rounds once
    try:
        return float(scaled(numerator, exponent))
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def _rounded_bound(numerator: int, exponent: int, *, integral: bool) -> int | float:
    """Return what every T-join weighs at least, given the value of a packing."""
    exact = scaled(numerator, exponent)
    if integral:
        return math.ceil(exact)
    try:
        near = float(exact)
    except OverflowError:
        return sys.float_info.max
    return near if near <= exact else math.nextafter(near, 0.0)


def packing_of(found: TJoinSolution) -> CutPacking:
    """Return the packing of a solution, whose values count half units."""
    digits = found.num_digits
    values = found.values if digits == 0 else found.values.reshape(-1, digits)
    return CutPacking(
        found.order, found.start, found.stop, found.parent, values, found.exponent - 1
    )


def solve_tjoin(
    num_vertices: int,
    edges: IntArray,
    weights: LongArray | FloatArray,
    odd: IntArray,
    boundary: IntArray,
    *,
    perfect: bool,
    start: Any,
    budget: Budget,
    give_up: bool = False,
    absolute: bool = False,
) -> TJoinSolution:
    """Return a lightest T-join, or the best one found within the budget.

    With ``give_up``, ``TimeoutError`` is raised where the budget leaves no time for a search;
    otherwise what has to be done before and after it is done whatever the time. With ``absolute``
    signs of weights do not count.
    """
    integral = weights.dtype == np.int64
    call = cast("Any", _core.minimum_tjoin_int if integral else _core.minimum_tjoin_float)
    found: TJoinSolution = call(
        num_vertices,
        edges,
        weights,
        odd,
        boundary,
        perfect,
        start,
        *control(budget),
        budget.workers(),
        give_up,
        absolute,
    )
    return found


def negative_parity(num_vertices: int, edges: IntArray, values: FloatArray) -> BoolArray:
    """Return for every vertex whether an odd number of edges with negative values ends there.

    >>> negative_parity(3, np.array([[0, 1], [1, 2]], dtype=np.int32), np.array([-1.0, -2.0]))
    array([ True, False,  True])
    """
    parity = _core.negative_parity(
        num_vertices, edges, np.ascontiguousarray(values), structure_threads()
    )
    return parity.view(np.bool_)


def minimum_tjoin(
    num_vertices: int,
    edges: IntArray,
    weights: LongArray | FloatArray,
    odd: IntArray,
    boundary: IntArray,
    *,
    start: TJoin | None,
    budget: Budget,
    give_up: bool = False,
    absolute: bool = False,
) -> TJoin:
    """Return a lightest T-join with its proof, or the best one found within the budget.

    :func:`planaris.matching.minimum_tjoin` is the same for arguments that are not checked yet.
    ``give_up`` and ``absolute`` as for :func:`solve_tjoin`.
    """
    state = None if start is None else start.state
    found = solve_tjoin(
        num_vertices,
        edges,
        weights,
        odd,
        boundary,
        perfect=False,
        start=state,
        budget=budget,
        give_up=give_up,
        absolute=absolute,
    )
    if found.infeasible >= 0:
        raise odd_component_error(num_vertices, edges, odd, found.infeasible)
    integral = weights.dtype == np.int64
    numerator, exponent = as_integer(found.objective), found.exponent
    lower = objective = rounded(numerator, exponent, integral=integral)
    if not found.exact:
        lower = _rounded_bound(as_integer(found.lower), exponent - 1, integral=integral)
    return TJoin(
        join=found.join,
        objective=objective,
        numerator=numerator,
        exponent=exponent,
        lower=lower,
        exact=found.exact,
        certificate=packing_of(found),
        stats=counted(found),
        seconds=dict(zip(STEPS, found.seconds.tolist(), strict=True)),
        state=found.state,
    )


def counted(found: TJoinSolution) -> dict[str, int]:
    """Return what a search did, by name."""
    return dict(zip(COUNTERS, found.counters.tolist(), strict=True))


def odd_component_error(
    num_vertices: int, edges: IntArray, odd: IntArray, vertex: int
) -> InfeasibleError:
    """Return the error that names the component of `vertex`, where no T-join exists."""
    component = connected_components(num_vertices, edges)
    vertices = np.flatnonzero(component == component[vertex])
    parity = np.bincount(odd, minlength=num_vertices) % 2
    num_odd = int(parity[vertices].sum()) or len(vertices)  # perfect matchings: all of them
    shown = ", ".join(map(str, vertices[:5])) + (", ..." if len(vertices) > 5 else "")
    msg = (
        f"the component of vertex {vertex} ({len(vertices)} vertices: {shown}) holds {num_odd} "
        "odd vertices, and an odd number cannot be joined in pairs; see `err.vertices`. Change "
        "`odd`, connect the component, or name one of its vertices in `boundary`"
    )
    return InfeasibleError(msg, vertices=vertices, num_odd=num_odd)


def spins_from_disagreements(
    num_vertices: int, edges: IntArray, differ: Array
) -> tuple[Int8Array, int]:
    """Return spins whose ends differ exactly on the marked edges.

    The first vertex of every component is +1. The second value is the index of the first edge
    that contradicts the edges before it, or -1.
    """
    flags = np.ascontiguousarray(differ, dtype=np.uint8)
    return _core.spins_from_disagreements(num_vertices, edges, flags, structure_threads())


def log_weight(
    edges: IntArray, couplings: FloatArray, fields: FloatArray, spins: Int8Array
) -> Fraction:
    """Return the sum of couplings times the spins at their ends and of fields times spins, exactly.

    There are as many fields as spins, or none.

    >>> edge, pair = np.array([(0, 1)], dtype=np.int32), np.array([1, -1], dtype=np.int8)
    >>> log_weight(edge, np.array([0.5]), np.array([0.25, 1.0]), pair)
    Fraction(-5, 4)
    """
    digits = _core.log_weight(edges, couplings, fields, spins, structure_threads())
    return scaled(as_integer(digits), -1074)


def spins_of_cuts(num_vertices: int, edges: IntArray, cuts: Array) -> tuple[Int8Array, BoolArray]:
    """Return spins for every row of cuts, and which rows no spins agree with."""
    found, conflicts = _core.spins_of_cuts(num_vertices, edges, cuts)
    return found, conflicts >= 0


def minimum_cut(
    edges: IntArray,
    capacities: FloatArray,
    terminals: FloatArray,
    *,
    budget: Budget | None = None,
) -> tuple[BoolArray, FloatArray, float, int]:
    """Return (smallest source side, flow by edge, rounding of weights, bits of integers).

    The rounding is zero when integers could hold all weights exactly; the cut is then exactly
    minimum.
    """
    side, flow, rounding, bits = _core.minimum_cut(edges, capacities, terminals, *control(budget))
    return side.astype(bool), flow, rounding, bits


def balance_signs(
    num_vertices: int, edges: IntArray, couplings: FloatArray
) -> tuple[Int8Array, IntArray]:
    """Return (signs that make all couplings positive, edges of a frustrated cycle if any)."""
    return _core.balance_signs(num_vertices, edges, couplings)


def descend_energy(
    edges: IntArray,
    couplings: FloatArray,
    fields: FloatArray,
    fixed: BoolArray,
    start: Int8Array,
    *,
    sweeps: int = 200,
    budget: Budget | None = None,
) -> Int8Array:
    """Return spins after single flips, of those not fixed, that lower the energy.

    Spins are tried in turn, at most ``sweeps`` times each.
    """
    return _core.descend_energy(
        edges, couplings, fields, fixed.astype("uint8"), start, sweeps, *control(budget)
    )
