"""Noisy observations of more than two labels: of nodes, and of pairs by difference or equality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.errors import ModelError, require_one_of
from planaris.models import MarkovRandomField
from planaris.models.arrays import as_rng
from planaris.notebook import Shown
from planaris.recover.observe import Graph, as_graph
from planaris.typing import ArrayLike, BoolArray, FloatArray, LongArray, Rng

KINDS = ("difference", "equal")

LEAST = 1e-12
"""Noise below this counts as this: certain observations keep finite weights."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelObservations(Shown):
    """What is seen of labels 0, ..., k - 1.

    Attributes
    ----------
    graph : Graph
        The graph observed.
    num_labels : int
        k, at least two.
    edges : numpy.ndarray
        Of every edge (u, v): ``(x_v - x_u) mod k`` as seen where ``kind="difference"``; 1 where
        the ends look equal and 0 where not for ``"equal"``; -1 unobserved.
    nodes : numpy.ndarray
        The label seen; -1 unobserved.
    kind : {"difference", "equal"}
        What is seen of an edge.

    Examples
    --------
    >>> path = as_graph((3, [(0, 1), (1, 2)]))
    >>> LabelObservations(path, 3, edges=[1, 2], nodes=[0, 1, -1]).kind
    'difference'
    """

    graph: Graph
    num_labels: int
    edges: LongArray
    nodes: LongArray
    kind: str = "difference"

    def __post_init__(self) -> None:
        require_one_of("kind", self.kind, KINDS, ModelError)
        if np.asarray(self.num_labels).dtype.kind not in "iu" or self.num_labels < 2:
            msg = f"`num_labels` must be an integer of at least two, got {self.num_labels!r}"
            raise ModelError(msg)
        most = self.num_labels if self.kind == "difference" else 2
        for name, length, limit in (
            ("edges", len(self.graph.edges), most),
            ("nodes", self.graph.num_nodes, self.num_labels),
        ):
            values = np.asarray(getattr(self, name))
            right = values.shape == (length,) and (not length or values.dtype.kind in "iu")
            if not right or np.any((values < -1) | (values >= limit)):
                msg = f"`{name}` must be integers from -1 to {limit - 1}, shape ({length},)"
                raise ModelError(msg)
            object.__setattr__(self, name, values.astype(np.int64))

    def seen_of(self, labels: LongArray) -> LongArray:
        """Return what edges would show without noise."""
        u, v = self.graph.edges.T
        difference = (labels[v] - labels[u]) % self.num_labels
        shown = difference if self.kind == "difference" else difference == 0
        return np.asarray(shown, dtype=np.int64)

    def bad_edges(self, truth: ArrayLike) -> BoolArray:
        """Return the edges whose observation contradicts these labels."""
        shown = self.seen_of(as_classes("truth", truth, self.graph.num_nodes, self.num_labels))
        return np.asarray((self.edges >= 0) & (self.edges != shown))

    def bad_nodes(self, truth: ArrayLike) -> BoolArray:
        """Return the nodes whose observation contradicts these labels."""
        y = as_classes("truth", truth, self.graph.num_nodes, self.num_labels)
        return np.asarray((self.nodes >= 0) & (self.nodes != y))


def as_classes(name: str, labels: ArrayLike, length: int, count: int) -> LongArray:
    """Return labels 0 to ``count - 1``; a number stands for all."""
    given = np.asarray(labels)
    y = np.full(length, given) if given.ndim == 0 else given
    if y.shape != (length,) or (length and y.dtype.kind not in "iu"):
        msg = f"`{name}` must be integers of shape ({length},)"
        raise ModelError(msg)
    if np.any((y < 0) | (y >= count)):
        msg = f"`{name}` must lie between 0 and {count - 1}"
        raise ModelError(msg)
    return y.astype(np.int64)


def as_label_noise(name: str, value: Any, length: int, choices: int) -> FloatArray:
    """Return the noise of every observation; at most that of a guess among ``choices``.

    >>> as_label_noise("q", 0.5, 2, 3).tolist()
    [0.5, 0.5]
    """
    most = 1.0 - 1.0 / choices
    try:
        noise = np.broadcast_to(np.asarray(value, dtype=np.float64), (length,))
    except (TypeError, ValueError):
        msg = f"`{name}` must be a number or have shape ({length},), got {value!r}"
        raise ModelError(msg) from None
    if np.any(~((noise >= 0) & (noise <= most * (1 + 1e-12)))):
        msg = f"`{name}` must lie between 0 and {most:g}, where an observation says nothing"
        raise ModelError(msg)
    return noise


def observe_labels(
    graph: Any,
    labels: ArrayLike,
    num_labels: int,
    p: ArrayLike,
    q: ArrayLike,
    rng: Rng,
    *,
    kind: str = "difference",
) -> LabelObservations:
    """Observe labels 0, ..., k - 1 through noise.

    Parameters
    ----------
    graph : Lattice, IsingModel, networkx graph, or pair (num_nodes, edges)
        Which pairs are compared.
    labels : array_like of int
        The truth; a number stands for all nodes.
    num_labels : int
        k.
    p, q : float or array_like of float
        Probability that an edge, a node shows something else, all other values alike; one for
        all or one each. At most 1 - 1/k, for edges that show equality 1/2.
    rng : numpy.random.Generator, int or None
        Source of the noise.
    kind : {"difference", "equal"}
        Whether an edge shows the difference of its labels mod k, or whether they are equal.

    Examples
    --------
    >>> import planaris as pl
    >>> grid = pl.generate.square_lattice(3)
    >>> seen = observe_labels(grid, 2, 4, 0.0, 0.0, np.random.default_rng(0))
    >>> bool((seen.edges == 0).all()), bool((seen.nodes == 2).all())
    (True, True)
    """
    generator = as_rng(rng)
    frame = as_graph(graph)
    blank = LabelObservations(
        frame,
        num_labels,
        np.full(len(frame.edges), -1, dtype=np.int64),
        np.full(frame.num_nodes, -1, dtype=np.int64),
        kind,
    )
    y = as_classes("labels", labels, frame.num_nodes, num_labels)
    choices = num_labels if kind == "difference" else 2
    edge_noise = as_label_noise("p", p, len(frame.edges), choices)
    node_noise = as_label_noise("q", q, frame.num_nodes, num_labels)
    edges = _through_noise(blank.seen_of(y), choices, edge_noise, generator)
    nodes = _through_noise(y, num_labels, node_noise, generator)
    return LabelObservations(frame, num_labels, edges, nodes, kind)


def _through_noise(
    values: LongArray, choices: int, noise: FloatArray, rng: np.random.Generator
) -> LongArray:
    wrong = rng.random(len(values)) < noise
    other = (values + rng.integers(1, choices, len(values))) % choices
    return np.where(wrong, other, values)


def label_posterior(
    observations: LabelObservations, p: ArrayLike, q: ArrayLike | None
) -> MarkovRandomField:
    """Return the model of the labels given the observations, under a uniform prior.

    Without ``q`` that of the edges alone.

    >>> path = as_graph((2, [(0, 1)]))
    >>> seen = LabelObservations(path, 3, edges=[1], nodes=[0, 1])
    >>> np.exp(label_posterior(seen, 0.2, 0.4).log_table(0)).round(3).tolist()
    [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]
    """
    frame, k = observations.graph, observations.num_labels
    choices = k if observations.kind == "difference" else 2
    edge_noise = np.maximum(as_label_noise("p", p, len(frame.edges), choices), LEAST)
    difference = (np.arange(k)[None, :] - np.arange(k)[:, None]) % k
    shown = difference if observations.kind == "difference" else (difference == 0).astype(np.int64)
    right = shown[None] == observations.edges[:, None, None]
    wrong = edge_noise / (choices - 1)
    tables = np.where(right, np.log1p(-edge_noise)[:, None, None], np.log(wrong)[:, None, None])
    tables[observations.edges < 0] = 0.0
    factors: list[Any] = [
        (pair, table) for pair, table in zip(frame.edges.tolist(), tables, strict=True)
    ]
    if q is not None:
        node_noise = np.maximum(as_label_noise("q", q, frame.num_nodes, k), LEAST)
        match = observations.nodes[:, None] == np.arange(k)
        rows = np.where(
            match, np.log1p(-node_noise)[:, None], np.log(node_noise / (k - 1))[:, None]
        )
        rows[observations.nodes < 0] = 0.0
        factors += [((v,), row) for v, row in enumerate(rows)]
    return MarkovRandomField([k] * frame.num_nodes, factors, log=True)
