"""Graphs on the torus are recognised by their short cycles, whatever their faces and numbers."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.embed import (
    embedding_on_torus,
    low_genus_embedding,
    torus_lattice,
)
from planaris.kernels.graph import biconnected_components


def honeycomb(rows: int, columns: int) -> np.ndarray:
    """Return the edges of a honeycomb lattice of rows × columns hexagons on the torus."""
    r, c = np.divmod(np.arange(rows * columns), columns)
    here = 2 * (r * columns + c)
    right = 2 * (r * columns + (c + 1) % columns)
    below = 2 * ((r + 1) % rows * columns + c)
    return np.concatenate([np.stack([here + 1, other], 1) for other in (here, right, below)])


def klein_bottle(rows: int, columns: int) -> np.ndarray:
    r, c = np.divmod(np.arange(rows * columns), columns)
    below = np.where(r == rows - 1, (-c) % columns, (r + 1) * columns + c)
    right = r * columns + (c + 1) % columns
    here = np.arange(rows * columns)
    return np.concatenate([np.stack([here, right], 1), np.stack([here, below], 1)])


def diluted(edges: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, int]:
    """Return the largest block of what is left of the edges, numbers shuffled."""
    rng = np.random.default_rng(seed)
    count = int(edges.max()) + 1
    kept = rng.permutation(count)[edges[rng.random(len(edges)) >= share]].astype(np.int32)
    _, block, _ = biconnected_components(count, kept)
    seen, rank = np.unique(kept[block == np.bincount(block).argmax()], return_inverse=True)
    return rng.permutation(rank.reshape(-1, 2)), len(seen)


LATTICES = {
    "square": torus_lattice(18, 16).edges,
    "triangular": torus_lattice(14, 13, "triangular").edges,
    "honeycomb": honeycomb(13, 15),
}


@pytest.mark.parametrize("lattice", LATTICES)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_diluted_lattices_with_shuffled_numbers(lattice: str, share: float, seed: int) -> None:
    edges, count = diluted(LATTICES[lattice], share, seed)
    found = embedding_on_torus(edges, count)
    assert found is not None
    assert found.genus == 1
    lengths = {"square": 4, "triangular": 3, "honeycomb": 6}
    if share == 0.0:
        assert set(found.face_lengths.tolist()) == {lengths[lattice]}


@pytest.mark.parametrize(("side", "seed"), [(24, 6), (40, 1)])
def test_honeycombs_without_a_quarter_of_their_edges(side: int, seed: int) -> None:
    # Parts that hang on two vertices make cycles longer than they are without them.
    found = embedding_on_torus(*diluted(honeycomb(side, side), 0.25, seed))
    assert found is not None
    assert found.genus == 1


def test_parts_that_hang_on_two_vertices() -> None:
    # A prism over a triangle instead of an edge: not reduced in series and parallel.
    edges, count = torus_lattice(8, 9).edges.tolist(), 72
    for u, v in edges[3:60:19]:
        a, b = range(count, count + 3), range(count + 3, count + 6)
        edges += [(a[0], a[1]), (a[1], a[2]), (a[2], a[0]), (b[0], b[1]), (b[1], b[2])]
        edges += [(b[2], b[0]), *zip(a, b, strict=True), (u, a[0]), (u, a[1]), (v, b[0]), (v, b[1])]
        count += 6
    shuffled = np.random.default_rng(4).permutation(count)[edges]
    found = embedding_on_torus(shuffled, count)
    assert found is not None
    assert found.genus == 1


def test_edges_across_get_handles() -> None:
    edges = np.concatenate([honeycomb(8, 8), [(0, 73), (20, 101)]])
    shuffled = np.random.default_rng(5).permutation(128)[edges]
    assert embedding_on_torus(shuffled, 128) is None
    found = embedding_on_torus(shuffled, 128, max_handles=2)
    assert found is not None
    assert 2 <= found.genus <= 3


@pytest.mark.parametrize(
    ("edges", "count"),
    [
        (klein_bottle(8, 7), 56),
        (torus_lattice(4, 4).edges, 16),  # the hypercube: cycles around are like faces
        (np.array([(u, v) for u in range(8) for v in range(u)]), 8),
        (np.zeros((0, 2), dtype=int), 3),
        (np.concatenate([torus_lattice(6, 6).edges, torus_lattice(6, 6).edges + 36]), 72),
        (pl.generate.square_lattice(6, 7).edges, 42),
    ],
)
def test_other_graphs_are_refused(edges: np.ndarray, count: int) -> None:
    assert embedding_on_torus(edges, count) is None


def test_parallel_edges_lie_side_by_side() -> None:
    edges = torus_lattice(6, 7).edges
    found = embedding_on_torus(np.concatenate([edges, edges[::5]]), 42)
    assert found is not None
    assert found.genus == 1


def test_blocks_in_the_plane_join_the_torus() -> None:
    edges, count = diluted(honeycomb(9, 10), 0.05, 6)
    tails = [(0, count), (count, count + 1), (count + 1, count + 2), (count, count + 2)]
    more = np.concatenate([edges, tails, [(count + 3, count + 4)]])
    found = low_genus_embedding(more, count + 5)
    assert found is not None
    assert found.embedding.genus == 1
    assert found.reason == f"a drawing of {len(more)} edges on a torus"


@pytest.mark.parametrize("seed", range(3))
def test_ground_states_and_sums_of_diluted_tori(seed: int) -> None:
    edges, count = diluted(torus_lattice(9, 10).edges, 0.05, seed)
    embedding = embedding_on_torus(edges, count)
    assert embedding is not None
    rng = np.random.default_rng(seed)
    couplings = rng.choice([-1.0, 1.0], len(edges)) if seed else rng.normal(size=len(edges))
    model = pl.IsingModel(edges, couplings)
    found = pl.ground_state(model, "surface")
    assert found.exact
    assert found.energy == pytest.approx(pl.ground_state(model, "treewidth").energy)
    value = pl.log_partition(model, embedding=embedding)
    assert value.value == pytest.approx(pl.log_partition(model, "treewidth").value, abs=1e-8)
