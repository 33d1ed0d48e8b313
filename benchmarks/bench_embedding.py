"""Embeddings, arrays in, rotation arrays out, against networkx and the planarity package.

Every test asserts its answer, never its time; ratios and growth exponents are printed
(``pytest benchmarks/bench_embedding.py --benchmark-enable -s``).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import planarity
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.planar_graphs import delaunay, grid, relabelled
from planaris.embed import Embedding, split_faces
from planaris.errors import NotPlanarError
from planaris.kernels.graph import biconnected_components
from planaris.verify import check_kuratowski, check_plane

SIZES = [10_000, 100_000, 1_000_000]


def make(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    if kind == "delaunay":
        return delaunay(n, rng)
    side = round(n**0.5)
    edges, positions = grid(side, side)
    if kind == "grid":
        return edges, positions
    name = rng.permutation(len(positions)).astype(np.int32)
    moved = np.empty_like(positions)
    moved[name] = positions
    return np.ascontiguousarray(name[edges][rng.permutation(len(edges))]), moved


CACHE: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]] = {}


def graph(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    if (kind, n) not in CACHE:
        CACHE[kind, n] = make(kind, n)
    return CACHE[kind, n]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["grid", "shuffled-grid", "delaunay"])
def test_from_coordinates(benchmark, kind, n):
    edges, positions = graph(kind, n)
    benchmark.extra_info["edges"] = len(edges)
    plane = benchmark.pedantic(
        Embedding.from_coordinates, args=(edges, positions), rounds=3, warmup_rounds=0
    )
    check_plane(plane)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["grid", "shuffled-grid", "delaunay"])
def test_from_graph(benchmark, kind, n):
    edges, positions = graph(kind, n)
    benchmark.extra_info["edges"] = len(edges)
    plane = benchmark.pedantic(
        Embedding.from_graph,
        args=(edges,),
        kwargs={"num_vertices": len(positions)},
        rounds=3,
        warmup_rounds=0,
    )
    check_plane(plane)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["shuffled-grid", "delaunay"])
def test_refusal_with_proof(benchmark, kind, n):
    edges, positions = graph(kind, n)
    n = len(positions)
    extra = np.random.default_rng(2).integers(0, n, (3, 2)).astype(np.int32)
    more = np.concatenate([edges, extra])

    def refuse():
        with pytest.raises(NotPlanarError) as caught:
            Embedding.from_graph(more, num_vertices=n)
        return caught.value

    error = benchmark.pedantic(refuse, rounds=2, warmup_rounds=0)
    assert check_kuratowski(n, more, error.kuratowski_edges) == error.kind


@pytest.mark.parametrize("kind", ["shuffled-grid", "delaunay"])
def test_blocks_and_chords(benchmark, kind):
    edges, positions = graph(kind, 1_000_000)
    n = len(positions)
    plane = Embedding.from_coordinates(edges, positions)

    def run():
        return biconnected_components(n, edges)[0], split_faces(plane, 8)

    blocks, split = benchmark.pedantic(run, rounds=2, warmup_rounds=0)
    assert blocks == 1
    assert split.face_lengths.max() <= 8


def planarity_package(n: int, edges: list[list[int]]) -> dict[str, float]:
    """Build, embed and read the rotation with the planarity package; vertices from 1."""
    start = time.perf_counter()
    g = planarity.Graph()
    g.gp_EnsureVertexCapacity(n)
    g.gp_EnsureEdgeCapacity(len(edges))
    low = g.gp_LowerBoundVertices()
    for u, v in edges:
        g.gp_AddEdge(u + low, 0, v + low, 0)
    built = time.perf_counter()
    assert g.gp_Embed(planarity.EMBEDFLAGS_PLANAR) == planarity.OK
    embedded = time.perf_counter()
    g.gp_SortVertices()
    count = 0
    for v in range(low, low + n):
        e = g.gp_GetFirstEdge(v)
        while g.gp_IsEdge(e):
            g.gp_GetNeighbor(e)
            count += 1
            e = g.gp_GetNextEdge(e)
    assert count == 2 * len(edges)
    done = time.perf_counter()
    return {"embedding alone": embedded - built, "arrays to rotation": done - start}


def fastest(function, rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize(("kind", "n"), [("shuffled-grid", 90_000), ("delaunay", 30_000)])
def test_ratio_to_networkx(benchmark, kind, n):
    edges, positions = graph(kind, n)
    n = len(positions)

    def theirs():
        g = nx.Graph()
        g.add_nodes_from(range(n))
        g.add_edges_from(edges.tolist())
        assert nx.check_planarity(g)[0]

    ours = fastest(lambda: Embedding.from_graph(edges, num_vertices=n))
    ratio = fastest(theirs, 1) / ours
    print(f"\nnetworkx / planaris, {kind} {n}: {ratio:.0f}x ({ours:.4f} s)")
    benchmark.pedantic(Embedding.from_graph, (edges,), {"num_vertices": n}, rounds=1)


@pytest.mark.parametrize("n", [100_000, 1_000_000])
@pytest.mark.parametrize("kind", ["shuffled-grid", "delaunay"])
def test_ratio_to_the_planarity_package(benchmark, kind, n):
    edges, positions = graph(kind, n)
    n = len(positions)
    ours = fastest(lambda: Embedding.from_graph(edges, num_vertices=n))
    for part, seconds in planarity_package(n, edges.tolist()).items():
        print(f"\nplanarity / planaris, {kind} {n}, {part}: {seconds / ours:.1f}x ({ours:.3f} s)")
    benchmark.pedantic(Embedding.from_graph, (edges,), {"num_vertices": n}, rounds=1)


@pytest.mark.parametrize("kind", ["shuffled-grid", "delaunay"])
def test_growth_is_about_linear(benchmark, kind):
    """Print exponents between 10^5 and 10^6 vertices; caches make them a little above one."""
    times = {}
    for n in (100_000, 1_000_000):
        edges, positions = graph(kind, n)
        drawn = fastest(lambda e=edges, p=positions: Embedding.from_coordinates(e, p))
        tested = fastest(lambda e=edges, p=positions: Embedding.from_graph(e, num_vertices=len(p)))
        times[n] = (drawn, tested)
    exponents = np.log10(np.array(times[1_000_000]) / np.array(times[100_000]))
    print(f"\ngrowth, {kind}: coordinates n^{exponents[0]:.2f}, test n^{exponents[1]:.2f}")
    small = relabelled(9, grid(3, 3)[0], np.random.default_rng(0))
    plane = benchmark.pedantic(Embedding.from_graph, (small,), {"num_vertices": 9}, rounds=1)
    assert plane.num_faces == 5
