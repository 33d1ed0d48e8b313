"""Contraction of spins whose relative sign is fixed up to a probability below rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.embed import Embedding
from planaris.kernels.graph import biconnected_components, connected_components
from planaris.planar.pfaffian.entries import Entries
from planaris.planar.pfaffian.evaluator import PfaffianEvaluator
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

LOCKED = 1e-13
"""Probability below which an edge counts as never cut."""

LARGEST_PART = 0.75
"""Clusters are of use where a block has this part of the edges at most."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Biconnected components of the graph of clusters, as one graph of as many components."""

    evaluator: PfaffianEvaluator
    couplings: FloatArray
    links: LongArray


@dataclass(frozen=True, eq=False)
class LockedSpins:
    """Clusters of spins, each as in the ground state up to a flip.

    Edges between the same two clusters make up one link. Which links are cut is independent from
    one biconnected component to the next.

    Attributes
    ----------
    link_of : numpy.ndarray
        The link of every edge; -1 inside a cluster.
    couplings : numpy.ndarray
        Of links, relative to the ground state.
    bridges : numpy.ndarray
        Links that are a component of their own.
    blocks : Blocks
        The other components.
    cut : float
        The probability that an edge inside a cluster is cut is this at most.
    """

    link_of: LongArray
    couplings: FloatArray
    bridges: LongArray
    blocks: Blocks
    cut: float


def lock(
    evaluator: PfaffianEvaluator, entries: Entries, uncut: FloatArray, error: float
) -> LockedSpins | None:
    """Return the clusters, or None where there is little to lock.

    Parameters
    ----------
    evaluator : PfaffianEvaluator
        A plane graph.
    entries : Entries
        Relative to a ground state.
    uncut : numpy.ndarray
        The probabilities that edges are not cut.
    error : float
        Of these.
    """
    edges = evaluator.embedding.edges
    gauged = entries.whole
    fixed: BoolArray = uncut[: len(edges)] >= 1.0 - LOCKED
    cluster = connected_components(evaluator.num_spins, np.ascontiguousarray(edges[fixed]))
    ends = np.sort(cluster[edges], axis=1)
    apart = np.flatnonzero(ends[:, 0] != ends[:, 1])
    pairs, place = np.unique(ends[apart], axis=0, return_inverse=True)
    link_of = np.full(len(edges), -1, dtype=np.int64)
    link_of[apart] = place.ravel()
    couplings: FloatArray = np.zeros(len(pairs))
    np.add.at(couplings, place.ravel(), gauged[apart])
    count, block_of, _ = biconnected_components(int(cluster.max(initial=-1)) + 1, pairs)
    sizes = np.bincount(block_of, minlength=count)
    if not fixed.any() or sizes.max(initial=0) > LARGEST_PART * len(edges):
        return None
    inside = link_of < 0
    cut = float(np.abs(1.0 - uncut[: len(edges)][inside]).sum() + error * np.count_nonzero(inside))
    bridges = np.flatnonzero(sizes[block_of] == 1)
    return LockedSpins(link_of, couplings, bridges, _blocks(pairs, couplings, sizes, block_of), cut)


def _blocks(pairs: IntArray, couplings: FloatArray, sizes: LongArray, block_of: IntArray) -> Blocks:
    """Return all blocks of several links side by side; each has vertices of its own."""
    links = np.flatnonzero(sizes[block_of] > 1)
    count = int(pairs.max(initial=-1)) + 1
    own = block_of[links, None].astype(np.int64) * count + pairs[links]
    vertices, ends = np.unique(own, return_inverse=True)
    edges = ends.reshape(-1, 2).astype(np.int32)
    graph = Embedding.from_graph(edges, num_vertices=len(vertices))
    return Blocks(PfaffianEvaluator(graph, None), couplings[links], links)
