"""Bounds on sums over spins by pieces of small width that share spins, compiled."""

from __future__ import annotations

from planaris import _core
from planaris.budget import Budget, team
from planaris.typing import FloatArray

PieceSums = _core.PieceSums
"""``logs`` and ``errors`` by piece; ``by_field``, ``by_coupling`` and ``by_weight`` (derivatives,
from above) or ``reached`` and ``gain`` (by value of the context, from below)."""

PieceSweep = _core.PieceSweep
"""``PieceSweep(spin_offsets, edge_offsets, edges, shared, context, max_bits)``: pieces one after
the other, their spins numbered from zero in the order in which they are eliminated.
``OverflowError`` if a table would have more than ``2^max_bits`` entries."""


def sweep_above(
    sweep: _core.PieceSweep,
    couplings: FloatArray,
    fields: FloatArray,
    weights: FloatArray,
    *,
    budget: Budget | None = None,
) -> _core.PieceSums:
    """Return logarithms of the pieces that add up to an upper bound on log Z.

    ``FloatingPointError`` if the entries of a table differ by more than doubles can say.
    """
    return sweep.above(couplings, fields, weights, *team(budget))


def sweep_below(
    sweep: _core.PieceSweep,
    couplings: FloatArray,
    fields: FloatArray,
    weights: FloatArray,
    up: FloatArray,
    *,
    budget: Budget | None = None,
) -> _core.PieceSums:
    """Return logarithms of the pieces that add up to a lower bound on log Z.

    ``FloatingPointError`` if the entries of a table differ by more than doubles can say.
    """
    return sweep.below(couplings, fields, weights, up, *team(budget))
