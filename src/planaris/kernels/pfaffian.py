"""Pfaffians of Kasteleyn matrices by elimination along a dissection of the faces, compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from planaris import _core
from planaris.budget import Budget
from planaris.kernels.cuts import CutPacking
from planaris.typing import Array, FloatArray, Int8Array, IntArray

LEAF_FACES = 4
"""Faces that are eliminated together at the bottom of the dissection."""

THRESHOLD = 0.1
"""How large a pivot must be, relative to its rows, where pivots are searched for."""


@dataclass(frozen=True)
class EliminationOrder:
    """When each edge may be eliminated; without one, pivots are searched for.

    Attributes
    ----------
    earliest, rank : numpy.ndarray
        Per edge: the front from which on, and its turn there. Empty: no order.
    clusters : planaris._core.MoatClusters or None
        Exponents for blocks of entries, where doubles have too narrow a range; used by
        eliminations in doubles, but not for samples.
    underflow : bool
        Whether numbers too small for doubles are nothing beside what they are added to. Then
        eliminations in double-double that keep no factors are quicker, and those in doubles (not
        for samples) count such numbers as zeros; with clusters they do so in any case.
    """

    earliest: IntArray
    rank: IntArray
    clusters: _core.MoatClusters | None = None
    underflow: bool = False


def any_order(num_edges: int) -> EliminationOrder:
    """Return the order of the dissection: no edge waits for another."""
    none = np.zeros(num_edges, dtype=np.int32)
    return EliminationOrder(none, none)


NO_ORDER = EliminationOrder(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


def leg_logarithms(
    scale: FloatArray, gauged: FloatArray, *, shift: bool = False, threads: int = 1
) -> tuple[FloatArray, FloatArray, float]:
    """Return logarithms of what legs bring to entries of faces, those of joins, and Σ |former|.

    ``shift``: with a number in [-1, 1) added to every scale, the same for each leg at any time.

    >>> face, join, size = leg_logarithms(np.zeros(4), np.array([1.0, -2.0]))
    >>> face.tolist(), join.tolist(), size
    ([-1.0, -1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0], 6.0)
    """
    face, shifted = np.empty_like(scale), np.empty_like(scale) if shift else None
    size = _core.leg_logarithms(scale, gauged, face, shifted, threads)
    return face, scale if shifted is None else shifted, size


FARTHEST = 4096
"""Exponents of two by which sizes are told apart; doubles have a quarter of them."""


@dataclass(frozen=True)
class LogPfaffian:
    """Logarithm and sign of a Pfaffian, and what the elimination met.

    Attributes
    ----------
    log_magnitude, sign : float, int
        Relative to the term that joins the two legs of every edge, all join signs being +1.
    pivots, delayed, left_over : int
        2×2 pivots taken; rows handed on to a parent front (each time); rows without a pivot.
    largest_front : int
        Rows of the largest front.
    worst_ratio : float
        Smallest ratio of a pivot to the largest entry of its two rows; where an order was given,
        to the join of its edge.
    smallest_exponent : int
        Binary exponent of the smallest row that was rescaled; below -900 double is too narrow.
    multiplications : float
        Work done.
    high, low, exponent : float, float, int
        The size itself, ``(high + low) * 2**(256 * exponent)``, of an elimination in wide
        numbers that searched for pivots; 0 otherwise.
    """

    log_magnitude: float
    sign: int
    pivots: int
    delayed: int
    left_over: int
    largest_front: int
    worst_ratio: float
    smallest_exponent: int
    multiplications: float
    high: float = 0.0
    low: float = 0.0
    exponent: int = 0

    @classmethod
    def of(cls, found: _core.LogPfaffian) -> LogPfaffian:
        """Copy what the compiled core found."""
        return cls(**{field.name: getattr(found, field.name) for field in fields(cls)})

    @property
    def has_size(self) -> bool:
        """Whether the size itself is known, and not only its logarithm."""
        return 0 < self.high + self.low < math.inf

    def over(self, other: LogPfaffian) -> Fraction:
        """Return the quotient of two sizes that are known, for factors of up to 2**4096 exactly.

        Sizes of strong couplings have billions of bits, so they are never written out.
        """
        apart = max(min(256 * (self.exponent - other.exponent), FARTHEST), -FARTHEST)
        quotient = (Fraction(self.high) + Fraction(self.low)) / (
            Fraction(other.high) + Fraction(other.low)
        )
        return quotient * Fraction(2) ** apart


ALONE = Budget(threads=1)
"""One thread, no deadline."""


class Elimination:
    """The symbolic part: faces, signs, dissection. Immutable; threads may share it."""

    def __init__(
        self,
        edges: IntArray,
        rotation: IntArray,
        offsets: IntArray,
        centres: FloatArray,
        *,
        budget: Budget = ALONE,
    ) -> None:
        spots = np.ascontiguousarray(centres, dtype=np.float64)
        self._core = _core.PfaffianPlan(
            edges, rotation, offsets, spots, LEAF_FACES, budget.workers(), budget.poller()
        )
        self.signs: Int8Array = self._core.signs()
        """Kasteleyn sign of every edge."""

    @property
    def tree(self) -> _core.FrontTree:
        """The fronts of the dissection as arrays, children before parents."""
        return self._core.tree

    def scaling(self, gauged: FloatArray, *, budget: Budget = ALONE) -> FloatArray:
        """Return the dual variables, one per leg, of the best assignment of ``-log |K|``."""
        return self._core.scaling(np.ascontiguousarray(gauged), budget.poller())

    def order_by_moats(
        self,
        moats: CutPacking,
        values: FloatArray,
        gauged: FloatArray,
        unsatisfied: IntArray,
        slack: float,
        *,
        clustered: bool = False,
    ) -> tuple[FloatArray, EliminationOrder, float]:
        """Return a scaling and an order for couplings relative to a ground state.

        ``moats``, with these values, proves that the edges ``unsatisfied`` are the lightest T-join
        of the faces. Sets are not waited for while entries grow by at most ``exp(slack)``. The last
        number is the largest sum of values of the sets around a face. ``clustered``: with exponents
        for blocks of entries, so that values may be of any size.
        """
        sets = moats.order, moats.start, moats.stop, moats.parent, values
        given = *sets, np.ascontiguousarray(gauged), unsatisfied, slack
        clusters = None
        if clustered:
            both = self._core.clustered_order_by_moats(*given)
            found, clusters = both.order, both.clusters
        else:
            found = self._core.order_by_moats(*given)
        return found.scale, EliminationOrder(found.earliest, found.rank, clusters), found.deepest

    def log_pfaffian(
        self,
        face: FloatArray,
        join: FloatArray,
        signs: Int8Array,
        *,
        order: EliminationOrder = NO_ORDER,
        threshold: float = THRESHOLD,
        wide: bool = False,
        budget: Budget = ALONE,
    ) -> LogPfaffian:
        """Eliminate all rows.

        Two legs of a face meet at ``exp(face + face)``, those of an edge at ``±exp(join + join)``.
        ``wide`` calculates in double-double with unlimited exponents.
        """
        found = self._core.log_pfaffian(
            face,
            join,
            signs,
            order.earliest,
            order.rank,
            order.clusters,
            order.underflow,
            threshold,
            budget.workers(),
            wide,
            budget.poller(),
        )
        return LogPfaffian.of(found)

    def two_log_pfaffians(
        self,
        faces: tuple[FloatArray, FloatArray],
        joins: tuple[FloatArray, FloatArray],
        signs: Int8Array,
        *,
        order: EliminationOrder = NO_ORDER,
        thresholds: tuple[float, float] = (THRESHOLD, THRESHOLD),
        budget: Budget = ALONE,
    ) -> tuple[LogPfaffian, LogPfaffian]:
        """Return what :meth:`log_pfaffian` says of two scalings of the rows.

        Threads that one elimination does not keep busy work on the other.
        """
        found = self._core.two_log_pfaffians(
            faces[0],
            joins[0],
            faces[1],
            joins[1],
            signs,
            order.earliest,
            order.rank,
            order.clusters,
            order.underflow,
            *thresholds,
            budget.workers(),
            budget.poller(),
        )
        return LogPfaffian.of(found[0]), LogPfaffian.of(found[1])

    def factorize(
        self,
        face: FloatArray,
        join: FloatArray,
        signs: Int8Array,
        *,
        order: EliminationOrder = NO_ORDER,
        wide: bool = False,
        for_samples: bool = False,
        budget: Budget = ALONE,
    ) -> Factorization:
        """Eliminate as :meth:`log_pfaffian` does, and keep what marginals or samples need."""
        core = self._core.factorize(
            face,
            join,
            signs,
            order.earliest,
            order.rank,
            order.clusters,
            order.underflow,
            THRESHOLD,
            budget.workers(),
            wide,
            for_samples,
            budget.poller(),
        )
        return Factorization(core)


class Factorization:
    """A factorised Kasteleyn matrix. Immutable; threads may share it."""

    def __init__(self, core: _core.PfaffianFactors) -> None:
        self._core = core
        self.log_pfaffian = LogPfaffian.of(core.log_pfaffian)

    def uncut(self, *, budget: Budget = ALONE) -> tuple[FloatArray, float]:
        """Return the probability that each edge is not cut, and the largest residual."""
        return self._core.uncut(budget.workers(), budget.poller())

    def spins(
        self,
        edges: IntArray,
        num_vertices: int,
        source: int,
        reference: float,
        *,
        budget: Budget = ALONE,
    ) -> FloatArray:
        """Return Pf of the signs flipped along a path from ``source`` to every vertex.

        Relative to the exponential of ``reference`` and counting -1 for every edge flipped.
        Shape (n, 2): along two paths where the vertex lies in two leaves, else NaN. Needs
        factors kept for samples.
        """
        found = self._core.spins(
            edges, num_vertices, source, reference, budget.workers(), budget.poller()
        )
        return found.reshape(-1, 2)

    def sample(
        self,
        uniform: FloatArray,
        *,
        budget: Budget = ALONE,
    ) -> tuple[Array, Array, FloatArray]:
        """Return sampled cuts, how many edges of each no weight decided, and log probabilities.

        ``uniform`` holds one row per sample, one number in [0, 1) per edge. The probability is
        that of all decisions as they were computed: rounding shows where the cut has another
        one.
        """
        return self._core.sample(uniform, budget.workers(), budget.poller())


def sample_surface(
    factors: list[Factorization],
    uniform: FloatArray,
    *,
    budget: Budget = ALONE,
) -> tuple[Array, Array, FloatArray]:
    """Return what :meth:`Factorization.sample` does, by the signed sum of several Pfaffians.

    ``factors`` differ in their signs only: one factorization per sign structure.
    """
    return _core.sample_surface([f._core for f in factors], uniform, budget.poller())
