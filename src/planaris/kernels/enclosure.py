"""Rigorous enclosures of Pfaffians computed in floating point, compiled."""

from __future__ import annotations

from dataclasses import dataclass

from planaris import _core
from planaris.budget import Budget
from planaris.kernels.pfaffian import ALONE, Elimination, EliminationOrder
from planaris.typing import FloatArray, Int8Array

ProofWeights = _core.ProofWeights
"""Factors of the terms of the bound, for tests."""

SHARE = 2.0**-14
"""How large a part of its bound the error of the inverse may be, where that is all it is for."""


@dataclass(frozen=True)
class PfaffianEnclosure:
    """``|log |Pf K| - log(mantissa · 2^exponent)| <= error``, where ``sound``, on a plane.

    On other surfaces that holds, without ``entries``, of the matrix whose entries are rounded;
    ``entries`` bounds what their rounding does to the sum over even sets of any one class.

    Attributes
    ----------
    radii, wide : bool
        Whether radii were carried along, if not, errors were swept down; and whether entries were
        pairs of doubles.
    sound : bool
        False where nothing is proved: a pivot may vanish, or a number left the range.
    negative : bool
        Sign of the Pfaffian, relative to the term of all joins, taken as positive.
    mantissa, exponent : float, int
        The product of the sizes of all pivots.
    entries, elimination, product : float
        What exponentials, the elimination and the product of pivots add to the error.
    eta, first : float
        By sweep: half the nuclear norm of all backward errors, and what they do to first order.
    inflation : float
        By sweep: how much bounds were enlarged to hold the roundings of the sweep, in all.
    largest_front : int
        Rows of the largest front.
    uncut, uncut_error : numpy.ndarray
        By sweep: the probability that each edge is not cut, and a bound on its error.
    """

    radii: bool
    wide: bool
    sound: bool
    negative: bool
    mantissa: float
    exponent: int
    entries: float
    elimination: float
    product: float
    eta: float
    first: float
    inflation: float
    largest_front: int
    uncut: FloatArray
    uncut_error: FloatArray

    @property
    def error(self) -> float:
        """Bound on the error of the logarithm, with room for the roundings of this sum."""
        return (self.entries + self.own_error) * (1.0 + 2.0**-40)

    @property
    def own_error(self) -> float:
        """The same without what rounded entries do."""
        return (self.elimination + self.product) * (1.0 + 2.0**-40)


def enclose_sum(
    terms: FloatArray, mantissa: float, twos: int, error: float
) -> tuple[float, float, float]:
    """Enclose ``Σ terms + log mantissa + twos log 2``, itself off by ``error`` at most.

    Returns
    -------
    tuple
        The ends, rounded outwards, and the middle. No logarithm of a library is trusted.

    Examples
    --------
    >>> import numpy as np
    >>> enclose_sum(np.array([1.0]), 1.5, 0, 0.0)[2]
    1.4054651081081644
    """
    return _core.enclose_sum(terms, mantissa, twos, error)


def enclose(
    elimination: Elimination,
    gauged: FloatArray,
    scale: FloatArray,
    signs: Int8Array,
    order: EliminationOrder,
    *,
    radii: bool,
    wide: bool = False,
    split: bool = False,
    coarse_rows: int = 64,
    share: float = SHARE,
    weights: _core.ProofWeights | None = None,
    budget: Budget = ALONE,
) -> PfaffianEnclosure:
    """Eliminate in an order and bound what rounding has done.

    Legs i, j of a face meet at ``exp(f_i + f_j)``, ``f`` being ``scale - gauged`` as real
    numbers, and the legs of an edge at ``±exp(scale + scale)``. ``radii`` carries a bound with
    every entry, good at low temperatures; without, errors are bounded by a sweep afterwards,
    good at high ones. ``wide`` calculates with pairs of doubles; without radii, ``split`` does so
    faster and less exactly where fronts are large, and sweeps sizes alone down fronts of up to
    ``coarse_rows`` rows if that costs little.
    """
    found = _core.enclose(
        elimination._core,
        gauged,
        scale,
        signs,
        order.earliest,
        order.rank,
        radii,
        wide,
        split and wide and not radii,
        coarse_rows,
        share,
        _core.ProofWeights() if weights is None else weights,
        budget.workers(),
        budget.poller(),
    )
    return PfaffianEnclosure(
        radii=radii,
        wide=wide,
        sound=found.sound,
        negative=found.negative,
        mantissa=found.mantissa,
        exponent=found.exponent,
        entries=found.entries,
        elimination=found.elimination,
        product=found.product,
        eta=found.eta,
        first=found.first,
        inflation=found.inflation,
        largest_front=found.largest_front,
        uncut=found.uncut,
        uncut_error=found.uncut_error,
    )
