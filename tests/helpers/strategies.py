"""Hypothesis strategies: graphs that are plane by construction, and models on them.

>>> graph = apollonian([0, 1, 0], deleted={2})
>>> graph.num_vertices, len(graph.edges), graph.embedding.genus
(6, 11, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2

from hypothesis import strategies as st

from planaris import Embedding, IsingModel

Edge = tuple[int, int]


@dataclass(frozen=True)
class PlaneGraph:
    """A simple plane graph: rotation[v] lists the half-edges leaving v counter-clockwise."""

    num_vertices: int
    edges: list[Edge]
    rotation: list[list[int]]
    positions: list[tuple[float, float]] | None = None

    @property
    def embedding(self) -> Embedding:
        flat = [h for around in self.rotation for h in around]
        return Embedding.from_rotation(self.edges, flat, num_vertices=self.num_vertices)

    def without_positions(self) -> PlaneGraph:
        return PlaneGraph(self.num_vertices, self.edges, self.rotation)


def from_positions(
    num_vertices: int, edges: list[Edge], positions: list[tuple[float, float]]
) -> PlaneGraph:
    """Sort by angle: plane if and only if the straight-line drawing is."""
    rotation: list[list[int]] = [[] for _ in range(num_vertices)]
    for h in range(2 * len(edges)):
        rotation[edges[h >> 1][h & 1]].append(h)
    for v, around in enumerate(rotation):
        x, y = positions[v]
        heads = {h: positions[edges[h >> 1][1 - (h & 1)]] for h in around}
        around.sort(key=lambda h, heads=heads, x=x, y=y: atan2(heads[h][1] - y, heads[h][0] - x))
    return PlaneGraph(num_vertices, edges, rotation, positions)


def apollonian(
    faces: list[int], deleted: set[int] = frozenset(), order: list[int] | None = None
) -> PlaneGraph:
    """Grow a triangulation by putting vertices into faces, then delete edges, then renumber."""
    positions = [(0.0, 0.0), (1.0, 0.0), (0.25, 1.0)]
    edges, triangles = [(0, 1), (1, 2), (2, 0)], [(0, 1, 2)]
    for choice in faces:
        a, b, c = triangles.pop(choice % len(triangles))
        v = len(positions)
        centre = [sum(positions[u][k] for u in (a, b, c)) / 3 for k in (0, 1)]
        positions.append((centre[0], centre[1]))
        edges += [(a, v), (v, b), (c, v)]
        triangles += [(a, b, v), (b, c, v), (c, a, v)]
    n = len(positions)
    order = list(range(n)) if order is None else order
    kept = [(order[u], order[v]) for k, (u, v) in enumerate(edges) if k not in deleted]
    places = [positions[0]] * n
    for v in range(n):
        places[order[v]] = positions[v]
    return from_positions(n, kept, places)


def cactus(blocks: list[tuple[int, int, int]]) -> PlaneGraph:
    """Hang cycles (length 2: a bridge) on vertices; each block is (where, corner, length).

    Both ends of a cycle go side by side into one corner, so the rotation stays plane.
    """
    edges: list[Edge] = []
    rotation: list[list[int]] = [[]]
    for where, corner, length in blocks:
        base = where % len(rotation)
        ring = [base, *range(len(rotation), len(rotation) + length - 1)]
        rotation += [[] for _ in range(length - 1)]
        first = len(edges)
        if length == 2:
            edges.append((ring[0], ring[1]))
        else:
            edges += [(ring[k], ring[(k + 1) % length]) for k in range(length)]
        for v in ring:
            new = [h for h in range(2 * first, 2 * len(edges)) if edges[h >> 1][h & 1] == v]
            at = corner % (len(rotation[v]) + 1)
            rotation[v][at:at] = new
    return PlaneGraph(len(rotation), edges, rotation)


def disjoint_union(parts: list[PlaneGraph]) -> PlaneGraph:
    edges: list[Edge] = []
    rotation: list[list[int]] = []
    for part in parts:
        shift, turn = len(rotation), 2 * len(edges)
        edges += [(u + shift, v + shift) for u, v in part.edges]
        rotation += [[h + turn for h in around] for around in part.rotation]
    return PlaneGraph(len(rotation), edges, rotation)


@st.composite
def connected_or_not(draw: st.DrawFn, max_vertices: int) -> PlaneGraph:
    """Apollonian growth, then deletions, then renumbering; keeps its straight-line drawing."""
    grown = draw(st.integers(0, max_vertices - 3))
    faces = draw(st.lists(st.integers(0, 2 * grown), min_size=grown, max_size=grown))
    total = 3 + 3 * grown
    deleted = draw(st.sets(st.integers(0, total - 1), max_size=total))
    order = draw(st.permutations(range(3 + grown)))
    return apollonian(faces, deleted, order)


@st.composite
def cacti(draw: st.DrawFn, max_vertices: int, max_length: int = 5) -> PlaneGraph:
    blocks, size = [], 1
    block = st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(2, max_length))
    for where, corner, length in draw(st.lists(block, max_size=max_vertices)):
        if size + length - 1 <= max_vertices:
            blocks.append((where, corner, length))
            size += length - 1
    return cactus(blocks)


def trees(max_vertices: int) -> st.SearchStrategy[PlaneGraph]:
    return cacti(max_vertices, max_length=2)


def isolated(max_vertices: int) -> st.SearchStrategy[PlaneGraph]:
    return st.integers(0, max_vertices).map(lambda n: PlaneGraph(n, [], [[] for _ in range(n)]))


@st.composite
def plane_graphs(draw: st.DrawFn, max_vertices: int = 10) -> PlaneGraph:
    """Any plane graph: growth and deletions, trees, cacti, isolated vertices, several parts."""
    single = [cacti(max_vertices), trees(max_vertices), isolated(2)]
    if max_vertices >= 3:
        single += [connected_or_not(max_vertices)] * 3
    kind = draw(st.integers(0, len(single)))
    if kind < len(single):
        graph = draw(single[kind])
        return graph if draw(st.booleans()) else graph.without_positions()
    size = max_vertices // 2
    parts = st.lists(st.one_of(cacti(size), isolated(size)), min_size=2, max_size=2)
    return disjoint_union(draw(parts))


INTEGERS = st.integers(-3, 3).map(float)
TIED = st.sampled_from([-1.0, 1.0])
FLOATS = st.floats(-2.0, 2.0, allow_subnormal=False)
ODD = st.sampled_from([0.0, 0.0, 1.0, -1.0, 1e-300, -1e-300, 1e3, -1e3, 0.5])
COUPLINGS = {"integers": INTEGERS, "tied": TIED, "floats": FLOATS, "odd": ODD}


@st.composite
def couplings_for(draw: st.DrawFn, count: int, kinds: tuple[str, ...] = tuple(COUPLINGS)):
    kind = draw(st.sampled_from(kinds))
    return draw(st.lists(COUPLINGS[kind], min_size=count, max_size=count))


def face_vertices(graph: PlaneGraph, face: int) -> list[int]:
    """Vertices met when walking once around a face."""
    e = graph.embedding
    walk = e.face_walk[e.face_offsets[face] : e.face_offsets[face + 1]]
    return sorted({graph.edges[h >> 1][h & 1] for h in walk.tolist()})


@st.composite
def plane_models(
    draw: st.DrawFn,
    max_vertices: int = 10,
    kinds: tuple[str, ...] = tuple(COUPLINGS),
    fields: bool = False,
) -> tuple[IsingModel, PlaneGraph]:
    """A model and its plane graph; ``model.edges`` are in the order of the graph's.

    With ``fields``, some spins of one face get one; the couplings of some edges come in two
    parallel pieces, which the model merges.
    """
    graph = draw(plane_graphs(max_vertices))
    m = len(graph.edges)
    values = draw(couplings_for(m, kinds))
    h = [0.0] * graph.num_vertices
    if fields and m:
        face = draw(st.integers(0, graph.embedding.num_faces - 1))
        kind = draw(st.sampled_from(kinds))
        for v in face_vertices(graph, face):
            h[v] = draw(COUPLINGS[kind])
    edges = list(graph.edges)
    if m and "integers" in kinds and draw(st.booleans()):
        edges, values = [*edges, edges[-1]], [*values, 1.0]
    model = IsingModel(edges, values, h, num_spins=graph.num_vertices, positions=graph.positions)
    return model, graph
