"""Kasteleyn matrices of rotation systems, written down entry by entry.

One row per half-edge. Two half-edges a, b of one face are joined by ``+exp(-J_a - J_b)`` if a
comes first in the face walk and by minus that otherwise; the two sides of an edge e are joined by
a sign ``σ_e`` (row 2e, column 2e + 1). The signs make the product of the entries met when walking
once around any vertex -1; then on a plane graph every perfect matching counts with the sign of
the empty cut, whose matching joins all edges:

    Z = 2^components exp(Σ J) Pf(K) / Π σ.

On a surface of genus g the mean over the 4^g sign structures takes the place of Pf(K) / Π σ.
"""

from __future__ import annotations

import numpy as np

from planaris.embed import Embedding
from planaris.errors import ModelError
from planaris.models.arrays import as_finite
from planaris.typing import Array, ArrayLike, FloatArray, Int8Array


def face_signs(embedding: Embedding) -> Int8Array:
    """Return the (2m, 2m) signs between half-edges of the same face, 0 elsewhere."""
    place = np.empty(2 * embedding.num_edges, dtype=np.int64)
    place[embedding.face_walk] = np.arange(len(place))
    same = embedding.face_of[:, None] == embedding.face_of[None, :]
    return np.where(same, np.sign(place[None, :] - place[:, None]), 0).astype(np.int8)


def edge_signs(embedding: Embedding) -> Int8Array:
    """Return σ, solved on the edges of a spanning forest from the leaves up; 1 elsewhere."""
    place = np.empty(2 * embedding.num_edges, dtype=np.int64)
    place[embedding.face_walk] = np.arange(len(place))
    offsets = embedding.offsets.tolist()
    around = [
        embedding.rotation[offsets[v] : offsets[v + 1]].tolist()
        for v in range(embedding.num_vertices)
    ]
    head = embedding.edges[:, ::-1].ravel().tolist()
    order, to_parent = _spanning_forest(around, head)
    sigma = [1] * embedding.num_edges
    for v in reversed(order):
        if to_parent[v] < 0:
            continue
        product = 1
        for k, h in enumerate(around[v]):
            following = around[v][(k + 1) % len(around[v])]
            across = 1 if h & 1 else -1  # from the right side of h to its left side
            if h != to_parent[v]:
                across *= sigma[h >> 1]
            within = 1 if place[h] < place[following ^ 1] else -1
            product *= across * within
        sigma[to_parent[v] >> 1] = -product
    return np.array(sigma, dtype=np.int8)


def _spanning_forest(around: list[list[int]], head: list[int]) -> tuple[list[int], list[int]]:
    to_parent, seen, order = [-1] * len(around), [False] * len(around), []
    for root in range(len(around)):
        stack = [] if seen[root] else [root]
        seen[root] = True
        while stack:
            v = stack.pop()
            order.append(v)
            for h in around[v]:
                w = head[h]
                if not seen[w]:
                    seen[w], to_parent[w] = True, h ^ 1
                    stack.append(w)
    return order, to_parent


def gauge_couplings(
    embedding: Embedding, couplings: ArrayLike, spins: ArrayLike | None
) -> FloatArray:
    """Return ``J_uv s_u s_v``: the same log Z, with weights relative to the state ``spins``."""
    values = as_finite("couplings", couplings, embedding.num_edges)
    if spins is None:
        return values
    s: Array = np.asarray(spins)
    if s.shape != (embedding.num_vertices,) or not np.all(np.abs(s) == 1):
        msg = f"`spins` must hold {embedding.num_vertices} numbers -1 or +1"
        raise ModelError(msg)
    return np.asarray(values * s[embedding.edges[:, 0]] * s[embedding.edges[:, 1]])
