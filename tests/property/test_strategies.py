"""The strategies deliver what they promise; the degenerate models are what they are called."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from helpers import degenerate, strategies
from planaris.errors import ModelError
from planaris.reference import enumerate_states


@given(strategies.plane_graphs())
def test_graphs_are_plane_and_simple(graph):
    embedding = graph.embedding
    assert embedding.genus == 0
    assert len({frozenset(edge) for edge in graph.edges}) == len(graph.edges)
    if graph.positions is not None:
        again = strategies.from_positions(graph.num_vertices, graph.edges, graph.positions)
        assert again.rotation == graph.rotation


@given(strategies.plane_models(fields=True))
def test_model_and_graph_share_their_edges(pair):
    model, graph = pair
    assert model.edges.tolist() == [list(edge) for edge in graph.edges]
    held = np.flatnonzero(model.fields).tolist()
    faces = range(graph.embedding.num_faces)
    assert not held or any(set(held) <= set(strategies.face_vertices(graph, f)) for f in faces)


@pytest.mark.parametrize("name", degenerate.SMALL)
def test_small_models_are_small(name):
    model = degenerate.SMALL[name]()
    assert model.num_spins <= 8
    assert np.isfinite(enumerate_states(model).log_partition)


@pytest.mark.parametrize("name", degenerate.BAD)
def test_bad_input_is_refused(name):
    function, arguments, message = degenerate.BAD[name]
    with pytest.raises(ModelError, match=message):
        function(*arguments)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("coupling", [-1.3, 0.4])
def test_closed_forms(n, coupling):
    tree = enumerate_states(degenerate.path(n, coupling)).log_partition
    assert degenerate.path_log_partition(n, coupling) == pytest.approx(tree, rel=1e-14)
    assert enumerate_states(degenerate.star(n - 1, coupling)).log_partition == pytest.approx(tree)
    ring = enumerate_states(degenerate.ring(n, coupling)).log_partition
    assert degenerate.ring_log_partition(n, coupling) == pytest.approx(ring, rel=1e-14)
