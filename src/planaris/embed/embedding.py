"""Rotation systems as arrays.

Half-edge ``2e`` runs ``edges[e, 0] → edges[e, 1]`` and ``2e + 1`` back, so the twin of ``h`` is
``h ^ 1`` and its edge is ``h >> 1``. A rotation lists the half-edges leaving every vertex
counter-clockwise. A face lies on the left of its half-edges: the face walk goes from ``h`` to
the half-edge clockwise after ``h ^ 1`` at the head of ``h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from planaris.errors import CrossingError, EmbeddingError, NotPlanarError
from planaris.kernels import graph as kernel
from planaris.kernels.graph import connected_components
from planaris.models.arrays import as_edges, as_positions, frozen, held
from planaris.notebook import Shown
from planaris.typing import ArrayLike, IntArray

MAX_EDGES = 2**30 - 1
"""Half-edges are numbered in int32."""


@dataclass(frozen=True, eq=False, repr=False)
class Embedding(Shown):
    """A graph with the cyclic order of the edges around every vertex.

    Attributes
    ----------
    num_vertices : int
        Number of vertices, isolated ones included.
    edges : numpy.ndarray
        int32, shape (m, 2); parallel edges are allowed here.
    rotation : numpy.ndarray
        int32, shape (2m,): half-edges grouped by tail, counter-clockwise in each group.
    offsets : numpy.ndarray
        int32, shape (n + 1,): where the group of each vertex begins.
    outer : numpy.ndarray or None
        int32: for every component with edges a half-edge on its outer face, where a drawing
        says which one that is.

    Examples
    --------
    >>> square = Embedding.from_coordinates(
    ...     [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], [(0, 0), (1, 0), (1, 1), (0, 1)])
    >>> square.num_faces, square.genus
    (3, 0)
    >>> Embedding.from_graph(square.edges, num_vertices=4).num_faces  # without a drawing
    3
    """

    num_vertices: int
    edges: IntArray
    rotation: IntArray
    offsets: IntArray
    outer: IntArray | None = None

    def __post_init__(self) -> None:
        # Faces and genus are found once: what they follow from must not change behind them.
        for name in ("edges", "rotation", "offsets", "outer"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, held(array))

    # -- ways to get one --------------------------------------------------------------------

    @classmethod
    def from_rotation(
        cls, edges: ArrayLike, rotation: ArrayLike, *, num_vertices: int
    ) -> Embedding:
        """Build from half-edges grouped by tail vertex in increasing order of vertex.

        >>> triangle = Embedding.from_rotation([(0, 1), (1, 2), (2, 0)], [0, 5, 2, 1, 4, 3],
        ...                                    num_vertices=3)
        >>> triangle.num_faces, triangle.genus
        (2, 0)
        """
        n, pairs = _as_graph(edges, num_vertices)
        given = np.asarray(rotation)
        if given.shape != (2 * len(pairs),) or (given.size and given.dtype.kind not in "iu"):
            msg = (
                f"`rotation` must list each of the {2 * len(pairs)} half-edges once, as integers, "
                f"got shape {given.shape} and dtype {given.dtype}"
            )
            raise EmbeddingError(msg)
        out_of_range = np.flatnonzero((given < 0) | (given >= 2 * len(pairs)))
        if out_of_range.size:
            at = int(out_of_range[0])
            msg = (
                f"`rotation` must hold half-edges 0 to {2 * len(pairs) - 1}, "
                f"got {given[at]} at place {at}"
            )
            raise EmbeddingError(msg)
        offsets = np.zeros(n + 1, dtype=np.int32)
        np.cumsum(np.bincount(pairs.ravel(), minlength=n), out=offsets[1:])
        embedding = cls(n, frozen(pairs), frozen(np.array(given, dtype=np.int32)), frozen(offsets))
        _ = embedding._faces
        return embedding

    @classmethod
    def from_coordinates(
        cls, edges: ArrayLike, positions: ArrayLike, *, num_vertices: int | None = None
    ) -> Embedding:
        """Build from a drawing with straight edges that do not cross.

        Angles are compared exactly and crossings found by a sweep line, in O((n + m) log n).
        Parallel edges lie side by side. Vertices without edges take up no room.

        Parameters
        ----------
        edges : array_like of int, shape (m, 2)
            Pairs of different vertices.
        positions : array_like of float, shape (n, 2)
            Coordinates; any finite numbers.
        num_vertices : int, optional
            Default: one per position.

        Raises
        ------
        CrossingError
            If edges cross, overlap or run through a vertex, or vertices coincide; ``edges`` is
            the pair at fault and ``flaw`` says which of these it is.

        Examples
        --------
        >>> square = [(0, 0), (1, 0), (1, 1), (0, 1)]
        >>> Embedding.from_coordinates([(0, 1), (1, 2), (2, 3), (3, 0)], square).num_faces
        2
        >>> Embedding.from_coordinates([(0, 2), (1, 3)], square)
        Traceback (most recent call last):
        ...
        planaris.errors.CrossingError: `positions` must draw the graph without crossings, but
        edges 0 = (0, 2) and 1 = (1, 3) cross; ...
        """
        n, pairs = _as_graph(
            edges, len(np.asarray(positions)) if num_vertices is None else num_vertices
        )
        points = as_positions(positions, n)
        flaw, at_fault, rotation, offsets, outer = kernel.embed_drawing(n, pairs, points)
        if flaw:
            raise _crossing_error(flaw, at_fault, pairs)
        return cls(n, *map(frozen, (pairs, rotation, offsets, outer)))

    @classmethod
    def from_graph(cls, edges: ArrayLike, *, num_vertices: int) -> Embedding:
        """Find a plane rotation system by the left-right planarity test, in linear time.

        Parameters
        ----------
        edges : array_like of int, shape (m, 2)
            Pairs of different vertices; parallel edges are allowed.
        num_vertices : int
            Number of vertices.

        Raises
        ------
        NotPlanarError
            With ``kuratowski_edges``, indices of edges that form a subdivided K5 or K3,3, and
            ``kind``, which of the two.

        Examples
        --------
        >>> k4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        >>> Embedding.from_graph(k4, num_vertices=4).num_faces
        4
        """
        found = cls.if_planar(edges, num_vertices=num_vertices)
        if found is None:
            n, pairs = _as_graph(edges, num_vertices)
            kind, subgraph = kernel.find_kuratowski(n, pairs)
            msg = (
                f"`edges` must form a planar graph, but {len(subgraph)} of the {len(pairs)} edges "
                f"are a subdivided {kind} (see `kuratowski_edges`); `ground_state` and "
                "`log_partition` take any model, `torus_lattice` and `embedding_with_handles` "
                "embed in other surfaces"
            )
            raise NotPlanarError(msg, kuratowski_edges=subgraph, kind=kind)
        return found

    @classmethod
    def if_planar(cls, edges: ArrayLike, *, num_vertices: int) -> Embedding | None:
        """Find a plane rotation system as :meth:`from_graph` does; None if there is none.

        >>> k5 = [(u, v) for u in range(5) for v in range(u)]
        >>> Embedding.if_planar(k5, num_vertices=5) is None
        True
        """
        n, pairs = _as_graph(edges, num_vertices)
        is_planar, rotation, offsets = kernel.embed_planar(n, pairs)
        return cls(n, *map(frozen, (pairs, rotation, offsets))) if is_planar else None

    @classmethod
    def from_networkx(cls, graph: Any) -> Embedding:
        """Build from a ``networkx.PlanarEmbedding``; vertices in the order of ``graph.nodes``."""
        place = {node: k for k, node in enumerate(graph.nodes)}
        edge_of: dict[tuple[int, int], int] = {}
        for u, v in graph.edges:
            a, b = place[u], place[v]
            if a < b:
                edge_of[a, b] = len(edge_of)
        rotation = []
        for node, a in place.items():
            around = [place[w] for w in graph.neighbors_cw_order(node)]
            rotation += [2 * edge_of[min(a, b), max(a, b)] + (a > b) for b in reversed(around)]
        return cls.from_rotation(list(edge_of), rotation, num_vertices=len(place))

    def to_networkx(self) -> Any:
        """Return the same rotation system as a ``networkx.PlanarEmbedding``."""
        import networkx as nx

        if len(np.unique(np.sort(self.edges, axis=1), axis=0)) < self.num_edges:
            msg = "networkx.PlanarEmbedding cannot hold parallel edges; merge them first"
            raise EmbeddingError(msg)
        heads = self.heads[self.rotation].tolist()
        ends = self.offsets.tolist()
        graph = nx.PlanarEmbedding()
        graph.add_nodes_from(range(self.num_vertices))
        graph.set_data({v: heads[ends[v] : ends[v + 1]][::-1] for v in range(self.num_vertices)})
        return graph

    # -- half-edges and faces ---------------------------------------------------------------

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def tails(self) -> IntArray:
        """Vertex that every half-edge leaves, shape (2m,)."""
        return self.edges.ravel()

    @property
    def heads(self) -> IntArray:
        """Vertex that every half-edge enters, shape (2m,)."""
        return self.edges[:, ::-1].ravel()

    @cached_property
    def _faces(self) -> tuple[IntArray, IntArray, IntArray]:
        try:
            faces = kernel.trace_faces(self.edges, self.rotation, self.offsets)
        except ValueError as error:
            msg = f"`rotation` must list every half-edge once, at its tail: {error}"
            raise EmbeddingError(msg) from error
        return frozen(faces[0]), frozen(faces[1]), frozen(faces[2])

    @property
    def face_of(self) -> IntArray:
        """Face on the left of every half-edge, shape (2m,)."""
        return self._faces[0]

    @property
    def face_walk(self) -> IntArray:
        """Half-edges face by face, in walking order, shape (2m,)."""
        return self._faces[1]

    @property
    def face_offsets(self) -> IntArray:
        """Where each face begins in ``face_walk``, shape (num_faces + 1,)."""
        return self._faces[2]

    @cached_property
    def num_faces(self) -> int:
        """Number of face walks; an isolated vertex has none."""
        return len(self.face_offsets) - 1

    @property
    def face_lengths(self) -> IntArray:
        """Number of half-edges of every face; a bridge inside a face counts twice."""
        return np.diff(self.face_offsets)

    def face_vertices(self, face: int) -> IntArray:
        """Return the vertices around a face in walking order, repeated where it returns."""
        begin, end = self.face_offsets[face : face + 2]
        return self.tails[self.face_walk[begin:end]]

    @cached_property
    def outer_faces(self) -> IntArray:
        """Outer face of every component, -1 for isolated vertices.

        Where no drawing says which one it is: the longest, of those the first.
        """
        if self.num_components == 1 and self.outer is not None and len(self.outer) == 1:
            return frozen(self.face_of[self.outer])
        faces = np.full(self.num_components, -1, dtype=np.int32)
        lengths = self.face_lengths
        by_length = np.lexsort((-np.arange(len(lengths)), lengths)).astype(np.int32)
        first = self.face_walk[self.face_offsets[by_length]]
        faces[self.component_of[self.tails[first]]] = by_length  # the last one stays
        if self.outer is not None:
            faces[self.component_of[self.tails[self.outer]]] = self.face_of[self.outer]
        return frozen(faces)

    @cached_property
    def bridges(self) -> IntArray:
        """Edges with the same face on both sides; in a plane embedding these are the bridges."""
        left, right = self.dual_edges.T
        return frozen(np.flatnonzero(left == right).astype(np.int32))

    @cached_property
    def component_of(self) -> IntArray:
        """Connected component of every vertex."""
        return frozen(connected_components(self.num_vertices, self.edges))

    @cached_property
    def num_components(self) -> int:
        """Number of connected components."""
        return int(self.component_of.max()) + 1 if self.num_vertices else 0

    @cached_property
    def genus(self) -> int:
        """Genus by Euler's formula, added up over the components; 0 means plane."""
        isolated = int(np.count_nonzero(np.diff(self.offsets) == 0))
        euler = self.num_vertices - self.num_edges + self.num_faces + isolated
        return (2 * self.num_components - euler) // 2

    @cached_property
    def dual_edges(self) -> IntArray:
        """Faces left and right of every edge, shape (m, 2); a bridge has the same on both sides."""
        return np.ascontiguousarray(self.face_of.reshape(-1, 2))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(
                self, name, frozen(value) if isinstance(value, np.ndarray) else value
            )


def _as_graph(edges: ArrayLike, num_vertices: int) -> tuple[int, IntArray]:
    try:
        n = index(num_vertices)
    except TypeError:
        n = -1
    if not 0 <= n <= MAX_EDGES:
        msg = f"`num_vertices` must be an integer from 0 to {MAX_EDGES}, got {num_vertices!r}"
        raise EmbeddingError(msg)
    pairs = as_edges(edges, n)
    if len(pairs) > MAX_EDGES:
        msg = f"`edges` must have at most {MAX_EDGES} rows, got {len(pairs)}"
        raise EmbeddingError(msg)
    return n, pairs


def _crossing_error(flaw: str, at_fault: tuple[int, int], edges: IntArray) -> CrossingError:
    """Describe the flaw of a drawing; the evidence always holds a pair of edges."""

    def edge_at(vertex: int) -> int:
        return int(np.flatnonzero((edges == vertex).any(1))[0])

    def name(edge: int) -> str:
        return f"{edge} = {tuple(edges[edge].tolist())}"

    first, second = at_fault
    vertices: tuple[int, ...] = ()
    pair = at_fault
    if flaw == "same-place":
        pair, vertices = (edge_at(first), edge_at(second)), at_fault
        what = f"vertices {first} and {second} have the same position"
    elif flaw == "through-vertex":
        pair, vertices = (first, edge_at(second)), (second,)
        what = f"edge {name(first)} runs through vertex {second}"
    else:
        what = f"edges {name(first)} and {name(second)} {'cross' if flaw == 'crossing' else flaw}"
    msg = (
        f"`positions` must draw the graph without crossings, but {what}; leave the positions "
        "out to have a plane embedding searched by the planarity test"
    )
    return CrossingError(msg, edges=pair, flaw=flaw, vertices=vertices)


# -- chords of coupling zero: they change no weight and keep every face short ------------------


def split_faces(embedding: Embedding, max_length: int = 8) -> Embedding:
    """Split long faces by chords, balanced, so that no face grows with the graph.

    Parameters
    ----------
    embedding : Embedding
        Plane (or of any genus).
    max_length : int
        Length no face may exceed afterwards, at least 3.

    Returns
    -------
    Embedding
        Its first m edges are those of ``embedding``, the chords follow. Chords join different
        vertices and may be parallel to other edges. On a known outer face, the innermost part
        is the outer one.

    Notes
    -----
    Runs of ``max_length - 1`` half-edges are cut off by a chord each, and the ring of chords is
    treated alike until it is short: (length - max_length) / (max_length - 2) chords, nested
    O(log length) deep. A run that returns to the vertex where it starts is made one shorter.

    Examples
    --------
    >>> path = Embedding.from_graph([(v, v + 1) for v in range(9)], num_vertices=10)
    >>> path.face_lengths.tolist()
    [18]
    >>> split = split_faces(path, 8)
    >>> split.num_edges, split.genus, int(split.face_lengths.max())
    (11, 0, 8)
    """
    try:
        length = index(max_length)
    except TypeError:
        length = 0
    if length < 3:
        msg = f"`max_length` must be an integer of at least 3, got {max_length!r}"
        raise EmbeddingError(msg)
    length = min(length, max(2 * embedding.num_edges, 3))  # any longer is no limit
    chords, rotation, offsets, centre = kernel.split_faces(
        embedding.edges, embedding.rotation, embedding.offsets, length
    )
    edges = np.concatenate([embedding.edges, chords])
    outer = None if embedding.outer is None else centre[embedding.face_of[embedding.outer]]
    return Embedding(embedding.num_vertices, edges, rotation, offsets, outer)
