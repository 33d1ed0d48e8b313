"""Elimination orders and exact inference by elimination, compiled."""

from __future__ import annotations

from typing import NamedTuple

from planaris import _core
from planaris.budget import Budget, control
from planaris.typing import FloatArray, IntArray, LongArray

LARGEST_LOG = 2.0**60
"""Sums of weights keep exponents for products of weights up to this logarithm."""


class FactorArrays(NamedTuple):
    """A factor graph as flat arrays, laid out as in ``MarkovRandomField``."""

    cardinalities: IntArray
    scopes: IntArray
    scope_offsets: LongArray
    log_values: FloatArray
    table_offsets: LongArray


def elimination_order(
    arrays: FactorArrays,
    *,
    min_fill: bool,
    seed: int = 0,
    max_bits: float = 62.0,
    budget: Budget | None = None,
) -> tuple[IntArray, float, float]:
    """Return (greedy order, log2 of its largest table, entries of all tables)."""
    return _core.elimination_order(
        arrays.cardinalities,
        arrays.scopes,
        arrays.scope_offsets,
        min_fill,
        seed,
        max_bits,
        *control(budget),
    )


def elimination_tree(
    arrays: FactorArrays,
    order: IntArray,
    max_bits: float = 62.0,
    *,
    budget: Budget | None = None,
) -> _core.EliminationTree:
    """Return the order as it will be used (a postorder) and the sizes of its tables."""
    return _core.elimination_tree(
        arrays.cardinalities,
        arrays.scopes,
        arrays.scope_offsets,
        order,
        max_bits,
        *control(budget),
    )


def eliminate_sum(
    arrays: FactorArrays,
    order: IntArray,
    *,
    marginals: bool,
    budget: Budget | None = None,
) -> tuple[float, float, float, FloatArray, FloatArray]:
    """Return (log Z, rest, bound on the error, node tables, factor tables), tables flat.

    The unevaluated sum of the first two is log Z. Where logarithms add up to more than
    ``LARGEST_LOG`` the bound is infinite.
    """
    found = _core.eliminate_sum(*arrays, order, marginals, *control(budget))
    return found.log_partition, found.rest, found.error, found.nodes, found.factors


def eliminate_max(
    arrays: FactorArrays,
    order: IntArray,
    *,
    wide: bool = False,
    budget: Budget | None = None,
) -> tuple[IntArray, float, float, float]:
    """Return (best assignment, its log weight as computed, rest, bound on the error of both).

    With ``wide``, tables hold numbers of twice the length. The assignment is empty when every
    state has weight zero.
    """
    return _core.eliminate_max(*arrays, order, wide, *control(budget))


def eliminate_sample(
    arrays: FactorArrays,
    order: IntArray,
    num_samples: int,
    seed: int,
    *,
    budget: Budget | None = None,
) -> IntArray:
    """Return independent samples, flat; empty when every state has weight zero."""
    return _core.eliminate_sample(*arrays, order, num_samples, seed, *control(budget))
