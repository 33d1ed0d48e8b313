"""Minimum-weight T-joins and perfect matchings of sparse graphs, exact and with proof.

A T-join of a set T of vertices is a set of edges that meets exactly the vertices of T an odd
number of times. The proof of a lightest one is a *packing of T-cuts*: sets S with an odd number
of vertices of T get values y_S >= 0 such that the sets separating the ends of any edge have
values adding up to at most its weight. Every T-join crosses every such S, so it weighs at
least the sum of all y_S; equality proves that nothing lighter exists.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from planaris import _core
from planaris.errors import InfeasibleError, ModelError, within
from planaris.kernels.embedding import connected_components
from planaris.progress import ProgressCallback
from planaris.typing import Array, FloatArray, IntArray, LongArray

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


@dataclass(frozen=True, eq=False)
class CutPacking:
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

    @property
    def num_sets(self) -> int:
        """Number of sets with a positive value."""
        return len(self.start)

    def members(self, k: int) -> IntArray:
        """Return the vertices of set `k`."""
        return self.order[self.start[k] : self.stop[k]]

    def value(self, k: int) -> Fraction:
        """Return the value of set `k`, exactly."""
        return _scaled(_integer(np.atleast_1d(self.digits[k])), self.exponent)


@dataclass(frozen=True, eq=False)
class TJoin:
    """A lightest T-join with its proof, or the best known; see :func:`minimum_tjoin`.

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
    """

    join: IntArray
    objective: int | float
    numerator: int
    exponent: int
    lower: int | float
    exact: bool
    certificate: CutPacking = field(repr=False)
    stats: dict[str, int] = field(repr=False, default_factory=dict)
    state: Any = field(repr=False, default=None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the solver's memory behind when pickled; a warm start then runs cold."""
        return {**self.__dict__, "state": None}


@dataclass(frozen=True, eq=False)
class PerfectMatching:
    """A lightest perfect matching with its proof; see :func:`min_weight_perfect_matching`.

    Attributes
    ----------
    matching : int array
        Indices of the chosen edges, ascending.
    objective : int or float
        Their weight: exact for integers, correctly rounded for floats.
    numerator, exponent : int
        The weight as ``numerator * 2**exponent``, exact always.
    certificate : CutPacking
        A packing of odd cuts, feasible for the weights plus ``offset * 2**exponent``.
    offset : int
        What was added to every weight; all perfect matchings pay it equally often.
    """

    matching: IntArray
    objective: int | float
    numerator: int
    exponent: int
    certificate: CutPacking = field(repr=False)
    offset: int = 0
    stats: dict[str, int] = field(repr=False, default_factory=dict)


def minimum_tjoin(
    num_vertices: int,
    edges: ArrayLike,
    weights: ArrayLike,
    odd: ArrayLike,
    *,
    boundary: ArrayLike | None = None,
    start: TJoin | None = None,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
    time_limit: float | None = None,
) -> TJoin:
    """Find a lightest set of edges with odd degree exactly at the given vertices.

    Parameters
    ----------
    num_vertices : int
        Vertices are ``0 .. num_vertices - 1``.
    edges : array_like, shape (m, 2)
        Parallel edges and loops are allowed.
    weights : array_like, shape (m,)
        Non-negative integers or finite floats. Floats are used exactly: they are integers
        times a common power of two, and all arithmetic is on integers.
    odd : array_like
        Vertices of odd degree; a vertex named twice cancels.
    boundary : array_like, optional
        Vertices whose degree is free. Sets of the certificate avoid them.
    start : TJoin, optional
        Result of an earlier call with the same vertices, edges and boundary. Regions of it
        that no changed weight or parity touches are kept, so small changes cost little. One
        that ran out of time is gone on with.
    threads : int, optional
        Processors to use; as many as there are by default. The weight is the same for any
        number; of several lightest T-joins one processor may find another than two or more.
    progress : callable, optional
        Called with the fraction done.
    time_limit : float, optional
        Seconds, after which a T-join and a lower bound on all of them is returned.

    Returns
    -------
    TJoin
        The edges, their exact weight and a certificate that ``planaris.verify.check_tjoin``
        checks on its own.

    Raises
    ------
    InfeasibleError
        A component has an odd number of odd vertices and no boundary: ``vertices`` lists the
        component, ``num_odd`` says how many of its vertices are odd.

    Notes
    -----
    Regions grow from odd vertices in one alternating tree at a time, in rounds of growing
    effort; see ``docs/theory/matching.md``.

    Examples
    --------
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> answer = minimum_tjoin(4, square, [3, 4, 1, 5], odd=[0, 2])
    >>> answer.join, answer.objective
    (array([2, 3], dtype=int32), 6)
    """
    graph = _Graph.read(num_vertices, edges, weights, odd, boundary)
    graph.require_no_negative()
    state = None if start is None else start.state
    raw = graph.solve(
        perfect=False, start=state, threads=threads, progress=progress, seconds=time_limit
    )
    infeasible, exact, exponent, _, arrays, state = raw
    if infeasible >= 0:
        raise _odd_component(graph, infeasible)
    numerator = _integer(arrays[6])
    return TJoin(
        join=arrays[0],
        objective=graph.objective(numerator, exponent),
        numerator=numerator,
        exponent=exponent,
        lower=graph.objective(numerator, exponent)
        if exact
        else graph.lower(_integer(arrays[9]), exponent - 1),
        exact=exact,
        certificate=_packing(raw),
        stats=dict(zip(COUNTERS, arrays[8].tolist(), strict=True)),
        state=state,
    )


def min_weight_perfect_matching(
    num_vertices: int,
    edges: ArrayLike,
    weights: ArrayLike,
    *,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
    time_limit: float | None = None,
) -> PerfectMatching:
    """Find a lightest perfect matching of any graph, exact for integers and floats.

    Parameters
    ----------
    num_vertices : int
        Vertices are ``0 .. num_vertices - 1``.
    edges : array_like, shape (m, 2)
        Parallel edges and loops are allowed.
    weights : array_like, shape (m,)
        Integers or finite floats of any sign.
    threads : int, optional
        Processors to use; as many as there are by default.
    progress : callable, optional
        Called with the fraction done.
    time_limit : float, optional
        Seconds, after which :class:`~planaris.errors.TimeLimitError` is raised.

    Returns
    -------
    PerfectMatching
        The edges, their exact weight and a certificate that
        ``planaris.verify.check_perfect_matching`` checks on its own.

    Raises
    ------
    InfeasibleError
        There is no perfect matching.

    Notes
    -----
    With every vertex odd and the same large amount added to every weight, the lightest T-join
    has as few edges as possible; those are ``num_vertices / 2`` exactly when a perfect
    matching exists, and then the T-join is one.

    Examples
    --------
    >>> answer = min_weight_perfect_matching(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [3, -4, 1, 5])
    >>> answer.matching, answer.objective
    (array([1, 3], dtype=int32), 1)
    """
    graph = _Graph.read(num_vertices, edges, weights, [], None)
    with within(time_limit, "no lightest perfect matching was found"):
        raw = graph.solve(
            perfect=True, start=None, threads=threads, progress=progress, seconds=time_limit
        )
    infeasible, _, exponent, _, arrays, _ = raw
    if infeasible >= 0:
        raise _odd_component(graph, infeasible)
    matching = arrays[0]
    if 2 * len(matching) != num_vertices:
        degree = np.bincount(graph.edges[matching].ravel(), minlength=num_vertices)
        crowded = np.flatnonzero(degree > 1)
        msg = (
            f"the graph of `edges` has no perfect matching: covering its {num_vertices} vertices "
            f"an odd number of times takes {len(matching)} edges, more than {num_vertices // 2}"
        )
        raise InfeasibleError(msg, vertices=crowded, num_edges=len(matching))
    offset = _integer(arrays[7])
    numerator = _integer(arrays[6]) - offset * len(matching)
    return PerfectMatching(
        matching=matching,
        objective=graph.objective(numerator, exponent),
        numerator=numerator,
        exponent=exponent,
        certificate=_packing(raw),
        offset=offset,
        stats=dict(zip(COUNTERS, arrays[8].tolist(), strict=True)),
    )


@dataclass(frozen=True, eq=False)
class Joins:
    """Lightest T-joins of several sets on one graph; see :meth:`TJoinSolver.solve_many`.

    Attributes
    ----------
    offsets : int array
        The edges of join ``k`` are ``edges[offsets[k]:offsets[k + 1]]``, ascending.
    edges : int array
        Indices of the chosen edges.
    numerators : list of int
        Weights in units of ``2**exponent``, exact.
    exponent : int
        See ``numerators``.
    objectives : array
        The weights: exact for integers, correctly rounded for floats.
    """

    offsets: LongArray
    edges: IntArray
    numerators: list[int] = field(repr=False)
    exponent: int
    objectives: Array

    def __len__(self) -> int:
        return len(self.numerators)

    def join(self, k: int) -> IntArray:
        """Return the edges of join `k`."""
        return self.edges[self.offsets[k] : self.offsets[k + 1]]


class TJoinSolver:
    """Finds lightest T-joins of many sets T on one weighted graph.

    The graph is prepared once, and a set costs what the search around its vertices costs,
    however large the graph is. Answers come without a certificate; they were compared with the
    value of a packing of T-cuts all the same. :func:`minimum_tjoin` gives the packing.

    Parameters
    ----------
    num_vertices, edges, weights, boundary
        As for :func:`minimum_tjoin`.

    Examples
    --------
    >>> solver = TJoinSolver(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [3, 4, 1, 5])
    >>> solver.solve([0, 2])
    (array([2, 3], dtype=int32), 6)
    >>> solver.solve_many([[0, 2], [], [1, 2]]).objectives
    array([6, 0, 4])
    """

    def __init__(
        self,
        num_vertices: int,
        edges: ArrayLike,
        weights: ArrayLike,
        *,
        boundary: ArrayLike | None = None,
    ) -> None:
        self._graph = _Graph.read(num_vertices, edges, weights, [], boundary)
        self._graph.require_no_negative()
        g = self._graph
        self._core = _core.TJoinSolver(g.num_vertices, g.edges, g.weights, g.boundary)

    def solve(self, odd: ArrayLike) -> tuple[IntArray, int | float]:
        """Return the edges of a lightest T-join and their weight."""
        vertices = self._vertices(odd)
        found = self._run(np.array([0, len(vertices)]), vertices, None, None)
        return found.edges, found.objectives[0].item()

    def solve_many(
        self,
        odd: Sequence[ArrayLike],
        *,
        progress: ProgressCallback | None = None,
        time_limit: float | None = None,
    ) -> Joins:
        """Return a lightest T-join of each of several sets of odd vertices."""
        # Ready arrays are checked together, which is faster than one by one.
        sets = [v if _is_ready(v) else self._vertices(v) for v in odd]
        offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        together = self._vertices(np.concatenate([np.zeros(0, np.int32), *sets]))
        with within(time_limit, "not all sets were joined"):
            return self._run(offsets, together, progress, time_limit)

    def _vertices(self, odd: ArrayLike) -> IntArray:
        return _vertices("odd", odd, self._graph.num_vertices, (-1,))

    def _run(
        self,
        offsets: LongArray,
        odd: IntArray,
        progress: ProgressCallback | None,
        seconds: float | None,
    ) -> Joins:
        core, graph = self._core, self._graph
        limit = math.inf if seconds is None else seconds
        done, infeasible, begins, edges, digits = core.solve(offsets, odd, progress, limit)
        if infeasible >= 0:
            members = odd[offsets[done] : offsets[done + 1]]
            raise _odd_component(replace(graph, odd=members), infeasible)
        raw, width = digits.astype("<u4").tobytes(), 4 * core.num_digits
        numerators = [
            int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)
        ]
        objectives = np.array([graph.objective(x, core.exponent) for x in numerators])
        return Joins(begins, edges, numerators, core.exponent, objectives)


@dataclass(frozen=True)
class _Graph:
    """Arguments, checked and in the types of the compiled core."""

    num_vertices: int
    edges: IntArray
    weights: LongArray | FloatArray
    odd: IntArray
    boundary: IntArray

    @classmethod
    def read(
        cls,
        num_vertices: int,
        edges: ArrayLike,
        weights: ArrayLike,
        odd: ArrayLike,
        boundary: ArrayLike | None,
    ) -> _Graph:
        if not 0 <= num_vertices < 2**31 - 1:
            msg = f"`num_vertices` must lie between 0 and 2^31 - 2, not {num_vertices}"
            raise ModelError(msg)
        pairs = _vertices("edges", edges, num_vertices, (-1, 2))
        values = _weights(weights)
        if len(values) != len(pairs):
            msg = f"`weights` needs one entry for each of the {len(pairs)} edges, not {len(values)}"
            raise ModelError(msg)
        return cls(
            num_vertices,
            pairs,
            values,
            _vertices("odd", odd, num_vertices, (-1,)),
            _vertices("boundary", () if boundary is None else boundary, num_vertices, (-1,)),
        )

    def solve(
        self,
        *,
        perfect: bool,
        start: Any,
        threads: int | None,
        progress: ProgressCallback | None,
        seconds: float | None,
    ) -> Any:
        integral = self.weights.dtype == np.int64
        call = cast("Any", _core.minimum_tjoin_int if integral else _core.minimum_tjoin_float)
        return call(
            self.num_vertices,
            self.edges,
            self.weights,
            self.odd,
            self.boundary,
            perfect,
            start,
            progress,
            math.inf if seconds is None else seconds,
            (os.cpu_count() or 1) if threads is None else threads,
        )

    def require_no_negative(self) -> None:
        if self.weights.size and self.weights.min() < 0:
            bad = int(np.argmin(self.weights))
            msg = (
                f"`weights` of a T-join must not be negative, but weights[{bad}] is "
                f"{self.weights[bad]}; flip the parity of both ends of edge {bad}, use the "
                "absolute value, and take the symmetric difference with that edge"
            )
            raise ModelError(msg, edge=bad)

    def objective(self, numerator: int, exponent: int) -> int | float:
        if self.weights.dtype == np.int64:
            return numerator
        if exponent > -1000 and numerator.bit_length() < 1000 - max(exponent, 0):
            return math.ldexp(float(numerator), exponent)  # rounds once
        try:
            return float(_scaled(numerator, exponent))
        except OverflowError:
            return math.inf if numerator > 0 else -math.inf

    def lower(self, numerator: int, exponent: int) -> int | float:
        """Return what every T-join weighs at least, given the value of a packing."""
        exact = _scaled(numerator, exponent)
        if self.weights.dtype == np.int64:
            return math.ceil(exact)
        try:
            rounded = float(exact)
        except OverflowError:
            return sys.float_info.max
        return rounded if rounded <= exact else math.nextafter(rounded, 0.0)


def _vertices(name: str, values: ArrayLike, bound: int, shape: tuple[int, ...]) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros((0, *shape[1:]), np.int32)
    if array.dtype.kind not in "iu":
        msg = f"`{name}` must hold vertex numbers (integers), not {array.dtype}"
        raise ModelError(msg)
    if array.ndim != len(shape) or (len(shape) == 2 and array.shape[1] != 2):
        wanted = "(m, 2)" if len(shape) == 2 else "(k,)"
        msg = f"`{name}` must have shape {wanted}, not {array.shape}"
        raise ModelError(msg)
    if array.min() < 0 or array.max() >= bound:
        bad = int(array.min() if array.min() < 0 else array.max())
        msg = f"`{name}` names vertex {bad}, but vertices are 0 to {bound - 1}"
        raise ModelError(msg, vertex=bad)
    return np.ascontiguousarray(array, np.int32)


def _is_ready(values: Any) -> TypeGuard[IntArray]:
    return isinstance(values, np.ndarray) and values.dtype == np.int32 and values.ndim == 1


def _weights(weights: ArrayLike) -> LongArray | FloatArray:
    array = np.asarray(weights)
    if array.ndim != 1:
        msg = f"`weights` must have shape (m,), not {array.shape}"
        raise ModelError(msg)
    if array.size == 0 or array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.max() >= 2**63:
            msg = "`weights` must fit in 64-bit signed integers; pass floats for larger ones"
            raise ModelError(msg)
        return np.ascontiguousarray(array, np.int64)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        msg = f"`weights` must be integers or float64, not {array.dtype}"
        raise ModelError(msg)
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        msg = f"`weights` must be finite, but weights[{bad}] is {array[bad]}"
        raise ModelError(msg, edge=bad)
    return np.ascontiguousarray(array, np.float64)


def _odd_component(graph: _Graph, vertex: int) -> InfeasibleError:
    component = connected_components(graph.num_vertices, graph.edges)
    vertices = np.flatnonzero(component == component[vertex])
    parity = np.bincount(graph.odd, minlength=graph.num_vertices) % 2
    num_odd = int(parity[vertices].sum()) or len(vertices)  # perfect matchings: all of them
    shown = ", ".join(map(str, vertices[:5])) + (", ..." if len(vertices) > 5 else "")
    msg = (
        f"the component of vertex {vertex} ({len(vertices)} vertices: {shown}) holds {num_odd} "
        "odd vertices, and an odd number cannot be joined in pairs; see `err.vertices`. Change "
        "`odd`, connect the component, or name one of its vertices in `boundary`"
    )
    return InfeasibleError(msg, vertices=vertices, num_odd=num_odd)


def _integer(digits: Iterable[int]) -> int:
    total = 0
    for k, digit in enumerate(digits):
        total += int(digit) << (32 * k)
    return total


def _scaled(numerator: int, exponent: int) -> Fraction:
    return Fraction(numerator) * Fraction(2) ** exponent


def _packing(raw: Any) -> CutPacking:
    _, _, exponent, num_digits, arrays, _ = raw
    values = arrays[5] if num_digits == 0 else arrays[5].reshape(-1, num_digits)
    order, start, stop, parent = arrays[1:5]
    return CutPacking(order, start, stop, parent, values, exponent - 1)
