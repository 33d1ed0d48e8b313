"""A ground state to measure energies from: low temperatures need the leading term to be 1.

Any state gives the right answer; a ground state keeps every number in range and most pivots
where they are expected.
"""

from __future__ import annotations

from planaris.budget import UNLIMITED, Budget
from planaris.embed import Embedding
from planaris.kernels.graph import spins_from_disagreements
from planaris.matching.tjoins import TJoin
from planaris.planar.tjoin import least_unsatisfied
from planaris.typing import FloatArray, Int8Array


def gauge_spins(
    embedding: Embedding, couplings: FloatArray, *, budget: Budget = UNLIMITED
) -> tuple[Int8Array, TJoin]:
    """Return a ground state of a plane model, a low state on surfaces of higher genus.

    The edges that disagree with their coupling form a minimum T-join of the dual graph, T the
    faces with an odd number of negative couplings (Bieche et al. 1980). On a surface of genus
    g > 0 that T-join need not come from a state; then the spanning tree decides. The T-join comes
    with its proof.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Embedding.from_graph([(0, 1), (1, 2), (0, 2)], num_vertices=3)
    >>> spins, unsatisfied = gauge_spins(triangle, np.array([3.0, 2.0, -1.0]))
    >>> spins.tolist(), unsatisfied.join.tolist()
    ([1, 1, 1], [2])
    """
    differ = couplings < 0
    unsatisfied = least_unsatisfied(embedding, couplings, time_limit=budget)
    if not unsatisfied.exact:
        raise TimeoutError
    differ[unsatisfied.join] ^= True
    spins, _ = spins_from_disagreements(embedding.num_vertices, embedding.edges, differ)
    return spins, unsatisfied
