"""How well graphs expand: weak expansion of planar families, spectral expansion of others."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.embed import Embedding
from planaris.errors import ModelError
from planaris.models.arrays import as_rng
from planaris.recover.observe import Graph, as_graph
from planaris.typing import BoolArray, IntArray, LongArray

EXACT_NODES = 20
"""Up to here all sets of nodes are enumerated."""


@dataclass(frozen=True, eq=False)
class WeakExpansion:
    """Constants of |F| ≤ c1 |δ(F)|^c2 over filled-in sets (GRSY15, property P1).

    Attributes
    ----------
    c1 : float
        Largest |F| / |δ(F)|² that was found: no smaller constant will do with c2 = 2.
    c2 : float
        Growth exponent of the largest set of each boundary, fitted; 2 for compact sets in the
        plane, 1 where a bounded share of all edges leaves every set, infinite for paths.
    boundaries, sizes : numpy.ndarray
        The largest set found for each size of the boundary.
    exact : bool
        True when all sets were enumerated; else the sets are those grown greedily.
    """

    c1: float
    c2: float
    boundaries: LongArray
    sizes: LongArray
    exact: bool


def weak_expansion(
    graph: Any,
    *,
    interior: bool = True,
    num_seeds: int = 30,
    rng: np.random.Generator | int | None = None,
) -> WeakExpansion:
    """Find how large a filled-in set can be for the size of its boundary.

    Parameters
    ----------
    graph : Lattice, IsingModel, networkx graph, or pair (num_nodes, edges)
        A planar graph.
    interior : bool
        Only sets without a node of the outer face (type 1); else all of at most half the nodes.
    num_seeds : int
        From how many nodes sets are grown.
    rng : numpy.random.Generator, int or None
        Which nodes those are.

    Notes
    -----
    Sets grow from a node by the neighbour that adds least to the boundary, the nearest first:
    squares on the square lattice, hexagons on the triangular one. What is found is a lower
    bound on c1; on lattices these shapes are known to be the best.

    Examples
    --------
    >>> import planaris as pl
    >>> weak_expansion(pl.generate.square_lattice(20), rng=0).c1
    0.0625
    """
    frame = as_graph(graph)
    allowed = np.ones(frame.num_nodes, dtype=bool)
    if interior:
        allowed[_outer_nodes(frame)] = False
    most = frame.num_nodes // 2
    largest: dict[int, int] = {}
    places = np.flatnonzero(allowed)
    generator = as_rng(rng)
    if len(places) > num_seeds:
        places = _central_and_random(frame, places, num_seeds, generator)
    for seed in places.tolist():
        _grow(frame, seed, allowed, most, largest)
    return _summary(largest, exact=False)


def exact_expansion(graph: Any, *, interior: bool = False) -> WeakExpansion:
    """Find the same constants by enumerating all connected sets with a connected rest.

    For at most 20 nodes.

    >>> import planaris as pl
    >>> exact_expansion(pl.generate.square_lattice(4), interior=True).c1
    0.0625
    """
    frame = as_graph(graph)
    n = frame.num_nodes
    if n > EXACT_NODES:
        msg = f"`graph` must have at most {EXACT_NODES} nodes to enumerate all sets, got {n}"
        raise ModelError(msg)
    outer = _outer_nodes(frame) if interior else np.zeros(0, dtype=np.int64)
    largest: dict[int, int] = {}
    whole = (1 << n) - 1
    adjacent = [0] * n
    for u, v in frame.edges.tolist():
        adjacent[u] |= 1 << v
        adjacent[v] |= 1 << u
    sets = np.arange(1, whole, dtype=np.int64)
    sets = sets[np.bitwise_count(sets) * 2 <= n]
    for node in outer.tolist():
        sets = sets[(sets >> node) & 1 == 0]
    cut = np.zeros(len(sets), dtype=np.int64)
    for u, v in frame.edges.tolist():
        cut += ((sets >> u) ^ (sets >> v)) & 1
    sizes = np.bitwise_count(sets)
    for k in np.argsort(-sizes, kind="stable").tolist():
        boundary, size = int(cut[k]), int(sizes[k])
        if largest.get(boundary, 0) >= size:
            continue
        chosen = int(sets[k])
        if _is_connected(chosen, adjacent) and _is_connected(whole & ~chosen, adjacent):
            largest[boundary] = size
    return _summary(largest, exact=True)


def spectral_expansion(graph: Any) -> float:
    """Return a lower bound on the expansion constant c of a regular graph.

    |δ(S)| ≥ c d |S| for all S of at most half the nodes; c ≥ (1 - λ₂/d) / 2 with λ₂ the second
    largest eigenvalue of the adjacency matrix. Above 500 nodes λ₂ is found by Lanczos iteration
    and raised by its residual: a bound unless the iteration missed an eigenvalue.

    Examples
    --------
    >>> ring = (4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> round(spectral_expansion(ring), 9)
    0.5
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import eigsh

    frame = as_graph(graph)
    n = frame.num_nodes
    degrees = np.bincount(frame.edges.ravel(), minlength=n)
    if n < 2 or np.ptp(degrees) or not degrees[0]:
        msg = "`graph` must be regular with at least two nodes to have an expansion constant"
        raise ModelError(msg)
    u, v = frame.edges.T
    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    matrix = coo_array((np.ones(2 * len(u)), ends), shape=(n, n)).tocsr()
    if n <= 500:
        second = float(np.linalg.eigvalsh(matrix.toarray())[-2])
        error = n * float(np.finfo(np.float64).eps) * float(degrees[0])
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(matrix, k=2, which="LA", v0=start)
        at = int(np.argmin(values))
        second = float(values[at])
        error = 2 * float(np.linalg.norm(matrix @ vectors[:, at] - second * vectors[:, at]))
    return max(0.0, (1.0 - (second + error) / float(degrees[0])) / 2.0)


def _outer_nodes(frame: Graph) -> LongArray:
    if frame.positions is None:
        drawn = Embedding.from_graph(frame.edges, num_vertices=frame.num_nodes)
    else:
        drawn = Embedding.from_coordinates(
            frame.edges, frame.positions, num_vertices=frame.num_nodes
        )
    outer = np.unique(drawn.outer_faces)  # -1 for a component without edges
    faces = [drawn.face_vertices(int(face)) for face in outer[outer >= 0]]
    lonely = np.bincount(frame.edges.ravel(), minlength=frame.num_nodes) == 0
    return np.unique(np.concatenate([*faces, np.flatnonzero(lonely)]).astype(np.int64))


def _central_and_random(
    frame: Graph, places: LongArray, count: int, rng: np.random.Generator
) -> LongArray:
    """Choose seeds: the one nearest the centre, where sets can grow longest, and random ones."""
    chosen = rng.choice(places, count - 1, replace=False)
    if frame.positions is None:
        return np.asarray(chosen)
    spots = frame.positions[places]
    middle = places[np.argmin(((spots - spots.mean(axis=0)) ** 2).sum(axis=1))]
    return np.append(chosen, middle)


def _grow(frame: Graph, seed: int, allowed: BoolArray, most: int, largest: dict[int, int]) -> None:
    """Grow a set from a node and note the sizes it has at each boundary."""
    offsets, neighbours = frame.neighbours
    spots = frame.positions
    inside = np.zeros(frame.num_nodes, dtype=bool)
    links: dict[int, int] = {}  # edges from a node outside to the set
    heap: list[tuple[int, float, int]] = [(0, 0.0, seed)]
    boundary, size = 0, 0
    steps = 0.0
    while heap and size < most:
        cost, _, node = heapq.heappop(heap)
        around: IntArray = neighbours[offsets[node] : offsets[node + 1]]
        now = len(around) - 2 * links.get(node, 0)
        if inside[node] or (size and cost != now):
            continue  # an older entry of a node that has come closer since
        inside[node] = True
        boundary += now
        size += 1
        largest[boundary] = max(largest.get(boundary, 0), size)
        for other in around.tolist():
            if inside[other] or not allowed[other]:
                continue
            links[other] = links.get(other, 0) + 1
            steps += 1.0
            far = steps if spots is None else float(((spots[other] - spots[seed]) ** 2).sum())
            degree = int(offsets[other + 1] - offsets[other])
            heapq.heappush(heap, (degree - 2 * links[other], far, other))


def _is_connected(chosen: int, adjacent: list[int]) -> bool:
    reached = chosen & -chosen
    frontier = reached
    while frontier:
        node = (frontier & -frontier).bit_length() - 1
        frontier &= frontier - 1
        new = adjacent[node] & chosen & ~reached
        reached |= new
        frontier |= new
    return reached == chosen


def _summary(largest: dict[int, int], *, exact: bool) -> WeakExpansion:
    kept = sorted((boundary, size) for boundary, size in largest.items() if boundary > 0)
    boundaries = np.array([b for b, _ in kept], dtype=np.int64)
    sizes = np.array([s for _, s in kept], dtype=np.int64)
    c1 = float((sizes / boundaries**2).max()) if len(sizes) else 0.0
    # Only sets larger than all of smaller boundary say how size grows.
    best = sizes >= np.maximum.accumulate(sizes) if len(sizes) else np.zeros(0, dtype=bool)
    wide = best & (sizes > 4)
    c2 = float("nan")
    if np.count_nonzero(wide) >= 3:
        c2 = float(np.polyfit(np.log(boundaries[wide]), np.log(sizes[wide]), 1)[0])
    elif len(boundaries) == 1 and len(sizes) and sizes[0] > 1:
        c2 = float("inf")
    return WeakExpansion(c1, c2, boundaries, sizes, exact)
