"""Faces and components of rotation systems, compiled."""

from __future__ import annotations

from planaris import _core
from planaris.typing import IntArray


def trace_faces(
    edges: IntArray, rotation: IntArray, offsets: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (face of each half-edge, half-edges face by face, offsets of the faces)."""
    return _core.trace_faces(edges, rotation, offsets)


def connected_components(num_vertices: int, edges: IntArray) -> IntArray:
    """Return the component of every vertex, numbered in order of their first vertex."""
    return _core.connected_components(num_vertices, edges)
