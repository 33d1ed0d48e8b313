"""All assignments of a Markov random field, one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.errors import TooLargeError
from planaris.models import MarkovRandomField
from planaris.reference.weights import compare
from planaris.typing import FloatArray, LongArray

MAX_STATES = 2**22


@dataclass(frozen=True, eq=False)
class MrfEnumeration:
    """Everything there is to know about a small Markov random field.

    Attributes
    ----------
    log_weights : numpy.ndarray
        Of all assignments, with one axis per variable.
    probabilities : numpy.ndarray
        Of all assignments, from differences of log weights: no constant costs them digits. NaN if
        all weights are zero.
    log_partition : float
        Natural logarithm of the partition function, ``-inf`` if all weights are zero.
    map_log_weight : float
        Largest log weight.
    map_assignments : numpy.ndarray
        All assignments of largest weight, one per row; none if all weights are zero.
    nodes, factors : list of numpy.ndarray
        Marginal tables; NaN if all weights are zero.
    slack, error : float
        Bounds on the error of ``log_partition``, and on the relative error of probabilities.
    """

    log_weights: FloatArray
    probabilities: FloatArray
    log_partition: float
    map_log_weight: float
    map_assignments: LongArray
    nodes: list[FloatArray]
    factors: list[FloatArray]
    slack: float
    error: float


def enumerate_assignments(mrf: MarkovRandomField) -> MrfEnumeration:
    """Enumerate all assignments of a model of at most 2^22 of them.

    >>> mrf = MarkovRandomField([2, 2], [((0, 1), [[1, 2], [0, 1]])])
    >>> found = enumerate_assignments(mrf)
    >>> round(found.log_partition, 6), found.map_assignments.tolist(), found.nodes[0].tolist()
    (1.386294, [[0, 1]], [0.75, 0.25])
    """
    shape = mrf.cardinalities.tolist()
    bits = float(np.log2(mrf.cardinalities.astype(np.float64)).sum())
    if len(shape) > 24 or bits > 62 or math.prod(shape) > MAX_STATES:
        msg = (
            f"brute force takes at most {MAX_STATES:,} assignments and 24 variables, got "
            f"2^{bits:.4g} assignments of {len(shape)} variables"
        )
        raise TooLargeError(msg, bytes_needed=int(8 * 2.0 ** min(bits, 62.0)))

    def add(x: FloatArray, less: int | None) -> FloatArray:
        logs = np.zeros(shape)
        for k in range(mrf.num_factors):
            scope = mrf.scope(k).tolist()
            begin, end = mrf.table_offsets[k], mrf.table_offsets[k + 1]
            # Axes into the order of the variables, then spread over the variables not in scope.
            table = np.transpose(x[begin:end].reshape(mrf.table_shape(k)), np.argsort(scope))
            table = table.reshape([n if v in scope else 1 for v, n in enumerate(shape)])
            if less is not None:
                at = zip(np.unravel_index(less, shape), table.shape, strict=True)
                table = table - table[tuple(min(i, n - 1) for i, n in at)]
            logs = logs + table
        return np.ravel(logs)

    found = compare(mrf.log_values, add)
    if found is None:
        nothing = np.full(shape, -np.inf)
        nodes = [np.full(n, np.nan) for n in shape]
        factors = [np.full(mrf.table_shape(k), np.nan) for k in range(mrf.num_factors)]
        none = np.zeros((0, len(shape)), dtype=np.int64)
        unknown = np.full(shape, np.nan)
        return MrfEnumeration(nothing, unknown, -np.inf, -np.inf, none, nodes, factors, 0.0, 0.0)
    probability = found.probabilities.reshape(shape)
    best = np.unravel_index(found.at_best, shape) if shape else ()
    return MrfEnumeration(
        log_weights=(found.relative + found.best).reshape(shape),
        probabilities=probability,
        log_partition=found.log_partition,
        map_log_weight=found.best,
        map_assignments=np.stack(best, axis=1) if shape else np.zeros((1, 0), dtype=np.int64),
        nodes=[_marginal(probability, [v]) for v in range(len(shape))],
        factors=[_marginal(probability, mrf.scope(k).tolist()) for k in range(mrf.num_factors)],
        slack=found.slack,
        error=found.error,
    )


def _marginal(probability: FloatArray, scope: list[int]) -> FloatArray:
    """Sum out everything but ``scope``, with the axes in its order."""
    rest = tuple(v for v in range(probability.ndim) if v not in scope)
    table = probability.sum(axis=rest)
    rank = np.argsort(np.argsort(scope))  # axes are in variable order now
    return np.asarray(np.transpose(table, rank) if scope else table)
