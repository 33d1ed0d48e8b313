"""Many models on one plane graph, in one call: log Z, proofs, marginals, samples; compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planaris import _core
from planaris.budget import Budget
from planaris.kernels.pfaffian import Elimination
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray

BATCH_LIMITS = _core.BatchLimits()
"""What decides how rows of a batch are eliminated, and how often in single precision."""

KEPT_BYTES = 2**25
"""Allocators give arrays from this size on back to the system, which clears the pages of the next
one: 11 to 27 ms for 512 models of 100², for which sixteen threads have some 200 ms."""


def tied_rows(couplings: FloatArray) -> BoolArray:
    """Return which rows have many large couplings of nearly one size.

    >>> tied_rows(np.array([[5.0, 5.0, -5.0], [1.0, 1.0, 1.0], [5.0, 6.0, 7.0]])).tolist()
    [True, False, False]
    """
    found: BoolArray = _core.tied_rows(np.ascontiguousarray(couplings)).astype(bool)
    return found


@dataclass(frozen=True)
class ModelRows:
    """What was found for every model of a batch.

    Attributes
    ----------
    route : numpy.ndarray
        1, 2, 3: how it was found; 0: not at all, and the rest of the row is NaN.
    log_sum, constant : numpy.ndarray
        Logarithms of the sum over cuts and of the weight of the gauge state.
    size : numpy.ndarray
        Sum of the sizes of all numbers that were exponentiated.
    error : numpy.ndarray
        Estimated error of ``log_sum``.
    equal_error : numpy.ndarray
        Largest error of ``equal`` in a row, estimated; NaN without marginals.
    equal : numpy.ndarray
        P(s_u = s_v), one row per model; empty without marginals.
    complete : bool
        False if the time was over before all rows were tried.
    """

    route: Int8Array
    log_sum: FloatArray
    constant: FloatArray
    size: FloatArray
    error: FloatArray
    equal_error: FloatArray
    equal: FloatArray
    complete: bool = True

    @classmethod
    def none(cls, rows: int, edges: int, marginals: bool) -> ModelRows:
        """Return rows of which nothing is known."""
        log_sum, constant, size, error, equal_error = np.full((5, rows), math.nan)
        equal = np.full((rows if marginals else 0, edges), math.nan)
        route = np.zeros(rows, dtype=np.int8)
        return cls(route, log_sum, constant, size, error, equal_error, equal)

    @classmethod
    def joined(cls, parts: list[ModelRows]) -> ModelRows:
        """Return the rows of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        names = ("route", "log_sum", "constant", "size", "error", "equal_error", "equal")
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in names
        }
        return cls(**arrays, complete=all(part.complete for part in parts))


@dataclass(frozen=True, eq=False)
class ProvedRows:
    """Intervals of log Z that are theorems, one per row.

    Attributes
    ----------
    way : int8 array
        How the narrowest was found: 0 none, 1 by sweep in pairs of doubles, 2 by radii in doubles,
        3 by radii in pairs.
    lower, upper, value : numpy.ndarray
        Its ends and the number between them.
    excess : numpy.ndarray
        log Z less the logarithm of the weight of a ground state, NaN where none was needed.
    error, entries, elimination : numpy.ndarray
        Bounds on all errors, and on those of the entries and of their elimination.
    largest_front : int array
        Rows of the largest front.
    tried : numpy.ndarray
        False where the deadline passed before the row was done.
    """

    way: Int8Array
    lower: FloatArray
    upper: FloatArray
    value: FloatArray
    excess: FloatArray
    error: FloatArray
    entries: FloatArray
    elimination: FloatArray
    largest_front: IntArray
    tried: BoolArray

    @classmethod
    def none(cls, rows: int) -> ProvedRows:
        """Return rows that were not tried."""
        made: dict[str, Any] = {field.name: np.full(rows, math.nan) for field in fields(cls)}
        for name, kind in (("way", np.int8), ("largest_front", np.int32), ("tried", np.bool_)):
            made[name] = np.zeros(rows, dtype=kind)
        return cls(**made)

    @classmethod
    def joined(cls, parts: list[ProvedRows]) -> ProvedRows:
        """Return the rows of all parts."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def row_totals(
    couplings: FloatArray, copy: FloatArray | None = None, *, threads: int = 1
) -> FloatArray:
    """Return the sum of the sizes of every row; the rows are written to ``copy``, if given.

    >>> row_totals(np.array([[1.0, -2.0], [math.nan, 0.0]])).tolist()
    [3.0, nan]
    """
    return _core.row_totals(np.ascontiguousarray(couplings), copy, threads)


def empty_rows(rows: int, columns: int) -> FloatArray:
    """Return an array whose numbers are unknown, large ones in memory kept between calls.

    >>> empty_rows(2, 3).shape
    (2, 3)
    """
    if 8 * rows * columns < KEPT_BYTES:
        return np.empty((rows, columns))
    return _core.kept_rows(rows, columns)


class PlaneModels:
    """Many models on one plane graph, in one call. Immutable; threads may share it.

    Parameters
    ----------
    elimination : Elimination
        Of the graph with chords.
    num_faces : int
        Faces of the graph without chords.
    dual_edges : int array, shape (m, 2)
        The two faces beside every edge.
    absorbing : int array
        One face per component.
    face_of_piece : int array
        The face that each face of the graph with chords is a piece of.
    """

    def __init__(
        self,
        elimination: Elimination,
        num_faces: int,
        dual_edges: IntArray,
        absorbing: IntArray,
        face_of_piece: IntArray,
    ) -> None:
        self._core = _core.PlaneModels(
            elimination._core, num_faces, dual_edges, absorbing, face_of_piece
        )
        self.work: float = self._core.work
        """Multiplications of an elimination, about, and what small fronts cost besides."""
        self.multiplications: float = self._core.multiplications
        """Multiplications of an elimination."""
        self.largest_front: int = self._core.largest_front
        """Rows of the largest front."""
        self._thread_bytes = tuple(self._core.bytes(marginals) for marginals in (False, True))

    def evaluate(self, couplings: FloatArray, *, marginals: bool, budget: Budget) -> ModelRows:
        """Return log Z, or marginals, of every row of couplings.

        Every thread takes memory of its own; there are as many as fit.
        """
        threads = budget.workers(len(couplings), self._thread_bytes[marginals])
        found = self._core.evaluate(
            np.ascontiguousarray(couplings), marginals, threads, budget.poller()
        )
        return ModelRows(
            found.route,
            found.log_sum,
            found.constant,
            found.size,
            found.error,
            found.equal_error,
            found.equal if marginals else np.zeros((0, couplings.shape[1])),
            found.complete,
        )

    def prove(
        self,
        couplings: FloatArray,
        components: int,
        narrow: float,
        *,
        threads: int,
        share_rows: bool,
        budget: Budget,
    ) -> ProvedRows:
        """Return an interval of log Z for every row that is a theorem, where there is one.

        Bounds are tried until an interval is no wider than ``narrow`` and a few last places. With
        ``share_rows`` threads take a row each, else they share one row after the other.
        """
        found = _core.prove_rows(
            self._core,
            np.ascontiguousarray(couplings),
            components,
            narrow,
            threads,
            share_rows,
            budget.poller(),
        )
        return ProvedRows(
            found.way,
            found.lower,
            found.upper,
            found.value,
            found.excess,
            found.error,
            found.entries,
            found.elimination,
            found.largest_front,
            found.tried.astype(np.bool_),
        )

    def flipped_state(self, couplings: FloatArray, *, budget: Budget) -> Int8Array:
        """Return a state of low energy: flips of spins and pairs, a few sweeps."""
        values = np.ascontiguousarray(couplings)
        return self._core.flipped_state(values, budget.workers(), budget.poller())

    def samples(
        self,
        couplings: FloatArray,
        size: int,
        uniform: FloatArray,
        *,
        weak: float,
        moderate: float,
        doubt: float,
        threads: int,
        budget: Budget,
    ) -> tuple[Int8Array, BoolArray]:
        """Return ``size`` samples of every row of couplings, and which rounding may have decided.

        ``uniform`` holds one row per sample, one number in [0, 1) per edge of the elimination. Up
        to ``weak`` couplings need no gauge, up to ``moderate`` a ground state will do, and all
        samples of larger ones are in doubt. So are those whose probability, as they were drawn,
        is off by more than ``doubt`` in its logarithm.
        """
        spins, doubtful = self._core.samples(
            np.ascontiguousarray(couplings),
            size,
            uniform,
            weak,
            moderate,
            doubt,
            threads,
            budget.poller(),
        )
        return spins, doubtful.astype(bool)

    def ground_states(
        self, couplings: FloatArray, *, budget: Budget
    ) -> tuple[Int8Array, FloatArray]:
        """Return a ground state of every row of couplings, and its energy."""
        found = self._core.ground_states(
            np.ascontiguousarray(couplings), budget.workers(), budget.poller()
        )
        return found.spins, found.energy
