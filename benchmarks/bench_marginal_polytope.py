"""Relaxations, message passing and branch and cut; toulbar2 beside them where it installs.

Run with ``pytest benchmarks/bench_marginal_polytope.py --benchmark-enable -s``.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from planaris.models import IsingModel
from planaris.relax import branch_and_cut, cycle_lp, entropy_bound, mplp


def noisy_labels(size, seed, p=0.1, q=0.4):
    """Label recovery on a grid: noisy edge and node observations (GRSY15 Section 5)."""
    rng = np.random.default_rng(seed)
    pair, node = np.log((1 - p) / p) / 2, np.log((1 - q) / q) / 2
    right, down = (
        np.where(rng.random(shape) < p, -pair, pair)
        for shape in ((size, size - 1), (size - 1, size))
    )
    return IsingModel.from_image(np.where(rng.random((size, size)) < q, -node, node), right, down)


def strong_grid(size, seed):
    """The grids of SJ07 Fig. 3: couplings U[-4, 4], fields U[-1, 1]."""
    rng = np.random.default_rng(seed)
    right, down = rng.uniform(-4, 4, (size, size - 1)), rng.uniform(-4, 4, (size - 1, size))
    return IsingModel.from_image(rng.uniform(-1, 1, (size, size)), right, down)


def dense_glass(n, seed):
    edges = list(itertools.combinations(range(n), 2))
    return IsingModel(edges, np.random.default_rng(seed).choice([-1.0, 1.0], len(edges)))


def segmentation(size, seed, frustrated):
    rng = np.random.default_rng(seed)
    shape = gaussian_filter(rng.normal(size=(size, size)), 6) > 0
    pull = np.where(shape, 0.5, -0.5) + rng.normal(size=(size, size))
    right, down = (
        np.where(rng.random(s) < frustrated, -1, 1) * rng.uniform(0.3, 0.9, s)
        for s in ((size, size - 1), (size - 1, size))
    )
    return IsingModel.from_image(pull, right, down)


@pytest.mark.parametrize(("size", "rounds"), [(20, 10), (50, 3), (100, 1)])
def test_cycle_lp_on_noisy_labels(benchmark, size, rounds):
    seeds = itertools.count()
    found = benchmark.pedantic(
        cycle_lp, setup=lambda: ((noisy_labels(size, next(seeds)),), {}), rounds=rounds
    )
    assert found.lower <= found.upper
    assert found.stats["status"] in ("closed", "optimal")


@pytest.mark.parametrize("frustrated", [0.0, 0.1])
def test_messages_certify_segmentations(benchmark, frustrated):
    model = segmentation(100, 1, frustrated)
    assert benchmark.pedantic(mplp, args=(model,), rounds=1).exact


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_cut_on_strong_grids(benchmark, seed):
    found = benchmark.pedantic(branch_and_cut, args=(strong_grid(30, seed),), rounds=1)
    assert found.exact


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_cut_on_dense_glasses(benchmark, seed):
    found = benchmark.pedantic(branch_and_cut, args=(dense_glass(60, seed),), rounds=1)
    assert found.exact


@pytest.mark.parametrize("size", [10, 30])
def test_cycle_rounds_of_the_tree_reweighted_bound(benchmark, size):
    model = strong_grid(size, 0)
    found = benchmark.pedantic(
        entropy_bound, args=(model,), kwargs={"tolerance": 1e-5 * size * size}, rounds=1
    )
    print(f"{size}x{size}: {found.stats['rounds']} rounds, upper bound {found.upper:.3f}")
    assert found.stats["rounds"] <= 10


@pytest.mark.parametrize("kind", ["grid", "dense"])
def test_against_toulbar2(kind):
    """One run of both on the same model; toulbar2 gets ten times our time, 30 s at most."""
    toulbar2 = pytest.importorskip("pytoulbar2")
    model = strong_grid(12, 0) if kind == "grid" else dense_glass(30, 0)
    begin = time.perf_counter()
    found = branch_and_cut(model)
    ours = time.perf_counter() - begin
    rival = toulbar2.CFN(1e6, resolution=6)
    for v in range(model.num_spins):
        rival.AddVariable(f"x{v}", [0, 1])
        rival.AddFunction([f"x{v}"], [model.fields[v], -model.fields[v]])
    for (u, v), j in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        rival.AddFunction([f"x{u}", f"x{v}"], [-j, j, j, -j])
    begin = time.perf_counter()
    solved = rival.Solve(timeLimit=int(min(max(10 * ours, 5), 30)))
    theirs = time.perf_counter() - begin
    print(f"{kind}: planaris {ours:.2f} s, toulbar2 {theirs:.2f} s, ratio {theirs / ours:.1f}")
    assert found.exact
    if solved is not None:
        assert solved[1] >= found.energy - 1e-3
