"""What a search for T-joins is given: checked, and in the types of the compiled core."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from planaris.budget import Budget
from planaris.errors import InfeasibleError, ModelError
from planaris.kernels.graph import connected_components
from planaris.kernels.tjoin import TJoinSolution, scaled, solve_tjoin
from planaris.typing import FloatArray, IntArray, LongArray


@dataclass(frozen=True)
class JoinGraph:
    """A graph with weights, odd vertices and a boundary."""

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
        if not 0 <= num_vertices < 2**31 - 1:
            msg = f"`num_vertices` must lie between 0 and 2^31 - 2, not {num_vertices}"
            raise ModelError(msg)
        pairs = as_vertices("edges", edges, num_vertices, (-1, 2))
        values = as_weights(weights)
        if len(values) != len(pairs):
            msg = f"`weights` needs one entry for each of the {len(pairs)} edges, not {len(values)}"
            raise ModelError(msg)
        return cls(
            num_vertices,
            pairs,
            values,
            as_vertices("odd", odd, num_vertices, (-1,)),
            as_vertices("boundary", () if boundary is None else boundary, num_vertices, (-1,)),
        )

    def solve(self, *, perfect: bool, start: Any, budget: Budget) -> TJoinSolution:
        """Return a lightest T-join, or the best one found within the budget."""
        return solve_tjoin(
            self.num_vertices,
            self.edges,
            self.weights,
            self.odd,
            self.boundary,
            perfect=perfect,
            start=start,
            budget=budget,
        )

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

    def objective(self, numerator: int, exponent: int) -> int | float:
        """Return ``numerator * 2**exponent`` in the type of the weights, rounded once."""
        if self.weights.dtype == np.int64:
            return numerator
        if exponent > -1000 and numerator.bit_length() < 1000 - max(exponent, 0):
            return math.ldexp(float(numerator), exponent)  # rounds once
        try:
            return float(scaled(numerator, exponent))
        except OverflowError:
            return math.inf if numerator > 0 else -math.inf

    def lower(self, numerator: int, exponent: int) -> int | float:
        """Return what every T-join weighs at least, given the value of a packing."""
        exact = scaled(numerator, exponent)
        if self.weights.dtype == np.int64:
            return math.ceil(exact)
        try:
            rounded = float(exact)
        except OverflowError:
            return sys.float_info.max
        return rounded if rounded <= exact else math.nextafter(rounded, 0.0)


def as_vertices(name: str, values: ArrayLike, bound: int, shape: tuple[int, ...]) -> IntArray:
    """Return numbers of vertices as int32, all below `bound`."""
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


def odd_component_error(graph: JoinGraph, vertex: int) -> InfeasibleError:
    """Return the error that names the component of `vertex`, where no T-join exists."""
    component = connected_components(graph.num_vertices, graph.edges)
    vertices = np.flatnonzero(component == component[vertex])
    parity = np.bincount(graph.odd, minlength=graph.num_vertices) % 2
    num_odd = int(parity[vertices].sum()) or len(vertices)  # perfect matchings: all of them
    shown = ", ".join(map(str, vertices[:5])) + (", ..." if len(vertices) > 5 else "")
    msg = (
        f"the component of vertex {vertex} ({len(vertices)} vertices: {shown}) holds {num_odd} "
        "odd vertices, and an odd number cannot be joined in pairs; see `err.vertices`. Change "
        "`odd`, connect the component, or name one of its vertices in `boundary`"
    )
    return InfeasibleError(msg, vertices=vertices, num_odd=num_odd)
