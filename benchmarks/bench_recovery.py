"""Recovery of labels: every estimator on the grid of the paper, two-step at a million nodes.

Run with ``pytest benchmarks/bench_recovery.py --benchmark-enable``; ``python
benchmarks/bench_recovery.py`` prints how two-step scales.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pytest

import planaris as pl
from planaris.recover import (
    MAP,
    CycleLP,
    Estimator,
    HillClimbing,
    LocalLP,
    Marginal,
    Observations,
    TwoStep,
    estimate_noise,
    observe,
)

P, Q = 0.06, 0.4
ESTIMATORS: dict[str, Estimator] = {
    "two-step": TwoStep(),
    "two-step, 20 ties": TwoStep(tie_breaks=20),
    "marginals": Marginal(P, Q),
    "local LP": LocalLP(P, Q),
    "cycle LP": CycleLP(P, Q),
    "MAP, branch and cut": MAP(P, Q, method="branch-and-cut"),
    "MAP, elimination": MAP(P, Q, method="treewidth"),
    "hill climbing": HillClimbing(P, Q),
}


def grid(size: int, p: float = P) -> Observations:
    return observe(pl.generate.square_lattice(size), -1, p, Q, np.random.default_rng(size))


@pytest.mark.benchmark(group="20×20, p = 0.06, q = 0.4")
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_estimators(benchmark, name: str) -> None:
    seen = grid(20)
    found = benchmark(ESTIMATORS[name].recover, seen, 0)
    best = MAP(P, Q, method="branch-and-cut").recover(seen)
    if name.startswith("MAP"):
        assert found.stats["energy"] == pytest.approx(best.stats["energy"], abs=1e-9)
    if name not in ("local LP", "hill climbing"):
        assert found.exact


@pytest.mark.benchmark(group="two-step, p = 0.03")
@pytest.mark.parametrize("size", [100, 300, 1000])
def test_two_step(benchmark, size: int) -> None:
    seen = grid(size, 0.03)
    found = benchmark.pedantic(TwoStep().recover, (seen, 0), rounds=2)
    assert found.exact
    assert 2.0 < found.error(-1) / 0.03**2 < 5.0


@pytest.mark.benchmark(group="noise of 20×20")
@pytest.mark.parametrize("method", ["edges", "joint", "plug-in"])
def test_noise(benchmark, method: str) -> None:
    seen = grid(20)
    found = benchmark.pedantic(estimate_noise, (seen,), {"method": method, "rng": 0}, rounds=1)
    assert abs(found.p - P) < 0.05


def main() -> None:
    """Print seconds of processor time against the number of nodes."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    sizes, seconds = (125, 250, 500, 1000), []
    for size in sizes:
        seen = grid(size, 0.03)
        TwoStep().recover(seen)
        started = time.process_time()
        found = TwoStep().recover(seen)
        seconds.append(time.process_time() - started)
        print(f"{size:5d}²  {seconds[-1]:6.2f} s  error/p² {found.error(-1) / 0.03**2:.2f}")
    exponent = np.polyfit(np.log(np.square(sizes)), np.log(seconds), 1)[0]
    print(f"seconds ∝ nodes^{exponent:.2f}")


if __name__ == "__main__":
    main()
