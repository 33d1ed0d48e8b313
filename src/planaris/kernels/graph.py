"""Components, blocks, minimum cuts, and spins from cuts, compiled."""

from __future__ import annotations

import numpy as np

from planaris import _core
from planaris.budget import Budget, control
from planaris.typing import Array, BoolArray, FloatArray, Int8Array, IntArray


def biconnected_components(num_vertices: int, edges: IntArray) -> tuple[int, IntArray, BoolArray]:
    """Return (number of blocks, block of each edge, whether each vertex is an articulation).

    A bridge is a block of its own; an isolated vertex is in none.

    >>> import numpy as np
    >>> edges = np.array([(0, 1), (1, 2), (2, 0), (2, 3)], dtype=np.int32)
    >>> count, block, articulation = biconnected_components(4, edges)
    >>> count, block.tolist(), np.flatnonzero(articulation).tolist()
    (2, [1, 1, 1, 0], [2])
    """
    count, block, articulation = _core.biconnected_components(num_vertices, edges)
    return count, block, articulation.view(np.bool_)


def connected_components(num_vertices: int, edges: IntArray) -> IntArray:
    """Return the component of every vertex, numbered in order of their first vertex."""
    return _core.connected_components(num_vertices, edges)


def spins_from_disagreements(
    num_vertices: int, edges: IntArray, differ: Array
) -> tuple[Int8Array, int]:
    """Return spins whose ends differ exactly on the marked edges.

    The first vertex of every component is +1. The second value is the index of the first edge
    that contradicts the edges before it, or -1.
    """
    flags = np.ascontiguousarray(differ, dtype=np.uint8)
    return _core.spins_from_disagreements(num_vertices, edges, flags)


def spins_of_cuts(num_vertices: int, edges: IntArray, cuts: Array) -> tuple[Int8Array, BoolArray]:
    """Return spins for every row of cuts, and which rows no spins agree with."""
    found, conflicts = _core.spins_of_cuts(num_vertices, edges, cuts)
    return found, conflicts >= 0


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
