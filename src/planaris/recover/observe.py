"""Noisy observations of labels: of the nodes of a graph and of its edges (GRSY15, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.generate import Lattice
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel
from planaris.models.arrays import (
    as_array,
    as_edges,
    as_positions,
    as_real,
    as_rng,
    checked_count,
    held,
)
from planaris.models.tables import number_pairs
from planaris.notebook import Shown
from planaris.typing import (
    Array,
    ArrayLike,
    BoolArray,
    FloatArray,
    Int8Array,
    IntArray,
    LongArray,
    Rng,
)


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Shown):
    """A graph as arrays: what every function of this package works on.

    Attributes
    ----------
    num_nodes : int
        Number of nodes, isolated ones included.
    edges : numpy.ndarray
        int32, shape (m, 2); parallel edges are separate observations.
    positions : numpy.ndarray or None
        Coordinates of a plane drawing.
    """

    num_nodes: int
    edges: IntArray
    positions: FloatArray | None = None

    def __post_init__(self) -> None:
        # Components and neighbours are found once: edges must not change behind them.
        object.__setattr__(self, "edges", held(self.edges))

    @cached_property
    def components(self) -> tuple[int, IntArray]:
        """Number of connected components, and the component of every node."""
        return self.components_without(np.zeros(len(self.edges), dtype=bool))

    def components_without(self, removed: BoolArray) -> tuple[int, IntArray]:
        """Return the components left when some edges are removed."""
        label = connected_components(self.num_nodes, np.ascontiguousarray(self.edges[~removed]))
        return int(label.max(initial=-1)) + 1, label

    @cached_property
    def merged(self) -> LongArray:
        """Place of every edge among those of a model, which merges parallel ones."""
        return number_pairs(self.edges.min(axis=1), self.edges.max(axis=1))[1]

    @cached_property
    def neighbours(self) -> tuple[IntArray, IntArray]:
        """Offsets and neighbours: those of v are ``neighbours[offsets[v]:offsets[v + 1]]``."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        degrees = np.bincount(ends[:, 0], minlength=self.num_nodes)
        offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
        return offsets, np.ascontiguousarray(ends[order, 1])


def as_graph(graph: Any) -> Graph:
    """Return the graph of a lattice, model, observations, networkx graph or (n, edges) pair.

    >>> as_graph((3, [(0, 1), (1, 2)])).num_nodes
    3
    """
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, Observations):
        return graph.graph
    if isinstance(graph, IsingModel):
        return Graph(graph.num_spins, graph.edges, graph.positions)
    pairs: Any
    positions: Any = None
    if isinstance(graph, Lattice):
        count, pairs, positions = graph.num_vertices, graph.edges, graph.positions
    elif isinstance(graph, tuple) and len(graph) == 2:
        count, pairs = graph
    elif hasattr(graph, "nodes") and hasattr(graph, "edges"):
        place = {node: k for k, node in enumerate(graph.nodes)}
        count = len(place)
        pairs = [(place[u], place[v]) for u, v in graph.edges()]
        spots = [graph.nodes[node].get("pos") for node in place]
        positions = spots if spots and all(spot is not None for spot in spots) else None
    else:
        msg = (
            "`graph` must be a lattice, a model, a networkx graph or a pair (num_nodes, edges), "
            f"got {type(graph).__name__}"
        )
        raise ModelError(msg)
    count = checked_count(count)
    where = None if positions is None else as_positions(positions, count)
    return Graph(count, as_edges(pairs, count), where)


@dataclass(frozen=True, eq=False, repr=False)
class Observations(Shown):
    """What is seen of a labelling: one sign per edge and one per node.

    Attributes
    ----------
    graph : Graph
        The graph observed.
    edges : numpy.ndarray
        int8: +1 where the ends look equal, -1 where they look different, 0 unobserved.
    nodes : numpy.ndarray
        int8: the label seen, -1 or +1; 0 unobserved.

    Examples
    --------
    >>> from planaris.recover import MAP
    >>> path = as_graph((3, [(0, 1), (1, 2)]))
    >>> seen = Observations(path, edges=[1, -1], nodes=[1, 0, -1])
    >>> MAP(p=0.1, q=0.2).recover(seen).labels.tolist()
    [1, 1, -1]
    """

    graph: Graph
    edges: Int8Array
    nodes: Int8Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", as_graph(self.graph))
        for name, length in (("edges", len(self.graph.edges)), ("nodes", self.graph.num_nodes)):
            object.__setattr__(self, name, as_signs(name, getattr(self, name), length))

    def edge_model(self, weight: float | FloatArray = 1.0) -> IsingModel:
        """Return the model of the edge observations alone, in a zero field."""
        return self._model(weight, None)

    def couplings(self, weight: float | FloatArray) -> FloatArray:
        """Return the couplings of :meth:`edge_model`: parallel edges add up."""
        place = self.graph.merged
        return np.bincount(place, weight * self.edges.astype(np.float64)).astype(np.float64)

    def model(self, edge_weight: float | FloatArray, node_weight: float | FloatArray) -> IsingModel:
        """Return the model with couplings and fields of these sizes, signed as observed."""
        return self._model(edge_weight, node_weight * self.nodes.astype(np.float64))

    def _model(self, weight: float | FloatArray, fields: FloatArray | None) -> IsingModel:
        graph = self.graph
        return IsingModel(
            graph.edges,
            weight * self.edges.astype(np.float64),
            fields,
            num_spins=graph.num_nodes,
            positions=graph.positions,
        )

    def bad_edges(self, truth: ArrayLike) -> BoolArray:
        """Return the edges whose observation contradicts these labels."""
        y = as_labels("truth", truth, self.graph.num_nodes)
        u, v = self.graph.edges.T
        return np.asarray(self.edges * y[u] * y[v] < 0)

    def bad_nodes(self, truth: ArrayLike) -> BoolArray:
        """Return the nodes whose observation contradicts these labels."""
        return np.asarray(self.nodes * as_labels("truth", truth, self.graph.num_nodes) < 0)


def observe(graph: Any, labels: ArrayLike, p: ArrayLike, q: ArrayLike, rng: Rng) -> Observations:
    """Observe labels through noise: edges wrong with probability p, nodes with probability q.

    Parameters
    ----------
    graph : Lattice, IsingModel, networkx graph, or pair (num_nodes, edges)
        Which pairs are compared.
    labels : array_like of int, shape (n,)
        The truth, -1 and +1; a number stands for all nodes.
    p, q : float or array_like of float
        Noise of edges and of nodes, in [0, 1/2]: one number, or one per edge and per node.
    rng : numpy.random.Generator, int or None
        Source of the noise.

    Examples
    --------
    >>> import planaris as pl
    >>> grid = pl.generate.square_lattice(3)
    >>> seen = observe(grid, -1, 0.0, 0.0, np.random.default_rng(0))
    >>> bool((seen.edges == 1).all()), bool((seen.nodes == -1).all())
    (True, True)
    """
    rng = as_rng(rng)
    frame = as_graph(graph)
    p = as_noises("p", p, len(frame.edges))
    q = as_noises("q", q, frame.num_nodes)
    y = as_labels("labels", labels, frame.num_nodes)
    u, v = frame.edges.T
    wrong_edges = rng.random(len(frame.edges)) < p
    wrong_nodes = rng.random(frame.num_nodes) < q
    edges = np.where(wrong_edges, -1, 1) * y[u] * y[v]
    return Observations(frame, edges.astype(np.int8), np.where(wrong_nodes, -y, y).astype(np.int8))


def connected_part(observations: Observations, size: int) -> Observations:
    """Return the observations of nodes around one of the largest component, ``size`` at most.

    >>> path = as_graph((4, [(0, 1), (2, 3), (1, 2)]))
    >>> seen = Observations(path, np.array([1, -1, 1]), np.array([1, -1, -1, 1]))
    >>> connected_part(seen, 3).edges.tolist()
    [1, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    frame = observations.graph
    n = frame.num_nodes
    if not n:
        return observations
    _, component = frame.components
    start = int(np.argmax(component == np.argmax(np.bincount(component))))
    u, v = frame.edges.T
    links = coo_array((np.ones(len(u)), (u, v)), shape=(n, n)).tocsr()
    reached = breadth_first_order(links, start, directed=False, return_predecessors=False)
    nodes = np.sort(reached[:size])
    place = np.full(n, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    inside = (place[u] >= 0) & (place[v] >= 0)
    where = None if frame.positions is None else frame.positions[nodes]
    part = Graph(len(nodes), place[frame.edges[inside]].astype(np.int32), where)
    return Observations(part, observations.edges[inside], observations.nodes[nodes])


def as_noise(name: str, value: Any) -> float:
    """Return a noise level as a float; refuse what lies outside [0, 1/2]."""
    try:
        noise = float(value)
    except (TypeError, ValueError):
        noise = -1.0
    if not 0.0 <= noise <= 0.5:
        msg = (
            f"`{name}` must lie between 0 and 1/2, got {value!r}; observations that are wrong "
            "more often than right must be negated first"
        )
        raise ModelError(msg)
    return noise


def as_noises(name: str, value: Any, length: int) -> float | FloatArray:
    """Return one noise level, or one per edge or node; refuse what lies outside [0, 1/2].

    >>> as_noises("p", [0.1, 0.2], 2).tolist(), as_noises("p", 0.1, 2)
    ([0.1, 0.2], 0.1)
    """
    if np.ndim(value) == 0:
        return as_noise(name, value)
    noise = as_real(name, value)
    if noise.shape != (length,):
        msg = f"`{name}` must be a number or have shape ({length},), got {noise.shape}"
        raise ModelError(msg)
    outside = np.flatnonzero(~((noise >= 0.0) & (noise <= 0.5)))
    if outside.size:
        as_noise(f"{name}[{outside[0]}]", noise[outside[0]])
    return noise


def as_labels(name: str, labels: ArrayLike, length: int) -> Int8Array:
    """Return labels as int8 of -1 and +1; a number stands for all."""
    y = as_signs(name, np.full(length, labels) if np.ndim(labels) == 0 else labels, length)
    if not y.all():
        msg = f"`{name}` must be -1 or +1 everywhere, got 0 at node {int(np.argmin(np.abs(y)))}"
        raise ModelError(msg)
    return y


def as_signs(name: str, values: Any, length: int) -> Int8Array:
    """Return -1, 0 and +1 as int8; refuse anything else."""
    given: Array = as_array(name, values)
    if given.shape != (length,):
        msg = f"`{name}` must have shape ({length},), got {given.shape}"
        raise ModelError(msg)
    if not np.isin(given, (-1, 0, 1)).all():
        at = int(np.flatnonzero(~np.isin(given, (-1, 0, 1)))[0])
        msg = f"`{name}` must hold -1, 0 or +1, got {given[at]!r} at {at}"
        raise ModelError(msg)
    return given.astype(np.int8)


def require_observations(observations: object) -> None:
    """Refuse anything but observations of two labels.

    >>> require_observations(None)
    Traceback (most recent call last):
    planaris.errors.ModelError: `observations` must be Observations, got NoneType
    """
    if not isinstance(observations, Observations):
        msg = f"`observations` must be Observations, got {type(observations).__name__}"
        raise ModelError(msg)
