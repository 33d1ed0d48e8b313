"""Estimates of the rounding error of Pfaffians, and of their signed sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.kernels.pfaffian import Elimination, LogPfaffian
from planaris.planar.pfaffian.capped_moats import cap_loss
from planaris.planar.pfaffian.entries import Entries
from planaris.result import Stats
from planaris.typing import FloatArray

EPSILON = float(np.finfo(np.float64).eps)

WIDE_EPSILON = 2.0**-100
"""Rounding of double-double numbers, with some room."""

SAFETY = 16.0
"""Errors are stated this many times larger than estimated: two eliminations may agree by luck."""

CALM_EXPONENT = -8
"""So it is when a row that was handed on had shrunk below two to this power: what is left of a
sum after cancellation carries a relative error of at most epsilon times four to minus this."""

THRESHOLDS = 0.1, 0.3
"""How large a pivot must be, relative to its rows, the first time and the second."""

ORDERED_LOSS = 1e-6
"""How far rounding may take a pivot below its join before the elimination counts as spoilt."""

FELT = 16.0
"""Difference of two eliminations, in roundings of as many pivots, from which on a third one tells
what of it caps have added."""

LOST = 1e-3
"""Error of a logarithm from which on nothing is left of a Pfaffian."""


@dataclass(frozen=True)
class Estimate:
    """A Pfaffian, and how far its logarithm may be off.

    Attributes
    ----------
    pfaffian : LogPfaffian
        As computed.
    rounding : float
        What rounding does, as estimated; infinite where the elimination is spoilt.
    stats : dict
        Of the elimination.
    added : float
        What caps add, at most, as far as logarithms are right.
    """

    pfaffian: LogPfaffian
    rounding: float
    stats: Stats
    added: float = 0.0

    @property
    def error(self) -> float:
        """Of the logarithm."""
        return self.rounding + self.added

    @property
    def is_spoilt_by_rounding(self) -> bool:
        """Whether an elimination failed, or logarithms are farther apart than ever without."""
        return not self.rounding <= LOST

    @property
    def is_spoilt_by_caps(self) -> bool:
        """Whether caps, not rounding, decide the error."""
        least = EPSILON * FELT * self.pfaffian.pivots
        return math.isfinite(self.rounding) and self.added > max(self.rounding, least)


def is_sound(found: LogPfaffian, *, wide: bool, ordered: bool) -> bool:
    """Return whether every row found a pivot and no weight left the range of its numbers.

    Eliminated in order, every pivot is at least its join, and of the same sign.
    """
    in_range = wide or found.smallest_exponent > -900
    possible = not ordered or found.worst_ratio > 1.0 - ORDERED_LOSS
    return found.left_over == 0 and in_range and possible and math.isfinite(found.log_magnitude)


def is_calm(found: LogPfaffian, *, cold: bool) -> bool:
    """Return whether pivots were large and couplings weak enough for nothing to cancel."""
    calm = found.smallest_exponent >= CALM_EXPONENT and found.worst_ratio >= 0.1
    return calm and not cold


def calm_error(found: LogPfaffian) -> float:
    """Return how far rounding may have taken the logarithm of a calm elimination."""
    return EPSILON * (found.pivots + 4.0**-found.smallest_exponent)


def precision_name(wide: bool) -> str:
    """Return how ``stats`` call the numbers that were calculated with."""
    return "double-double" if wide else "double"


def elimination_stats(found: LogPfaffian, *, wide: bool) -> Stats:
    """Return what an elimination met, for the ``stats`` of an answer."""
    return {
        "precision": precision_name(wide),
        "delayed": found.delayed,
        "largest_front": found.largest_front,
        "worst_ratio": found.worst_ratio,
        "multiplications": found.multiplications,
    }


def estimate_log_pfaffian(
    elimination: Elimination, entries: Entries, *, signed: bool, wide: bool, budget: Budget
) -> Estimate:
    """Eliminate, and once more in another way unless hardly a pivot was out of place.

    The second time rows are scaled differently and pivots chosen by a stricter threshold, so
    the rounding errors of the two are independent and their difference shows them. Of a capped
    model the second one has lower caps, which shows what caps add as well; where that is felt, a
    third one tells them apart. ``signed`` tells that the Pfaffian has terms of both signs: good
    pivots do not show what cancels then.
    """
    options = {"wide": wide, "order": entries.order, "budget": budget}
    exactly = wide and not entries.is_ordered
    second = None
    if entries.is_ordered and not wide and budget.workers() > 1:
        first, second = _both(elimination, entries, budget)  # both are needed in any case
    else:
        entries = entries.unrounded() if exactly else entries
        first = _run(elimination, entries, threshold=THRESHOLDS[0], **options)
    stats = elimination_stats(first, wide=wide)
    if not is_sound(first, wide=wide, ordered=entries.is_ordered):
        return Estimate(first, math.inf, stats)
    cold = entries.is_cold or (signed and entries.is_strong)
    if is_calm(first, cold=cold) and not (entries.is_ordered or wide):
        return Estimate(first, calm_error(first), stats)

    def again(entries: Entries) -> LogPfaffian:
        shaken = entries.shaken().unrounded() if exactly else entries.shaken()
        return _run(elimination, shaken, threshold=THRESHOLDS[1], **options)

    if second is None:
        second = again(_checking(entries))
    if exactly:
        if not _agree(first, second, entries, wide=wide):
            return Estimate(first, math.inf, stats)
        apart = second.over(first) - 1
        if not abs(apart) < 1:  # nothing is known, and no float need hold it
            return Estimate(first, math.inf, stats)
        return Estimate(first, abs(float(apart)) + WIDE_EPSILON * first.pivots, stats)
    rounding = _apart(first, second, entries, wide=wide)
    if entries.caps is None:
        return Estimate(first, rounding, stats)
    ratio = second.log_magnitude - first.log_magnitude if rounding < math.inf else math.inf
    if rounding > FELT * EPSILON * first.pivots:
        rounding = _apart(first, again(entries), entries, wide=wide)
        ratio += rounding
    added = cap_loss(max(ratio, rounding), entries.step)
    return Estimate(first, rounding, stats, -math.log1p(-added) if added < 1 else math.inf)


def _agree(first: LogPfaffian, second: LogPfaffian, entries: Entries, *, wide: bool) -> bool:
    return is_sound(second, wide=wide, ordered=entries.is_ordered) and second.sign == first.sign


def _apart(first: LogPfaffian, second: LogPfaffian, entries: Entries, *, wide: bool) -> float:
    """Return how far two logarithms are apart, with one rounding per pivot."""
    if not _agree(first, second, entries, wide=wide):
        return math.inf
    return abs(second.log_magnitude - first.log_magnitude) + EPSILON * first.pivots


def _checking(entries: Entries) -> Entries:
    """Return what the second elimination is of: lower caps show what caps add."""
    return entries if entries.caps is None else entries.lowered()


def _run(elimination: Elimination, entries: Entries, **options: Any) -> LogPfaffian:
    return elimination.log_pfaffian(entries.face, entries.scale, entries.signs, **options)


def _both(
    elimination: Elimination, entries: Entries, budget: Budget
) -> tuple[LogPfaffian, LogPfaffian]:
    """Return the first and the second elimination, done by the same threads."""
    shaken = _checking(entries).shaken()
    return elimination.two_log_pfaffians(
        (entries.face, shaken.face),
        (entries.scale, shaken.scale),
        entries.signs,
        order=entries.order,
        thresholds=THRESHOLDS,
        budget=budget,
    )


class SignedSum:
    """Σ sign_k exp(log_k), with the errors of its terms; cancellation enlarges the error.

    Where all terms come with their sizes, exactly, nothing is rounded before they are added up.
    """

    def __init__(self) -> None:
        self._logs: list[float] = []
        self._signs: list[int] = []
        self._errors: list[float] = []
        self._sizes: list[LogPfaffian | None] = []
        self._shift = 0.0

    def add(
        self, log_magnitude: float, sign: int, error: float, size: LogPfaffian | None = None
    ) -> None:
        """Add a term with the error of its logarithm; ``size`` is the Pfaffian that it is of."""
        self._logs.append(log_magnitude)
        self._signs.append(sign)
        self._errors.append(error)
        self._sizes.append(size)

    def scaled(self, divisor: float) -> SignedSum:
        """Return the sum divided by a positive number."""
        result = SignedSum()
        result._logs, result._signs, result._errors = self._logs, self._signs, self._errors
        result._sizes = self._sizes
        result._shift = self._shift - math.log(divisor)
        return result

    @property
    def _known_sizes(self) -> list[LogPfaffian]:
        """All terms, if the size of each is known; else none."""
        known = [size for size in self._sizes if size is not None and size.has_size]
        return known if len(known) == len(self._sizes) else []

    def _terms(self) -> tuple[float, FloatArray, float]:
        """Return the largest logarithm, all terms relative to that one, and their sum."""
        top = max(self._logs)
        if top == -math.inf:
            return top, np.zeros(len(self._logs)), 0.0
        if sizes := self._known_sizes:
            largest = sizes[self._logs.index(top)]
            shares = [s * x.over(largest) for s, x in zip(self._signs, sizes, strict=True)]
            return top, np.array([float(share) for share in shares]), float(sum(shares))
        terms = np.array(self._signs) * np.exp(np.array(self._logs) - top)
        return top, terms, math.fsum(terms.tolist())

    def weights(self) -> FloatArray:
        """Return every term divided by the sum."""
        _, terms, total = self._terms()
        return np.asarray(terms / total)

    @property
    def log_value(self) -> float:
        """Logarithm of the sum; -inf where it is not positive."""
        if len(self._logs) == 1:
            return self._logs[0] + self._shift
        top, _, total = self._terms()
        return top + math.log(total) + self._shift if total > 0 else -math.inf

    @property
    def error(self) -> float:
        """Absolute error of the logarithm of the sum."""
        if len(self._logs) == 1:
            return self._errors[0]
        top, terms, total = self._terms()
        if not total > 0 or not math.isfinite(max(self._errors)):
            return math.inf
        rounding = EPSILON * (abs(top) + 4.0)
        each = np.array(self._errors)
        if not self._known_sizes:
            return float((np.abs(terms) * (each + rounding)).sum() / total)
        return float((np.abs(terms) * each).sum() / total) + rounding
