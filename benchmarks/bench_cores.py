"""Wall time of batches and large models by cores: python benchmarks/bench_cores.py [quick].

Prints one row for each task: seconds of one thread, then how many times faster 2, 4, 8, … threads
are, up to the cores of the machine, and what sixteen are meant to reach; some three minutes on
sixteen cores. Long tasks leave out numbers in between. `quick` takes small sizes, to see that it
runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import planaris as pl
from planaris.budget import Budget, use_threads
from planaris.embed import embed
from planaris.machine import processors
from planaris.planar.ground_state import least_unsatisfied


def least(call: Callable[[], Any], runs: int) -> float:
    """Return the least wall time of some runs."""
    times = []
    for _ in range(runs):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return min(times)


def table(
    name: str,
    call: Callable[[int], Any],
    counts: list[int],
    runs: int = 1,
    *,
    goal: str = "",
    few: bool = False,
) -> None:
    """Print the time of a task with one thread, and how many times faster several are."""
    alone = seconds = least(lambda: call(counts[0]), runs)
    print(f"| {name} | {alone:.3f}", end="", flush=True)
    for threads in counts[1:]:
        if few and threads != counts[-1]:
            print(" | ", end="", flush=True)
            continue
        seconds = least(lambda t=threads: call(t), runs)
        print(f" | {alone / seconds:.2f}×", end="", flush=True)
    print(f" | {seconds:.3f} | {goal} |", flush=True)


def machine(counts: list[int], tasks: int) -> None:
    """Time products of matrices that fit into caches, a thread each: how far cores add up here."""
    block = np.random.default_rng(0).standard_normal((192, 192))

    def work(_: int) -> None:
        for _ in range(50):
            block @ block

    def solve(threads: int) -> None:
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(tasks)))

    table("products of small matrices", solve, counts, 2)


def ground_states(size: int, counts: list[int], runs: int = 1) -> None:
    """Time T-joins of large models."""
    glass = pl.generate.spin_glass(size, 0)
    embedding = embed(glass)
    found = {}

    def solve(threads: int) -> None:
        budget = Budget.of(None, threads=threads)
        found[threads] = least_unsatisfied(embedding, glass.couplings, time_limit=budget)

    table(f"T-join {size}²", solve, counts, runs, goal="≥ 4×", few=True)
    first = found[counts[0]]
    for other in found.values():
        assert np.array_equal(first.join, other.join)
        assert np.array_equal(first.certificate.order, other.certificate.order)


def whole_ground_states(size: int, counts: list[int]) -> None:
    """Time ground states of large models with all that is around the T-join, and parts of it."""
    glass = pl.generate.spin_glass(size, 0)
    spins = {}

    def solve(threads: int) -> None:
        anew = copy(glass)  # its embedding is not remembered
        spins[threads] = pl.ground_state(anew, "planar", threads=threads).spins

    table(f"ground state {size}²", solve, counts, goal="≥ 4×", few=True)
    assert all(np.array_equal(spins[counts[0]], other) for other in spins.values())

    def draw(threads: int) -> None:
        with use_threads(threads):
            embed(glass)

    table("of it the embedding", draw, counts, few=True)


def planning(size: int, counts: list[int]) -> None:
    """Time the embedding and the dissection of a lattice, with and without positions."""
    glass = pl.generate.spin_glass(size, 0)
    for with_positions in (True, False):

        def prepare(threads: int, drawn: bool = with_positions) -> None:
            graph = glass if drawn else (glass.num_spins, glass.edges)
            pl.plan(graph).evaluator.prepare(Budget.of(None, threads=threads))

        kind = "with" if with_positions else "without"
        goal = f"≤ {1 if with_positions else 2} s"
        table(f"plan {size}² {kind} positions", prepare, counts, goal=goal, few=True)


def log_partitions(size: int, beta: float, counts: list[int]) -> None:
    """Time log Z of one large model."""
    glass = pl.generate.spin_glass(size, 0)
    plan = pl.plan(glass)
    plan.evaluator.prepare(Budget.of(None))
    J = beta * glass.couplings
    values = {}

    def solve(threads: int) -> None:
        values[threads] = plan.log_partition(J, threads=threads).value

    table(f"log Z {size}², β = {beta:g}", solve, counts, goal="≥ 8×")
    assert len(set(values.values())) == 1, values


def batches(size: int, beta: float, rows: int, counts: list[int]) -> None:
    """Time log Z of many models of one graph."""
    lattice = pl.generate.square_lattice(size, size)
    plan = pl.plan(lattice)
    J = beta * np.random.default_rng(0).standard_normal((rows, plan.num_edges))
    plan.log_partition(J[:8], threads=1)
    table(
        f"{rows} log Z {size}², β = {beta:g}",
        lambda t: plan.log_partition(J, threads=t),
        counts,
        1 if size > 50 and beta > 1 else 3,
        goal="≥ 12×",
    )


def samples(size: int, rows: int, counts: list[int]) -> None:
    """Time one sample of each of many models of one graph."""
    plan = pl.plan(pl.generate.square_lattice(size, size))
    J = np.random.default_rng(0).standard_normal((rows, plan.num_edges))
    found = {}

    def draw(threads: int) -> None:
        found[threads] = plan.sample(J, 1, 0, threads=threads)

    table(f"{rows} models {size}², a sample each", draw, counts)
    assert all(np.array_equal(found[counts[0]], other) for other in found.values())


def with_fields(counts: list[int], marginals: int, log_z: int) -> None:
    """Time exact sums of lattices with external fields."""
    rng = np.random.default_rng(0)
    for size, verb in ((marginals, pl.marginals), (log_z, pl.log_partition)):
        glass = pl.generate.spin_glass(size, 0)
        fields = rng.standard_normal(glass.num_spins)
        model = pl.IsingModel(glass.edges, glass.couplings, fields)
        table(
            f"{verb.__name__} {size}² with fields",
            lambda t, m=model, call=verb: call(m, "treewidth", threads=t),
            counts,
            goal="≤ 1.5 s" if verb is pl.marginals else "≤ 4 s",
            few=True,
        )


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("quick", nargs="?", choices=["quick"])
    quick = parser.parse_args().quick is not None
    pl.ground_state(pl.generate.spin_glass(8, 0), "planar")  # imports
    counts = [t for t in (1, 2, 4, 8, 16, 32, 64) if t <= processors()]
    print("| task | 1 thread, s | " + "".join(f"{t} | " for t in counts[1:]) + "s | goal |")
    print("| --- " * (3 + len(counts)) + "|")
    machine(counts, 8 if quick else 160)
    for beta in (1.0, 10.0):
        batches(21, beta, 64 if quick else 512, counts)
        batches(50, beta, 16 if quick else 512, counts)
        batches(*((60, beta, 4) if quick else (100, beta, 512)), counts)
    samples(21, 16 if quick else 256, counts)
    log_partitions(100 if quick else 1000, 1.0, counts)
    ground_states(150 if quick else 3000, counts)
    whole_ground_states(150 if quick else 3000, counts)
    planning(100 if quick else 1000, counts)
    with_fields(counts, *((10, 12) if quick else (24, 28)))


if __name__ == "__main__":
    main()
