"""Periodic lattices are recognised, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.embed import low_genus_embedding, may_lie_on_torus, torus_lattice, torus_shape
from planaris.errors import NotPlanarError
from planaris.reference.brute_force import all_states


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 7), (8, 5), (4, 4), (6, 6)])
@pytest.mark.parametrize("kind", ["square", "triangular"])
def test_tori_are_recognised_whatever_the_order_of_their_edges(rows, columns, kind):
    rng = np.random.default_rng(rows)
    edges = pl.generate.torus(rows, columns, kind).edges
    assert {tuple(sorted(e)) for e in edges.tolist()} == {
        tuple(sorted(e)) for e in torus_lattice(rows, columns, kind).edges.tolist()
    }
    turned = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
    found = low_genus_embedding(rng.permutation(turned), rows * columns)
    assert found is not None
    assert found.embedding.genus == 1
    lengths = found.embedding.face_lengths
    assert set(lengths.tolist()) == {4 if kind == "square" else 3}


def test_diluted_tori_are_recognised():
    rng = np.random.default_rng(0)
    edges = pl.generate.torus(8, 9).edges
    kept = edges[rng.random(len(edges)) < 0.8]
    assert torus_shape(kept, 72) is not None
    assert low_genus_embedding(kept, 72).embedding.genus <= 1


def test_other_graphs_are_not_taken_for_tori():
    k5 = [(u, v) for u in range(5) for v in range(u)]
    assert low_genus_embedding(k5, 5) is None
    assert low_genus_embedding(k5, 5, 1).embedding.genus == 1
    assert low_genus_embedding(k5, 5, 0) is None
    dense = [(u, v) for u in range(12) for v in range(u)]
    assert low_genus_embedding(dense, 12, 2) is None
    cube = pl.generate.torus(4).edges
    layers = np.concatenate([cube, cube + 16, np.stack([np.arange(16), np.arange(16) + 16], 1)])
    assert torus_shape(layers, 32) is None


@pytest.mark.parametrize("seed", range(3))
def test_the_verbs_are_exact_on_a_torus_without_being_told(seed):
    glass = pl.generate.spin_glass(pl.generate.torus(3, 4), seed)
    states = all_states(12)
    weights = glass.log_weight(states)
    log_z = np.logaddexp.reduce(weights)
    by_surface = pl.log_partition(glass, embedding=low_genus_embedding(glass.edges, 12).embedding)
    assert by_surface.value == pytest.approx(log_z, abs=1e-9)
    chance = np.exp(weights - log_z)
    u, v = glass.edges.T
    wanted = chance @ (states[:, u] == states[:, v])
    found = pl.marginals(glass)
    assert found.exact
    np.testing.assert_allclose(found.edges, wanted, atol=1e-9)


def test_large_tori_are_exact_without_being_told():
    glass = pl.generate.spin_glass(pl.generate.torus(40), 1)
    found = pl.log_partition(glass)
    assert (found.exact, found.method) == (True, "planar")
    assert pl.sample(glass, 1, 0).shape == (1, 1600)
    with pytest.raises(NotPlanarError):
        pl.log_partition(glass, "planar")


def test_lattices_of_the_generator():
    ring = pl.generate.cylinder(4, 5)
    assert pl.embed.embed(pl.IsingModel(ring.edges, 1.0, positions=ring.positions)).genus == 0
    assert len(ring.edges) == 4 * 5 + 3 * 5
    assert len(pl.generate.torus(2, 2).edges) == 4
    assert len(pl.generate.cylinder(0).edges) == 0
    for wrong in (
        lambda: pl.generate.torus(2, 5, "triangular"),
        lambda: pl.generate.torus(5, 5, "x"),
    ):
        with pytest.raises(pl.PlanarisError):
            wrong()


@pytest.mark.parametrize("seed", range(20))
def test_euler_rules_out_no_graph_on_a_torus(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(3, 7, 2)
    edges = torus_lattice(rows, columns).edges
    vertices, hub = rows * columns, int(rng.integers(rows * columns))
    # Contract a patch into the hub: the graph stays on its torus, and the hub sees many.
    patch = rng.choice(vertices, int(rng.integers(1, vertices // 2 + 1)), replace=False)
    name = np.arange(vertices)
    for _ in range(vertices):  # what the hub reaches through the patch
        inside = np.isin(edges, patch).any(1) & (name[edges] == name[hub]).any(1)
        name[edges[inside][np.isin(edges[inside], patch)]] = name[hub]
    merged = np.unique(np.sort(name[edges], axis=1), axis=0)
    merged = merged[merged[:, 0] != merged[:, 1]].astype(np.int32)
    used, ends = np.unique(merged, return_inverse=True)
    at = int(np.searchsorted(used, name[hub]))
    small = ends.reshape(-1, 2).astype(np.int32)
    for centre in (at, -1):
        assert may_lie_on_torus(small, len(used), centre)
