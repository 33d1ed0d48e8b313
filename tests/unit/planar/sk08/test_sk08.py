"""The literal route of SK08 against brute force and against itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import degenerate, strategies
from helpers.trials import examples
from planaris import Embedding, IsingModel
from planaris.embed.surfaces import torus_lattice
from planaris.errors import EmbeddingError, MethodError
from planaris.planar import sk08
from planaris.planar.sk08.matching import state_from_cut
from planaris.planar.sk08.ring import ring, time_ring_ground_state, time_ring_marginals
from planaris.reference import enumerate_states

ORDINARY = ("integers", "tied", "floats")


@given(strategies.plane_graphs(12))
def test_triangulation_has_triangles_only(graph):
    embedding = graph.embedding
    full = sk08.triangulate(embedding)
    assert full.genus == 0
    np.testing.assert_array_equal(full.edges[: embedding.num_edges], embedding.edges)
    sizes = np.diff(full.face_offsets)
    pairs = np.bincount(embedding.component_of, minlength=1) == 2  # single edges stay
    assert np.count_nonzero(sizes == 2) == np.count_nonzero(pairs)
    assert np.all((sizes == 3) | (sizes == 2))


@given(st.integers(3, 60), st.integers(3, 10), st.integers(0, 8))
def test_pieces_of_a_ring(size, piece, more):
    _, embedding = ring(size, np.random.default_rng(0))
    split = sk08.split_faces(embedding, piece=piece, limit=piece + more)
    assert split.genus == 0
    assert np.diff(split.face_offsets).max() <= max(piece + more, 3)
    if size <= piece + more:
        assert split.num_edges == size


def test_octangulation_leaves_small_faces_alone():
    for size, chords in ((13, 0), (14, 2)):
        _, embedding = ring(size, np.random.default_rng(0))
        assert sk08.octangulate(embedding).num_edges == size + chords


@examples(150)
@given(strategies.plane_models(), st.sampled_from(["none", "triangulate", "octangulate"]))
def test_ground_states_equal_brute_force(pair, chords):
    model, graph = pair
    truth = enumerate_states(model)
    found = sk08.ground_state(model, graph.embedding, chords=chords)
    ours = sk08.ground_state(model, graph.embedding, chords=chords, matching="planaris")
    assert ours.energy == pytest.approx(found.energy, abs=1e-9)
    assert found.energy == pytest.approx(truth.energy, rel=1e-14, abs=1e-300)
    assert found.energy == float(model.energy(found.spins))
    assert found.lower <= found.energy == found.upper
    if np.all(model.couplings == np.rint(model.couplings)):
        assert found.energy == truth.energy == found.lower


@examples(150)
@given(strategies.plane_models(kinds=ORDINARY))
def test_log_partition_and_marginals_equal_brute_force(pair):
    model, graph = pair
    truth = enumerate_states(model)
    embedding = graph.embedding
    full = sk08.half_kasteleyn(embedding)
    for half in (full, full.prefactor()):
        found = sk08.log_partition(model, embedding, half=half)
        assert found.exact
        assert found.lower <= truth.log_partition <= found.upper
        assert found.value == pytest.approx(truth.log_partition, rel=1e-12, abs=1e-12)
        edges = sk08.marginals(model, embedding, half=half).edges
        np.testing.assert_allclose(edges, truth.edges, atol=1e-9)


@given(strategies.plane_graphs(9))
def test_prefactoring_is_a_schur_complement(graph):
    full = sk08.half_kasteleyn(graph.embedding)
    small = full.prefactor()
    kept = 2 * len(graph.edges)
    k = full.kasteleyn_matrix(np.zeros(len(graph.edges)))
    a, b, c = k[:kept, :kept], k[:kept, kept:], k[kept:, kept:]
    schur = a + b @ np.linalg.solve(c, b.T) if c.size else a
    np.testing.assert_allclose(small.kasteleyn_matrix(np.zeros(kept // 2)), schur, atol=1e-12)
    assert small.nbytes == kept * ((kept + 7) // 8)
    half = small.dense()
    assert not np.any(half & half.T)


@given(strategies.plane_models(kinds=ORDINARY))
def test_a_planned_matrix_serves_all_couplings(pair):
    model, graph = pair
    half = sk08.half_kasteleyn(graph.embedding).prefactor()
    for factor in (1.0, -0.5):
        other = model.with_couplings(factor * model.couplings)
        expected = enumerate_states(other).log_partition
        found = sk08.log_partition(other, graph.embedding, half=half)
        assert found.value == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_low_temperature_is_not_trusted(rng):
    grid = IsingModel.from_image(np.zeros((4, 4)), 30 * rng.normal(size=(4, 3)), 30.0)
    graph = strategies.from_positions(16, grid.edges.tolist(), grid.positions.tolist())
    found = sk08.log_partition(grid, graph.embedding)
    truth = enumerate_states(grid).log_partition
    assert not found.exact
    assert found.lower <= truth <= found.upper
    huge = grid.with_couplings(1e3)
    assert not sk08.log_partition(huge, graph.embedding).exact


@pytest.mark.parametrize("name", degenerate.SMALL)
def test_degenerate_models(name):
    model = degenerate.SMALL[name]()
    order = np.argsort(model.edges.ravel(), kind="stable")
    embedding = Embedding.from_rotation(model.edges, order, num_vertices=model.num_spins)
    if model.has_fields or embedding.genus:
        with pytest.raises((MethodError, EmbeddingError)):
            sk08.ground_state(model, embedding)
        return
    truth = enumerate_states(model)
    assert sk08.ground_state(model, embedding).energy == pytest.approx(truth.energy, abs=1e-300)
    found = sk08.log_partition(model, embedding)
    assert found.lower <= truth.log_partition <= found.upper


def test_refusals():
    torus = torus_lattice(3, 3)
    with pytest.raises(EmbeddingError, match="must be plane, got genus 1"):
        sk08.ground_state(IsingModel(torus.edges, 1.0), torus)
    model, embedding = ring(5, np.random.default_rng(0))
    with pytest.raises(MethodError, match="`matching` must be one of"):
        sk08.ground_state(model, embedding, matching="greedy")
    with pytest.raises(MethodError, match="`chords` must be one of"):
        sk08.ground_state(model, embedding, chords="some")
    with pytest.raises(EmbeddingError, match="spins and edges of the model"):
        sk08.log_partition(IsingModel(model.edges[::-1], 1.0), embedding)
    with pytest.raises(EmbeddingError, match="3 <= piece <= limit"):
        sk08.split_faces(embedding, piece=2, limit=5)
    with pytest.raises(EmbeddingError, match="not a cut"):
        state_from_cut(embedding, np.array([True, False, False, False, False]))


def test_a_long_path_needs_no_recursion():
    model = degenerate.path(5000, -1.0)
    embedding = Embedding.from_rotation(
        model.edges, np.argsort(model.edges.ravel(), kind="stable"), num_vertices=5000
    )
    spins = state_from_cut(embedding, np.ones(4999, dtype=bool))
    assert float(model.energy(spins)) == -4999.0


def test_ring_experiment_rows():
    row = time_ring_marginals(40, np.random.default_rng(0))
    assert row.difference < 1e-10
    assert row.full_bytes == 8 * (6 * 40 - 12) ** 2
    assert row.prefactored_bytes == 80 * 10
    states = time_ring_ground_state(20, np.random.default_rng(0))
    assert min(states.original, states.triangulated, states.octangulated) > 0
    assert np.isnan(time_ring_ground_state(20, np.random.default_rng(0), whole=False).original)
