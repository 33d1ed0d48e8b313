"""Spins from cuts, compiled."""

from __future__ import annotations

import numpy as np

from planaris import _core
from planaris.typing import Array, BoolArray, Int8Array, IntArray


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
