"""Log weights of all states beside the largest one, each rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planaris.models.base import exact_sums
from planaris.typing import Array, FloatArray, LongArray

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of all states of a model.

    Attributes
    ----------
    best : float
        The largest log weight, rounded to nearest.
    at_best : numpy.ndarray
        Which states have the largest weight: no other is as large, by however little.
    relative : numpy.ndarray
        Log weights minus the largest one, each rounded to nearest.
    total : float
        Sum of the weights, as multiples of the largest one.
    error : float
        Bound on the error of the logarithm of ``total``.
    """

    best: float
    at_best: LongArray
    relative: FloatArray
    total: float
    error: float

    @property
    def log_partition(self) -> float:
        """Natural logarithm of the partition function."""
        return self.best + math.log(self.total)

    @property
    def slack(self) -> float:
        """Bound on the error of ``log_partition``."""
        return self.error + EPS * (abs(self.best) + math.log(self.total))

    @property
    def probabilities(self) -> FloatArray:
        """Probabilities of all states."""
        return np.asarray(np.exp(self.relative) / self.total)


Add = Callable[[FloatArray, int | None], Array]


def compare(parameters: FloatArray, add: Add) -> Weights | None:
    """Compare the log weights of all states; None if all of them are minus infinity.

    Parameters
    ----------
    parameters : numpy.ndarray
        The numbers of the model.
    add : callable
        ``add(x, None)`` adds up numbers like ``parameters`` for every state, ``add(x, k)`` less
        their sum for state ``k``.
    """
    best = _less(parameters, add, None)
    first = int(np.argmax(best))
    if best[first] == -np.inf:
        return None
    # States that are equal after rounding are told apart by their exact differences.
    relative = _less(parameters, add, first)
    while relative.max() > 0.0:
        first = int(np.argmax(relative))
        relative = _less(parameters, add, first)
    weights = np.exp(relative)
    total = math.fsum(weights.tolist())
    sizes = np.where(weights > 0, np.abs(relative), 0.0)
    error = EPS * (float((sizes + 2.0) @ weights) / total + 2.0)
    return Weights(
        float(best[first]), np.flatnonzero(relative == 0.0), relative, total, error * 1.01
    )


def _less(parameters: FloatArray, add: Add, state: int | None) -> FloatArray:
    return exact_sums(parameters, lambda x: np.asarray(add(x, state)))
