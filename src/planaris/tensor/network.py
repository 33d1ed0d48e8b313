"""Models as the arrays that a tensor network is made of, and marginals back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.errors import PrecisionError
from planaris.kernels.tensor import NetworkArrays
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.tables import PairwiseView
from planaris.typing import FloatArray, IntArray

Model = IsingModel | MarkovRandomField

MAX_RANGE = 700.0
"""Largest difference of two finite log weights of an edge, so that their ratio is a double."""


@dataclass(frozen=True, eq=False)
class Network:
    """A pairwise model as arrays.

    Attributes
    ----------
    arrays : NetworkArrays
        Tables of variables and edges.
    constant : float
        Added to every log weight.
    view : PairwiseView or None
        Where the factors of a Markov random field went.
    """

    arrays: NetworkArrays
    constant: float
    view: PairwiseView | None

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.arrays.cardinalities)

    @property
    def has_zeros(self) -> bool:
        """Whether a weight is zero."""
        logs = (self.arrays.node_logs, self.arrays.edge_logs, [self.constant])
        return any(bool(np.isneginf(x).any()) for x in logs)


def to_network(model: Model) -> Network:
    """Return the tables of a pairwise model.

    Examples
    --------
    >>> network = to_network(IsingModel([(0, 1)], [2.0], [0.5, 0.0]))
    >>> network.arrays.node_logs.tolist(), network.arrays.edge_logs.tolist()
    ([-0.5, 0.5, -0.0, 0.0], [2.0, -2.0, -2.0, 2.0])
    """
    if isinstance(model, IsingModel):
        network = _of_ising(model)
    else:
        view = model.pairwise_view()
        arrays = NetworkArrays(
            view.cardinalities,
            view.node_logs,
            view.node_offsets,
            np.ascontiguousarray(view.edges),
            view.edge_logs,
            view.edge_offsets,
        )
        network = Network(arrays, view.constant, view)
    _refuse_strong(network.arrays)
    return network


def _of_ising(model: IsingModel) -> Network:
    n, m = model.num_spins, model.num_edges
    arrays = NetworkArrays(
        np.full(n, 2, dtype=np.int32),
        np.multiply.outer(model.fields, [-1.0, 1.0]).ravel(),
        2 * np.arange(n + 1, dtype=np.int64),
        np.ascontiguousarray(model.edges),
        np.multiply.outer(model.couplings, [1.0, -1.0, -1.0, 1.0]).ravel(),
        4 * np.arange(m + 1, dtype=np.int64),
    )
    return Network(arrays, model.offset, None)


def edge_ranges(arrays: NetworkArrays) -> FloatArray:
    """Return, per edge, the largest difference of two of its finite log weights."""
    begin = arrays.edge_offsets[:-1]
    if not len(begin):
        return np.zeros(0)
    logs = arrays.edge_logs
    finite = np.isfinite(logs)
    high = np.maximum.reduceat(np.where(finite, logs, -np.inf), begin)
    low = np.minimum.reduceat(np.where(finite, logs, np.inf), begin)
    ranges: FloatArray = np.where(high >= low, high - low, 0.0)
    return ranges


def _refuse_strong(arrays: NetworkArrays) -> None:
    """Refuse edges whose weights differ by more than the range of doubles."""
    ranges = edge_ranges(arrays)
    if not len(ranges):
        return
    worst = int(np.argmax(ranges))
    if ranges[worst] > MAX_RANGE:
        msg = (
            f"a tensor network needs log weights of an edge within {MAX_RANGE:g} of each other, "
            f"but those of edge {worst} differ by {ranges[worst]:g}; raise the temperature or use "
            '`method="treewidth"` or `method="interval"`'
        )
        raise PrecisionError(msg, edge=worst)


def node_tables(network: Network, nodes: FloatArray) -> FloatArray | list[FloatArray]:
    """Return ``P(s = +1)`` of an Ising model, or a table per variable."""
    if network.view is None:
        return nodes[1::2].copy()
    return np.split(nodes, network.arrays.node_offsets[1:-1]) if len(nodes) else []


def edge_tables(
    network: Network, model: Model, nodes: FloatArray, edges: FloatArray
) -> FloatArray | list[FloatArray]:
    """Return ``P(s_u = s_v)`` of an Ising model, or a table per factor."""
    view = network.view
    if view is None or isinstance(model, IsingModel):
        pairs = edges.reshape(-1, 4)
        return np.minimum(pairs[:, 0] + pairs[:, 3], 1.0)
    return [_factor_table(view, model, k, nodes, edges) for k in range(model.num_factors)]


def _factor_table(
    view: PairwiseView, mrf: MarkovRandomField, factor: int, nodes: FloatArray, edges: FloatArray
) -> FloatArray:
    scope: IntArray = mrf.scope(factor)
    if len(scope) == 0:
        return np.ones(())
    if len(scope) == 1:
        v = int(scope[0])
        return nodes[view.node_offsets[v] : view.node_offsets[v + 1]].copy()
    edge = int(view.factor_edge[factor])
    begin, end = view.edge_offsets[edge], view.edge_offsets[edge + 1]
    table = edges[begin:end].reshape(tuple(view.cardinalities[view.edges[edge]].tolist()))
    return table.T.copy() if view.factor_swapped[factor] else table.copy()
