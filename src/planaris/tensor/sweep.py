"""In which order a line passes the variables of a graph, and where on the line they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from planaris.kernels import tensor
from planaris.models import IsingModel
from planaris.tensor.network import Model, Network
from planaris.typing import FloatArray, IntArray, LongArray


@dataclass(frozen=True, eq=False)
class Sweep:
    """Steps of a line across a model.

    Attributes
    ----------
    program : planaris.kernels.tensor.Program
        The steps.
    kind : str
        ``"grid"``, ``"drawing"`` or ``"layers"``: what the order came from.
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
    if isinstance(model, IsingModel) and model.positions is not None:
        for axis in (0, 1):
            strips = _strips(model.positions[:, axis], edges)
            heights = model.positions[:, 1 - axis].astype(np.float64)
            sweeps.append(_by_strips(network, strips, heights, "drawing"))
    return min(sweeps, key=lambda sweep: sweep.cost * sweep.width)


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
