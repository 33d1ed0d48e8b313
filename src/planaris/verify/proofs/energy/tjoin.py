"""Check a T-join against its packing of T-cuts, in exact arithmetic.

Only the graph, the chosen edges and the packing are looked at. Numbers are columns of digits in
base 2^32, one row per digit, added without carries in int64 (sums of fewer than 2^31 digits
cannot overflow) and carried once before they are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from planaris.typing import Array, BoolArray, LongArray
from planaris.verify.proof_arrays import check, check_nested, distinct

if TYPE_CHECKING:
    from planaris.matching.tjoins import CutPacking, PerfectMatching, TJoin
    from planaris.result import TJoinProof

BASE_BITS = 32
DIGIT = (1 << BASE_BITS) - 1
BLOCK = 32
MAX_EXPONENT = 4096  # of two; doubles and their sums are within 2200


def check_tjoin(
    num_vertices: int,
    edges: ArrayLike,
    weights: ArrayLike,
    odd: ArrayLike,
    result: TJoin,
    *,
    boundary: ArrayLike | None = None,
) -> None:
    """Raise :class:`VerificationError` unless `result` is a lightest T-join, proved.

    Where it does not claim that (``result.exact`` is False), it must be a T-join, and its packing
    must prove the lower bound.

    Parameters
    ----------
    num_vertices, edges, weights, odd, boundary
        The problem, as given to ``minimum_tjoin``.
    result : TJoin
        Chosen edges, their weight, and the packing of T-cuts.

    Examples
    --------
    >>> from planaris.matching.tjoins import minimum_tjoin
    >>> problem = (4, [(0, 1), (1, 2), (2, 3), (3, 0)], [3, 4, 1, 5], [0, 2])
    >>> check_tjoin(*problem, minimum_tjoin(*problem))
    """
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    parity = np.bincount(np.asarray(odd, np.int64), minlength=num_vertices) % 2
    free = np.zeros(num_vertices, bool)
    if boundary is not None:
        free[np.asarray(boundary, np.int64)] = True
    join = _chosen(result.join, len(ends))
    degree = np.bincount(ends[join].ravel(), minlength=num_vertices) % 2
    wrong = np.flatnonzero((degree != parity) & ~free)
    check(
        wrong.size == 0, f"the join has the wrong parity at {wrong.size} vertices", vertices=wrong
    )
    numbers = _Numbers.of(np.asarray(weights), result.certificate, offset=(0, 0))
    total = numbers.total(numbers.weights[:, join])
    kind = np.asarray(weights).dtype.kind
    _require_objective(result, total, numbers.unit, kind)
    proved = numbers.total(numbers.values)
    if result.exact:
        check(proved == total, "the packing does not add up to the objective")
        check(result.lower == result.objective, "the lower bound is not the objective")
    else:
        value = Fraction(proved) * Fraction(2) ** numbers.unit
        least = value if kind == "f" else Fraction(math.ceil(value))
        check(result.lower <= least, "the packing does not add up to the lower bound")
    _check_packing(num_vertices, ends, parity, free, result.certificate, numbers)


def check_perfect_matching(
    num_vertices: int, edges: ArrayLike, weights: ArrayLike, result: PerfectMatching
) -> None:
    """Raise :class:`VerificationError` unless `result` is a lightest perfect matching, proved.

    The packing must fit the weights plus ``result.offset``, which every perfect matching pays
    ``num_vertices / 2`` times; as every perfect matching joins the set of all vertices, none
    can weigh less than the packing says.

    Parameters
    ----------
    num_vertices, edges, weights
        The problem, as given to ``min_weight_perfect_matching``.
    result : PerfectMatching
        Chosen edges, their weight, and the packing of odd cuts.

    Examples
    --------
    >>> from planaris.matching.tjoins import min_weight_perfect_matching
    >>> problem = (4, [(0, 1), (1, 2), (2, 3), (3, 0)], [3, -4, 1, 5])
    >>> check_perfect_matching(*problem, min_weight_perfect_matching(*problem))
    """
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    join = _chosen(result.matching, len(ends))
    degree = np.bincount(ends[join].ravel(), minlength=num_vertices)
    check(bool((degree == 1).all()), "some vertex is not matched exactly once")
    offset = (result.offset, result.exponent)
    numbers = _Numbers.of(np.asarray(weights), result.certificate, offset=offset)
    total = numbers.total(numbers.weights[:, join])
    paid = result.offset * len(join) << (result.exponent - numbers.unit)
    _require_objective(result, total - paid, numbers.unit, np.asarray(weights).dtype.kind)
    proved = numbers.total(numbers.values)
    check(proved == total, "the packing does not add up to the objective")
    all_odd, none_free = np.ones(num_vertices, np.int64), np.zeros(num_vertices, bool)
    _check_packing(num_vertices, ends, all_odd, none_free, result.certificate, numbers)


def packing_value(
    num_vertices: int,
    edges: ArrayLike,
    weights: ArrayLike,
    odd: ArrayLike,
    packing: CutPacking | TJoinProof,
    *,
    boundary: ArrayLike,
) -> Fraction:
    """Return the value of a packing of T-cuts after checking it: no T-join weighs less."""
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    parity = np.bincount(np.asarray(odd, np.int64), minlength=num_vertices) % 2
    free = np.zeros(num_vertices, bool)
    free[np.asarray(boundary, np.int64)] = True
    numbers = _Numbers.of(np.asarray(weights), packing, offset=(0, 0))
    total = numbers.total(numbers.values)
    _check_packing(num_vertices, ends, parity, free, packing, numbers)
    return Fraction(total) * Fraction(2) ** numbers.unit


def _chosen(edges: Array, num_edges: int) -> LongArray:
    join = np.asarray(edges, np.int64)
    inside = join.size == 0 or (int(join.min()) >= 0 and int(join.max()) < num_edges)
    check(inside, f"an edge outside 0 .. {num_edges - 1} was chosen")
    check(distinct(join), "an edge was chosen twice")
    return join


def _require_objective(result: Any, total: int, unit: int, kind: str) -> None:
    exact = Fraction(total) * Fraction(2) ** unit
    stated = Fraction(result.numerator) * Fraction(2) ** result.exponent
    check(exact == stated, "the exact objective is not the weight of the chosen edges")
    if kind == "f":
        try:
            rounded = float(exact)
        except OverflowError:
            rounded = math.inf if total > 0 else -math.inf
        check(result.objective == rounded, "the objective is not the rounded exact weight")
    else:
        check(result.objective == exact, "the objective is not the exact weight")


def _check_packing(
    num_vertices: int,
    ends: LongArray,
    parity: LongArray,
    free: BoolArray,
    packing: CutPacking | TJoinProof,
    numbers: _Numbers,
) -> None:
    order = np.asarray(packing.order, np.int64)
    start, stop, parent = (
        np.asarray(a, np.int64) for a in (packing.start, packing.stop, packing.parent)
    )
    check_nested(num_vertices, order, start, stop, parent)
    inside = np.concatenate(([0], np.cumsum(parity[order])))
    even = np.flatnonzero((inside[stop] - inside[start]) % 2 == 0)
    check(even.size == 0, f"{even.size} sets hold an even number of odd vertices", sets=even)
    held = np.concatenate(([0], np.cumsum(free[order])))
    touching = np.flatnonzero(held[stop] != held[start])
    check(touching.size == 0, f"{touching.size} sets hold a boundary vertex", sets=touching)
    place = np.full(num_vertices, -1, np.int64)
    place[order] = np.arange(order.size)
    _check_edges(place[ends], start, stop, numbers, order.size)


def _check_edges(
    place: LongArray, start: LongArray, stop: LongArray, numbers: _Numbers, size: int
) -> None:
    """Check that no edge is separated by sets of more than its weight."""
    left = np.minimum(place[:, 0], place[:, 1])
    right = np.maximum(place[:, 0], place[:, 1])
    around = numbers.stabbed(start, stop, size + 1)  # last column: vertices in no set
    loop = (left == right) & (left >= 0)
    left[loop] = right[loop] = -1  # no set separates a vertex from itself
    carry = np.zeros(len(left), np.int64)
    for weight, row in zip(numbers.weights, around, strict=True):
        carry = (weight - row[left] - row[right] + carry) >> BASE_BITS
    broken = np.flatnonzero(carry < 0)
    # Sets around both ends were counted twice. Along the order they are the ones around the
    # gap, between the two places, that the fewest sets bridge.
    first, last = left[broken], right[broken]
    apart = first < 0
    depth = np.zeros(size + 1, np.int64)
    np.add.at(depth, start, 1)
    np.add.at(depth, stop - 1, -1)
    gap = _lowest_between(np.cumsum(depth), np.where(apart, 0, first), np.where(apart, 0, last))
    gap[apart] = -1
    carry = np.zeros(len(broken), np.int64)
    bridges = numbers.stabbed(start, stop - 1, size + 1)
    for weight, row, both in zip(numbers.weights, around, bridges, strict=True):
        cut = row[first] + row[last] - 2 * both[gap]
        carry = (weight[broken] - cut + carry) >> BASE_BITS
    broken = broken[carry < 0]
    check(broken.size == 0, f"{broken.size} edges are cut by more than their weight", edges=broken)


def _lowest_between(depth: LongArray, left: LongArray, right: LongArray) -> LongArray:
    """Return the place of the least `depth` in each range left <= i < right, 0 for none.

    Two tables are looked up: of ranges of 1, 2, 4, ... BLOCK places, and of ranges of 1, 2, 4,
    ... whole blocks, which together is no longer than the order while that has fewer than
    2^BLOCK places. So the time is linear.
    """
    width = np.minimum(right - left, BLOCK)
    ends = np.concatenate([left, right - width]), np.concatenate([left + width, right])
    first, last = np.split(_least(depth, np.arange(depth.size), *ends), 2)
    answer = _lower(depth, first, last)
    padded = np.concatenate([depth, np.full(-depth.size % BLOCK, depth.max())])
    least = padded.reshape(-1, BLOCK).argmin(axis=1) + BLOCK * np.arange(padded.size // BLOCK)
    begin, end = -(-left // BLOCK), right // BLOCK
    spans = np.flatnonzero(begin < end)
    inner = _least(depth, least, begin[spans], end[spans])
    answer[spans] = _lower(depth, answer[spans], inner)
    return answer


def _least(depth: LongArray, best: LongArray, left: LongArray, right: LongArray) -> LongArray:
    """Return which of ``best[left:right]`` names the place of least depth, for each range."""
    answer = np.zeros(left.size, np.int64)
    length = right - left
    for level in range(int(length.max(initial=0)).bit_length()):
        width = 1 << level
        now = np.flatnonzero(length >> level == 1)
        answer[now] = _lower(depth, best[left[now]], best[right[now] - width])
        best = _lower(depth, best[:-width], best[width:])
    return answer


def _lower(depth: LongArray, first: LongArray, second: LongArray) -> LongArray:
    return np.where(depth[first] <= depth[second], first, second)


@dataclass(frozen=True)
class _Numbers:
    """Weights and dual values as digits of one unit, 2**unit: arrays (digits, count)."""

    weights: LongArray
    values: LongArray
    unit: int

    @classmethod
    def of(
        cls, weights: Any, packing: CutPacking | TJoinProof, offset: tuple[int, int]
    ) -> _Numbers:
        mantissas, exponents = _dyadic(weights)
        raw: Any = np.asarray(packing.digits, np.int64)
        check(len(raw) == len(packing.start), "the packing needs one value per set")
        check(abs(packing.exponent) <= MAX_EXPONENT, "the unit of the packing is out of range")
        used = exponents[mantissas != 0]
        unit = min(int(used.min(initial=packing.exponent)), packing.exponent, offset[1])
        lift = packing.exponent - unit
        bits = (53 if weights.dtype.kind == "f" else 64) + int(used.max(initial=unit)) - unit
        if raw.ndim == 2:
            raw = raw[:, : int(np.flatnonzero(raw.any(axis=0)).max(initial=0)) + 1]
        bits = max(bits, lift + (64 if raw.ndim == 1 else BASE_BITS * raw.shape[1]))
        bits = max(bits, offset[0].bit_length() + offset[1] - unit)
        rows = bits // BASE_BITS + 2  # the last one keeps the sign
        if raw.ndim == 1:
            check(bool((raw > 0).all()), "a set has no positive value")
            values = _place(raw, np.full(raw.size, lift), rows)
        else:
            check(bool(((raw >= 0) & (raw <= DIGIT)).all()), "a value has a broken digit")
            check(bool(raw.any(axis=1).all()), "a set has no positive value")
            values = np.zeros((rows, len(raw)), np.int64)
            for i, column in enumerate(raw.T):
                values += _place(column, np.full(len(raw), lift + BASE_BITS * i), rows)
        placed = _place(mantissas, np.where(mantissas == 0, 0, exponents - unit), rows)
        shift = offset[0] << (offset[1] - unit)
        for i in range(rows):
            placed[i] += shift >> (BASE_BITS * i) & DIGIT if i + 1 < rows else shift >> (32 * i)
        return cls(placed, values, unit)

    @staticmethod
    def total(digits: LongArray) -> int:
        """Add up all columns."""
        sums = digits.sum(axis=1)
        return sum(int(s) << (BASE_BITS * i) for i, s in enumerate(sums))

    def stabbed(self, start: LongArray, stop: LongArray, size: int) -> LongArray:
        """Return, for each place, the values of the sets with start <= place < stop."""
        change = np.zeros((len(self.values), size), np.int64)
        for row, value in zip(change, self.values, strict=True):
            np.add.at(row, start, value)
            np.subtract.at(row, stop, value)
        return np.cumsum(change, axis=1)


def _dyadic(weights: Any) -> tuple[LongArray, LongArray]:
    if weights.dtype.kind != "f":
        whole = weights.astype(np.int64)
        return whole, np.zeros(whole.shape, np.int64)
    fraction, exponent = np.frexp(weights.astype(np.float64))
    return np.ldexp(fraction, 53).astype(np.int64), exponent.astype(np.int64) - 53


def _place(mantissas: LongArray, shifts: LongArray, rows: int) -> LongArray:
    """Write int64 numbers times 2**shifts as digits; floor division keeps signs right."""
    digits = np.zeros((rows, mantissas.size), np.int64)
    word, bit = np.divmod(np.asarray(shifts, np.int64), BASE_BITS)
    low = (mantissas & DIGIT) << bit
    high = (mantissas >> BASE_BITS) << bit
    column = np.arange(mantissas.size)
    digits[word, column] += low & DIGIT
    digits[word + 1, column] += (low >> BASE_BITS) + (high & DIGIT)
    digits[word + 2, column] += high >> BASE_BITS
    return digits
