"""Minimum-weight T-joins and perfect matchings of sparse graphs, exact and with proof.

A T-join of a set T of vertices is a set of edges that meets exactly the vertices of T an odd
number of times. The proof of a lightest one is a *packing of T-cuts*: sets S with an odd number
of vertices of T get values y_S >= 0 such that the sets separating the ends of any edge have
values adding up to at most its weight. Every T-join crosses every such S, so it weighs at
least the sum of all y_S; equality proves that nothing lighter exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from planaris.budget import Budget, ProgressCallback, TimeLimit, control
from planaris.errors import InfeasibleError, ModelError
from planaris.kernels import cuts as kernel
from planaris.kernels.cuts import (
    CutPacking,
    PreparedTJoins,
    TJoin,
    as_integer,
    counted,
    odd_component_error,
    packing_of,
    rounded,
)
from planaris.matching.join_graph import JoinGraph, as_vertices, is_ready
from planaris.notebook import Shown
from planaris.typing import Array, IntArray, LongArray

SETS_AT_ONCE = 2**10
"""Sets of vertices that are converted between two looks at the clock."""

__all__ = [
    "CutPacking",
    "Joins",
    "PerfectMatching",
    "TJoin",
    "TJoinSolver",
    "min_weight_perfect_matching",
    "minimum_tjoin",
]


@dataclass(frozen=True, eq=False, repr=False)
class PerfectMatching(Shown):
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
    time_limit: TimeLimit = None,
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
    graph = JoinGraph.read(num_vertices, edges, weights, odd, boundary)
    graph.require_no_negative()
    given: object = start
    if not (given is None or isinstance(given, TJoin)):
        msg = f"`start` must be a TJoin, not {type(given).__name__}"
        raise ModelError(msg)
    budget = Budget.of(time_limit, threads=threads, progress=progress)
    return kernel.minimum_tjoin(*graph, start=start, budget=budget)


def min_weight_perfect_matching(
    num_vertices: int,
    edges: ArrayLike,
    weights: ArrayLike,
    *,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
    time_limit: TimeLimit = None,
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
    graph = JoinGraph.read(num_vertices, edges, weights, [], None)
    budget = Budget.of(time_limit, threads=threads, progress=progress)
    with budget.required("no lightest perfect matching was found"):
        found = kernel.solve_tjoin(*graph, perfect=True, start=None, budget=budget)
    if found.infeasible >= 0:
        raise odd_component_error(*graph[:2], graph.odd, found.infeasible)
    matching = found.join
    if 2 * len(matching) != num_vertices:
        degree = np.bincount(graph.edges[matching].ravel(), minlength=num_vertices)
        crowded = np.flatnonzero(degree > 1)
        msg = (
            f"the graph of `edges` has no perfect matching: covering its {num_vertices} vertices "
            f"an odd number of times takes {len(matching)} edges, more than {num_vertices // 2}"
        )
        raise InfeasibleError(msg, vertices=crowded, num_edges=len(matching))
    offset = as_integer(found.offset)
    numerator = as_integer(found.objective) - offset * len(matching)
    return PerfectMatching(
        matching=matching,
        objective=rounded(numerator, found.exponent, integral=graph.is_integral),
        numerator=numerator,
        exponent=found.exponent,
        certificate=packing_of(found),
        offset=offset,
        stats=counted(found),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Joins(Shown):
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
        self._graph = JoinGraph.read(num_vertices, edges, weights, [], boundary)
        self._graph.require_no_negative()
        g = self._graph
        self._prepared = PreparedTJoins(g.num_vertices, g.edges, g.weights, g.boundary)

    def solve(self, odd: ArrayLike) -> tuple[IntArray, int | float]:
        """Return the edges of a lightest T-join and their weight."""
        vertices = self._vertices(odd)
        found = self._run(np.array([0, len(vertices)]), vertices, None)
        return found.edges, found.objectives.tolist()[0]  # may be beyond int64

    def solve_many(
        self,
        odd: Sequence[ArrayLike],
        *,
        progress: ProgressCallback | None = None,
        time_limit: TimeLimit = None,
    ) -> Joins:
        """Return a lightest T-join of each of several sets of odd vertices."""
        budget = Budget.of(time_limit, progress=progress)
        with budget.required("not all sets were joined"):
            sets = self._checked(odd, budget)
            offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
            together = self._vertices(np.concatenate([np.zeros(0, np.int32), *sets]))
            return self._run(offsets, together, budget)

    def _checked(self, odd: Sequence[ArrayLike], budget: Budget) -> list[IntArray]:
        """Return the sets as arrays; ready ones are checked together, which is faster."""
        sets = []
        for k, given in enumerate(odd):
            if k % SETS_AT_ONCE == 0:
                budget.check()
            sets.append(given if is_ready(given) else self._vertices(given))
        return sets

    def _vertices(self, odd: ArrayLike) -> IntArray:
        return as_vertices("odd", odd, self._graph.num_vertices, (-1,))

    def _run(self, offsets: LongArray, odd: IntArray, budget: Budget | None) -> Joins:
        core, graph = self._prepared, self._graph
        found = core.solve(offsets, odd, *control(budget))
        if found.infeasible >= 0:
            members = odd[offsets[found.num_done] : offsets[found.num_done + 1]]
            raise odd_component_error(*graph[:2], members, found.infeasible)
        raw, width = found.digits.astype("<u4").tobytes(), 4 * core.num_digits
        numerators = [
            int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)
        ]
        integral = graph.is_integral
        objectives = np.array([rounded(x, core.exponent, integral=integral) for x in numerators])
        return Joins(found.offsets, found.edges, numerators, core.exponent, objectives)
