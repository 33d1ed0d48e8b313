"""Embeddings on the torus, from the homology classes of short cycles, in any numbering.

1. Vertices of degree two and parallel edges are reduced; what is left is 3-connected, or nearly.
2. Every edge gets a vector of two integers that sums to zero around all short cycles
   (``cpp/embedding/torus_classes.hpp``): which way around the torus it runs.
3. The harmonic drawing with these periods, in which every vertex is a weighted mean of its
   neighbours, has no crossings if the graph is 3-connected (Gortler, Gotsman and Thurston 2006).
   Its angles are the rotation system.
4. Parts that hang on two vertices collapse to a line there. They are taken out and embedded in
   the plane by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.embed.embedding import Embedding
from planaris.embed.handles import put_back
from planaris.kernels import graph as kernel
from planaris.models.arrays import as_edges, compact
from planaris.typing import ArrayLike, BoolArray, FloatArray, IntArray, LongArray

ROUNDS = 4
"""How often parts that collapse are taken out, and how many lengths of cycles are tried."""

FLAT = 1e-9
"""A vertex lies on a line with its neighbours if squared sines of the angles sum to less."""


@dataclass(frozen=True, eq=False)
class _Core:
    """A graph on some of the vertices, each edge of which stands for a group of edges."""

    edges: IntArray
    group_of: IntArray

    def reduced(self, num_vertices: int) -> _Core:
        """Apply series and parallel reductions."""
        edges, inner = kernel.reduce_series_parallel(num_vertices, self.edges)
        return _Core(edges, inner[self.group_of])

    def compact(self) -> tuple[int, IntArray]:
        """Return the number of vertices that have edges, and the edges between their ranks."""
        seen, ends = compact(self.edges, int(self.edges.max(initial=-1)) + 1)
        return len(seen), ends


def embedding_on_torus(
    edges: ArrayLike, num_vertices: int, *, max_handles: int = 0
) -> Embedding | None:
    """Return an embedding on the torus, found from short cycles, or None.

    Found are lattices of any kind, diluted ones too, if no cycle around the torus is as short as
    the faces are long; a single face may have any length.

    Parameters
    ----------
    edges : array_like of int, shape (m, 2)
        A connected graph, in any order and with any numbers of the vertices.
    num_vertices : int
        Number of vertices.
    max_handles : int
        Edges in no short cycle, which are put back over further handles.

    Returns
    -------
    Embedding or None
        Of genus at most ``1 + max_handles``; None if there is no such embedding or it is not
        found.

    Examples
    --------
    >>> honeycomb = [(2 * k, 2 * k + 1) for k in range(36)]
    >>> honeycomb += [(2 * k + 1, 2 * (6 * (k // 6) + (k + 1) % 6)) for k in range(36)]
    >>> honeycomb += [(2 * k + 1, 2 * ((k + 6) % 36)) for k in range(36)]
    >>> shuffled = np.random.default_rng(0).permutation(72)[honeycomb]
    >>> embedding_on_torus(shuffled, 72).face_lengths.tolist() == 36 * [6]
    True
    """
    pairs = as_edges(edges, num_vertices)
    every = np.arange(len(pairs), dtype=np.int32)
    core = _Core(pairs, every).reduced(num_vertices)
    length = 3
    for _ in range(ROUNDS):
        if len(core.edges) < 9 or (core.group_of < 0).any():
            return None
        count, ends = core.compact()
        length, classes, left_out = kernel.find_torus_classes(count, ends, max_handles, length)
        if length == 0:
            return None
        kept = np.ones(len(ends), dtype=bool)
        kept[left_out] = False
        steps = _harmonic_steps(count, ends, classes, kept)
        flat = None if steps is None else _hanging_parts(count, ends, steps, kept)
        if steps is None:
            length += 1
        elif flat is not None:
            core, length = _merge(core, ends, flat).reduced(num_vertices), 3  # cycles got shorter
        else:
            drawn = _rotate(count, ends, steps, kept, left_out)
            found = _expand(pairs, num_vertices, core, drawn)
            if found is not None and found.genus <= 1 + max_handles:
                return found
            length += 1
    return None


def _harmonic_steps(
    count: int, ends: IntArray, classes: IntArray, kept: BoolArray
) -> FloatArray | None:
    """Return the vector along every edge in the harmonic drawing, scaled to unit covariance.

    Weights of the edges differ, so that no symmetry puts vertices in one place.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    weights = np.where(kept, 1.0 + np.modf(np.arange(len(ends)) * 0.618034)[0], 0.0)
    tails, heads = ends.T
    rows = np.concatenate([tails, heads, tails, heads])
    columns = np.concatenate([tails, heads, heads, tails])
    laplacian = coo_array(
        (np.concatenate([weights, weights, -weights, -weights]), (rows, columns)),
        shape=(count, count),
    ).tocsc()
    along = weights[:, None] * classes
    pushed = np.zeros((count, 2))
    np.add.at(pushed, tails, along)
    np.add.at(pushed, heads, -along)
    places = np.zeros((count, 2))
    try:
        solver = splu(
            laplacian[1:, 1:],
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # singular: not connected without the edges left out
        return None
    places[1:] = solver.solve(pushed[1:])
    steps = places[heads] - places[tails] + classes
    spread = steps[kept].T @ steps[kept] / len(steps)
    values, vectors = np.linalg.eigh(spread)
    if not values[0] > 1e-12 * values[1]:
        return None
    scaled: FloatArray = steps @ vectors / np.sqrt(values)
    return scaled


def _hanging_parts(
    count: int, ends: IntArray, steps: FloatArray, kept: BoolArray
) -> list[tuple[LongArray, int, int]] | None:
    """Return (edges, the two vertices they hang on) of every part that collapses to a line."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    double = (steps[:, 0] + 1j * steps[:, 1]) ** 2
    double = np.where(kept, double / np.maximum(np.abs(double), 1e-300), 0.0)
    total = np.zeros(count, dtype=complex)
    degree = np.zeros(count)
    for side in ends.T:
        np.add.at(total, side, double)
        np.add.at(degree, side, kept)
    flat: BoolArray = np.asarray(np.abs(total) > degree - FLAT)
    flat[ends[~kept].ravel()] = False
    if not flat.any():
        return None
    within: BoolArray = np.asarray(flat[ends].all(axis=1))
    joined = coo_array((within[within], tuple(ends[within].T)), shape=(count, count))
    part_of = connected_components(joined, directed=False)[1]
    touched = np.flatnonzero(flat[ends].any(axis=1))
    first = np.where(flat[ends[touched, 0]], ends[touched, 0], ends[touched, 1])
    parts = []
    for part in np.unique(part_of[first]).tolist():
        members = touched[part_of[first] == part]
        around = np.unique(ends[members][~flat[ends[members]]])
        if len(around) == 2:
            parts.append((members, int(around[0]), int(around[1])))
    return parts or None


def _merge(core: _Core, ends: IntArray, parts: list[tuple[LongArray, int, int]]) -> _Core:
    """Replace every part by one edge between the vertices it hangs on."""
    name = np.empty(int(ends.max()) + 1, dtype=np.int32)
    name[ends.ravel()] = core.edges.ravel()
    number = np.full(len(ends), -1)
    for k, (members, _, _) in enumerate(parts):
        number[members] = k
    stays = np.flatnonzero(number < 0)
    number[number >= 0] += len(stays)
    number[stays] = np.arange(len(stays))
    made = np.array([(name[u], name[v]) for _, u, v in parts], dtype=np.int32)
    edges = np.ascontiguousarray(np.concatenate([core.edges[stays], made]))
    return _Core(edges, number[core.group_of].astype(np.int32))


def _rotate(
    count: int, ends: IntArray, steps: FloatArray, kept: BoolArray, left_out: IntArray
) -> Embedding:
    """Sort the edges around every vertex by their angles; put back those left out."""
    angle = np.arctan2(steps[:, 1], steps[:, 0])
    around = np.column_stack([angle, np.where(angle > 0, angle - np.pi, angle + np.pi)]).ravel()
    order = np.lexsort((around, ends.ravel()))
    order = order[kept[order >> 1]]
    if not len(left_out):
        return Embedding.from_rotation(ends, order, num_vertices=count)
    offsets = np.searchsorted(ends.ravel()[order], np.arange(count + 1))
    return put_back(ends, order, offsets.astype(np.int32), left_out)


def _expand(pairs: IntArray, num_vertices: int, core: _Core, drawn: Embedding) -> Embedding | None:
    """Replace the edges of the core by the plane parts they stand for."""
    sizes = np.bincount(core.group_of, minlength=len(core.edges))
    members = np.flatnonzero(sizes[core.group_of] > 1)
    groups = np.flatnonzero(sizes > 1)
    spot = np.empty(2 * len(core.edges), dtype=np.int64)
    spot[drawn.rotation] = np.arange(len(spot))
    vertex = pairs.ravel()
    group = np.repeat(core.group_of, 2)
    inner = np.zeros(len(vertex), dtype=np.int64)
    if len(members):
        # Each part by itself: its edges, then the edge of the core that closes it.
        stack = np.concatenate([pairs[members], core.edges[groups]]).astype(np.int64)
        owner = np.concatenate([core.group_of[members], groups])
        names, rank = np.unique(owner[:, None] * num_vertices + stack, return_inverse=True)
        ends: IntArray = rank.reshape(-1, 2).astype(np.int32)
        is_planar, rotation, offsets = kernel.embed_planar(len(names), ends)
        if not is_planar:
            return None
        place = np.empty(len(rotation), dtype=np.int64)
        place[rotation] = np.arange(len(rotation)) - np.repeat(offsets[:-1], np.diff(offsets))
        closing = np.zeros(len(names), dtype=np.int64)
        closing[ends[len(members) :].ravel()] = place[2 * len(members) :]
        real = ends[: len(members)].ravel()
        after = (place[: 2 * len(members)] - closing[real]) % np.diff(offsets)[real]
        inner[np.column_stack([2 * members, 2 * members + 1]).ravel()] = after
    outer = np.zeros(len(vertex), dtype=np.int64)
    for side in (0, 1):
        at = vertex == core.edges[group, side]
        outer[at] = spot[2 * group[at] + side]
    order = np.lexsort((inner, outer, vertex))
    return Embedding.from_rotation(pairs, order, num_vertices=num_vertices)
