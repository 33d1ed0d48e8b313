"""Models as the arrays that a tensor network is made of, and marginals back.

A sweep is an order in which a line passes the variables of the graph, with their places on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from planaris.errors import PrecisionError
from planaris.kernels import tensor
from planaris.kernels.tensor import NetworkArrays
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.tables import PairwiseView
from planaris.typing import FloatArray, IntArray, LongArray

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


@dataclass(frozen=True, eq=False)
class Sweep:
    """Steps of a line across a model.

    Attributes
    ----------
    program : planaris.kernels.tensor.Program
        The steps.
    kind : str
        ``"grid"``, ``"rows"``, ``"drawing"`` or ``"layers"``: what the order came from.
    """

    program: tensor.Program
    kind: str

    @property
    def width(self) -> int:
        """Most variables on the line at once."""
        return int(self.program.width)

    @property
    def cost(self) -> int:
        """Bonds that are compressed on the way."""
        return int(self.program.num_pairs)


def plan_sweep(model: Model, network: Network) -> Sweep:
    """Choose how to sweep a model: along its grid, its drawing, or its breadth-first layers.

    Every second strip is passed in the other direction, so that the line changes next to where
    it changed last.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.tensor.network import to_network
    >>> model = pl.IsingModel.from_image(np.zeros((4, 7)), 1.0, 1.0)
    >>> sweep = plan_sweep(model, to_network(model))
    >>> sweep.kind, sweep.width
    ('grid', 4)
    """
    n, edges = network.num_variables, network.arrays.edges
    shape = grid_shape(n, edges)
    if shape is not None:
        rows, columns = np.divmod(np.arange(n), shape[1])
        along, across = (rows, columns) if shape[1] <= shape[0] else (columns, rows)
        return _by_strips(network, along, across.astype(np.float64), "grid")
    layers, ranks = _layers(n, edges)
    sweeps = [_by_strips(network, layers, ranks, "layers")]
    for width in near_rows(n, edges):
        rows, columns = np.divmod(np.arange(n), width)
        sweeps.append(_by_strips(network, rows, columns.astype(np.float64), "rows"))
    if isinstance(model, IsingModel) and model.positions is not None:
        for axis in (0, 1):
            strips = _strips(model.positions[:, axis], edges)
            heights = model.positions[:, 1 - axis].astype(np.float64)
            sweeps.append(_by_strips(network, strips, heights, "drawing"))
    return min(sweeps, key=lambda sweep: sweep.cost * sweep.width)


def crossing_sweep(network: Network) -> Sweep | None:
    """Return the sweep of a grid in the other direction; None for other graphs.

    >>> import planaris as pl
    >>> model = pl.IsingModel.from_image(np.zeros((4, 7)), 1.0, 1.0)
    >>> crossing_sweep(to_network(model)).width
    7
    """
    shape = grid_shape(network.num_variables, network.arrays.edges)
    if shape is None or min(shape) < 2:
        return None
    rows, columns = np.divmod(np.arange(network.num_variables), shape[1])
    along, across = (columns, rows) if shape[1] <= shape[0] else (rows, columns)
    return _by_strips(network, along, across.astype(np.float64), "grid")


def grid_shape(num_variables: int, edges: IntArray) -> tuple[int, int] | None:
    """Return (rows, columns) if all edges join neighbours of a row-major grid.

    Edges may be missing.

    >>> grid_shape(6, np.array([[0, 1], [1, 2], [1, 4], [4, 5]], dtype=np.int32))
    (2, 3)
    """
    if not len(edges):
        return (num_variables, 1) if num_variables else None
    steps = np.abs(edges[:, 0].astype(np.int64) - edges[:, 1])
    kinds = np.unique(steps)
    if len(kinds) == 1 and kinds[0] == 1:
        return (1, num_variables)
    columns = int(kinds[-1])
    if len(kinds) > 2 or num_variables % columns or (len(kinds) == 2 and kinds[0] != 1):
        return None
    if columns == 1 or (steps == 1)[(edges.min(1) % columns) == columns - 1].any():
        return None
    return (num_variables // columns, columns)


def near_rows(num_variables: int, edges: IntArray) -> list[int]:
    """Return numbers of columns with which row-major numbers put all edges next to each other.

    Such are lattices with diagonals.

    >>> near_rows(9, np.array([[0, 1], [0, 3], [0, 4], [1, 3], [4, 8]], dtype=np.int32))
    [3]
    """
    if not len(edges):
        return []
    longest = int(np.abs(edges[:, 0].astype(np.int64) - edges[:, 1]).max())
    found = []
    for columns in (longest, longest - 1):
        if columns > 1 and num_variables % columns == 0:
            rows, places = np.divmod(edges.astype(np.int64), columns)
            if np.abs(np.diff(rows)).max() <= 1 and np.abs(np.diff(places)).max() <= 1:
                found.append(columns)
    return found


def _by_strips(network: Network, strips: LongArray, heights: FloatArray, kind: str) -> Sweep:
    """Pass strip after strip, up and down in turn."""
    key = np.where(strips % 2 == 0, heights, -heights)
    order = np.lexsort((key, strips)).astype(np.int32)
    program = tensor.sweep_program(network.arrays, order, np.ascontiguousarray(heights, float))
    return Sweep(program, kind)


def _strips(x: FloatArray, edges: IntArray) -> LongArray:
    """Cut a drawing into strips that most edges do not leave by more than one."""
    spans = np.abs(x[edges[:, 0]] - x[edges[:, 1]])
    width = float(np.quantile(spans, 0.9)) if len(spans) else 0.0
    if not width > 0:
        width = float(np.ptp(x)) or 1.0
    strips: LongArray = np.floor((x - x.min(initial=np.inf)) / width + 1e-9).astype(np.int64)
    return strips


def _layers(num_variables: int, edges: IntArray) -> tuple[LongArray, FloatArray]:
    """Return the breadth-first layer of every variable and its rank in it.

    Layers of one component come after those of the ones before. In a layer, variables are
    sorted by the mean rank of their neighbours in the layer before.
    """
    ends = (edges[:, 0], edges[:, 1])
    half = coo_array((np.ones(len(edges)), ends), shape=(num_variables, num_variables))
    graph = (half + half.T).tocsr()
    count, component = connected_components(graph, directed=False)
    layers = np.zeros(num_variables, dtype=np.int64)
    ranks = np.zeros(num_variables)
    first = 0
    for start in np.unique(component, return_index=True)[1] if count else []:
        far = breadth_first_order(graph, start, directed=False)[0][-1]
        order, before = breadth_first_order(graph, far, directed=False)
        depth = layers
        depth[far] = first
        for v in order[1:]:
            depth[v] = depth[before[v]] + 1
        first = int(depth[order].max()) + 1
        _rank(graph, depth, order, ranks)
    return layers, ranks


def _rank(graph: csr_array, depth: LongArray, order: IntArray, ranks: FloatArray) -> None:
    """Sort every layer of a component by the mean rank of the neighbours in the one before."""
    starts = np.flatnonzero(np.diff(depth[order], prepend=depth[order[0]] - 1))
    for layer in np.split(order, starts[1:]):
        rows = graph[layer].tocoo()
        earlier = depth[rows.coords[1]] < depth[layer[rows.coords[0]]]
        at = rows.coords[0][earlier]
        sums = np.bincount(at, ranks[rows.coords[1][earlier]], minlength=len(layer))
        means = sums / np.maximum(np.bincount(at, minlength=len(layer)), 1)
        ranks[layer[np.argsort(means, kind="stable")]] = np.arange(len(layer), dtype=float)
