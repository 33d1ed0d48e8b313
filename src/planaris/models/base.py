"""What both kinds of models share: exact energies, what counts as exact, temperatures, memory.

An energy is a sum of doubles, exact and rounded once. Structure of a model is found once and
shared by everything that asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from planaris.errors import EmbeddingError, ModelError, NotPlanarError, PlanarisError
from planaris.models.arrays import as_number
from planaris.typing import Array, FloatArray

Model = TypeVar("Model")
Given = ParamSpec("Given")
Found = TypeVar("Found")

REMEMBERED = (NotPlanarError, EmbeddingError)
"""Refusals that are as final as answers."""

EPS = float(np.finfo(np.float64).eps)

FEW_TERMS = 500
"""Numbers up to which a sum over a list is faster than sums over slices of an array."""

BLOCK = 2**14
"""Numbers that are sliced at once, so that they stay in the processor's cache."""

BITS = 51
"""Partial sums of a slice stay below this many bits, so that none of them rounds."""

RELATIVE = 1e-10
"""Energy tolerance relative to the sum of the parameters, each counted at most as the scale of the
model."""

SPLIT = 1e-10
"""Relative difference below which two sizes count as equal: a tie that was broken on purpose."""

NEIGHBOURS = 100_000
"""Number of entries of which neighbours are compared first, before all entries are sorted."""


class ScaledModel:
    """Models can be multiplied by numbers, compared and pickled.

    ``factor * model`` multiplies every log weight, ``model.at(beta)`` does the same for an
    inverse temperature.
    """

    __slots__: tuple[str, ...] = ()
    __array_ufunc__ = None  # numpy's scalars leave the product to __rmul__

    def _scaled(self, factor: float) -> Self:
        raise NotImplementedError

    def _freeze(self) -> None:
        """Make the arrays read-only."""
        raise NotImplementedError

    def _content(self) -> tuple[Any, ...]:
        """Return what two equal models have in common; arrays or plain values."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "_memo"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._freeze()

    def at(self, beta: float) -> Self:
        """Return the model at inverse temperature ``beta``: P(s) ∝ exp(-beta * energy(s)).

        Parameters
        ----------
        beta : float
            Not negative. ``model.at(1 / T)`` is the model at temperature T.

        Examples
        --------
        >>> from planaris.models import IsingModel
        >>> model = IsingModel([(0, 1)], [2.0], fields=[1.0, 0.0])
        >>> model.at(0.5).couplings.tolist(), model.at(0.5).fields.tolist()
        ([1.0], [0.5, 0.0])
        """
        number = as_number("beta", beta)
        if number < 0:
            msg = f"`beta` must not be negative, got {beta!r}; `-1 * model` turns all signs"
            raise ModelError(msg)
        return self._scaled(number)

    def __mul__(self, factor: Any) -> Self:
        if isinstance(factor, bool) or not np.isscalar(factor) or isinstance(factor, str | bytes):
            return NotImplemented
        return self._scaled(as_number("factor", factor))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(
            np.array_equal(mine, its) if isinstance(mine, np.ndarray) else mine == its
            for mine, its in zip(self._content(), other._content(), strict=True)
        )

    def __hash__(self) -> int:
        # Equal numbers may differ in bits (0.0 and -0.0): only the integers are hashed.
        return hash(
            tuple(
                part.tobytes()
                for part in self._content()
                if isinstance(part, np.ndarray) and part.dtype.kind == "i"
            )
        )


# -- structure, found once per model --------------------------------------------------------------


def memo_of(model: Any) -> dict[Hashable, Any]:
    """Return what is remembered of a model. Models do not change, so it stays true.

    Copies and pickles of a model begin with nothing.
    """
    memo: dict[Hashable, Any] | None = getattr(model, "_memo", None)
    if memo is None:
        memo = {}
        model._memo = memo
    return memo


def once_per_model(
    find: Callable[Concatenate[Model, Given], Found],
) -> Callable[Concatenate[Model, Given], Found]:
    """Let a function of a model, and of hashable arguments, compute its answer once.

    A refusal because the model is not planar is remembered too.

    Examples
    --------
    >>> from planaris.models import IsingModel
    >>> @once_per_model
    ... def count(model):
    ...     print("counting")
    ...     return model.num_edges
    >>> pair = IsingModel([(0, 1)], [1.0])
    >>> count(pair), count(pair)
    counting
    (1, 1)
    """

    @wraps(find)
    def found(model: Model, /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        memo = memo_of(model)
        key = (find.__module__, find.__qualname__, args, tuple(sorted(kwargs.items())))
        if key not in memo:
            try:
                memo[key] = find(model, *args, **kwargs)
            except REMEMBERED as reason:
                memo[key] = _Refusal(reason)
        answer = memo[key]
        if isinstance(answer, _Refusal):
            raise answer.reason.with_traceback(None)
        return answer  # type: ignore[no-any-return]

    return found


@dataclass(frozen=True)
class _Refusal:
    reason: PlanarisError


# -- sums of doubles, exact and rounded once ------------------------------------------------------


def sum_below(*terms: float) -> float:
    """Return the largest double that is no more than a sum.

    >>> sum_below(1e6, -1e-300) < 1e6 == sum_below(1e6, 0.0)
    True
    """
    total = math.fsum(terms)
    if not math.isfinite(total):
        return total
    return math.nextafter(total, -math.inf) if math.fsum([*terms, -total]) < 0 else total


def slices(values: FloatArray) -> list[FloatArray]:
    """Split numbers into slices that add up to them, each with sums that do not round.

    All numbers of a slice are multiples of one power of two, and their absolute values add up to
    at most ``2**51`` times it. Any signed partial sum of a slice is then a double, whatever the
    order: matrix products over a slice are exact. Minus infinity stays in the first slice.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in slices(np.array([1e17, 0.25, -3.0]))]
    [[1e+17, 0.0, 0.0], [0.0, 0.25, -3.0]]
    """
    rest = np.array(values, dtype=np.float64)
    infinite = rest == -np.inf if rest.min(initial=0.0) == -np.inf else None
    if infinite is not None:
        rest[infinite] = 0.0
    found: list[FloatArray] = []
    while (largest := float(max(rest.max(initial=0.0), -rest.min(initial=0.0)))) > 0:
        unit = max(math.frexp(largest)[1] + len(rest).bit_length() - BITS, -1074)
        part = _round_to(rest, unit)
        rest -= part
        found.append(part)
    found = found or [np.zeros(len(values))]
    if infinite is not None:
        found[0][infinite] = -np.inf
    return found


def _round_to(values: FloatArray, unit: int) -> FloatArray:
    """Round to multiples of ``2**unit``, for values below ``2**(unit + 51)``."""
    if -1022 <= unit <= 970:
        large = math.ldexp(1.5, unit + 52)  # its last place is the unit
        rounded = values + large
        rounded -= large
        return rounded
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -unit)), unit))


def round_once(sums: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of several arrays, entry by entry, as if rounded once.

    >>> import numpy as np
    >>> round_once([np.array([1e17]), np.array([-1e17]), np.array([0.25])]).tolist()
    [0.25]
    """
    if len(sums) == 1:
        return sums[0]
    if len(sums) == 2:
        return np.asarray(sums[0] + sums[1])
    terms = np.stack([np.ravel(part) for part in sums], axis=1)
    with np.errstate(invalid="ignore"):
        above, below = _two_roundings(terms)
    for row in np.flatnonzero(~(above == below)):
        below[row] = math.fsum(terms[row].tolist())
    return below.reshape(np.shape(sums[0]))


def _two_roundings(terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return numbers between which the sums of the rows, correctly rounded, lie."""
    high = terms[:, 0]
    rest, size = np.zeros(len(high)), np.zeros(len(high))
    for term in terms.T[1:]:
        total = high + term
        other = total - high
        error = (high - (total - other)) + (term - other)  # exact (Knuth)
        rest, size, high = rest + error, size + np.abs(error), total
    slack = 2.0 * EPS * terms.shape[1] * size
    return high + (rest + slack), high + (rest - slack)


def exact_sums(values: FloatArray, add: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return ``add(values)``, a signed sum of the values, correctly rounded to nearest.

    Parameters
    ----------
    values : numpy.ndarray
        Finite numbers or minus infinity.
    add : callable
        Adds up an array like ``values``: every number at most once, with either sign.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([1e17, 0.25, -1e17])
    >>> float(values.sum()), float(exact_sums(values, np.sum))
    (0.0, 0.25)
    """
    return round_once([np.asarray(add(part)) for part in slices(values)])


def exact_sum(values: FloatArray) -> float:
    """Return the sum of an array, correctly rounded, as :func:`math.fsum` does for a list.

    >>> import numpy as np
    >>> exact_sum(np.array([1e17, 0.25, -1e17]))
    0.25
    """
    if len(values) <= FEW_TERMS or not np.all(np.isfinite(values)):
        return math.fsum(values.tolist())
    blocks = (values[k : k + BLOCK] for k in range(0, len(values), BLOCK))
    sums = [float(part.sum()) for block in blocks for part in slices(block)]  # exact, each
    try:
        return math.fsum(sums)
    except OverflowError:
        return float(exact_sums(values, np.sum))


# -- how narrow an interval must be to count as exact (docs/conventions.md) -----------------------


def energy_tolerance(sizes: FloatArray, smallest: Callable[[], float] | None = None) -> float:
    """Return the widest interval around the minimum energy that counts as exact.

    It is 1e-10 times the sum of the sizes, none of them counted as more than the scale of the
    model: the median size, but where that is above 1, no more than the smallest difference
    that counts, or 1. A few huge parameters, or many huge penalties, therefore never hide
    differences of ordinary ones.

    Parameters
    ----------
    sizes : numpy.ndarray
        What each parameter can change: ``|J|`` and ``|h|``, or the range of a factor's table.
    smallest : callable, optional
        Returns the smallest difference that counts; default: the smallest size, or the
        smallest step between two sizes that are equal to ten digits.

    Examples
    --------
    >>> energy_tolerance(np.array([1.0, 2.0, 3.0]))
    3e-10
    >>> energy_tolerance(np.array([1e17, 1e17, 0.5, 0.0]))
    2.5e-10
    """
    positive = sizes > 0
    sizes = sizes if positive.all() else sizes[positive]
    if not len(sizes):
        return 0.0
    scale = _median(sizes)
    if scale > 1.0:
        least = _smallest_size(sizes) if smallest is None else smallest()
        scale = min(scale, max(1.0, least))
    return RELATIVE * float(np.minimum(sizes, scale).sum())


def _median(values: FloatArray) -> float:
    """Return the median, as NumPy's function does, which is slow for few numbers."""
    middle = len(values) // 2
    parted = np.partition(values, middle)  # of one place: several ones take ten times as long
    above = float(parted[middle])
    return above if len(values) % 2 else (float(parted[:middle].max()) + above) / 2


def _smallest_size(sizes: FloatArray) -> float:
    ordered = np.sort(sizes)
    steps = np.diff(ordered)
    split = steps[(steps > 0) & (steps < SPLIT * ordered[1:])]
    return min(float(ordered[0]), float(split.min(initial=np.inf)))


def smallest_step(values: FloatArray, table: Array) -> float:
    """Return the smallest difference of two finite entries of one table.

    A step below 1 that is found at once is as good as the smallest: no scale is below 1.

    >>> smallest_step(np.array([0.0, 5.0, 5.25, 9.0]), np.array([0, 0, 0, 1]))
    0.25
    """
    near, same = np.diff(values[:NEIGHBOURS]), np.diff(table[:NEIGHBOURS]) == 0
    near = np.abs(near[same & (near != 0.0) & np.isfinite(near)])
    if len(near) and near.min() < 1.0:
        return float(near.min())
    order = np.lexsort((values, table))
    steps, same = np.diff(values[order]), np.diff(table[order]) == 0
    steps = steps[same & np.isfinite(steps) & (steps > 0)]
    return float(steps.min(initial=np.inf))
