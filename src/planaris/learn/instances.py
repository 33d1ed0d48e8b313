"""What a CRF is trained on: a graph with one row of features per edge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.generate import square_lattice
from planaris.learn.tied import TiedGraph, repeated
from planaris.models import IsingModel
from planaris.models.arrays import as_count, as_edges, as_real
from planaris.models.tables import as_integers
from planaris.notebook import Shown
from planaris.typing import ArrayLike, BoolArray, FloatArray, IntArray

PEGS = ("corners",)
GROUPS = ("tied", "direction")
FIELDS = ("border",)

EdgeFeature = Callable[[FloatArray, IntArray], FloatArray]
"""Takes an image (H, W, C) and edges (m, 2) between pixels, returns columns (m, k)."""


@dataclass(frozen=True, eq=False, repr=False)
class Instance(Shown):
    """A graph with features, and what is known about its states.

    Attributes
    ----------
    num_spins : int
        Number of spins.
    edges : numpy.ndarray
        Pairs of spins, shape (m, 2).
    features : numpy.ndarray
        One row per edge, shape (m, k): disagreement costs are ``features @ weights``.
    positions : numpy.ndarray or None
        A plane drawing, shape (n, 2).
    ties, opposite : numpy.ndarray
        Pairs of spins that are equal or opposite in every state.
    field_spins : numpy.ndarray or None
        Spins in a field; they must be on one face. None: labels count up to a global flip.
    field_features : numpy.ndarray or None
        One row per spin of ``field_spins``: its field is half of ``field_features @ weights``,
        with weights of their own.
    margin : numpy.ndarray or None
        ``v_ij`` of SK08 eq. 9: per edge, then per spin in a field. None: what the CRF says.
    shape : tuple of int
        Shape of the labels: (n,) or that of an image.
    """

    num_spins: int
    edges: IntArray
    features: FloatArray
    positions: FloatArray | None = None
    ties: IntArray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    opposite: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    field_spins: IntArray | None = None
    field_features: FloatArray | None = None
    margin: FloatArray | None = None
    shape: tuple[int, ...] = ()

    @property
    def has_fields(self) -> bool:
        """Whether a global flip changes the energy."""
        return self.field_spins is not None

    @property
    def num_edges(self) -> int:
        """Number of edges, those to the bias spin included."""
        return len(self.edges) + (0 if self.field_spins is None else len(self.field_spins))

    def all_features(self) -> FloatArray:
        """Return the features of edges and fields, block by block."""
        if self.field_features is None:
            return self.features
        m, k = self.features.shape
        f, q = self.field_features.shape
        joined = np.zeros((m + f, k + q))
        joined[:m, :k], joined[m:, k:] = self.features, self.field_features
        return joined

    def graph(self) -> TiedGraph:
        """Return the graph with its bias spin, contracted along the ties."""
        n, edges, positions = self.num_spins, self.edges, self.positions
        if self.field_spins is not None:
            bias = np.column_stack([self.field_spins, np.full_like(self.field_spins, n)])
            n, edges, positions = n + 1, np.concatenate([edges, bias]), None
        return TiedGraph(n, edges, ties=self.ties, opposite=self.opposite, positions=positions)

    def key(self) -> tuple[Any, ...]:
        """Return a key of the graph: instances with equal keys may share a plan."""
        arrays = (self.edges, self.ties, self.opposite, self.field_spins)
        return (self.num_spins, *(None if a is None else a.tobytes() for a in arrays))


def graph_instance(
    graph: Any,
    features: ArrayLike,
    *,
    ties: ArrayLike = (),
    opposite: ArrayLike = True,
    field_spins: ArrayLike | None = None,
    field_features: ArrayLike | None = None,
    margin: ArrayLike | None = None,
) -> Instance:
    """Return an instance of any planar graph.

    Parameters
    ----------
    graph : IsingModel, Lattice, networkx graph, or pair (num_spins, edges)
        The graph; couplings of a model are not used.
    features : array_like, shape (m, k)
        One row per edge, in the order of the graph's edges.
    ties, opposite, field_spins, field_features, margin
        See :class:`Instance`.

    Examples
    --------
    >>> instance = graph_instance((3, [(0, 1), (1, 2)]), [[1.0], [2.0]])
    >>> instance.num_spins, instance.all_features().shape
    (3, (2, 1))
    """
    n, edges, positions = _as_graph(graph)
    rows = as_real("features", features)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != len(edges) or not np.isfinite(rows).all():
        msg = f"`features` must be finite, one row per edge: ({len(edges)}, k), got {rows.shape}"
        raise ModelError(msg)
    tied = as_edges(ties, n, name="ties")
    flips = repeated("opposite", np.asarray(opposite, dtype=bool), len(tied))
    spins = fields = None
    if field_spins is not None:
        spins = as_integers("field_spins", field_spins).astype(np.int32)
        if spins.size and not 0 <= spins.min() <= spins.max() < n:
            msg = f"`field_spins` must name spins 0 to {n - 1}, got {spins.tolist()[:6]}"
            raise ModelError(msg)
        fields = as_real("field_features", 1.0 if field_features is None else field_features)
        fields = np.ones((len(spins), 1)) if fields.ndim == 0 else fields
        if fields.ndim != 2 or len(fields) != len(spins) or not np.isfinite(fields).all():
            msg = (
                "`field_features` must be finite, one row per spin in a field: "
                f"({len(spins)}, k), got {fields.shape}"
            )
            raise ModelError(msg)
    total = len(edges) + (0 if spins is None else len(spins))
    v = None if margin is None else repeated("margin", as_real("margin", margin), total)
    return Instance(n, edges, rows, positions, tied, flips, spins, fields, v, (n,))


def image_instance(
    image: ArrayLike,
    *,
    features: Sequence[str | EdgeFeature] = ("bias", "difference"),
    groups: str = "tied",
    peg: str | None = None,
    fields: str | None = None,
    name: str = "image",
) -> Instance:
    """Return the grid of an image.

    Parameters
    ----------
    image : array_like, shape (H, W) or (H, W, C)
        Pixels are spins, numbered row by row.
    features : sequence of str or callable
        See :func:`planaris.learn.instances.edge_features`.
    groups : {"tied", "direction"}
        The same weights for all edges, or other ones for edges to the right and down.
    peg : {"corners"}, optional
        The top left and the bottom right pixel differ (SK08 figure 5).
    fields : {"border"}, optional
        Pixels at the border, which share a face, are in a field: a constant and their values.
    name : str
        How to call the image in messages.

    Examples
    --------
    >>> instance = image_instance([[0.0, 1.0], [1.0, 0.0]], peg="corners")
    >>> instance.num_spins, instance.features.shape, instance.ties.tolist()
    (4, (4, 2), [[0, 3]])
    """
    x = as_image(name, image)
    for option, value, known in (
        ("groups", groups, GROUPS),
        ("peg", peg, (None, *PEGS)),
        ("fields", fields, (None, *FIELDS)),
    ):
        if value not in known:
            msg = f"`{option}` must be one of {', '.join(map(str, known))}, got {value!r}"
            raise ModelError(msg)
    if peg and fields:
        msg = "`peg` and `fields` cannot be had together: the graph would not be planar"
        raise ModelError(msg)
    rows, columns = x.shape[:2]
    lattice = square_lattice(rows, columns)
    n = rows * columns
    found = edge_features(x, lattice.edges, features)
    if groups == "direction":
        down = np.arange(len(found)) >= rows * max(columns - 1, 0)
        found = group_features(found, down, 2)
    ties = [(0, n - 1)] if peg and n > 1 else []
    border = border_features = None
    if fields:
        grid = np.arange(n, dtype=np.int32).reshape(rows, columns)
        inner = np.zeros((rows, columns), dtype=bool)
        inner[1:-1, 1:-1] = True
        border = grid[~inner]
        values = x.reshape(n, -1)[border]
        border_features = np.concatenate([np.ones((len(border), 1)), values], axis=1)
    return Instance(
        n,
        lattice.edges,
        found,
        lattice.positions,
        as_edges(ties, n, name="ties"),
        np.ones(len(ties), dtype=bool),
        border,
        border_features,
        None,
        (rows, columns),
    )


def _as_graph(graph: Any) -> tuple[int, IntArray, FloatArray | None]:
    if isinstance(graph, IsingModel):
        return graph.num_spins, graph.edges, graph.positions
    if hasattr(graph, "num_vertices") and hasattr(graph, "edges"):  # Lattice, Embedding
        positions = getattr(graph, "positions", None)
        return graph.num_vertices, as_edges(graph.edges, graph.num_vertices), positions
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        place = {node: k for k, node in enumerate(graph.nodes)}
        pairs = [(place[u], place[v]) for u, v in graph.edges()]
        return len(place), as_edges(pairs, len(place)), None
    if isinstance(graph, tuple) and len(graph) == 2:
        n, pairs = graph
        count = as_count("num_spins", n)
        return count, as_edges(pairs, count), None
    msg = (
        "a graph must be an IsingModel, a lattice, a networkx graph or a pair "
        f"(num_spins, edges), got {type(graph).__name__}"
    )
    raise ModelError(msg)


# -- features of the edges of an image ---------------------------------------------------------


def _bias(image: FloatArray, edges: IntArray) -> FloatArray:
    return np.ones((len(edges), 1))


def _difference(image: FloatArray, edges: IntArray) -> FloatArray:
    flat = image.reshape(-1, image.shape[2])
    return np.asarray(np.abs(flat[edges[:, 0]] - flat[edges[:, 1]]))


def _distance(image: FloatArray, edges: IntArray) -> FloatArray:
    return np.asarray(np.linalg.norm(_difference(image, edges), axis=1, keepdims=True))


def _smooth(image: FloatArray, edges: IntArray) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    return _difference(gaussian_filter(image, (1.0, 1.0, 0.0)), edges)


def _gradient(image: FloatArray, edges: IntArray) -> FloatArray:
    """Sobel gradient across the edge, over six pixels: less noise than one difference."""
    from scipy.ndimage import sobel

    along = np.stack([sobel(image, axis=k, mode="nearest") / 8 for k in (0, 1)])
    flat = along.reshape(2, -1, image.shape[2])
    vertical = (np.abs(np.diff(edges, axis=1)[:, 0]) != 1) | (image.shape[1] == 1)
    axis = np.where(vertical, 0, 1)
    mean = (flat[axis, edges[:, 0]] + flat[axis, edges[:, 1]]) / 2
    return np.abs(mean)


def _contrast(image: FloatArray, edges: IntArray) -> FloatArray:
    """exp(-d² / 2⟨d²⟩): one where the colours agree, near zero at strong edges."""
    squared = _distance(image, edges) ** 2
    scale = 2.0 * float(squared.mean()) if len(squared) else 1.0
    return np.exp(-squared / scale) if scale > 0 else np.ones_like(squared)


FEATURES: dict[str, EdgeFeature] = {
    "bias": _bias,
    "difference": _difference,
    "distance": _distance,
    "smooth": _smooth,
    "gradient": _gradient,
    "contrast": _contrast,
}
"""By name: a constant; |Δ| of every channel; the length of Δ; |Δ| of the image under a Gaussian
of one pixel; the Sobel gradient across the edge; exp(-d² / 2⟨d²⟩)."""


def edge_features(
    image: ArrayLike,
    edges: IntArray,
    features: Sequence[str | EdgeFeature] = ("bias", "difference"),
) -> FloatArray:
    """Return the features of every edge, one row per edge.

    Parameters
    ----------
    image : array_like, shape (H, W) or (H, W, C)
        Pixels are numbered row by row.
    edges : array of int, shape (m, 2)
        Pairs of pixels.
    features : sequence of str or callable
        Names of :data:`FEATURES`, or functions of image (H, W, C) and edges.

    Examples
    --------
    >>> edge_features([[0.0, 3.0, 1.0]], np.array([[0, 1], [1, 2]])).tolist()
    [[1.0, 3.0], [1.0, 2.0]]
    """
    x = as_real("image", image)
    x = x[:, :, None] if x.ndim == 2 else x
    columns = []
    for feature in features:
        if isinstance(feature, str) and feature not in FEATURES:
            msg = (
                f"`features` must be functions or names out of {', '.join(FEATURES)}; "
                f"got {feature!r}"
            )
            raise ModelError(msg)
        make = FEATURES[feature] if isinstance(feature, str) else feature
        found = as_real("features", make(x, edges))
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or len(found) != len(edges) or not np.isfinite(found).all():
            msg = (
                "`features` must return finite numbers, one row per edge: "
                f"({len(edges)}, k), got shape {found.shape} of {feature!r}"
            )
            raise ModelError(msg)
        columns.append(found)
    if not columns:
        msg = "`features` must name at least one feature"
        raise ModelError(msg)
    return np.concatenate(columns, axis=1)


def group_features(features: ArrayLike, groups: ArrayLike, num_groups: int) -> FloatArray:
    """Give every group of edges its own parameters: features (m, k) become (m, k · groups).

    >>> group_features([[1.0, 5.0], [1.0, 7.0]], [0, 1], 2).tolist()
    [[1.0, 5.0, 0.0, 0.0], [0.0, 0.0, 1.0, 7.0]]
    """
    x = np.asarray(features, dtype=np.float64)
    group = np.asarray(groups, dtype=np.int64)
    if group.shape != (len(x),) or (
        group.size and not 0 <= group.min() <= group.max() < num_groups
    ):
        msg = f"`groups` must hold {len(x)} numbers from 0 to {num_groups - 1}"
        raise ModelError(msg)
    spread = np.zeros((len(x), num_groups, x.shape[1]))
    spread[np.arange(len(x)), group] = x
    return spread.reshape(len(x), num_groups * x.shape[1])


def as_examples(X: Iterable[Any], y: Iterable[Any], *, least: int = 0) -> tuple[list[Any], ...]:
    """Return images and their labels as lists; refuse different numbers of them.

    >>> as_examples(iter("ab"), [0, 1])
    (['a', 'b'], [0, 1])
    """
    images, labels = list(X), list(y)
    if len(images) != len(labels) or len(images) < least:
        some = ", at least one" if least else ""
        msg = f"`X` and `y` must be as many{some}; got {len(images)} and {len(labels)}"
        raise ModelError(msg)
    return images, labels


def as_image(name: str, image: ArrayLike) -> FloatArray:
    """Return an image (H, W) or (H, W, C) of finite numbers."""
    x = as_real(name, image)
    if x.ndim not in (2, 3):
        msg = f"`{name}` must have shape (H, W) or (H, W, C), got {x.shape}"
        if x.ndim == 1 and name == "X[0]":
            msg += "; `X` is a list of images: pass [image] for one"
        raise ModelError(msg)
    if not np.isfinite(x).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        msg = f"`{name}` must be finite, got {x[at]} at {at}"
        raise ModelError(msg)
    return x
