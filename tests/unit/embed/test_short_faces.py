"""Lattices with shuffled numbers are put back on their surfaces by their faces."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.embed import embedding_by_short_faces, low_genus_embedding, torus_lattice
from planaris.reductions.parts import split_model


def glued(rows: int, columns: int, twist: int = 0, *, mirrored: bool = False) -> np.ndarray:
    """Return a square lattice whose last row is joined to the first, shifted or mirrored."""
    r, c = np.divmod(np.arange(rows * columns), columns)
    below = (c + twist) % columns
    if mirrored:
        below = (-c) % columns
    wraps = r == rows - 1
    down = np.where(wraps, below, (r + 1) * columns + c)
    right = r * columns + (c + 1) % columns
    here = np.arange(rows * columns)
    return np.concatenate([np.stack([here, right], 1), np.stack([here, down], 1)])


def shuffle(edges: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.permutation(rng.permutation(count)[edges])


@pytest.mark.parametrize(
    ("rows", "columns", "twist"),
    [(5, 5, 0), (6, 6, 0), (5, 9, 0), (7, 6, 2), (3, 11, 0), (4, 9, 0), (4, 9, 3), (12, 8, 5)],
)
def test_square_lattices_on_the_torus(rows: int, columns: int, twist: int) -> None:
    count = rows * columns
    found = low_genus_embedding(shuffle(glued(rows, columns, twist), count), count)
    assert found is not None
    assert found.embedding.genus == 1
    assert set(found.embedding.face_lengths.tolist()) == {4}
    assert found.reason == f"{count} squares that fit together on a torus"


@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (6, 9), (4, 7)])
def test_triangular_lattices_on_the_torus(rows: int, columns: int) -> None:
    count = rows * columns
    edges = torus_lattice(rows, columns, "triangular").edges
    found = low_genus_embedding(shuffle(edges, count), count)
    assert found is not None
    assert found.embedding.genus == 1
    assert set(found.embedding.face_lengths.tolist()) == {3}


def test_missing_edges_leave_larger_faces() -> None:
    rng = np.random.default_rng(2)
    edges = torus_lattice(14, 11).edges
    kept = shuffle(edges[rng.random(len(edges)) < 0.97], 154)
    found = embedding_by_short_faces(kept, 154)
    assert found is not None
    assert found.genus == 1


def test_edges_across_get_handles() -> None:
    edges = torus_lattice(9, 9).edges
    more = np.concatenate([edges, [(0, 40), (12, 70)]])
    shuffled = shuffle(more, 81)
    assert embedding_by_short_faces(shuffled, 81) is None
    found = embedding_by_short_faces(shuffled, 81, max_handles=2)
    assert found is not None
    assert 2 <= found.genus <= 3
    assert low_genus_embedding(shuffled, 81) is None
    grid = pl.generate.square_lattice(9, 9).edges
    near = shuffle(np.concatenate([grid, [(20, 60)]]), 81)
    found = low_genus_embedding(near, 81)
    assert found is not None
    assert found.embedding.genus == 1


@pytest.mark.parametrize(
    ("edges", "count"),
    [
        (glued(6, 7, mirrored=True), 42),  # Klein bottle
        (torus_lattice(4, 4).edges, 16),  # the hypercube: cycles around are like faces
        (np.array([(u, v) for u in range(8) for v in range(u)]), 8),
        (np.array([(u, v) for u in range(5) for v in range(5, 10)]), 10),
        (np.zeros((0, 2), dtype=int), 3),
        (np.array([(0, 1), (0, 1), (1, 2)]), 3),
    ],
)
def test_near_misses_are_refused(edges: np.ndarray, count: int) -> None:
    assert embedding_by_short_faces(shuffle(edges, count), count) is None


def test_layers_of_a_cube_are_no_torus() -> None:
    layer = torus_lattice(5, 5).edges
    posts = np.stack([np.arange(25), np.arange(25) + 25], 1)
    both = shuffle(np.concatenate([layer, layer + 25, posts]), 50)
    assert embedding_by_short_faces(both, 50) is None


@pytest.mark.parametrize("seed", range(3))
def test_ground_states_of_shuffled_tori(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = shuffle(glued(8, 9, 3), 72, seed)
    couplings = rng.choice([-1.0, 1.0], len(edges)) if seed else rng.normal(size=len(edges))
    model = pl.IsingModel(edges, couplings)
    found = pl.ground_state(model)
    assert found.exact
    assert found.energy == pytest.approx(pl.ground_state(model, "treewidth").energy)
    value = pl.log_partition(model)
    assert value.exact
    assert value.value == pytest.approx(pl.log_partition(model, "treewidth").value, abs=1e-8)


def test_a_torus_with_a_tail_is_a_part_on_its_surface() -> None:
    tails = [(0, 36), (36, 37), (37, 38), (36, 38), (20, 39), (21, 40)]
    edges = np.concatenate([torus_lattice(6, 6).edges, tails])
    model = pl.IsingModel(shuffle(edges, 41), np.random.default_rng(1).normal(size=len(edges)))
    surfaces = [part.embedding for part in split_model(model).parts]
    assert sorted(s.genus for s in surfaces if s is not None) == [0, 1]
    exact = pl.log_partition(model, "treewidth").value
    assert pl.log_partition(model).value == pytest.approx(exact, abs=1e-8)
