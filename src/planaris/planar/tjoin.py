"""From couplings on a plane graph to a minimum-weight T-join of its dual, and back.

A set U of edges is the set of unsatisfied edges of some state only if every face has as many of
them, modulo two, as it has negative couplings: U is a T-join of the dual graph, T the frustrated
faces. On a plane graph the converse holds too, so a ground state is a T-join of least Σ |J|; on
other surfaces the least T-join gives a lower bound. The outer face of every component absorbs
parity: the number of frustrated faces of a component is even anyway.
"""

from __future__ import annotations

import numpy as np

from planaris.budget import TimeLimit
from planaris.embed import Embedding
from planaris.matching.tjoins import TJoin, minimum_tjoin
from planaris.typing import FloatArray, IntArray


def frustrated_faces(embedding: Embedding, couplings: FloatArray) -> IntArray:
    """Return the faces whose couplings multiply to a negative number.

    >>> import numpy as np
    >>> triangle = Embedding.from_graph([(0, 1), (1, 2), (2, 0)], num_vertices=3)
    >>> frustrated_faces(triangle, np.array([1.0, 1.0, -1.0])).tolist()
    [0, 1]
    """
    beside = embedding.dual_edges[couplings < 0].ravel()
    count = np.bincount(beside, minlength=embedding.num_faces)
    return np.flatnonzero(count % 2).astype(np.int32)


def least_unsatisfied(
    embedding: Embedding,
    couplings: FloatArray,
    *,
    start: TJoin | None = None,
    time_limit: TimeLimit = None,
) -> TJoin:
    """Return edges of least total ``|J|`` that are unsatisfied consistently on every face.

    ``start`` is an earlier answer on the same embedding, for a warm start. After ``time_limit``
    seconds the edges are consistent, but only proved to be least up to ``TJoin.lower``.
    """
    outer = embedding.outer_faces
    absorbing = outer[outer >= 0]
    odd = np.setdiff1d(frustrated_faces(embedding, couplings), absorbing, assume_unique=True)
    return minimum_tjoin(
        embedding.num_faces,
        embedding.dual_edges,
        np.abs(couplings),
        odd,
        boundary=absorbing,
        start=start,
        time_limit=time_limit,
    )
