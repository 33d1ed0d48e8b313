"""Recomputes log Z and edge correlations by blocks: none needs the method that fits another.

Blocks are the biconnected components of the graph with a bias spin. Where they meet in single
vertices without a cycle, Z is the product of their sums, each with one of its spins held: flipping
all spins of a block changes nothing in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np

from planaris.models import IsingModel
from planaris.typing import FloatArray, LongArray
from planaris.verify.conversions import BareModel
from planaris.verify.proof_arrays import components, require
from planaris.verify.recompute.elimination import Recomputed

_UNIT = 2.0**-53
_LOG_TWO = math.log(2.0)

Sum = Callable[[IsingModel], Recomputed | None]
EdgeSum = Callable[[BareModel, FloatArray], Recomputed | None]


def log_partition_by_blocks(model: IsingModel, compute: Sum) -> Recomputed | None:
    """Return log Z as the sum over the blocks of the graph, bridges in closed form.

    Parameters
    ----------
    model : IsingModel
        Any model.
    compute : callable
        Returns log Z of a block, or None.

    Returns
    -------
    Recomputed or None
        None if the graph is one block, or there is no result for one of them.

    Examples
    --------
    >>> path = IsingModel([(0, 1), (1, 2)], [0.5, -0.25])
    >>> round(log_partition_by_blocks(path, lambda block: None).value, 6)
    2.230486
    """
    bare = BareModel.of(model)
    blocks = _checked_blocks(bare)
    if len(blocks) < 2:
        return None
    size = np.abs(bare.couplings[_bridges(blocks)])
    pieces, _ = components(bare.num_vertices, bare.edges[:, 0], bare.edges[:, 1])
    terms = [model.offset, (pieces - 1) * _LOG_TWO]  # the bias spin is held
    terms += (size + np.log1p(np.exp(-2.0 * size))).tolist()  # log(2 cosh J)
    found = []
    for block in blocks:
        if len(block) > 1:
            again = compute(bare.restrict(block).as_model())
            if again is None:
                return None
            found.append(again)
            terms += [again.value, -_LOG_TWO]
    return _total(terms, found)


def edge_sum_by_blocks(bare: BareModel, weights: FloatArray, compute: EdgeSum) -> Recomputed | None:
    """Return Σ weights <s_u s_v> over the edges: correlations of an edge are those in its block.

    ``compute(block, weights)`` returns the sum of a block, or None; bridges have a closed form.
    None if the graph is one block, or there is no result for one of them.

    Examples
    --------
    >>> path = BareModel(3, np.array([(0, 1), (1, 2)]), np.array([0.5, -0.25]))
    >>> found = edge_sum_by_blocks(path, np.array([1.0, 2.0]), lambda block, weights: None)
    >>> bool(abs(found.value - np.tanh(0.5) + 2 * np.tanh(0.25)) < 1e-15)
    True
    """
    blocks = _checked_blocks(bare)
    if len(blocks) < 2:
        return None
    bridges = _bridges(blocks)
    terms = (weights[bridges] * np.tanh(bare.couplings[bridges])).tolist()
    found = []
    for block in blocks:
        if len(block) > 1:
            again = compute(BareModel.of(bare.restrict(block).as_model()), weights[block])
            if again is None:
                return None
            found.append(again)
            terms.append(again.value)
    return _total(terms, found)


def first_found(ways: Iterable[Callable[..., Recomputed | None]], *given: Any) -> Recomputed | None:
    """Return the answer of the first way that has one."""
    return next((found for way in ways if (found := way(*given)) is not None), None)


def _total(terms: list[float], found: list[Recomputed]) -> Recomputed:
    """Return the sum of terms, of which some were found with a slack."""
    slack = math.fsum([again.slack for again in found])
    slack += 8 * _UNIT * math.fsum(map(abs, terms))
    ways = sorted({again.way for again in found}) or ["a product over bridges"]
    estimated = any(again.estimated for again in found)
    return Recomputed(math.fsum(terms), slack, estimated=estimated, way=", ".join(ways))


def _bridges(blocks: list[LongArray]) -> LongArray:
    return np.array([block[0] for block in blocks if len(block) == 1], dtype=np.int64)


def _checked_blocks(bare: BareModel) -> list[LongArray]:
    blocks = _blocks(bare)
    if len(blocks) > 1:
        _require_forest(bare, blocks)
    return blocks


def _blocks(bare: BareModel) -> list[LongArray]:
    """Return the edges of every biconnected component."""
    edges = np.sort(bare.edges, axis=1).tolist()
    number = {(u, v): e for e, (u, v) in enumerate(edges)}
    graph = nx.Graph(edges)
    found = nx.biconnected_component_edges(graph)
    return [np.array([number[min(e), max(e)] for e in block], dtype=np.int64) for block in found]


def _require_forest(bare: BareModel, blocks: list[LongArray]) -> None:
    """Raise unless blocks hold every edge once and meet in single vertices, without a cycle.

    Blocks and vertices are then a forest, each block joined to its vertices: it has as many links
    as nodes, less one for every tree.
    """
    edge = np.concatenate(blocks)
    require(np.array_equal(np.sort(edge), np.arange(len(bare.edges))), "blocks part the edges")
    of_edge = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    ends = bare.edges[edge].ravel()
    block, vertex = np.unique(np.stack([of_edge.repeat(2), ends]), axis=1)
    nodes = len(blocks) + bare.num_vertices
    trees, _ = components(nodes, block, vertex + len(blocks))
    require(len(block) == nodes - trees, "blocks meet in single vertices, without a cycle")
