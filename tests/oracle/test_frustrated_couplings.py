"""Frustrated models at moderate couplings: good pivots do not show what cancels beside them."""

import itertools
import math

import numpy as np
import pytest

from planaris.planar import plan

# The dual of a rotated surface code of distance 5, of a syndrome at noise 1e-6.
TAILS = [0, 1, 2, 0, 3, 0, 1, 4, 3, 5, 6, 4, 7, 3, 5, 8, 7, 0, 0, 8, 7]
HEADS = [1, 0, 0, 2, 1, 3, 4, 2, 5, 4, 2, 6, 5, 7, 8, 6, 0, 8, 6, 0, 0]
EDGES = np.stack([TAILS, HEADS], axis=1)
COUPLINGS = np.fromstring(
    "6.8128 7.0673 -7.2259 7.2429 6.6906 6.2751 6.8338 6.7487 6.8775 6.6062 -6.3422 7.2524 6.66 "
    "-6.8845 6.7486 7.1326 -6.656 -6.879 -6.7 6.9613 7.2347",
    sep=" ",
)


def enumerated(couplings):
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    spins = np.hstack([np.ones((len(states), 1)), states])
    weights = (spins[:, EDGES[:, 0]] * spins[:, EDGES[:, 1]]) @ couplings
    top = weights.max()
    return top + math.log(2.0 * math.fsum(np.exp(weights - top).tolist()))


@pytest.mark.parametrize("largest", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 12.0])
def test_log_partition_contains_the_sum_over_states(largest):
    rng = np.random.default_rng(3)
    scale = largest / np.abs(COUPLINGS).max()
    rows = [scale * COUPLINGS]
    rows += [largest * rng.uniform(0.85, 1.0, 21) * rng.choice([-1, 1], 21) for _ in range(100)]
    graph = plan((9, EDGES))
    for couplings, batched in zip(rows, graph.log_partition(rows), strict=True):
        truth = enumerated(couplings)
        for found in (graph.log_partition(couplings), batched):
            assert found.lower - 1e-13 <= truth <= found.upper + 1e-13
            assert abs(found.value - truth) < 1e-11
