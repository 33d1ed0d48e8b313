"""What every check of a proof needs: demands on it, whole numbers, components."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from planaris.errors import VerificationError
from planaris.typing import Array


def require(condition: bool, what: str) -> None:
    """Raise unless what a proof must hold does hold."""
    if not condition:
        msg = f"the proof is broken: it must hold that {what}"
        raise VerificationError(msg)


def whole_numbers(values: Any, name: str) -> Array:
    """Return an array of a proof as int64, or refuse it."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    require(array.dtype.kind in "iub", f"`{name}` holds whole numbers")
    return array.astype(np.int64)


def components(size: int, a: Array, b: Array) -> tuple[int, Array]:
    """Return how many components links from a to b leave, and that of every vertex."""
    links = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(size, size))
    count, label = connected_components(links, directed=False)
    return int(count), label
