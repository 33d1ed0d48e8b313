from __future__ import annotations

import numpy as np
import pytest

from planaris.kernels.graph import biconnected_components, connected_components


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


@pytest.mark.parametrize("n", [1_000_000])
def test_a_long_path_is_all_bridges(n):
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)]).astype(np.int32)
    count, block, articulation = biconnected_components(n, edges)
    assert count == n - 1
    assert len(np.unique(block)) == n - 1
    assert articulation.sum() == n - 2
    assert connected_components(n, edges).max() == 0
