"""Entries of the Kasteleyn matrix of one vector of couplings, in logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planaris.kernels.cuts import CutPacking
from planaris.kernels.pfaffian import NO_ORDER, EliminationOrder, leg_logarithms
from planaris.typing import FloatArray, Int8Array

CALM_COUPLING = 2.0
"""With larger couplings an elimination is always done twice: entries beside good pivots cancel
in frustrated models, to 1e-12 at couplings of 3 and to 1e-5 at 7."""

STRONG_COUPLING = 1.0
"""With larger couplings, what is summed with signs is always computed twice."""

LEAST_LOGARITHM = -340.0
"""Half the logarithm of the least normal double, and some room."""

LARGEST_LOGARITHM = 640.0
"""How far from zero the logarithms of entries, divided by a pivot, may lie where elimination
follows an order."""

LARGEST_WIDE = 5e17
"""Whole exponents of exponentials of larger numbers are past 2^53."""

CAP_GROWTH = 4.0
"""How much larger the next cap is where one is felt."""

LARGEST_STEP = 2.0
"""By how much caps are lowered, at most, to see what they add."""

CLUSTERED_ROOM, PLAIN_ROOM = 190.0, 660.0
"""Logarithms of what entries may grow by where blocks of them have exponents, which leave 2^350 of
the range of doubles; and of what they may be without."""


@dataclass(frozen=True, eq=False)
class Caps:
    """How a model was capped, see :mod:`.capped_moats`.

    Attributes
    ----------
    cap : float
        Largest value of a set.
    removed : numpy.ndarray
        What couplings lack.
    slope : numpy.ndarray
        What they would lack besides if capped values were lower by one, and capped slacks by two.
    rejected : float
        Σ exp(-4 cap) over pairs of edges that leave a capped set: about how much Z is larger, where
        few states have so little weight. No bound.
    capped_at : callable
        Returns the entries with another cap.
    """

    cap: float
    removed: FloatArray
    slope: FloatArray
    rejected: float
    capped_at: Callable[[float], Entries]

    def larger(self) -> Entries:
        """Return the entries with the next larger cap."""
        return self.capped_at(CAP_GROWTH * self.cap)


@dataclass(frozen=True)
class Entries:
    """Couplings relative to a gauge state, and a scaling of the rows.

    Attributes
    ----------
    spins : numpy.ndarray
        The gauge state.
    gauged : numpy.ndarray
        ``J s s`` of every edge, chords (zero) included.
    scale : numpy.ndarray
        One number per leg: rows and columns are multiplied by its exponential.
    signs : numpy.ndarray
        Signs of the joins of the two legs of every edge.
    order : EliminationOrder
        The order to eliminate in; empty where pivots are searched for.
    deepest : float
        With an order: entries that matter lie between exp(-2 deepest) and exp(2 deepest).
    packing : CutPacking or None
        Sets of faces that prove the gauge state a ground state, where it is one.
    caps : Caps or None
        What the model lacks, where it is a capped one.
    threads : int
        How many share work on these arrays.
    """

    spins: Int8Array
    gauged: FloatArray
    scale: FloatArray
    signs: Int8Array
    order: EliminationOrder = NO_ORDER
    deepest: float = 0.0
    packing: CutPacking | None = None
    caps: Caps | None = None
    threads: int = 1

    @property
    def is_ordered(self) -> bool:
        """Whether there is an order to eliminate in."""
        return len(self.order.rank) > 0

    @property
    def is_cold(self) -> bool:
        """Whether couplings are so strong that an elimination is checked by another one."""
        return bool(np.abs(self.gauged).max(initial=0.0) > CALM_COUPLING)

    @property
    def is_strong(self) -> bool:
        """Whether terms of both signs may cancel to less than a double shows by its pivots."""
        return bool(np.abs(self.gauged).max(initial=0.0) > STRONG_COUPLING)

    @property
    def face(self) -> FloatArray:
        """Logarithm of the factor that a leg brings to the entries of its face."""
        return self._logarithms[0]

    @property
    def size(self) -> float:
        """Sum of the sizes of all numbers that are exponentiated."""
        return float(np.abs(self.gauged).sum() + self._logarithms[1] / 2)

    @property
    def whole(self) -> FloatArray:
        """Couplings of the model, which ``gauged`` are not where it is a capped one."""
        return self.gauged if self.caps is None else self.gauged + self.caps.removed

    @property
    def rejected(self) -> float:
        """See :class:`Caps`."""
        return 0.0 if self.caps is None else self.caps.rejected

    @property
    def step(self) -> float:
        """By how much caps may be lowered without another scaling: a power of two."""
        assert self.caps is not None
        used = 2 * self.deepest + max(2 * self.deepest, self._largest_join)
        room = PLAIN_ROOM - used if self.order.underflow else math.inf
        if self.order.clusters is not None:
            room = CLUSTERED_ROOM
        # Of n capped sets around one another, entries grow by exp(8 n step) at most.
        most = room / 8 * self.caps.cap / self.deepest if self.deepest > 0 else math.inf
        return 2.0 ** math.floor(math.log2(min(most, LARGEST_STEP)))

    def lowered(self) -> Entries:
        """Return the entries with values that are capped lower by a step, scaled the same way."""
        assert self.caps is not None
        return replace(self, gauged=self.gauged - self.step * self.caps.slope, caps=None)

    def _with_logarithms(self, known: tuple[FloatArray, float]) -> Entries:
        self.__dict__["_logarithms"] = known
        return self

    @cached_property
    def _logarithms(self) -> tuple[FloatArray, float]:
        face, _, size = leg_logarithms(self.scale, self.gauged, threads=self.threads)
        return face, size

    @property
    def in_double_range(self) -> bool:
        """Whether doubles hold all entries, and all products of two of them, without underflow.

        What underflows can be all that an odd cycle leaves over: both eliminations would lose
        it alike, and their difference would not show it.
        """
        if self.is_ordered:
            # A row that is divided by its pivot must not underflow: the row that it is then
            # multiplied with may be as large as that pivot.
            pivots = max(2 * self.deepest, self._largest_join)
            return bool(2 * self.deepest + pivots < LARGEST_LOGARITHM)
        joins = self.scale[0::2] + self.scale[1::2]
        least = min(2 * self.face.min(initial=0.0), joins.min(initial=0.0))
        return bool(least > LEAST_LOGARITHM)

    @property
    def _largest_join(self) -> float:
        return float(np.abs(self.scale[0::2] + self.scale[1::2]).max(initial=0.0))

    @property
    def in_wide_range(self) -> bool:
        """Whether double-double holds all entries."""
        return all(np.abs(x).max(initial=0.0) < LARGEST_WIDE for x in (self.face, self.scale))

    def with_signs(self, flips: Int8Array) -> Entries:
        """Return the entries of another sign structure."""
        return replace(self, signs=self.signs * flips)._with_logarithms(self._logarithms)

    def searched(self) -> Entries:
        """Return the same Pfaffian without an order: pivots are searched for."""
        return replace(self, order=NO_ORDER, deepest=0.0)

    def unscaled(self) -> Entries:
        """Return the same Pfaffian with rows as they are."""
        return replace(self, scale=np.zeros_like(self.scale))

    def unrounded(self) -> Entries:
        """Return the same Pfaffian with scales such that no ``scale - gauged`` is rounded.

        What cancels in a sum of signed Pfaffians then cancels to the last digit calculated with.
        """
        gauged = np.repeat(self.gauged, 2)
        face = np.rint(256 * (self.scale - gauged)) / 256
        scale = face + gauged
        taken = scale - face
        exact = (face - (scale - taken) == 0) & (gauged - taken == 0)
        return replace(self, scale=np.where(exact, scale, 0.0))

    def shaken(self) -> Entries:
        """Return the same Pfaffian with other rounding errors: rows scaled at random, within e."""
        face, scale, size = leg_logarithms(
            self.scale, self.gauged, shift=True, threads=self.threads
        )
        return replace(self, scale=scale)._with_logarithms((face, size))
