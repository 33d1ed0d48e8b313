"""dimod samplers against the planar solver of dwave-samplers."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.interop.dimod import PlanarSampler

planar = pytest.importorskip("dwave.samplers.planar")


@pytest.mark.parametrize("sampler", [PlanarSampler, planar.PlanarGraphSolver])
@pytest.mark.benchmark(group="dimod ground state 12x12")
def test_ground_state(benchmark, sampler):
    glass = pl.generate.spin_glass(12, np.random.default_rng(0))
    bqm = glass.to_bqm()
    found = benchmark.pedantic(lambda: sampler().sample(bqm), rounds=3)
    assert found.first.energy == pytest.approx(pl.ground_state(glass).energy, rel=1e-12)


@pytest.mark.parametrize("size", [100, 300])
@pytest.mark.benchmark(group="dimod overhead")
def test_overhead(benchmark, size):
    """What the way through dimod adds to the verb itself."""
    glass = pl.generate.spin_glass(size, np.random.default_rng(0))
    bqm = glass.to_bqm()
    found = benchmark.pedantic(lambda: PlanarSampler().sample(bqm), rounds=3)
    assert found.first.energy == pytest.approx(pl.ground_state(glass).energy, rel=1e-12)
