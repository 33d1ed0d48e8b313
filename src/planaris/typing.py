"""Types used throughout: what they hold is in their name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Array",
    "ArrayLike",
    "BoolArray",
    "FloatArray",
    "Int8Array",
    "IntArray",
    "LongArray",
    "Rng",
]

Array = NDArray[Any]
IntArray = NDArray[np.int32]
"""Indices of vertices, edges, faces."""
LongArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
"""Couplings, fields, weights, probabilities."""
Int8Array = NDArray[np.int8]
"""Spins, -1 or +1."""
BoolArray = NDArray[np.bool_]
Rng = np.random.Generator | int | None
"""A source of randomness, its seed, or None for a fresh one; ``default_rng`` takes all three."""
