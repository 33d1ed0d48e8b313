"""Recomputes log Z block by block: no block needs the method that fits another one.

Blocks are the biconnected components of the graph with a bias spin. Where they meet in single
vertices without a cycle, Z is the product of their sums, each with one of its spins held: flipping
all spins of a block changes nothing in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import networkx as nx
import numpy as np

from planaris.models import IsingModel
from planaris.typing import LongArray
from planaris.verify.conversions import BareModel
from planaris.verify.proof_arrays import components, require
from planaris.verify.recompute.elimination import Recomputed

_UNIT = 2.0**-53
_LOG_TWO = math.log(2.0)

Sum = Callable[[IsingModel], Recomputed | None]


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
    blocks = _blocks(bare)
    if len(blocks) < 2:
        return None
    _require_forest(bare, blocks)
    bridges = np.array([block[0] for block in blocks if len(block) == 1], dtype=np.int64)
    size = np.abs(bare.couplings[bridges])
    pieces, _ = components(bare.num_vertices, bare.edges[:, 0], bare.edges[:, 1])
    terms = [model.offset, (pieces - 1) * _LOG_TWO]  # the bias spin is held
    terms += (size + np.log1p(np.exp(-2.0 * size))).tolist()  # log(2 cosh J)
    found = []
    for block in blocks:
        if len(block) > 1:
            again = compute(_as_model(bare, block))
            if again is None:
                return None
            found.append(again)
            terms += [again.value, -_LOG_TWO]
    slack = math.fsum([again.slack for again in found])
    slack += 8 * _UNIT * math.fsum(map(abs, terms))
    ways = sorted({again.way for again in found}) or ["a product over bridges"]
    estimated = any(again.estimated for again in found)
    return Recomputed(math.fsum(terms), slack, estimated=estimated, way=", ".join(ways))


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


def _as_model(bare: BareModel, block: LongArray) -> IsingModel:
    """Return a block as a model of its own vertices."""
    vertices, ends = np.unique(bare.edges[block], return_inverse=True)
    return IsingModel(
        ends.reshape(-1, 2).astype(np.int32), bare.couplings[block], num_spins=len(vertices)
    )
