"""Non-contractible cycles of rotation systems, compiled."""

from __future__ import annotations

from planaris import _core
from planaris.typing import IntArray


def homology_basis(
    edges: IntArray, rotation: IntArray, offsets: IntArray, face_of: IntArray
) -> tuple[IntArray, IntArray]:
    """Return (edges of all cycles one after the other, offsets of the cycles)."""
    return _core.homology_basis(edges, rotation, offsets, face_of)
