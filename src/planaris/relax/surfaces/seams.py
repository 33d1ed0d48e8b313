"""Exact optimisation of a state around seams: cycles that cut a surface open into a disc.

With the edges of such cycles held as they are, every T-join of the dual belongs to a state. The
best one is found by a single T-join; other seams then let the held edges move.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from planaris.embed import Embedding
from planaris.kernels.graph import homology_basis
from planaris.relax.surfaces.joins import Held, SurfaceJoins
from planaris.typing import BoolArray, Int8Array


def random_seam(embedding: Embedding, rng: np.random.Generator) -> BoolArray:
    """Mark the edges of 2g short cycles around the handles, from a random vertex.

    >>> from planaris.embed import torus_lattice
    >>> lattice = torus_lattice(4, 5)
    >>> int(random_seam(lattice, np.random.default_rng(0)).sum()) >= 8
    True
    """
    n = embedding.num_vertices
    place = rng.permutation(n).astype(np.int32)
    degrees = np.diff(embedding.offsets)
    around = np.argsort(place[np.repeat(np.arange(n), degrees)], kind="stable")
    counts = np.zeros(n, dtype=np.int64)
    counts[place] = degrees
    flat, offsets = homology_basis(
        np.ascontiguousarray(place[embedding.edges]),
        np.ascontiguousarray(embedding.rotation[around]),
        np.concatenate([[0], np.cumsum(counts)]).astype(embedding.offsets.dtype),
        embedding.face_of,
    )
    seam = np.zeros(embedding.num_edges, dtype=bool)
    for begin, end in pairwise(offsets.tolist()):
        seam[flat[begin:end]] = True
    return seam


def improve_around_seams(
    joins: SurfaceJoins,
    spins: Int8Array,
    rng: np.random.Generator,
    *,
    patience: int,
) -> Int8Array:
    """Return the best state found by optimising around one random seam after the other.

    Ends after ``patience`` seams in turn that changed nothing, or with the budget.
    """
    best = joins.unsatisfied_by(spins)
    idle = 0
    while idle < patience and not joins.budget.expired():
        held = Held(random_seam(joins.embedding, rng), best)
        found = joins.solve(joins.weights, held).unsatisfied
        better = joins.weigh(found) < joins.weigh(best)
        idle = 0 if better else idle + 1
        state = joins.state_of(found)
        if state is None:
            break
        if better or joins.weigh(found) == joins.weigh(best):
            best, spins = found, state
    return spins
