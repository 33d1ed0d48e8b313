"""Is a model submodular, perhaps after flipping some spins? With evidence either way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.kernels import cuts as kernel
from planaris.models import IsingModel, require_ising
from planaris.typing import Int8Array, IntArray


@dataclass(frozen=True, eq=False)
class Submodularity:
    """Whether flipping some spins makes all couplings positive; true in a condition if so.

    Attributes
    ----------
    submodular : bool
        All couplings are positive or zero as they stand.
    gauge : numpy.ndarray or None
        Spins +1 and -1 with ``J_uv gauge_u gauge_v >= 0`` for all edges.
    frustrated_cycle : numpy.ndarray or None
        Else: edges of a cycle with an odd number of negative couplings, which no flip of
        spins can change.
    """

    submodular: bool
    gauge: Int8Array | None
    frustrated_cycle: IntArray | None

    def __bool__(self) -> bool:
        return self.gauge is not None


def is_submodular(model: IsingModel) -> Submodularity:
    """Decide whether minimum cuts solve a model, and show why (not).

    Parameters
    ----------
    model : IsingModel
        Fields do not matter.

    Returns
    -------
    Submodularity
        True when the signed graph is balanced: then ``gauge`` makes it submodular. Else
        ``frustrated_cycle`` is the proof.

    Notes
    -----
    A signed graph is balanced iff no cycle has an odd number of negative edges (Harary 1953);
    a breadth-first forest either gives the signs or an edge that closes such a cycle.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> sorted(is_submodular(triangle).frustrated_cycle.tolist())
    [0, 1, 2]
    >>> is_submodular(IsingModel([(0, 1), (1, 2)], [1.0, -1.0])).gauge.tolist()
    [1, 1, -1]
    """
    require_ising(model)
    if np.all(model.couplings >= 0):
        return Submodularity(True, np.ones(model.num_spins, dtype=np.int8), None)
    gauge, cycle = kernel.balance_signs(model.num_spins, model.edges, model.couplings)
    if len(cycle):
        return Submodularity(False, None, cycle)
    return Submodularity(False, gauge, None)
