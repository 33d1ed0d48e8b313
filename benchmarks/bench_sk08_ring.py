"""Rings as in figure 4 of SK08: matching on split faces, full K against prefactored H.

``pytest benchmarks/bench_sk08_ring.py --benchmark-enable -s`` prints the rows of the figure.
"""

from __future__ import annotations

import numpy as np
import pytest

from planaris.planar.sk08.ring import time_ring_ground_state, time_ring_marginals


@pytest.mark.parametrize("size", [16, 32, 64])
def test_ground_state(benchmark, size):
    row = benchmark.pedantic(
        time_ring_ground_state, args=(size, np.random.default_rng(size)), rounds=1
    )
    print(
        f"\nring {size:4d}  original {row.original:.4f} s  triangulated {row.triangulated:.4f} s"
        f"  octangulated {row.octangulated:.4f} s"
    )
    assert row.energy < 0


@pytest.mark.parametrize("size", [32, 64, 128, 256])
def test_marginals(benchmark, size):
    row = benchmark.pedantic(
        time_ring_marginals, args=(size, np.random.default_rng(size)), rounds=1
    )
    print(
        f"\nring {size:4d}  full K {row.full_seconds:.4f} s {row.full_bytes} B"
        f"  prefactored H {row.prefactored_seconds:.4f} s {row.prefactored_bytes} B"
        f"  prefactoring {row.prefactoring_seconds:.4f} s"
        f"  time ratio {row.full_seconds / row.prefactored_seconds:.1f}"
        f"  memory ratio {row.full_bytes / row.prefactored_bytes:.0f}"
    )
    assert row.difference < 1e-9
