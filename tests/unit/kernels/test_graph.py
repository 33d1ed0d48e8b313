from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from planaris.budget import UNLIMITED
from planaris.kernels.graph import (
    biconnected_components,
    connected_components,
    embed_drawing,
    find_kuratowski,
    heaviest_forest,
    is_planar,
)


def test_nothing_has_no_blocks():
    for n in (0, 3):
        count, block, articulation = biconnected_components(n, np.zeros((0, 2), np.int32))
        assert (count, block.size, articulation.tolist()) == (0, 0, [False] * n)


def test_parallel_edges_form_one_block():
    edges = np.array([(0, 1), (1, 0), (1, 2)], dtype=np.int32)
    count, block, articulation = biconnected_components(3, edges)
    assert count == 2
    assert block[0] == block[1] != block[2]
    assert articulation.tolist() == [False, True, False]


@pytest.mark.parametrize("seed", range(20))
def test_no_forest_is_heavier(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(0, 20))
    edges = rng.integers(0, n, (m, 2)).astype(np.int32)  # parallel edges and loops among them
    weights = rng.integers(-3, 4, m).astype(float) if seed % 2 else rng.normal(size=m)
    found = heaviest_forest(n, edges, weights, UNLIMITED)
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(
        (*ends, w) for ends, w in zip(edges.tolist(), weights, strict=True)
    )
    best = nx.maximum_spanning_tree(graph)
    assert np.all(np.diff(found) > 0)
    assert len(found) == best.number_of_edges()
    assert weights[found].sum() == pytest.approx(best.size(weight="weight"))
    assert nx.is_forest(nx.MultiGraph(edges[found].tolist())) if len(found) else True


@pytest.mark.parametrize("n", [1_000_000])
def test_a_long_path_is_all_bridges(n):
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)]).astype(np.int32)
    count, block, articulation = biconnected_components(n, edges)
    assert count == n - 1
    assert len(np.unique(block)) == n - 1
    assert articulation.sum() == n - 2
    assert connected_components(n, edges).max() == 0


@pytest.mark.parametrize("edge", [(0, 3), (-1, 2)])
def test_edges_out_of_range_never_reach_memory(edge):
    edges = np.array([(0, 1), edge], dtype=np.int32)
    for kernel in (biconnected_components, is_planar, find_kuratowski):
        with pytest.raises(ValueError, match="an edge ends at vertex"):
            kernel(3, edges)
    with pytest.raises(ValueError, match="an edge ends at vertex"):
        embed_drawing(3, edges, np.eye(3, 2))
    with pytest.raises(ValueError, match="two coordinates per vertex"):
        embed_drawing(3, edges[:1], np.eye(2, 2))
