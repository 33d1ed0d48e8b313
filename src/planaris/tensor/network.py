"""Models as the arrays that a tensor network is made of, and marginals back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.errors import PrecisionError
from planaris.kernels.tensor import NetworkArrays
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.base import EPS, exact_sum
from planaris.models.tables import PairwiseView, parts_ending_at
from planaris.typing import BoolArray, FloatArray, LongArray

Model = IsingModel | MarkovRandomField

MAX_RANGE = 700.0
"""Largest difference of two finite log weights of an edge, so that their ratio is a double."""

NEVER = 60.0
"""A weight that is smaller than another by a factor of exp(60) is nothing beside it."""


@dataclass(frozen=True, eq=False)
class Network:
    """A pairwise model as arrays.

    Attributes
    ----------
    arrays : NetworkArrays
        Tables of variables and edges, the largest log weight of each zero: beside 1e17, kernels
        could not add up those of neighbours.
    constant : float
        Constant of the model.
    taken : float
        What was taken off the tables, in all.
    view : PairwiseView or None
        Where the factors of a Markov random field went.
    """

    arrays: NetworkArrays
    constant: float
    taken: float
    view: PairwiseView | None

    def log_partition(self, log_sum: float) -> float:
        """Return log Z of the model for that of the tables."""
        return math.fsum([log_sum, self.constant, self.taken])

    def rounding(self, log_sum: float) -> float:
        """Return what rounding makes of log Z at the least."""
        sizes = abs(log_sum) + abs(self.constant) + abs(self.taken)
        return 4 * EPS * (sizes + 8 * self.num_variables) if math.isfinite(sizes) else 0.0

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.arrays.cardinalities)

    @property
    def has_zeros(self) -> bool:
        """Whether a weight is zero."""
        logs = (self.arrays.node_logs, self.arrays.edge_logs, [self.constant])
        return any(bool(np.isneginf(x).any()) for x in logs)

    @property
    def has_many_energies(self) -> bool:
        """Whether different sizes of log weights of edges are at least half as many as variables.

        Where they are few, as of ±J models, configurations have equal weights: contractions that
        lost some of them agree.
        """
        logs = self.arrays.edge_logs
        sizes = np.abs(logs[np.isfinite(logs) & (logs != 0)]).astype(np.float32)
        return 2 * len(np.unique(sizes)) >= self.num_variables


def to_network(model: Model, budget: Budget = UNLIMITED) -> Network:
    """Return the tables of a pairwise model; ``TimeoutError`` when the time is over before.

    Examples
    --------
    >>> network = to_network(IsingModel([(0, 1)], [2.0], [0.5, 0.0]))
    >>> network.arrays.node_logs.tolist(), network.arrays.edge_logs.tolist()
    ([-1.0, 0.0, -0.0, 0.0], [0.0, -4.0, -4.0, 0.0])
    >>> network.taken
    2.5
    """
    if isinstance(model, IsingModel):
        arrays, constant, view = _of_ising(model), model.offset, None
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
        constant = view.constant
    budget.check()
    levelled, taken = _levelled(arrays, budget)
    _refuse_strong(levelled, budget)
    return Network(levelled, constant, taken, view)


def _levelled(arrays: NetworkArrays, budget: Budget) -> tuple[NetworkArrays, float]:
    """Subtract the largest entry from every table; return the sum of these as well."""
    nodes, top = _less_largest(arrays.node_logs, arrays.node_offsets)
    edges, tops = _less_largest(arrays.edge_logs, arrays.edge_offsets)
    budget.check()
    return arrays._replace(node_logs=nodes, edge_logs=edges), exact_sum(np.append(top, tops))


def _less_largest(logs: FloatArray, offsets: LongArray) -> tuple[FloatArray, FloatArray]:
    if len(offsets) <= 1:
        return logs, np.zeros(0)
    top = np.maximum.reduceat(logs, offsets[:-1])
    top = np.where(np.isfinite(top), top, 0.0)
    return logs - np.repeat(top, np.diff(offsets)), top


def _of_ising(model: IsingModel) -> NetworkArrays:
    n, m = model.num_spins, model.num_edges
    return NetworkArrays(
        np.full(n, 2, dtype=np.int32),
        np.multiply.outer(model.fields, [-1.0, 1.0]).ravel(),
        2 * np.arange(n + 1, dtype=np.int64),
        np.ascontiguousarray(model.edges),
        np.multiply.outer(model.couplings, [1.0, -1.0, -1.0, 1.0]).ravel(),
        4 * np.arange(m + 1, dtype=np.int64),
    )


def edge_ranges(arrays: NetworkArrays) -> FloatArray:
    """Return, per edge, the largest difference of two of its finite log weights."""
    begin = arrays.edge_offsets[:-1]
    if not len(begin):
        return np.zeros(0)
    high = low = arrays.edge_logs
    finite = np.isfinite(high)
    if not finite.all():
        high, low = np.where(finite, high, -np.inf), np.where(finite, low, np.inf)
    high, low = np.maximum.reduceat(high, begin), np.minimum.reduceat(low, begin)
    ranges: FloatArray = np.where(high >= low, high - low, 0.0)
    return ranges


def _refuse_strong(arrays: NetworkArrays, budget: Budget) -> None:
    """Refuse tables whose weights differ by more than the range of doubles.

    A label that falls behind by more than all edges around it can make up for counts for
    nothing, and may.
    """
    ranges = edge_ranges(arrays)
    worst = int(np.argmax(ranges)) if len(ranges) else -1
    if worst >= 0 and ranges[worst] > MAX_RANGE:
        _refuse("an edge", "edge", worst, float(ranges[worst]))
    budget.check()
    behind = 0.0 - arrays.node_logs
    far = np.isfinite(behind) & (behind > MAX_RANGE)
    if not far.any():
        return
    decided = np.where(_has_zeros(arrays), np.inf, ranges)
    most = np.zeros(len(arrays.cardinalities))
    np.add.at(most, arrays.edges, decided[:, None])
    room = np.repeat(most + NEVER, np.diff(arrays.node_offsets))
    open_ones = far & (behind < room)
    if open_ones.any():
        at = int(np.argmax(np.where(open_ones, behind, 0.0)))
        variable = int(np.searchsorted(arrays.node_offsets, at, side="right")) - 1
        _refuse("a variable", "variable", variable, float(behind[at]))


def _has_zeros(arrays: NetworkArrays) -> BoolArray:
    """Return, per edge, whether it has a weight that is zero."""
    begin = arrays.edge_offsets[:-1]
    if not len(begin):
        return np.zeros(0, dtype=bool)
    return np.logical_or.reduceat(np.isneginf(arrays.edge_logs), begin)


def _refuse(what: str, name: str, number: int, by: float) -> NoReturn:
    msg = (
        f"a tensor network needs log weights of {what} within {MAX_RANGE:g} of each other, "
        f"but those of {name} {number} differ by {by:g}; raise the temperature or use "
        '`method="treewidth"` or `method="interval"`'
    )
    raise PrecisionError(msg, **{name: number})


def node_tables(network: Network, nodes: FloatArray) -> FloatArray | list[FloatArray]:
    """Return ``P(s = +1)`` of an Ising model, or a table per variable."""
    if network.view is None:
        return nodes[1::2].copy()
    return parts_ending_at(nodes, network.view.node_offsets[1:])


def edge_tables(
    network: Network, nodes: FloatArray, edges: FloatArray
) -> FloatArray | list[FloatArray]:
    """Return ``P(s_u = s_v)`` of an Ising model, or a table per factor."""
    view = network.view
    if view is None:
        pairs = edges.reshape(-1, 4)
        return np.minimum(pairs[:, 0] + pairs[:, 3], 1.0)
    shapes = view.cardinalities[view.edges].tolist()
    tables = zip(parts_ending_at(edges, view.edge_offsets[1:]), shapes, strict=True)
    return view.factor_tables(
        parts_ending_at(nodes, view.node_offsets[1:]),
        [table.reshape(shape) for table, shape in tables],
    )
