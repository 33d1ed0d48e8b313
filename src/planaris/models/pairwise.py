"""Pairwise models as merged tables: what compiled solvers of node-and-edge models take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.errors import MethodError
from planaris.models.mrf import MarkovRandomField
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray


@dataclass(frozen=True, eq=False)
class PairwiseView:
    """A pairwise model with one table per variable and one per edge.

    ``log P(x) = constant + Σ_v node_logs[v][x_v] + Σ_uv edge_logs[uv][x_u, x_v] - log Z``

    Attributes
    ----------
    cardinalities : numpy.ndarray
        Labels per variable, shape (n,).
    node_logs, node_offsets : numpy.ndarray
        Log potentials of the variables, flat; zero where no factor speaks of the variable.
    edges : numpy.ndarray
        Pairs ``u < v``, shape (m, 2), each once, in the order of their first factor.
    edge_logs, edge_offsets : numpy.ndarray
        Log potentials of the edges, flat, ``x_u`` the slow axis; factors on the same pair add.
    constant : float
        Sum of the factors without variables; ``-inf`` if one of them is zero.
    factor_edge : numpy.ndarray
        Edge of every factor with two variables, -1 for the others.
    factor_swapped : numpy.ndarray
        Whether the factor names its variables as ``(v, u)`` with ``u < v``.
    """

    cardinalities: IntArray
    node_logs: FloatArray
    node_offsets: LongArray
    edges: IntArray
    edge_logs: FloatArray
    edge_offsets: LongArray
    constant: float
    factor_edge: IntArray
    factor_swapped: BoolArray

    def node_log(self, variable: int) -> FloatArray:
        """Log potentials of a variable."""
        return self.node_logs[self.node_offsets[variable] : self.node_offsets[variable + 1]]

    def edge_log(self, edge: int) -> FloatArray:
        """Log potentials of an edge, shape (labels of u, labels of v)."""
        shape = self.cardinalities[self.edges[edge]]
        return self.edge_logs[self.edge_offsets[edge] : self.edge_offsets[edge + 1]].reshape(shape)


def pairwise_view(mrf: MarkovRandomField) -> PairwiseView:
    """Merge the factors of a pairwise model into one table per variable and per edge.

    Examples
    --------
    >>> mrf = MarkovRandomField([2, 2], [((0,), [1, 2]), ((1, 0), [[1, 3], [1, 1]])])
    >>> view = mrf.pairwise_view()
    >>> view.edges.tolist(), view.edge_log(0).round(3).tolist()
    ([[0, 1]], [[0.0, 0.0], [1.099, 0.0]])
    """
    if not mrf.is_pairwise:
        at = int(np.argmax(np.diff(mrf.scope_offsets)))
        msg = (
            f"a pairwise view needs factors of at most two variables, but factor {at} has "
            f"{mrf.scope(at).size}; `planaris.models.convert.mrf2pairwise` gives a pairwise model"
        )
        raise MethodError(msg, factor=at)
    cards = mrf.cardinalities.astype(np.int64)
    arity, first = np.diff(mrf.scope_offsets), mrf.scope_offsets[:-1]
    lone, pair = np.flatnonzero(arity == 1), np.flatnonzero(arity == 2)
    ends = mrf.scopes[first[pair][:, None] + [0, 1]].astype(np.int64)
    edges, edge_of_pair = _number_edges(np.sort(ends, axis=1))
    edge_sizes = cards[edges].prod(1)
    node_offsets = np.concatenate([[0], np.cumsum(cards)])
    edge_offsets = np.concatenate([[0], np.cumsum(edge_sizes)])

    nodes, tables = np.zeros(node_offsets[-1]), np.zeros(edge_offsets[-1])
    owner, rank, values = _entries(mrf, lone)
    np.add.at(nodes, node_offsets[mrf.scopes[first[lone]]][owner] + rank, values)
    swapped = ends[:, 0] > ends[:, 1]
    owner, rank, values = _entries(mrf, pair)
    row, column = np.divmod(rank, cards[ends[:, 1]][owner])
    turned = column * cards[ends[:, 0]][owner] + row
    place = np.where(swapped[owner], turned, rank)
    np.add.at(tables, edge_offsets[edge_of_pair][owner] + place, values)

    factor_edge = np.full(mrf.num_factors, -1, dtype=np.int32)
    factor_edge[pair] = edge_of_pair
    factor_swapped = np.zeros(mrf.num_factors, dtype=bool)
    factor_swapped[pair] = swapped
    return PairwiseView(
        cardinalities=mrf.cardinalities,
        node_logs=nodes,
        node_offsets=node_offsets,
        edges=edges.astype(np.int32),
        edge_logs=tables,
        edge_offsets=edge_offsets,
        constant=float(mrf.log_values[mrf.table_offsets[:-1][arity == 0]].sum()),
        factor_edge=factor_edge,
        factor_swapped=factor_swapped,
    )


def _entries(mrf: MarkovRandomField, factors: LongArray) -> tuple[LongArray, LongArray, FloatArray]:
    """All table entries of some factors: which of them, place in its table, value."""
    sizes = np.diff(mrf.table_offsets)[factors]
    owner = np.repeat(np.arange(len(factors)), sizes)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return owner, rank, mrf.log_values[mrf.table_offsets[:-1][factors][owner] + rank]


def _number_edges(pairs: LongArray) -> tuple[LongArray, LongArray]:
    """Different pairs in order of first appearance, and the number of each given pair."""
    if not len(pairs):
        return pairs.reshape(0, 2), np.zeros(0, dtype=np.int64)
    key = pairs[:, 0] * (int(pairs[:, 1].max()) + 1) + pairs[:, 1]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return pairs[first[order]], number[group]
