"""T-join problems for tests and benchmarks, and a solver that is right by inspection."""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Problem(NamedTuple):
    """Arguments of ``minimum_tjoin``."""

    num_vertices: int
    edges: np.ndarray
    weights: np.ndarray
    odd: np.ndarray
    boundary: np.ndarray


def square_faces(
    size: int, rng: np.random.Generator, fraction: float | None = None
) -> tuple[int, np.ndarray, np.ndarray]:
    """Return (faces, the two faces beside each edge, couplings) of a size x size glass.

    Couplings are Gaussian, or ±1 with the given fraction of -1; the outer face comes last.
    """
    side = size - 1
    across = _couplings(rng, (size, side), fraction)
    down = _couplings(rng, (side, size), fraction)
    face = np.full((size + 1, size + 1), side * side, np.int32)
    face[1:size, 1:size] = np.arange(side * side).reshape(side, side)
    groups = [
        (face[:-1, 1:-1], face[1:, 1:-1], across),
        (face[1:-1, :-1], face[1:-1, 1:], down),
    ]
    return side * side + 1, *_together(groups)


def triangular_faces(
    size: int, rng: np.random.Generator, fraction: float | None = None
) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the same for a square lattice with a diagonal in each cell, lower right."""
    side = size - 1
    outer = 2 * side * side
    above = np.full((size + 1, size + 1), outer, np.int32)  # upper right triangle of each cell
    below = above.copy()
    above[1:size, 1:size] = 2 * np.arange(side * side).reshape(side, side)
    below[1:size, 1:size] = above[1:size, 1:size] + 1
    groups = [
        (below[:-1, 1:-1], above[1:, 1:-1], _couplings(rng, (size, side), fraction)),
        (above[1:-1, :-1], below[1:-1, 1:], _couplings(rng, (side, size), fraction)),
        (above[1:-1, 1:-1], below[1:-1, 1:-1], _couplings(rng, (side, side), fraction)),
    ]
    return outer + 1, *_together(groups)


def frustration_problem(num_faces: int, sides: np.ndarray, couplings: np.ndarray) -> Problem:
    """Ask for the cheapest way to join frustrated faces; the outer face takes any parity."""
    around = np.bincount(sides[couplings < 0].ravel(), minlength=num_faces)
    odd = np.flatnonzero(around[:-1] % 2).astype(np.int32)
    return Problem(num_faces, sides, np.abs(couplings), odd, np.array([num_faces - 1], np.int32))


def square_dual(size: int, rng: np.random.Generator, *, fraction: float | None = None) -> Problem:
    return frustration_problem(*square_faces(size, rng, fraction))


def triangular_dual(
    size: int, rng: np.random.Generator, *, fraction: float | None = None
) -> Problem:
    return frustration_problem(*triangular_faces(size, rng, fraction))


def _couplings(
    rng: np.random.Generator, shape: tuple[int, int], fraction: float | None
) -> np.ndarray:
    if fraction is None:
        return rng.normal(size=shape)
    return np.where(rng.random(shape) < fraction, -1, 1)


def _together(groups: list) -> tuple[np.ndarray, np.ndarray]:
    sides = [np.stack([a.ravel(), b.ravel()], axis=1) for a, b, _ in groups]
    return np.concatenate(sides), np.concatenate([j.ravel() for *_, j in groups])


def exact(weights: np.ndarray) -> list[Fraction]:
    return [Fraction(w) for w in np.asarray(weights).tolist()]


def lightest_tjoin(problem: Problem) -> Fraction | None:
    """Weigh the lightest T-join by matching shortest paths in all ways; None if there is none."""
    n, edges, weights, odd, boundary = problem
    neighbours: list[list[tuple[int, Fraction]]] = [[] for _ in range(n)]
    for (u, v), w in zip(np.asarray(edges).reshape(-1, 2).tolist(), exact(weights), strict=True):
        neighbours[u].append((v, w))
        neighbours[v].append((u, w))
    parity = np.bincount(np.asarray(odd, int), minlength=n) % 2
    free = set(np.asarray(boundary, int).tolist())
    ends = [v for v in range(n) if parity[v] and v not in free]
    distance = [_distances(neighbours, s) for s in ends]
    leave = [min((d[b] for b in free if b in d), default=None) for d in distance]
    best: dict[int, Fraction | None] = {0: Fraction(0)}
    for mask in range(1, 1 << len(ends)):
        i = (mask & -mask).bit_length() - 1
        rest = mask ^ (1 << i)
        options = []
        if leave[i] is not None and best[rest] is not None:
            options.append(leave[i] + best[rest])
        for j in range(i + 1, len(ends)):
            other = best[rest ^ (1 << j)] if rest >> j & 1 else None
            if other is not None and ends[j] in distance[i]:
                options.append(distance[i][ends[j]] + other)
        best[mask] = min(options, default=None)
    return best[(1 << len(ends)) - 1]


def _distances(neighbours: list[list[tuple[int, Fraction]]], source: int) -> dict[int, Fraction]:
    found = {source: Fraction(0)}
    heap = [(Fraction(0), source)]
    while heap:
        reached, u = heapq.heappop(heap)
        if reached > found[u]:
            continue
        for v, w in neighbours[u]:
            if v not in found or reached + w < found[v]:
                found[v] = reached + w
                heapq.heappush(heap, (reached + w, v))
    return found


WEIGHT_KINDS = ("zero-one", "equal", "few", "many", "huge", "float", "decades", "extreme")


def random_weights(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "zero-one":
        return rng.integers(0, 2, count)
    if kind == "equal":
        return np.full(count, int(rng.integers(1, 9)))
    if kind == "few":
        return rng.integers(0, 6, count)
    if kind == "many":
        return rng.integers(0, 10**6, count)
    if kind == "huge":
        return rng.integers(0, 2**63 - 1, count)
    if kind == "float":
        return np.abs(rng.normal(size=count))
    if kind == "decades":
        return rng.random(count) * 10.0 ** rng.integers(-8, 8, count)
    powers = rng.choice([-308.0, -300.0, 0.0, 0.0, 300.0, 307.0], count)
    return rng.random(count) * 10.0**powers


def random_problem(rng: np.random.Generator, kind: str, most: int = 12) -> Problem:
    """Return any small graph: loops, parallel edges and several components included."""
    n = int(rng.integers(1, most + 1))
    shape = rng.integers(3)
    if shape == 0:  # a grid, planar
        size = int(rng.integers(2, 5))
        dual = square_dual(size, rng, fraction=0.5)
        n, edges = dual.num_vertices, dual.edges
    elif shape == 1:  # sparse
        edges = rng.integers(0, n, (int(rng.integers(0, 2 * n + 1)), 2))
    else:  # dense
        edges = rng.integers(0, n, (3 * n, 2))
    odd = rng.integers(0, n, int(rng.integers(0, n + 1)))
    boundary = rng.integers(0, n, int(rng.integers(0, 3)))
    return Problem(n, edges, random_weights(kind, len(edges), rng), odd, boundary)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    seed = draw(st.integers(0, 2**32 - 1))
    return random_problem(np.random.default_rng(seed), draw(st.sampled_from(WEIGHT_KINDS)))
