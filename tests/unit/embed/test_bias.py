from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from helpers.planar_graphs import complete, complete_bipartite, grid, planar_with_deletions
from planaris import IsingModel
from planaris.embed import bias, closest_planar_model, join_bias_spin
from planaris.errors import EmbeddingError, ModelError, NotPlanarError
from planaris.verify import check_kuratowski, check_plane

K4 = complete(4)


def joined_graph(model, spins):
    graph = nx.Graph()
    graph.add_nodes_from(range(model.num_spins + 1))
    graph.add_edges_from(model.edges.tolist())
    graph.add_edges_from((int(v), model.num_spins) for v in spins)
    return graph


def best_weight(model, weights):
    """Try every set of spins with a field, heaviest first."""
    spins = np.flatnonzero(model.fields)
    subsets = [s for k in range(len(spins) + 1) for s in itertools.combinations(spins, k)]
    subsets.sort(key=lambda s: -sum(weights[v] for v in s))
    for subset in subsets:
        if nx.check_planarity(joined_graph(model, subset))[0]:
            return sum(weights[v] for v in subset)
    raise AssertionError


def check_biased(model, biased):
    n, m = model.num_spins, model.num_edges
    check_plane(biased.embedding)
    np.testing.assert_array_equal(biased.embedding.edges, biased.model.edges)
    np.testing.assert_array_equal(biased.model.edges[:m], model.edges)
    np.testing.assert_array_equal(biased.model.edges[m:, 0], biased.kept)
    assert np.all(biased.model.edges[m:, 1] == n)
    assert not biased.model.has_fields
    both = np.sort(np.concatenate([biased.kept, biased.dropped]))
    np.testing.assert_array_equal(both, np.flatnonzero(model.fields))
    assert biased.dropped_field == pytest.approx(np.abs(model.fields[biased.dropped]).sum())
    states = np.random.default_rng(n).choice([-1, 1], (20, n + 1))
    kept_only = np.zeros(n)
    kept_only[biased.kept] = model.fields[biased.kept]
    same = model.with_couplings(model.couplings, kept_only)
    np.testing.assert_allclose(
        biased.model.energy(states), same.energy(biased.lift(states)), atol=1e-9
    )


def random_model(rng, n):
    edges = planar_with_deletions(n, rng)
    fields = np.where(rng.random(n) < 0.7, rng.integers(1, 9, n) * rng.choice([-1, 1], n), 0)
    return IsingModel(edges, rng.normal(size=len(edges)), fields.astype(float), num_spins=n)


def test_the_heaviest_face_against_all_subsets(rng):
    proved = 0
    for _ in range(150):
        model = random_model(rng, int(rng.integers(1, 9)))
        closest = closest_planar_model(model)
        check_biased(model, closest)
        weight = np.abs(model.fields)
        best = best_weight(model, weight)
        kept = weight[closest.kept].sum()
        assert kept == best if closest.proved else kept <= best
        proved += closest.proved and len(closest.dropped) > 0
    assert proved > 10, "faces that had to drop fields must be proved best now and then"


def test_weights_of_the_user_decide():
    model = IsingModel(K4, 1.0, [9.0, 9.0, 9.0, 0.5])
    closest = closest_planar_model(model, weights=[1, 1, 0, 5])
    assert closest.dropped.tolist() == [2]
    assert closest.dropped_field == 9.0


def test_blocks_are_turned_towards_each_other():
    # Two K4 share a vertex; the best face takes the best face of each of them.
    edges = np.vstack([K4, np.where(K4 == 0, 0, K4 + 3)])
    fields = [1.0, 5.0, 4.0, 0.5, 0.25, 3.0, 3.0]
    closest = closest_planar_model(IsingModel(edges, 1.0, fields))
    assert closest.dropped.tolist() == [3, 4]
    assert closest.proved


def test_a_block_in_a_block_in_a_block_is_found():
    # A chain of K4 whose shared vertices are light: going through them is worth it.
    edges = np.vstack([K4 + 3 * k for k in range(6)])
    fields = np.ones(19)
    closest = closest_planar_model(IsingModel(edges, 1.0, fields))
    check_biased(IsingModel(edges, 1.0, fields), closest)
    assert closest.proved
    assert len(closest.dropped) == 6  # one inner vertex of every K4


def test_a_grid_keeps_its_border():
    edges, _ = grid(5, 6)
    closest = closest_planar_model(IsingModel(edges, 1.0, np.ones(30)))
    assert closest.proved
    assert len(closest.kept) == 18
    inside = np.arange(30).reshape(5, 6)[1:-1, 1:-1].ravel()
    np.testing.assert_array_equal(closest.dropped, inside)


def test_parallel_paths_are_not_unique():
    # Four paths between two spins: a face has two of them, but which two is free.
    edges = [(u, v) for v in (2, 3, 4, 5) for u in (0, 1)]
    model = IsingModel(edges, 1.0, [0.0, 0.0, 5.0, 1.0, 5.0, 1.0])
    closest = closest_planar_model(model)
    assert not closest.proved
    assert set(closest.kept.tolist()) == {2, 4}, "the search past the first embedding"


def test_without_budget_the_face_at_hand_is_used(monkeypatch):
    monkeypatch.setattr(bias, "SEARCH_BUDGET", 0)
    edges = [(u, v) for v in (2, 3, 4, 5) for u in (0, 1)]
    model = IsingModel(edges, 1.0, [0.0, 0.0, 5.0, 1.0, 5.0, 1.0])
    closest = closest_planar_model(model)
    check_biased(model, closest)
    assert not closest.proved


def test_all_fields_fit():
    for n in (0, 1, 2, 7):
        path = IsingModel([(v, v + 1) for v in range(n - 1)], 1.0, np.ones(n), num_spins=n)
        for biased in (join_bias_spin(path), closest_planar_model(path)):
            check_biased(path, biased)
            assert biased.proved
            assert biased.dropped.size == 0


def test_no_field_leaves_the_bias_spin_alone():
    biased = join_bias_spin(IsingModel(K4, 1.0))
    assert biased.model.num_edges == 6
    assert biased.model.num_spins == 5


def test_refusal_carries_a_proof_with_bias_edges():
    model = IsingModel(K4, 1.0, np.ones(4))
    with pytest.raises(NotPlanarError, match="closest_planar_model") as refusal:
        join_bias_spin(model)
    edges = np.vstack([model.edges, [(v, 4) for v in range(4)]])
    assert check_kuratowski(5, edges, refusal.value.kuratowski_edges) == "K5"
    assert refusal.value.kind == "K5"


@pytest.mark.parametrize("solve", [join_bias_spin, closest_planar_model])
def test_a_graph_that_is_not_planar_is_to_blame_itself(solve):
    edges = complete_bipartite(3, 3)
    with pytest.raises(NotPlanarError, match="`edges` must form a planar graph") as refusal:
        solve(IsingModel(edges, 1.0, np.ones(6)))
    assert check_kuratowski(6, edges, refusal.value.kuratowski_edges) == "K3,3"


def test_bad_arguments_are_named():
    model = IsingModel(K4, 1.0, np.ones(4))
    with pytest.raises(EmbeddingError, match="`weights` must not be negative"):
        closest_planar_model(model, weights=[1, 1, -1, 1])
    with pytest.raises(ModelError, match="`weights` must be finite"):
        closest_planar_model(model, weights=[1, 1, np.nan, 1])
    with pytest.raises(ModelError, match="`weights` must have shape"):
        closest_planar_model(model, weights=[1, 1])


def test_a_big_grid_with_a_field_everywhere():
    edges, _ = grid(300, 300)
    closest = closest_planar_model(IsingModel(edges, 1.0, np.ones(90_000)))
    assert closest.proved
    assert len(closest.kept) == 4 * 299
    check_plane(closest.embedding)
