"""All states, one by one: the oracle of last resort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.budget import UNLIMITED
from planaris.errors import TooLargeError
from planaris.models import IsingModel
from planaris.reference.weights import compare
from planaris.typing import FloatArray, Int8Array, LongArray

MAX_SPINS = 24

BYTES_PER_STATE = 120.0
"""Sums, weights and probabilities, and the list that is added up exactly."""


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Everything there is to know about a small model.

    Attributes
    ----------
    ground_states : numpy.ndarray
        All states of lowest energy, one per row.
    energy : float
        Lowest energy.
    log_partition : float
        Natural logarithm of the partition function.
    nodes, edges : numpy.ndarray
        ``P(s_v = +1)`` and ``P(s_u = s_v)``.
    probabilities : numpy.ndarray
        Of all states, ordered as binary numbers, spin 0 the most significant, +1 the one bit.
    slack, error : float
        Bounds on the error of ``log_partition``, and on the relative error of probabilities.
    """

    ground_states: Int8Array
    energy: float
    log_partition: float
    nodes: FloatArray
    edges: FloatArray
    probabilities: FloatArray
    slack: float
    error: float


def all_states(num_spins: int) -> Int8Array:
    """Return all 2^n states as rows of -1 and +1, spin 0 the most significant bit."""
    if num_spins > MAX_SPINS:
        needed = num_spins * 2**num_spins
        msg = (
            f"brute force takes at most {MAX_SPINS} spins, got {num_spins}; "
            "use method='auto' instead"
        )
        raise TooLargeError(msg, bytes_needed=needed)
    UNLIMITED.check_memory(
        10.0 * num_spins * 2**num_spins, f"all states of {num_spins} spins", "use fewer"
    )
    return _states(np.arange(2**num_spins, dtype=np.int64), num_spins)


def enumerate_states(model: IsingModel) -> Enumeration:
    """Enumerate all states of a model of at most 24 spins.

    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> found = enumerate_states(frustrated)
    >>> found.energy, len(found.ground_states), round(found.log_partition, 6)
    (-1.0, 6, 2.797846)
    """
    n = model.num_spins
    needed = BYTES_PER_STATE * 2.0 ** min(n, MAX_SPINS)
    UNLIMITED.check_memory(needed, f"brute force over {n} spins", "use method='auto'")
    halves = _Halves.of(model)

    def add(x: FloatArray, less: int | None) -> FloatArray:
        sums = halves.log_weights(x)  # of a slice: no sum is rounded
        return sums if less is None else sums - sums[less]

    found = compare(np.concatenate([model.couplings, model.fields, [model.offset]]), add)
    assert found is not None, "no state of an Ising model has weight zero"
    probabilities = found.probabilities
    nodes, edges = halves.marginals(probabilities)
    return Enumeration(
        ground_states=_states(found.at_best, n),
        energy=0.0 - found.best,
        log_partition=found.log_partition,
        nodes=np.minimum(nodes, 1.0),
        edges=np.minimum(edges, 1.0),
        probabilities=probabilities,
        slack=found.slack,
        error=found.error,
    )


@dataclass(frozen=True, eq=False)
class _Halves:
    """All states as all pairs of a state of the first spins and one of the others.

    What couples the halves is a product of matrices with ``2**(n / 2)`` rows.

    Attributes
    ----------
    edges : numpy.ndarray
        Edges of the model.
    first, last : numpy.ndarray
        All states of either half, one per row, as -1.0 and 1.0.
    """

    edges: LongArray
    first: FloatArray
    last: FloatArray

    @classmethod
    def of(cls, model: IsingModel) -> _Halves:
        n = model.num_spins
        if n > MAX_SPINS:
            all_states(n)  # refuses
        first, last = (all_states(k).astype(np.float64) for k in (n // 2, n - n // 2))
        return cls(model.edges.astype(np.int64), first, last)

    def log_weights(self, x: FloatArray) -> FloatArray:
        """Return the log weights of all states for couplings, fields and an offset."""
        m, a = len(self.edges), self.first.shape[1]
        matrix = np.zeros((a + self.last.shape[1],) * 2)
        np.add.at(matrix, (self.edges.min(axis=1), self.edges.max(axis=1)), x[:m])
        return np.ravel(
            (_quadratic(self.first, matrix[:a, :a], x[m : m + a]) + x[-1])[:, None]
            + _quadratic(self.last, matrix[a:, a:], x[m + a : -1])
            + _product(_product(self.first, matrix[:a, a:]), self.last.T)
        )

    def marginals(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities that spins are +1, and that the ends of edges agree."""
        joint = probabilities.reshape(len(self.first), len(self.last))
        by_half = joint.sum(axis=1), joint.sum(axis=0)
        up = [(states > 0).astype(np.float64) for states in (self.first, self.last)]
        nodes = [_product(p[None], spins)[0] for p, spins in zip(by_half, up, strict=True)]
        a = self.first.shape[1]
        agree = np.zeros((a + self.last.shape[1],) * 2)
        for u, v in ((up[0], up[1]), (1.0 - up[0], 1.0 - up[1])):
            agree[:a, :a] += _product(u.T, by_half[0][:, None] * u)
            agree[a:, a:] += _product(v.T, by_half[1][:, None] * v)
            agree[:a, a:] += _product(u.T, _product(joint, v))
        return np.concatenate(nodes), agree[self.edges.min(axis=1), self.edges.max(axis=1)]


def _quadratic(states: FloatArray, couplings: FloatArray, fields: FloatArray) -> FloatArray:
    """Return ``s J s + h s`` of every row."""
    return np.asarray(((_product(states, couplings) + fields) * states).sum(axis=1))


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the product of two matrices, without the buffers that BLAS would take."""
    return np.asarray(np.einsum("ij,jk->ik", a, b))


def _states(codes: LongArray, num_spins: int) -> Int8Array:
    """Return states by their binary numbers, spin 0 the most significant bit."""
    shifts = np.arange(num_spins - 1, -1, -1, dtype=np.int64)
    return (2 * (codes[:, None] >> shifts & 1) - 1).astype(np.int8)
