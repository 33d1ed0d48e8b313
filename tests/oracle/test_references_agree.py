"""Brute force, dense Pfaffians, ball arithmetic and closed forms give the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import degenerate, strategies
from helpers.trials import examples
from planaris import Embedding, IsingModel
from planaris.embed.handles import embedding_with_handles
from planaris.embed.surfaces import torus_lattice
from planaris.reference import ball, dense, enumerate_states, kaufman_log_partition
from planaris.reference.brute_force import all_states


@st.composite
def rotation_systems(draw: st.DrawFn, max_edges: int = 8) -> Embedding:
    """Any multigraph with any rotation: genus 0 to 3 comes up, several components too."""
    n = draw(st.integers(2, 7))
    pair = st.tuples(st.integers(0, n - 1), st.integers(1, n - 1)).map(
        lambda p: (p[0], (p[0] + p[1]) % n)
    )
    edges = draw(st.lists(pair, max_size=max_edges))
    rotation = []
    for v in range(n):
        around = [h for h in range(2 * len(edges)) if edges[h >> 1][h & 1] == v]
        rotation += draw(st.permutations(around))
    return Embedding.from_rotation(np.reshape(edges, (-1, 2)), rotation, num_vertices=n)


def draw_couplings(data: st.DataObject, count: int, scale: float) -> np.ndarray:
    whole = data.draw(st.booleans())
    seed = data.draw(st.integers(0, 2**32))
    values = scale * np.random.default_rng(seed).normal(size=count)
    return np.rint(values) if whole else values


def agreement(embedding: Embedding, couplings: np.ndarray) -> np.ndarray:
    """P(s_u = s_v) of all edges, parallel ones included, by enumeration."""
    model = IsingModel(embedding.edges, couplings, num_spins=embedding.num_vertices)
    states = all_states(model.num_spins)
    u, v = embedding.edges.T
    return enumerate_states(model).probabilities @ (states[:, u] == states[:, v])


@examples(80)
@given(rotation_systems(), st.data())
def test_dense_pfaffians_on_any_surface(embedding, data):
    couplings = draw_couplings(data, embedding.num_edges, data.draw(st.sampled_from([0.5, 1.0])))
    model = IsingModel(embedding.edges, couplings, num_spins=embedding.num_vertices)
    truth = enumerate_states(model)
    found = dense.log_partition(embedding, couplings)
    assert found.exact
    assert found.lower <= truth.log_partition <= found.upper
    assert found.value == pytest.approx(truth.log_partition, rel=1e-10, abs=1e-10)
    if embedding.genus <= 1:
        marginals = dense.edge_marginals(embedding, couplings)
        np.testing.assert_allclose(marginals, agreement(embedding, couplings), atol=1e-9)


@settings(max_examples=60)
@given(rotation_systems(), st.data())
def test_dense_intervals_are_honest_at_low_temperature(embedding, data):
    couplings = draw_couplings(data, embedding.num_edges, 8.0)
    truth = enumerate_states(
        IsingModel(embedding.edges, couplings, num_spins=embedding.num_vertices)
    )
    for spins in (None, truth.ground_states[0]):
        found = dense.log_partition(embedding, couplings, spins=spins)
        assert found.lower <= truth.log_partition <= found.upper


@examples(100)
@given(rotation_systems(), st.data())
def test_balls_on_any_surface(embedding, data):
    scale = data.draw(st.sampled_from([0.5, 5.0, 300.0]))
    couplings = draw_couplings(data, embedding.num_edges, scale)
    truth = enumerate_states(
        IsingModel(embedding.edges, couplings, num_spins=embedding.num_vertices)
    )
    found = ball.log_partition(embedding, couplings)
    # The enclosure is narrower than the rounding of the enumeration.
    assert found.value == pytest.approx(truth.log_partition, rel=2e-14, abs=2e-14)
    assert found.lower < found.value < found.upper
    assert found.upper - found.lower <= 4 * np.spacing(abs(found.value) + 1)


@settings(max_examples=60)
@given(strategies.plane_models())
def test_balls_on_plane_models_at_all_couplings(pair):
    model, graph = pair
    truth = enumerate_states(model)
    enclosed = ball.log_partition(graph.embedding, model.couplings)
    assert enclosed.value == pytest.approx(truth.log_partition, rel=2e-14, abs=2e-14)
    found = dense.log_partition(graph.embedding, model.couplings)
    assert found.lower <= truth.log_partition <= found.upper


@settings(max_examples=60)
@given(strategies.plane_models(kinds=("integers", "tied", "floats")), st.sampled_from([1, 10, 100]))
def test_dense_on_plane_models(pair, beta):
    model, graph = pair
    model = model.with_couplings(beta * model.couplings)
    truth = enumerate_states(model)
    embedding = graph.embedding
    found = dense.log_partition(embedding, model.couplings, spins=truth.ground_states[0])
    assert found.exact
    assert found.value == pytest.approx(truth.log_partition, rel=1e-12, abs=1e-12)
    marginals = dense.edge_marginals(embedding, model.couplings, spins=truth.ground_states[0])
    np.testing.assert_allclose(marginals, truth.edges, atol=1e-11)


@pytest.mark.parametrize("size", [(2, 2), (2, 3), (3, 3), (3, 5), (4, 4), (6, 5)])
@pytest.mark.parametrize("coupling", [0.05, 0.44068679350977151, 1.0])
def test_tori_equal_the_closed_form(size, coupling):
    lattice = torus_lattice(*size)
    expected = kaufman_log_partition(*size, coupling)
    couplings = np.full(lattice.num_edges, coupling)
    found = dense.log_partition(lattice, couplings)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert found.lower <= expected <= found.upper
    assert ball.log_partition(lattice, couplings).value == pytest.approx(expected, rel=1e-14)


def test_triangular_torus(rng):
    lattice = torus_lattice(3, 3, "triangular")
    couplings = rng.normal(size=lattice.num_edges)
    truth = enumerate_states(IsingModel(lattice.edges, couplings)).log_partition
    assert dense.log_partition(lattice, couplings).value == pytest.approx(truth, rel=1e-12)


def test_complete_graph_drawn_with_crossings(rng):
    angle = 2 * np.pi * np.arange(6) / 6 + 0.1 * rng.random(6)
    edges = [(u, v) for u in range(6) for v in range(u)]
    embedding = embedding_with_handles(edges, np.column_stack([np.cos(angle), np.sin(angle)]))
    assert 1 <= embedding.genus <= 2
    couplings = rng.normal(size=15)
    truth = enumerate_states(IsingModel(edges, couplings))
    found = dense.log_partition(embedding, couplings)
    assert found.value == pytest.approx(truth.log_partition, rel=1e-11)
    np.testing.assert_allclose(dense.edge_marginals(embedding, couplings), truth.edges, atol=1e-9)


def test_a_structure_that_vanishes_does_no_harm():
    # On the critical torus one Pfaffian is zero: its matrix has no inverse.
    critical = np.log1p(np.sqrt(2)) / 2
    lattice = torus_lattice(2, 3)
    couplings = np.full(lattice.num_edges, critical)
    expected = agreement(lattice, couplings)
    np.testing.assert_allclose(dense.edge_marginals(lattice, couplings), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["path", "star", "ring"])
@pytest.mark.parametrize("coupling", [-2.0, 0.7, 40.0])
def test_closed_forms_of_simple_graphs(name, coupling):
    n = 9
    model = {"path": degenerate.path, "star": lambda k, j: degenerate.star(k - 1, j)}.get(
        name, degenerate.ring
    )(n, coupling)
    degree = np.bincount(model.edges.ravel(), minlength=n)
    order = np.argsort(model.edges.ravel(), kind="stable")
    embedding = Embedding.from_rotation(model.edges, order, num_vertices=n)
    assert degree.sum() == 2 * model.num_edges
    form = degenerate.ring_log_partition if name == "ring" else degenerate.path_log_partition
    expected = form(n, coupling)
    assert ball.log_partition(embedding, model.couplings).value == pytest.approx(expected)
