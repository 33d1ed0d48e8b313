"""Rounding errors of eliminations, also of models whose numbers are huge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.kernels.elimination import LARGEST_LOG, FactorArrays
from planaris.models import IsingModel, MarkovRandomField
from planaris.treewidth.flatten import Model
from planaris.typing import FloatArray

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Total:
    """A number as an unevaluated sum, and a bound on its error.

    Examples
    --------
    >>> total = Total((1e17, 0.25), 1e-9).plus(-1e17)
    >>> total.value, total.upper - total.lower < 1e-8
    (0.25, True)
    """

    terms: tuple[float, ...]
    error: float

    def plus(self, *terms: float) -> Total:
        """Return the sum with more terms, which have no error."""
        return Total((*self.terms, *terms), self.error)

    @property
    def value(self) -> float:
        """The sum, rounded to nearest."""
        return math.fsum(self.terms)

    @property
    def lower(self) -> float:
        """A double that is no larger than the number."""
        below = math.fsum([*self.terms, -self.error])
        return math.nextafter(below, -math.inf)

    @property
    def upper(self) -> float:
        """A double that is no smaller than the number."""
        above = self.nearest_above
        return above if above == -math.inf else math.nextafter(above, math.inf)

    @property
    def nearest_above(self) -> float:
        """A double that is no smaller than the number rounded to nearest."""
        return math.fsum([*self.terms, self.error])


def bracket(arrays: FactorArrays) -> tuple[list[float], FactorArrays, FactorArrays, float]:
    """Return constants, two models of smaller numbers with log Z between theirs, and an error.

    Of tables with huge entries the largest one is taken out as a constant. Entries far below it
    are raised in the first model, which makes Z larger, and have weight zero in the second, which
    makes it smaller. Differences of others round: no log weight is off by more than the error.

    Examples
    --------
    >>> offsets = np.array([0, 1]), np.array([0, 2])
    >>> logs = np.array([2.9e17, 3e15 + 0.5])
    >>> arrays = FactorArrays(np.array([2]), np.array([0]), offsets[0], logs, offsets[1])
    >>> constants, above, below, error = bracket(arrays)
    >>> constants, above.log_values.tolist(), round(error, 9)
    ([2.9e+17], [0.0, -2.87e+17], 0.5)
    """
    most = LARGEST_LOG / (4 * max(len(arrays.table_offsets) - 1, 1))
    starts = arrays.table_offsets[:-1]
    lengths = np.diff(arrays.table_offsets)
    finite = np.isfinite(arrays.log_values)
    sizes = np.maximum.reduceat(np.where(finite, np.abs(arrays.log_values), 0.0), starts)
    tops = np.maximum.reduceat(arrays.log_values, starts)
    huge = (sizes > most) & np.isfinite(tops)
    tops = np.where(huge, tops, 0.0)
    logs = arrays.log_values - np.repeat(tops, lengths)
    far = np.repeat(huge, lengths) & (logs < -most) & finite
    with np.errstate(invalid="ignore"):
        lost = np.abs(_rounding_of_difference(arrays.log_values, np.repeat(tops, lengths), logs))
    lost = np.where(finite & ~far, lost, 0.0)
    error = float(np.maximum.reduceat(lost, starts)[huge].sum()) * (1.0 + EPS * len(starts))
    above, below = (np.where(far, value, logs) for value in (-most, -np.inf))
    constants: list[float] = tops[huge].tolist()
    raised, cut = (arrays._replace(log_values=x) for x in (above, below))
    return constants, raised, cut, error


def _rounding_of_difference(a: FloatArray, b: FloatArray, difference: FloatArray) -> FloatArray:
    """Return (a - b) - fl(a - b), which is a double (Knuth)."""
    other = difference - a
    return np.asarray((a - (difference - other)) - (b + other))


def shaken(model: Model) -> Model:
    """Return the model with the last places of its numbers changed at random.

    An answer that changes with them is not in the numbers.
    """
    rng = np.random.default_rng(0)

    def shake(values: FloatArray) -> FloatArray:
        return values * (1.0 - EPS * rng.integers(0, 3, len(values)))

    if isinstance(model, IsingModel):
        return model.with_couplings(shake(model.couplings), shake(model.fields))
    return MarkovRandomField.from_arrays(
        model.cardinalities,
        model.scopes,
        model.scope_offsets,
        shake(model.log_values),
        model.table_offsets,
        log=True,
    )
