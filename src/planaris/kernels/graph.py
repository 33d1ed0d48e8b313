"""Connected and biconnected components, compiled."""

from __future__ import annotations

import numpy as np

from planaris import _core
from planaris.kernels.embedding import connected_components
from planaris.typing import BoolArray, IntArray

__all__ = ["biconnected_components", "connected_components"]


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
