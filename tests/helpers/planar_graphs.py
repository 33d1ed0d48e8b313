"""Graphs for tests of embeddings: planar by construction, near the threshold, degenerate."""

from __future__ import annotations

import numpy as np

import planaris as pl


def triangulation(n: int, rng: np.random.Generator) -> np.ndarray:
    """Grow a planar triangulation by putting vertices into random faces (Apollonian)."""
    faces = [(0, 1, 2), (0, 2, 1)]
    edges = [(0, 1), (1, 2), (0, 2)]
    for v in range(3, n):
        at = int(rng.integers(len(faces)))
        a, b, c = faces[at]
        faces[at] = (a, b, v)
        faces += [(b, c, v), (c, a, v)]
        edges += [(a, v), (b, v), (c, v)]
    return np.array(edges[: 3 * n - 6 if n > 2 else n - 1], dtype=np.int32).reshape(-1, 2)


def relabelled(n: int, edges: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Shuffle vertex numbers, edges and their directions."""
    renamed = rng.permutation(n).astype(np.int32)[edges]
    turn = rng.random(len(edges)) < 0.5
    renamed[turn] = renamed[turn, ::-1]
    return np.ascontiguousarray(renamed[rng.permutation(len(edges))])


def planar_with_deletions(n: int, rng: np.random.Generator) -> np.ndarray:
    edges = triangulation(n, rng)
    kept = edges[rng.random(len(edges)) < rng.uniform(0.3, 1.0)]
    return relabelled(n, kept, rng)


def near_threshold(n: int, rng: np.random.Generator) -> np.ndarray:
    """Sparse random graphs, or planar ones with a few random edges added; parallel ones too."""
    if rng.random() < 0.5:
        edges = rng.integers(0, n, (int(rng.integers(0, 2 * n + 2)), 2))
    else:
        extra = rng.integers(0, n, (int(rng.integers(0, 4)), 2))
        edges = np.concatenate([planar_with_deletions(n, rng), extra])
    edges = edges[edges[:, 0] != edges[:, 1]]
    return np.ascontiguousarray(edges, dtype=np.int32)


def grid(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges and positions of a square lattice."""
    v = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    across = np.column_stack([v[:, :-1].ravel(), v[:, 1:].ravel()])
    down = np.column_stack([v[:-1].ravel(), v[1:].ravel()])
    y, x = np.divmod(np.arange(rows * columns), columns)
    return np.concatenate([across, down]), np.column_stack([x, y]).astype(float)


def delaunay(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Edges and positions of a Delaunay triangulation of random points, in random order."""
    from scipy.spatial import Delaunay

    points = rng.random((n, 2))
    corners = Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    low, high = sides.min(1).astype(np.int64), sides.max(1).astype(np.int64)
    key = np.unique(low * n + high)
    edges = np.column_stack(np.divmod(key, n)).astype(np.int32)
    return np.ascontiguousarray(edges[rng.permutation(len(edges))]), points


def complete(n: int) -> np.ndarray:
    return np.array([(u, v) for u in range(n) for v in range(u)], dtype=np.int32).reshape(-1, 2)


def complete_bipartite(a: int, b: int) -> np.ndarray:
    return np.array([(u, a + v) for u in range(a) for v in range(b)], dtype=np.int32)


def turn(a, b, c):
    """Twice the signed area of a triangle: positive if it runs counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def on_segment(a, b, point) -> bool:
    """Whether a point lies on the segment from a to b, its ends included."""
    inside = all(min(a[k], b[k]) <= point[k] <= max(a[k], b[k]) for k in (0, 1))
    return inside and turn(a, b, point) == 0


def lattice_with_k5(seed: int) -> pl.IsingModel:
    """Return a glass on 40² spins and a K5 that share a spin: no method fits both."""
    lattice = pl.generate.square_lattice(40)
    edges = np.concatenate([lattice.edges, complete(5) + lattice.num_vertices - 1])
    return pl.IsingModel(edges, np.random.default_rng(seed).normal(size=len(edges)))
