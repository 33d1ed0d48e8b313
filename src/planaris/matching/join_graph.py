"""Arguments of T-joins and matchings: validated, in the types of the compiled core."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from planaris.errors import ModelError, refuse_masked
from planaris.typing import FloatArray, IntArray, LongArray


class JoinGraph(NamedTuple):
    """A graph with weights, odd vertices and a boundary: what kernels of T-joins take."""

    num_vertices: int
    edges: IntArray
    weights: LongArray | FloatArray
    odd: IntArray
    boundary: IntArray

    @classmethod
    def read(
        cls,
        num_vertices: int,
        edges: ArrayLike,
        weights: ArrayLike,
        odd: ArrayLike,
        boundary: ArrayLike | None,
    ) -> JoinGraph:
        """Check all arguments and convert them."""
        whole = isinstance(num_vertices, int | np.integer)
        if not (whole and 0 <= num_vertices < 2**31 - 1):
            msg = f"`num_vertices` must be an integer from 0 to 2^31 - 2, not {num_vertices!r}"
            raise ModelError(msg)
        pairs = as_vertices("edges", edges, num_vertices, (-1, 2))
        values = as_weights(weights)
        if len(values) != len(pairs):
            msg = f"`weights` needs one entry for each of the {len(pairs)} edges, not {len(values)}"
            raise ModelError(msg)
        return cls(
            int(num_vertices),
            pairs,
            values,
            as_vertices("odd", odd, num_vertices, (-1,)),
            as_vertices("boundary", () if boundary is None else boundary, num_vertices, (-1,)),
        )

    @property
    def is_integral(self) -> bool:
        """Whether the weights are integers."""
        return self.weights.dtype == np.int64

    def require_no_negative(self) -> None:
        """Refuse negative weights."""
        if self.weights.size and self.weights.min() < 0:
            bad = int(np.argmin(self.weights))
            msg = (
                f"`weights` of a T-join must not be negative, but weights[{bad}] is "
                f"{self.weights[bad]}; flip the parity of both ends of edge {bad}, use the "
                "absolute value, and take the symmetric difference with that edge"
            )
            raise ModelError(msg, edge=bad)


def as_vertices(name: str, values: ArrayLike, bound: int, shape: tuple[int, ...]) -> IntArray:
    """Return numbers of vertices as int32, all below `bound`."""
    refuse_masked(name, values)
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros((0, *shape[1:]), np.int32)
    if array.dtype.kind not in "iu":
        msg = f"`{name}` must hold vertex numbers (integers), not {array.dtype}"
        raise ModelError(msg)
    if array.ndim != len(shape) or (len(shape) == 2 and array.shape[1] != 2):
        wanted = "(m, 2)" if len(shape) == 2 else "(k,)"
        msg = f"`{name}` must have shape {wanted}, not {array.shape}"
        raise ModelError(msg)
    if array.min() < 0 or array.max() >= bound:
        bad = int(array.min() if array.min() < 0 else array.max())
        msg = f"`{name}` names vertex {bad}, but vertices are 0 to {bound - 1}"
        raise ModelError(msg, vertex=bad)
    return np.ascontiguousarray(array, np.int32)


def is_ready(values: Any) -> TypeGuard[IntArray]:
    """Return whether these are numbers in the type of the core already."""
    return isinstance(values, np.ndarray) and values.dtype == np.int32 and values.ndim == 1


def as_weights(weights: ArrayLike) -> LongArray | FloatArray:
    """Return integers as int64, floats as float64, all finite."""
    refuse_masked("weights", weights)
    array = np.asarray(weights)
    if array.ndim != 1:
        msg = f"`weights` must have shape (m,), not {array.shape}"
        raise ModelError(msg)
    if array.size == 0 or array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.max() >= 2**63:
            msg = "`weights` must fit in 64-bit signed integers; pass floats for larger ones"
            raise ModelError(msg)
        return np.ascontiguousarray(array, np.int64)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        msg = f"`weights` must be integers or float64, not {array.dtype}"
        raise ModelError(msg)
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        msg = f"`weights` must be finite, but weights[{bad}] is {array[bad]}"
        raise ModelError(msg, edge=bad)
    return np.ascontiguousarray(array, np.float64)
