"""Minimum cuts, signs of edges and local descent, compiled."""

from __future__ import annotations

from planaris import _core
from planaris.progress import ProgressCallback
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray

FOREVER = float("inf")


def minimum_cut(
    edges: IntArray,
    capacities: FloatArray,
    terminals: FloatArray,
    *,
    progress: ProgressCallback | None = None,
    seconds: float = FOREVER,
) -> tuple[BoolArray, FloatArray, float, int]:
    """Return (smallest source side, flow by edge, rounding of weights, bits of integers).

    The rounding is zero when integers could hold all weights exactly; the cut is then exactly
    minimum.
    """
    side, flow, rounding, bits = _core.minimum_cut(edges, capacities, terminals, progress, seconds)
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
    progress: ProgressCallback | None = None,
    seconds: float = FOREVER,
) -> Int8Array:
    """Return spins after single flips, of those not fixed, that lower the energy."""
    return _core.descend_energy(
        edges, couplings, fields, fixed.astype("uint8"), start, progress, seconds
    )
