"""All assignments of a Markov random field, one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.errors import TooLargeError
from planaris.models import MarkovRandomField
from planaris.typing import FloatArray, LongArray

MAX_STATES = 2**22


@dataclass(frozen=True, eq=False)
class MrfEnumeration:
    """Everything there is to know about a small Markov random field.

    Attributes
    ----------
    log_weights : numpy.ndarray
        Of all assignments, with one axis per variable.
    log_partition : float
        Natural logarithm of the partition function, ``-inf`` if all weights are zero.
    map_log_weight : float
        Largest log weight.
    map_assignments : numpy.ndarray
        All assignments of largest weight, one per row; none if all weights are zero.
    nodes, factors : list of numpy.ndarray
        Marginal tables; NaN if all weights are zero.
    """

    log_weights: FloatArray
    log_partition: float
    map_log_weight: float
    map_assignments: LongArray
    nodes: list[FloatArray]
    factors: list[FloatArray]


def enumerate_assignments(mrf: MarkovRandomField) -> MrfEnumeration:
    """Enumerate all assignments of a model of at most 2^22 of them.

    >>> mrf = MarkovRandomField([2, 2], [((0, 1), [[1, 2], [0, 1]])])
    >>> found = enumerate_assignments(mrf)
    >>> round(found.log_partition, 6), found.map_assignments.tolist(), found.nodes[0].tolist()
    (1.386294, [[0, 1]], [0.75, 0.25])
    """
    shape = mrf.cardinalities.tolist()
    count = math.prod(shape)
    if count > MAX_STATES or len(shape) > 24:
        msg = f"brute force takes at most {MAX_STATES} assignments of 24 variables, got {count}"
        raise TooLargeError(msg, bytes_needed=8 * count)
    log_weights = np.zeros(shape)
    for k in range(mrf.num_factors):
        scope = mrf.scope(k).tolist()
        # Axes into the order of the variables, then spread over the variables not in scope.
        table = np.transpose(mrf.log_table(k), np.argsort(scope))
        log_weights = log_weights + table.reshape(
            [n if v in scope else 1 for v, n in enumerate(shape)]
        )
    log_weights = np.asarray(log_weights)  # a bare number when there is no variable
    best = float(log_weights.max())
    if best == -np.inf:
        nodes = [np.full(n, np.nan) for n in shape]
        factors = [np.full(mrf.table_shape(k), np.nan) for k in range(mrf.num_factors)]
        none = np.zeros((0, len(shape)), dtype=np.int64)
        return MrfEnumeration(log_weights, best, best, none, nodes, factors)
    weights = np.exp(log_weights - best)
    probability = weights / weights.sum()
    return MrfEnumeration(
        log_weights=log_weights,
        log_partition=best + float(np.log(weights.sum())),
        map_log_weight=best,
        map_assignments=np.argwhere(log_weights == best),
        nodes=[_marginal(probability, [v]) for v in range(len(shape))],
        factors=[_marginal(probability, mrf.scope(k).tolist()) for k in range(mrf.num_factors)],
    )


def _marginal(probability: FloatArray, scope: list[int]) -> FloatArray:
    """Sum out everything but ``scope``, with the axes in its order."""
    rest = tuple(v for v in range(probability.ndim) if v not in scope)
    table = probability.sum(axis=rest)
    rank = np.argsort(np.argsort(scope))  # axes are in variable order now
    return np.asarray(np.transpose(table, rank) if scope else table)
