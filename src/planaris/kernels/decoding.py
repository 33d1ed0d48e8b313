"""Lightest errors and weights of logical classes of many syndromes, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris import _core
from planaris.budget import Budget, team
from planaris.typing import Array, BoolArray, FloatArray, Int8Array, IntArray, LongArray


@dataclass(frozen=True)
class Erasures:
    """Erased edges of every shot: those of shot k are ``edges[offsets[k]:offsets[k + 1]]``."""

    offsets: LongArray
    edges: IntArray


NO_ERASURES = Erasures(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))


class ImpossibleSyndromeError(Exception):
    """Raised by kernels for syndromes that no error has; callers name the detectors."""

    def __init__(self, shot: int, vertex: int) -> None:
        super().__init__(shot, vertex)
        self.shot, self.vertex = shot, vertex


class EdgeInverse:
    """Inverse of the Kasteleyn matrix without a syndrome, for every pair of edges.

    ``log_odds`` belong to the first edges of the plane graph; chords follow.
    """

    def __init__(
        self,
        edges: IntArray,
        rotation: IntArray,
        offsets: IntArray,
        log_odds: FloatArray,
        *,
        budget: Budget,
    ) -> None:
        self._core = _core.EdgeInverse(
            edges, rotation, offsets, log_odds, budget.workers(), budget.poller()
        )

    @classmethod
    def rounded(cls, wide: WideInverse) -> EdgeInverse:
        """Return an inverse in wide numbers with every entry rounded to a double."""
        found = cls.__new__(cls)
        found._core = wide._core.rounded()
        return found

    @property
    def log_pfaffian(self) -> float:
        """Logarithm of the sum over even sets of the product of their odds."""
        return self._core.log_pfaffian

    @property
    def diagonal(self) -> FloatArray:
        """Probability that a random even set holds the edge."""
        return self._core.diagonal

    @property
    def num_edges(self) -> int:
        """Number of edges, without chords."""
        return self._core.num_edges

    def dense(self) -> FloatArray:
        """Return the inverse of all legs, shape (2m, 2m)."""
        return self._core.dense()


class WideInverse:
    """The same in double-double numbers, for syndromes whose weights cancel in double."""

    def __init__(
        self,
        edges: IntArray,
        rotation: IntArray,
        offsets: IntArray,
        log_odds: FloatArray,
        *,
        budget: Budget,
    ) -> None:
        self._core = _core.WideInverse(
            edges, rotation, offsets, log_odds, budget.workers(), budget.poller()
        )
        self.log_pfaffian: float = self._core.log_pfaffian


class LaneCosets:
    """Sparse elimination of several syndromes at once, the logical edge last.

    Arguments as for :class:`EdgeInverse`; ``logical`` is an edge of odds one.
    """

    def __init__(
        self,
        edges: IntArray,
        rotation: IntArray,
        offsets: IntArray,
        log_odds: FloatArray,
        logical: int,
        *,
        budget: Budget,
    ) -> None:
        self._core = _core.LaneCosets(edges, rotation, offsets, log_odds, logical, budget.poller())

    @property
    def tree(self) -> _core.FrontTree:
        """Fronts, in the order of elimination."""
        return self._core.tree

    @property
    def signs(self) -> Int8Array:
        """Of every edge, chords included."""
        return self._core.signs

    @property
    def weight(self) -> FloatArray:
        """exp(-w / 2) of every edge without a syndrome; 1 for chords."""
        return self._core.weight

    @property
    def worth_from(self) -> int:
        """Number of changes beyond which a small Pfaffian takes longer."""
        return self._core.worth_from


class ShotMatcher:
    """Finds lightest errors on one decoding graph, shot by shot.

    Parameters
    ----------
    num_detectors, num_vertices : int
        Vertices from ``num_detectors`` on are boundaries.
    edges : int32 array, shape (m, 2)
        Ends of the edges.
    boundary : int32 array
        Vertices that absorb any parity.
    weights : float64 array
        Not negative.
    mask : uint8 array, shape (m, bytes)
        Observables that an edge flips, as bits.
    potential : uint8 array
        Bits of the detectors that flip observable 0; or empty.
    parity_vertex : int
        Vertex whose parity decides observable 0; -1 without one.
    """

    def __init__(
        self,
        num_detectors: int,
        num_vertices: int,
        edges: IntArray,
        boundary: IntArray,
        weights: FloatArray,
        mask: Array,
        potential: Array,
        parity_vertex: int,
    ) -> None:
        self._core = _core.ShotMatcher(
            num_detectors, num_vertices, edges, boundary, weights, mask, potential, parity_vertex
        )

    def match(
        self,
        shots: Array,
        *,
        erasures: Erasures = NO_ERASURES,
        observable: int = -1,
        keep_edges: bool = False,
        budget: Budget,
    ) -> _core.Matches:
        """Return flips, weights and perhaps edges of the lightest errors."""
        found = self._core.match(
            shots, erasures.offsets, erasures.edges, observable, keep_edges, *team(budget)
        )
        _refuse_impossible(found.impossible_shot, found.impossible_vertex)
        return found

    def weigh(
        self,
        inverse: EdgeInverse | None,
        lanes: LaneCosets | None,
        place: IntArray,
        logical: int,
        most_changes: int,
        shots: Array,
        *,
        erasures: Erasures = NO_ERASURES,
        careful: bool = False,
        budget: Budget,
    ) -> _core.ClassWeights:
        """Return the probability of the other class and the log weight of every shot.

        Lanes, if given, take shots of many changes, or all shots without an inverse.
        """
        found = self._core.weigh(
            None if inverse is None else inverse._core,
            None if lanes is None else lanes._core,
            place,
            logical,
            most_changes,
            careful,
            shots,
            erasures.offsets,
            erasures.edges,
            *team(budget),
        )
        _refuse_impossible(found.impossible_shot, found.impossible_vertex)
        return found

    def weigh_wide(
        self,
        inverse: WideInverse,
        place: IntArray,
        logical: int,
        shots: Array,
        *,
        erasures: Erasures = NO_ERASURES,
        budget: Budget,
    ) -> _core.ClassWeights:
        """Return log ratios of the classes and the log weight of every shot, in wide numbers."""
        found = self._core.weigh_wide(
            inverse._core,
            place,
            logical,
            shots,
            erasures.offsets,
            erasures.edges,
            *team(budget),
        )
        _refuse_impossible(found.impossible_shot, found.impossible_vertex)
        return found

    def sum_mechanisms(
        self,
        inverse: EdgeInverse,
        place: IntArray,
        shots: Array,
        counts: FloatArray,
        *,
        budget: Budget,
    ) -> _core.MechanismSums:
        """Add up, over shots, what the expected number of errors of every edge follows from."""
        found = self._core.sum_mechanisms(inverse._core, place, shots, counts, *team(budget))
        _refuse_impossible(found.impossible_shot, found.impossible_vertex)
        return found

    def probabilities(
        self, inverse: EdgeInverse, place: IntArray, shots: Array, *, budget: Budget
    ) -> FloatArray:
        """Return P(edge is part of the error | syndrome), a row per shot."""
        found, shot, vertex = self._core.probabilities(inverse._core, place, shots, *team(budget))
        _refuse_impossible(shot, vertex)
        return found


def _refuse_impossible(shot: int, vertex: int) -> None:
    if shot >= 0:
        raise ImpossibleSyndromeError(shot, vertex)


def packed_bits(flags: BoolArray) -> Array:
    """Return rows of flags as bytes, lowest bit first."""
    return np.ascontiguousarray(np.packbits(flags, axis=-1, bitorder="little"))
