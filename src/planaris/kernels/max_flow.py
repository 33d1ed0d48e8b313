"""Minimum cuts, signs of edges and local descent, compiled."""

from __future__ import annotations

from planaris import _core
from planaris.budget import Budget, control
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray


def minimum_cut(
    edges: IntArray,
    capacities: FloatArray,
    terminals: FloatArray,
    *,
    budget: Budget | None = None,
) -> tuple[BoolArray, FloatArray, float, int]:
    """Return (smallest source side, flow by edge, rounding of weights, bits of integers).

    The rounding is zero when integers could hold all weights exactly; the cut is then exactly
    minimum.
    """
    side, flow, rounding, bits = _core.minimum_cut(edges, capacities, terminals, *control(budget))
    return side.astype(bool), flow, rounding, bits


def balance_signs(
    num_vertices: int, edges: IntArray, couplings: FloatArray
) -> tuple[Int8Array, IntArray]:
    """Return (signs that make all couplings positive, edges of a frustrated cycle if any)."""
    return _core.balance_signs(num_vertices, edges, couplings)


def descend_energy(
    edges: IntArray,
    couplings: FloatArray,
    fields: FloatArray,
    fixed: BoolArray,
    start: Int8Array,
    *,
    budget: Budget | None = None,
) -> Int8Array:
    """Return spins after single flips, of those not fixed, that lower the energy."""
    return _core.descend_energy(
        edges, couplings, fields, fixed.astype("uint8"), start, *control(budget)
    )
