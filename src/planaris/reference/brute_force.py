"""All states, one by one: the oracle of last resort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.budget import check_memory
from planaris.errors import TooLargeError
from planaris.models import IsingModel
from planaris.reference.weights import compare
from planaris.typing import FloatArray, Int8Array

MAX_SPINS = 24


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
    check_memory(10.0 * num_spins * 2**num_spins, f"all states of {num_spins} spins", "use fewer")
    codes = np.arange(2**num_spins, dtype=np.int64)
    shifts = np.arange(num_spins - 1, -1, -1, dtype=np.int64)
    return (2 * (codes[:, None] >> shifts & 1) - 1).astype(np.int8)


def enumerate_states(model: IsingModel) -> Enumeration:
    """Enumerate all states of a model of at most 24 spins.

    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> found = enumerate_states(frustrated)
    >>> found.energy, len(found.ground_states), round(found.log_partition, 6)
    (-1.0, 6, 2.797846)
    """
    needed = 2.0 ** min(model.num_spins, MAX_SPINS) * (10 * model.num_spins + 10 * model.num_edges)
    check_memory(needed, f"brute force over {model.num_spins} spins", "use method='auto'")
    states = all_states(model.num_spins)
    u, v = model.edges[:, 0], model.edges[:, 1]
    agree = states[:, u] * states[:, v]
    parameters = np.concatenate([model.couplings, model.fields, [model.offset]])
    m = model.num_edges

    def add(x: FloatArray, less: int | None) -> FloatArray:
        j, h = x[:m], x[m:-1]
        if less is None:
            return np.asarray(agree @ j + states @ h + x[-1])
        return np.asarray((agree - agree[less]) @ j + (states - states[less]) @ h)

    found = compare(parameters, add)
    assert found is not None, "no state of an Ising model has weight zero"
    probabilities = found.probabilities
    return Enumeration(
        ground_states=states[found.at_best],
        energy=0.0 - found.best,
        log_partition=found.log_partition,
        nodes=np.minimum(probabilities @ (states > 0), 1.0),
        edges=np.minimum(probabilities @ (agree > 0), 1.0),
        probabilities=probabilities,
        slack=found.slack,
        error=found.error,
    )
