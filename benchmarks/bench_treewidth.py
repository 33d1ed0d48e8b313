"""Elimination and graph cuts: grids with fields, trees, submodular images; rivals where installed.

Every test asserts its answer, never its time; times, ratios and memory are printed
(``pytest benchmarks/bench_treewidth.py --benchmark-enable -s``). dwave-samplers' tree
decomposition and pyAgrum run beside us where they are installed, on sizes they finish.
"""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest

from planaris import IsingModel, cuts, treewidth


def grid(side: int, beta: float = 1.0, *, ferromagnetic: bool = False) -> IsingModel:
    rng = np.random.default_rng(side)
    right, down = rng.normal(size=(side, side - 1)), rng.normal(size=(side - 1, side))
    if ferromagnetic:
        right, down = np.abs(right), np.abs(down)
    return IsingModel.from_image(beta * rng.normal(size=(side, side)), beta * right, beta * down)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("beta", [1.0, 10.0])
@pytest.mark.parametrize("side", [12, 16, 20])
@pytest.mark.parametrize("verb", ["log_partition", "marginals", "ground_state"])
def test_grid_with_fields(benchmark, verb, side, beta):
    model = grid(side, beta)
    found = benchmark.pedantic(getattr(treewidth, verb), args=(model,), rounds=3)
    print(f"\n{verb} {side}x{side} beta {beta}: peak {peak_mib():.0f} MiB, {found.stats}")
    best = treewidth.ground_state(model).energy
    if verb == "log_partition":
        assert -best <= found.value <= -best + side**2 * np.log(2)
    elif verb == "marginals":
        assert np.all((found.nodes >= 0) & (found.nodes <= 1))
    else:
        assert found.energy == best


def test_24x24_log_partition(benchmark):
    found = benchmark.pedantic(treewidth.log_partition, args=(grid(24),), rounds=1)
    assert found.gap < 1e-10
    print(f"\n24x24 log Z: peak {peak_mib():.0f} MiB")


@pytest.mark.parametrize("kind", ["chain", "random tree", "star"])
def test_trees_of_a_million_spins(benchmark, kind):
    n = 10**6
    rng = np.random.default_rng(0)
    parent = {
        "chain": lambda: np.arange(n - 1),
        "random tree": lambda: (rng.random(n - 1) * np.arange(1, n)).astype(int),
        "star": lambda: np.zeros(n - 1, dtype=int),
    }[kind]()
    couplings = rng.normal(size=n - 1)
    model = IsingModel(np.column_stack([parent, np.arange(1, n)]), couplings)
    found = benchmark.pedantic(treewidth.marginals, args=(model,), rounds=2)
    # A tree without fields is a product of independent edges.
    truth = n * np.log(2) + np.log(np.cosh(couplings)).sum()
    assert found.stats["log_partition"].value == pytest.approx(truth, rel=1e-12)
    np.testing.assert_allclose(found.edges, 1 / (1 + np.exp(-2 * couplings)), atol=1e-12)


@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("side", [256, 512, 1000])
def test_graph_cut(benchmark, side, strength):
    rng = np.random.default_rng(side)
    model = IsingModel.from_image(
        rng.normal(size=(side, side)),
        strength * np.abs(rng.normal(size=(side, side - 1))),
        strength * np.abs(rng.normal(size=(side - 1, side))),
    )
    found = benchmark.pedantic(cuts.graph_cut, args=(model,), rounds=1)
    assert found.exact
    assert found.energy - found.certificate.lower_bound(model) < 1e-12 * abs(found.energy)


def test_against_the_tree_decomposition_of_dwave_samplers():
    samplers = pytest.importorskip("dwave.samplers")
    dimod = pytest.importorskip("dimod")
    model = grid(10)
    started = time.perf_counter()
    ours = treewidth.marginals(model)
    our_seconds = time.perf_counter() - started
    linear = {v: -float(h) for v, h in enumerate(model.fields)}
    quadratic = {
        (int(u), int(v)): -float(w) for (u, v), w in zip(model.edges, model.couplings, strict=True)
    }
    bqm = dimod.BinaryQuadraticModel.from_ising(linear, quadratic)
    started = time.perf_counter()
    theirs = samplers.TreeDecompositionSampler().sample(
        bqm, num_reads=1, beta=1.0, marginals=True, elimination_order=list(range(100))
    )
    their_seconds = time.perf_counter() - started
    z = ours.stats["log_partition"].value
    assert theirs.info["log_partition_function"] == pytest.approx(z, rel=1e-9)
    print(f"\n10x10: dwave-samplers {their_seconds:.2f} s, ours {our_seconds:.3f} s")
