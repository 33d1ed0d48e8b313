from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import strategies
from planaris import Embedding
from planaris.embed.homology import cycle_flips, homology_cycles, sign_structures
from planaris.embed.surfaces import torus_lattice
from planaris.errors import TooLargeError


@st.composite
def rotation_systems(draw: st.DrawFn, max_vertices: int = 7) -> Embedding:
    """Plane graphs with some rotations shuffled: any genus, connected or not."""
    graph = draw(strategies.plane_graphs(max_vertices))
    turns = [draw(st.permutations(around)) for around in graph.rotation]
    flat = [h for around in turns for h in around]
    return Embedding.from_rotation(graph.edges, flat, num_vertices=graph.num_vertices)


def rank_mod_2(matrix: np.ndarray) -> int:
    rows = [int("".join(map(str, row)), 2) for row in matrix.astype(int)] if matrix.size else []
    rank = 0
    while rows:
        pivot = rows.pop()
        if pivot:
            rank += 1
            low = pivot & -pivot
            rows = [row ^ pivot if row & low else row for row in rows]
    return rank


def face_boundaries(embedding: Embedding) -> np.ndarray:
    faces = np.zeros((embedding.num_faces, embedding.num_edges), dtype=int)
    np.add.at(faces, (embedding.face_of, np.arange(2 * embedding.num_edges) >> 1), 1)
    return faces % 2


@given(rotation_systems())
def test_cycles_are_a_basis_of_homology(embedding):
    flips = cycle_flips(embedding)
    assert len(flips) == 2 * embedding.genus
    cycles = (flips < 0).astype(int)
    degree = np.zeros((embedding.num_vertices, len(flips)), dtype=int)
    for k in (0, 1):
        np.add.at(degree, embedding.edges[:, k], cycles.T)
    assert np.all(np.isin(degree, (0, 2)))  # each is a simple cycle or a union of such
    faces = face_boundaries(embedding)
    both = np.concatenate([faces, cycles])
    assert rank_mod_2(both) == rank_mod_2(faces) + 2 * embedding.genus


@given(rotation_systems(5))
def test_structures_are_all_products(embedding):
    structures = sign_structures(embedding)
    assert len(structures) == 4**embedding.genus
    assert np.all(structures[0] == 1)
    assert len(np.unique(structures, axis=0)) == len(structures)


def test_too_many_structures_are_refused(rng):
    edges = [(0, 1)] * 60
    rotation = np.concatenate([2 * rng.permutation(60), 2 * rng.permutation(60) + 1])
    wild = Embedding.from_rotation(edges, rotation, num_vertices=2)
    assert wild.genus > 13
    with pytest.raises(TooLargeError) as error:
        sign_structures(wild)
    assert error.value.bytes_needed == 4**wild.genus * 60


@pytest.mark.parametrize("kind", ["square", "triangular"])
def test_a_large_torus_is_quick_and_right(kind):
    lattice = torus_lattice(300, 400, kind)
    cycles = homology_cycles(lattice)
    assert len(cycles) == 2
    assert all(300 <= len(cycle) <= 1400 for cycle in cycles)
