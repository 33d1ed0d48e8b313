"""Sweeps: an order in which a line passes the variables of a graph, with their places on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from planaris.budget import UNLIMITED, Budget
from planaris.kernels import tensor
from planaris.kernels.relaxations import SymmetricFactor, least_degree_order
from planaris.models import IsingModel
from planaris.tensor.network import Model, Network
from planaris.typing import FloatArray, IntArray, LongArray

DENSE = 200
"""Graphs of at most this many variables have all eigenvectors computed."""

MOST_SPECTRAL = 5000
"""Most variables of a graph that is drawn by eigenvectors."""

SPECTRAL_SECONDS = 4e-5
"""Estimated time per variable for the eigenvectors of a graph."""

SHIFT = 1e-3
"""Added to the diagonal of Laplacians, which are singular."""

THIN = 16
"""Ratio of the sides from which a lattice is crossed in one direction only."""

ALIKE = 0.8
"""Correlation of the ranks of two orders, of either sign, from which they count as one
direction."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Steps of a line across a model.

    Attributes
    ----------
    program : planaris.kernels.tensor.Program
        The steps.
    kind : str
        What the order came from: ``"grid"``, ``"torus"``, ``"rows"``, ``"drawing"``, ``"layers"``
        or ``"spectral"``.
    order : numpy.ndarray
        Variables in the order in which the line passes them.
    crossing : planaris.kernels.tensor.Program or None
        The steps in another direction: contractions that lose the same weights, at low
        temperatures, would agree otherwise.
    """

    program: tensor.Program
    kind: str
    order: IntArray
    crossing: tensor.Program | None = None

    @property
    def programs(self) -> tuple[tensor.Program, tensor.Program]:
        """The steps, and those in the other direction where there is one."""
        return self.program, self.program if self.crossing is None else self.crossing

    @property
    def is_lattice(self) -> bool:
        """Whether both directions are those of a lattice that is not much longer than wide."""
        return self.kind in ("grid", "torus", "rows") and self.longest <= THIN * self.width

    @property
    def width(self) -> int:
        """Most variables on the line at once."""
        return int(self.program.width)

    @property
    def longest(self) -> int:
        """The same, of the longer line of both directions."""
        return max(int(program.width) for program in self.programs)

    @cached_property
    def cost(self) -> int:
        """Bonds that are compressed on the way."""
        return int(self.program.num_pairs)


def plan_sweep(model: Model, network: Network, budget: Budget = UNLIMITED) -> Sweep:
    """Choose how to sweep a model: along its lattice, its drawing, or orders of its graph.

    Every second strip is passed in the other direction, so that the line changes next to where
    it changed last. ``TimeoutError`` when the time is over before.

    Examples
    --------
    >>> import planaris as pl
    >>> from planaris.tensor.network import to_network
    >>> model = pl.IsingModel.from_image(np.zeros((4, 7)), 1.0, 1.0)
    >>> sweep = plan_sweep(model, to_network(model))
    >>> sweep.kind, sweep.width, sweep.crossing.width
    ('grid', 4, 7)
    """
    n, edges = network.num_variables, network.arrays.edges
    budget.check()
    lattice = Lattice.of(n, edges)
    if lattice is not None:
        return lattice.sweep(network, budget)
    budget.check()
    sweeps = _of_layers(network, budget)
    for width in near_rows(n, edges):
        rows, columns = np.divmod(np.arange(n), width)
        for strips, heights in ((rows, columns), (columns, rows)):
            sweeps.append(_by_strips(network, strips, heights.astype(np.float64), "rows", budget))
    if isinstance(model, IsingModel) and model.positions is not None:
        drawing = model.positions.T.astype(np.float64)
        sweeps += _of_drawing(network, drawing, "drawing", budget)
    budget.check()
    if n <= MOST_SPECTRAL and SPECTRAL_SECONDS * n < budget.remaining():
        drawing = spectral_drawing(n, edges, budget)
        sweeps += _of_drawing(network, drawing, "spectral", budget)
    budget.check()
    best = min(sweeps, key=lambda sweep: sweep.cost * sweep.width)
    return replace(best, crossing=_crossing(best, sweeps))


def _crossing(best: Sweep, sweeps: list[Sweep]) -> tensor.Program | None:
    """Return the cheapest sweep in another direction, or the one that is least alike."""
    n = len(best.order)
    ranks = np.empty((len(sweeps), n))
    ranks[np.arange(len(sweeps))[:, None], [sweep.order for sweep in sweeps]] = np.arange(n)
    ranks -= (n - 1) / 2
    alike = np.abs(ranks @ ranks[sweeps.index(best)]) / max((ranks[0] ** 2).sum(), 1.0)
    if alike.min() > ALIKE:
        return sweeps[int(np.argmin(alike))].program if alike.min() < 1 - 1e-9 else None
    others = [sweep for sweep, much in zip(sweeps, alike, strict=True) if much <= ALIKE]
    return min(others, key=lambda sweep: sweep.cost * sweep.width).program


@dataclass(frozen=True)
class Lattice:
    """A row-major grid, some of whose edges may join the ends of rows or columns.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    wraps : tuple of bool
        Whether edges join the first row and the last, and the first column and the last.

    Examples
    --------
    >>> edges = np.array([[0, 1], [1, 2], [2, 0], [0, 3], [3, 4]], dtype=np.int32)
    >>> Lattice.of(6, edges)
    Lattice(shape=(2, 3), wraps=(False, True))
    """

    shape: tuple[int, int]
    wraps: tuple[bool, bool]

    @classmethod
    def of(cls, num_variables: int, edges: IntArray) -> Lattice | None:
        """Return the lattice of a graph, or None."""
        shape = grid_shape(num_variables, edges)
        if shape is not None:
            return cls(shape, (False, False))
        apart = np.abs(edges[:, 0].astype(np.int64) - edges[:, 1])
        steps = np.flatnonzero(np.bincount(apart))
        if len(steps) > 4:
            return None
        for columns in sorted({int(x) for step in steps for x in (step, step + 1)}):
            if columns < 2 or num_variables % columns or num_variables == columns:
                continue
            rows = num_variables // columns
            up, across = np.abs(np.diff(np.stack(np.divmod(edges.astype(np.int64), columns))))
            up, across = up[:, 0], across[:, 0]
            beside = (up == 0) & ((across == 1) | (across == columns - 1))
            below = (across == 0) & ((up == 1) | (up == rows - 1))
            if bool(np.all(beside | below)):
                return cls((rows, columns), (bool(up.max() > 1), bool(across.max() > 1)))
        return None

    def sweep(self, network: Network, budget: Budget) -> Sweep:
        """Return the sweep along the longer side, and the one that crosses it."""
        rows, columns = self.shape
        along = 0 if columns * (1 + self.wraps[0]) <= rows * (1 + self.wraps[1]) else 1
        found = self._along(along, network, budget)
        if min(self.shape) < 2:
            return found
        return replace(found, crossing=self._along(1 - along, network, budget).program)

    def _along(self, along: int, network: Network, budget: Budget) -> Sweep:
        """Return the sweep along one side.

        Rings are folded: the variables of one half stand between those of the other.
        """
        places = np.divmod(np.arange(network.num_variables), self.shape[1])
        strips, heights = (
            folded(places[k], self.shape[k]) if self.wraps[k] else places[k]
            for k in (along, 1 - along)
        )
        if self.wraps[along]:
            heights = 2 * heights + strips % 2
            strips = strips // 2
        kind = "torus" if any(self.wraps) else "grid"
        return _by_strips(network, strips, heights.astype(np.float64), kind, budget)


def folded(places: LongArray, length: int) -> LongArray:
    """Return places on a ring that is pressed flat: neighbours are at most two apart.

    >>> folded(np.arange(5), 5).tolist()
    [0, 2, 4, 3, 1]
    """
    found: LongArray = np.where(2 * places < length, 2 * places, 2 * (length - 1 - places) + 1)
    return found


def grid_shape(num_variables: int, edges: IntArray) -> tuple[int, int] | None:
    """Return (rows, columns) if all edges join neighbours of a row-major grid.

    Edges may be missing.

    >>> grid_shape(6, np.array([[0, 1], [1, 2], [1, 4], [4, 5]], dtype=np.int32))
    (2, 3)
    """
    if not len(edges):
        return (num_variables, 1) if num_variables else None
    steps = np.abs(edges[:, 0].astype(np.int64) - edges[:, 1])
    kinds = np.flatnonzero(np.bincount(steps))
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


def _by_strips(
    network: Network, strips: LongArray, heights: FloatArray, kind: str, budget: Budget
) -> Sweep:
    """Pass strip after strip, up and down in turn."""
    key = np.where(strips % 2 == 0, heights, -heights)
    order = np.lexsort((key, strips)).astype(np.int32)
    places = np.ascontiguousarray(heights, float)
    budget.check()
    program = tensor.sweep_program(network.arrays, order, places, budget)
    return Sweep(program, kind, order)


def _of_drawing(network: Network, drawing: FloatArray, kind: str, budget: Budget) -> list[Sweep]:
    """Return sweeps across a drawing (2 × variables): by strips, by few variables, by one."""
    found: list[Sweep] = []
    for axis in (0, 1) if drawing.size else ():
        along, across = drawing[axis], drawing[1 - axis]
        strips = _strips(along, network.arrays.edges)
        found.append(_by_strips(network, strips, across, kind, budget))
        ranks = np.empty(len(along), dtype=np.int64)
        ranks[np.argsort(along, kind="stable")] = np.arange(len(along))
        for upward in (across, -across):
            found += [_by_strips(network, ranks // few, upward, kind, budget) for few in (1, 5)]
    return found


def _strips(x: FloatArray, edges: IntArray) -> LongArray:
    """Cut a drawing into strips that most edges do not leave by more than one."""
    spans = np.abs(x[edges[:, 0]] - x[edges[:, 1]])
    width = float(np.quantile(spans, 0.9)) if len(spans) else 0.0
    if not width > 0:
        width = float(np.ptp(x)) or 1.0
    strips: LongArray = np.floor((x - x.min(initial=np.inf)) / width + 1e-9).astype(np.int64)
    return strips


def _of_layers(network: Network, budget: Budget) -> list[Sweep]:
    """Return sweeps by breadth-first layers: from one end of the graph, and from one side of it.

    The side is the first variable of the middle layer of its component.
    """
    n, edges = network.num_variables, network.arrays.edges
    graph = _adjacency(n, edges)
    count, component = connected_components(graph, directed=False)
    firsts = np.unique(component, return_index=True)[1] if count else np.zeros(0, dtype=np.int64)
    starts = [int(breadth_first_order(graph, k, directed=False)[0][-1]) for k in firsts]
    layers, ranks = _layers(graph, starts, budget)
    found = [_by_strips(network, layers, ranks, "layers", budget)]
    order = np.lexsort((ranks, layers, component))
    bounds = np.searchsorted(component[order], np.arange(count + 1))
    for k in range(count):
        members = order[bounds[k] : bounds[k + 1]]
        middle = layers[members[len(members) // 2]]
        starts[k] = int(members[np.searchsorted(layers[members], middle)])
    found.append(_by_strips(network, *_layers(graph, starts, budget), "layers", budget))
    return found


def _adjacency(num_variables: int, edges: IntArray) -> csr_array:
    """Return the number of edges between every two variables."""
    ends = (edges[:, 0], edges[:, 1])
    half = coo_array((np.ones(len(edges)), ends), shape=(num_variables, num_variables))
    return (half + half.T).tocsr()


def _layers(graph: csr_array, starts: list[int], budget: Budget) -> tuple[LongArray, FloatArray]:
    """Return the breadth-first layer of every variable and its rank in it.

    Layers of one component come after those of the ones before. In a layer, variables are
    sorted by the mean rank of their neighbours in the layer before.
    """
    layers = np.zeros(graph.shape[0], dtype=np.int64)
    ranks = np.zeros(graph.shape[0])
    first = 0
    for far in starts:
        order, before = breadth_first_order(graph, far, directed=False)
        depth = layers
        depth[far] = first
        for v in order[1:]:
            depth[v] = depth[before[v]] + 1
        first = int(depth[order].max()) + 1
        _rank(graph, depth, order, ranks, budget)
    return layers, ranks


def _rank(
    graph: csr_array, depth: LongArray, order: IntArray, ranks: FloatArray, budget: Budget
) -> None:
    """Sort every layer of a component by the mean rank of the neighbours in the one before."""
    starts = np.flatnonzero(np.diff(depth[order], prepend=depth[order[0]] - 1))
    for layer in np.split(order, starts[1:]):
        budget.check()
        rows = graph[layer].tocoo()
        earlier = depth[rows.coords[1]] < depth[layer[rows.coords[0]]]
        at = rows.coords[0][earlier]
        sums = np.bincount(at, ranks[rows.coords[1][earlier]], minlength=len(layer))
        means = sums / np.maximum(np.bincount(at, minlength=len(layer)), 1)
        ranks[layer[np.argsort(means, kind="stable")]] = np.arange(len(layer), dtype=float)


def spectral_drawing(num_variables: int, edges: IntArray, budget: Budget = UNLIMITED) -> FloatArray:
    """Return two coordinates of every variable: eigenvectors of the Laplacian of its component.

    Components lie beside each other. Neighbours are near each other in these drawings (Hall 1970),
    so that a line across them is short. ``TimeoutError`` when the time is over before.

    >>> slow, _ = spectral_drawing(4, np.array([[2, 0], [0, 3], [3, 1]], dtype=np.int32))
    >>> np.argsort(slow).tolist() in ([2, 0, 3, 1], [1, 3, 0, 2])
    True
    """
    graph = _adjacency(num_variables, edges)
    laplacian: csr_array = (diags_array(graph.sum(1)) - graph).tocsr()
    count, component = connected_components(graph, directed=False)
    drawing = np.zeros((2, num_variables))
    for k in range(count):
        budget.check()
        members = np.flatnonzero(component == k)
        if len(members) > 1:
            drawing[:, members] = _slow_modes(laplacian[members][:, members], budget)
        drawing[:, members] += 3.0 * k  # entries of eigenvectors are at most one
    return drawing


def _slow_modes(laplacian: csr_array, budget: Budget) -> FloatArray:
    """Return the eigenvectors of the second and third eigenvalue of a connected graph."""
    n = laplacian.shape[0]
    if n <= DENSE:
        vectors = np.linalg.eigh(laplacian.toarray())[1]
    else:
        start = np.random.default_rng(n).normal(size=n)
        inverse = LinearOperator((n, n), matvec=_shifted_inverse(laplacian, budget))
        values, vectors = eigsh(laplacian, 3, sigma=-SHIFT, v0=start, OPinv=inverse)
        vectors = vectors[:, np.argsort(values)]
    found = np.zeros((2, n))
    found[: min(n - 1, 2)] = vectors[:, 1:3].T
    return found


def _shifted_inverse(laplacian: csr_array, budget: Budget) -> Callable[[FloatArray], FloatArray]:
    """Return the solution of systems with the Laplacian plus a small shift; checks the deadline."""
    entries = laplacian.tocoo()
    rows, columns = (ends.astype(np.int64) for ends in entries.coords)
    values = entries.data + SHIFT * (rows == columns)
    place = least_degree_order(rows, columns, laplacian.shape[0], budget)
    factor = SymmetricFactor(rows, columns, values, place, budget)

    def solve(side: FloatArray) -> FloatArray:
        budget.check()
        return factor.solve(side.ravel(), budget)

    return solve
