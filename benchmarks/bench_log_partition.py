"""log Z, marginals and samples of square glasses against scipy's sparse LU of the same matrix.

Sizes come from ``PLANARIS_BENCH_SIZES`` (default ``50,100,200``; the published table used
``100,300,1000``), inverse temperatures from ``PLANARIS_BENCH_BETAS`` (default ``1,30``). Run with
``pytest -s`` to see the table, the growth exponent, the distance from the dgemm limit, the peak
memory so far, and what a model costs in a batch.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.linalg import splu

from planaris.budget import UNLIMITED, Budget
from planaris.generate import spin_glass
from planaris.planar import Plan, plan
from planaris.planar.pfaffian.precision_ladder import attempts

SIZES = [int(s) for s in os.environ.get("PLANARIS_BENCH_SIZES", "50,100,200").split(",")]
BETAS = [float(s) for s in os.environ.get("PLANARIS_BENCH_BETAS", "1,30").split(",")]
REPEATS = int(os.environ.get("PLANARIS_BENCH_REPEATS", "3"))
THREADS = os.cpu_count() or 1
LARGEST_SPLU = int(os.environ.get("PLANARIS_BENCH_SPLU", "200"))


def timed(run: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    best, result = math.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
    return best, result


def kasteleyn_matrix(prepared: Plan, couplings: np.ndarray) -> Any:
    """The matrix that is eliminated, unscaled and ungauged, as scipy wants it."""
    e, split = prepared.evaluator.elimination, prepared.evaluator.split
    weight = np.exp(-np.concatenate([couplings, np.zeros(split.num_edges - len(couplings))]))
    rows, columns, values = [], [], []
    lengths = split.face_lengths
    for length in np.unique(lengths):
        starts = split.face_offsets[:-1][lengths == length]
        legs = split.face_walk[starts[:, None] + np.arange(length)]
        for i in range(length):
            for j in range(i + 1, length):
                rows.append(legs[:, i])
                columns.append(legs[:, j])
                values.append(weight[legs[:, i] >> 1] * weight[legs[:, j] >> 1])
    even = 2 * np.arange(split.num_edges)
    rows.append(even)
    columns.append(even + 1)
    values.append(e.signs.astype(np.float64))
    n = 2 * split.num_edges
    where = (np.concatenate(rows), np.concatenate(columns))
    upper = coo_array((np.concatenate(values), where), shape=(n, n)).tocsc()
    return (upper - upper.T).tocsc()


def dgemm_rate() -> float:
    a = np.random.default_rng(0).random((1200, 1200))
    seconds, _ = timed(lambda: a @ a, 5)
    return 2 * 1200**3 / seconds


def test_table() -> None:
    rate = dgemm_rate()
    print(f"\ndgemm {rate / 1e9:.0f} Gflop/s; times in seconds, best of {REPEATS}")
    print(
        "    L  beta  dissect  prepare  eliminate   log Z  1 thread  marginals  sample    splu"
        "  /limit  precision  GiB"
    )
    for beta in BETAS:
        times = []
        for size in SIZES:
            model = spin_glass(size, np.random.default_rng(size), beta=beta)
            J = model.couplings
            prepared = plan(model)
            dissect, _ = timed(lambda p=prepared: p.evaluator.elimination, 1)
            prepare, ways = timed(
                lambda p=prepared, J=J: list(attempts(p.evaluator, J, UNLIMITED)), 1
            )
            entries = ways[0][0]
            eliminate, _ = timed(
                lambda p=prepared, e=entries: p.evaluator.elimination.log_pfaffian(
                    e.face, e.scale, e.signs, order=e.order, budget=Budget(threads=THREADS)
                )
            )
            total, found = timed(lambda p=prepared, J=J: p.log_partition(J))
            alone, again = timed(lambda p=prepared, J=J: p.log_partition(J, threads=1), 1)
            assert found.exact
            assert again.value == found.value
            marginals, _ = timed(lambda p=prepared, J=J: p.marginals(J), 1)
            sample = math.nan
            if beta <= 3:
                rng = np.random.default_rng(0)
                sample, _ = timed(lambda p=prepared, J=J, rng=rng: p.sample(J, 1, rng), 1)
            rival = math.nan
            if size <= LARGEST_SPLU:
                matrix = kasteleyn_matrix(prepared, J)
                rival, factors = timed(lambda m=matrix: splu(m), 1)
                if beta == 1:  # beyond, plain LU is wrong
                    logs = np.log(np.abs(factors.U.diagonal())).sum() / 2
                    value = logs + J.sum() + math.log(2)
                    assert value == pytest.approx(found.value, rel=1e-6)
            limit = 110 * size**3 / rate
            times.append(eliminate)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{size:5} {beta:5g} {dissect:8.3f} {prepare:8.3f} {eliminate:10.3f} "
                f"{total:7.3f} {alone:9.3f} {marginals:10.3f} {sample:7.3f} {rival:7.3f} "
                f"{eliminate / limit:7.1f}  {found.stats['precision']:>9} {peak:4.1f}"
            )
        if len(SIZES) > 1:
            slope = np.polyfit(np.log(np.square(SIZES)), np.log(times), 1)[0]
            print(f"      beta {beta:g}: elimination grows as n^{slope:.2f}")


@pytest.mark.parametrize("size", [7, 20])
def test_batch(size: int) -> None:
    rows = 200
    rng = np.random.default_rng(size)
    prepared = plan(spin_glass(size, rng))
    batch = 0.5 * rng.standard_normal((rows, prepared.num_edges))
    together, found = timed(lambda: prepared.log_partition(batch))
    apart, alone = timed(lambda: [prepared.log_partition(row) for row in batch])
    assert [z.value for z in found] == [z.value for z in alone]
    marginals, _ = timed(lambda: prepared.marginals(batch))
    print(
        f"\n{size}x{size}, per model: log Z {together / rows * 1e6:.0f} µs in a batch, "
        f"{apart / rows * 1e6:.0f} µs one by one; marginals {marginals / rows * 1e6:.0f} µs"
    )


@pytest.mark.parametrize("beta", BETAS)
def test_log_partition(benchmark: Any, beta: float) -> None:
    model = spin_glass(SIZES[0], np.random.default_rng(0), beta=beta)
    prepared = plan(model)
    found = benchmark(prepared.log_partition, model.couplings)
    assert found.exact
