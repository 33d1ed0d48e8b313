"""Wall time of batches and large models by threads: python benchmarks/bench_cores.py [PART ...].

Prints one row for each task: seconds of each number of threads, and how many times faster the most
threads are than one, next to the goal for sixteen cores. Without names of parts it measures the
parts with goals, in less than 90 seconds on sixteen cores; `all` measures the others too. `--quick`
takes small sizes, to see that it runs. `--json` prints the same as JSON, with the phases of a
ground state. Digits, spins and proofs are compared between numbers of threads on the way.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import planaris as pl
from planaris.budget import Budget, use_threads
from planaris.embed import embed
from planaris.kernels.cuts import spins_from_disagreements
from planaris.machine import processors
from planaris.planar.ground_state import frustrated_faces, least_unsatisfied
from planaris.result import GroundState

CORES = 16
"""Threads that the goals are stated for."""


@dataclass
class Goal:
    """What is to be reached: so many times faster than one thread, or so many seconds."""

    threads: int
    speedup: float | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        what = f"≥ {self.speedup:g}×" if self.seconds is None else f"≤ {self.seconds:g} s"
        return what if self.threads == CORES else f"{what} ({self.threads} threads)"

    def reached(self, seconds: dict[int, float]) -> bool | None:
        """Return whether times meet the goal; None where that number of threads was not tried."""
        if self.threads not in seconds:
            return None
        if self.seconds is not None:
            return seconds[self.threads] <= self.seconds
        return seconds[1] / seconds[self.threads] >= (self.speedup or 0.0)


@dataclass
class Row:
    """The times of a task by threads."""

    task: str
    seconds: dict[int, float]
    goals: list[Goal]

    def cells(self, counts: list[int]) -> list[str]:
        """Return the row of a table: seconds of one thread, then how many times faster."""
        alone = self.seconds.get(1)
        cells = [self.task]
        for threads in counts:
            taken = self.seconds.get(threads)
            if taken is None:
                cells.append("")
            elif threads == 1 or alone is None:
                cells.append(f"{taken:.3f} s")
            else:
                cells.append(f"{taken:.3f} s, {alone / taken:.2f}×")
        return [*cells, ", ".join(map(str, self.goals)), ", ".join(map(self._verdict, self.goals))]

    def _verdict(self, goal: Goal) -> str:
        return {None: "not tried", True: "yes", False: "no"}[goal.reached(self.seconds)]

    def data(self) -> dict[str, Any]:
        """Return the row for JSON."""
        goals = [{**asdict(goal), "reached": goal.reached(self.seconds)} for goal in self.goals]
        return {"task": self.task, "seconds": self.seconds, "goals": goals}


class Bench:
    """The numbers of threads, the sizes, and the rows so far, printed as they come."""

    def __init__(self, counts: list[int], *, quick: bool, as_json: bool) -> None:
        self.counts, self.quick, self.as_json = counts, quick, as_json
        self.rows: list[Row] = []
        heads = [f"{t} thread{'s' if t > 1 else ''}" for t in counts]
        self._print(["task", *heads, "goal", "reached"])
        self._print(["---"] * (len(counts) + 3))

    def _print(self, cells: list[str]) -> None:
        if not self.as_json:
            print("| " + " | ".join(cells) + " |", flush=True)

    def add(self, task: str, seconds: dict[int, float], *goals: Goal) -> None:
        """Add a row."""
        self.rows.append(Row(task, seconds, list(goals)))
        self._print(self.rows[-1].cells(self.counts))

    def time(
        self,
        task: str,
        call: Callable[[int], Any],
        *goals: Goal,
        counts: list[int] | None = None,
        runs: int = 1,
    ) -> None:
        """Time a task: the least of some rounds, in which numbers of threads take turns."""
        counts = self.counts if counts is None else [t for t in self.counts if t in counts]
        seconds = dict.fromkeys(counts, float("inf"))
        for _ in range(runs):
            for threads in counts:
                started = perf_counter()
                call(threads)
                seconds[threads] = min(seconds[threads], perf_counter() - started)
        self.add(task, seconds, *goals)

    def few(self, *others: int) -> list[int]:
        """Return one thread, some numbers of them, and as many as there are."""
        return [t for t in self.counts if t in {1, *others, self.counts[-1]}]


def same(found: dict[int, Any]) -> None:
    """Refuse results that depend on the number of threads."""
    first, *others = (np.asarray(value).tobytes() for value in found.values())
    if any(other != first for other in others):
        msg = f"results of {list(found)} threads differ"
        raise AssertionError(msg)


# -- parts with goals -----------------------------------------------------------------------------


def batches(bench: Bench, beta: float = 1.0, sizes: tuple[int, ...] = (21, 50)) -> None:
    """Time log Z of 512 models of one graph."""
    for size in sizes:
        rows = (64 if size < 50 else 16) if bench.quick else 512
        plan = pl.plan(pl.generate.square_lattice(size, size))
        J = beta * np.random.default_rng(0).standard_normal((rows, plan.num_edges))
        found: dict[int, Any] = {}

        def solve(threads: int, plan: Any = plan, J: Any = J, found: Any = found) -> None:
            found[threads] = plan.log_partition(J, threads=threads).values

        solve(1)  # the symbolic part
        name = f"{rows} log Z {size}², β = {beta:g}"
        bench.time(name, solve, Goal(CORES, 12.0), runs=10 if rows * size**2 * beta < 5e5 else 3)
        same(found)


def log_z(bench: Bench) -> None:
    """Time log Z of one large model."""
    size = 100 if bench.quick else 1000
    glass = pl.generate.spin_glass(size, 0)
    plan = pl.plan(glass)
    plan.evaluator.prepare(Budget.of(None))
    found: dict[int, Any] = {}

    def solve(threads: int) -> None:
        found[threads] = plan.log_partition(glass.couplings, threads=threads).value

    goals = Goal(CORES, 8.0), Goal(2, 1.8)
    bench.time(f"log Z {size}², β = 1", solve, *goals, counts=bench.few(2), runs=1)
    same(found)


def phases_of(glass: pl.IsingModel, threads: int) -> dict[str, float]:
    """Return the seconds of the steps of a ground state, as `planar.ground_state` takes them."""
    seconds: dict[str, float] = {}
    last = perf_counter()

    def lap(name: str) -> None:
        nonlocal last
        now = perf_counter()
        seconds[name], last = now - last, now

    with use_threads(threads):
        embedding = embed(glass)
        lap("sweep of the drawing")
        _ = embedding.dual_edges, embedding.outer_faces
        lap("faces and dual")
        frustrated_faces(embedding, glass.couplings)
        lap("frustrated faces")
        tjoin = least_unsatisfied(embedding, glass.couplings)
        lap("T-join")
        steps = {f"T-join: {name}": taken for name, taken in tjoin.seconds.items()}
        differ = glass.couplings < 0
        differ[tjoin.join] ^= True
        spins, _ = spins_from_disagreements(glass.num_spins, glass.edges, differ)
        lap("spins of the join")
        GroundState.of(glass, spins, float("inf"), method="planar")
        lap("energy and result")
    seconds["T-join: weights, copies and the rest"] = seconds.pop("T-join") - sum(steps.values())
    return {**seconds, **steps}


def ground_state(bench: Bench) -> None:
    """Time the ground state of a large model, and its steps one after the other."""
    size = 150 if bench.quick else 3000
    glass = pl.generate.spin_glass(size, 0)
    counts = bench.few()
    spins: dict[int, Any] = {}

    def solve(threads: int) -> None:
        anew = copy(glass)  # its embedding is not remembered
        spins[threads] = pl.ground_state(anew, "planar", threads=threads).spins

    bench.time(f"ground state {size}²", solve, Goal(CORES, 4.0), counts=counts)
    same(spins)
    phases = {threads: phases_of(glass, threads) for threads in counts}
    for name in phases[1]:
        bench.add(f"of it: {name}", {threads: phases[threads][name] for threads in counts})


def fields(bench: Bench) -> None:
    """Time exact sums of lattices with external fields."""
    rng = np.random.default_rng(0)
    for size, verb, limit in (
        (10 if bench.quick else 24, pl.marginals, 1.5),
        (12 if bench.quick else 28, pl.log_partition, 4.0),
    ):
        glass = pl.generate.spin_glass(size, 0)
        model = pl.IsingModel(glass.edges, glass.couplings, rng.standard_normal(size**2))
        bench.time(
            f"{verb.__name__} {size}² with fields",
            lambda t, m=model, call=verb: call(m, "treewidth", threads=t),
            Goal(CORES, seconds=limit),
            counts=[bench.counts[-1]],
            runs=2,
        )


# -- other parts ----------------------------------------------------------------------------------


def products(bench: Bench) -> None:
    """Time products of matrices that fit into caches, a thread each: how far cores add up here."""
    block = np.random.default_rng(0).standard_normal((192, 192))

    def work(_: int) -> None:
        for _ in range(50):
            block @ block

    def solve(threads: int) -> None:
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(8 if bench.quick else 160)))

    bench.time("products of small matrices", solve, runs=2)


def cold_batches(bench: Bench) -> None:
    """Time log Z of 512 models at a low temperature, and of larger ones."""
    batches(bench, 10.0)
    for beta in (1.0, 10.0):
        batches(bench, beta, (60 if bench.quick else 100,))


def samples(bench: Bench) -> None:
    """Time one sample of each of many models of one graph."""
    rows = 16 if bench.quick else 256
    plan = pl.plan(pl.generate.square_lattice(21))
    J = np.random.default_rng(0).standard_normal((rows, plan.num_edges))
    found: dict[int, Any] = {}

    def draw(threads: int) -> None:
        found[threads] = plan.sample(J, 1, 0, threads=threads)

    bench.time(f"{rows} models 21², a sample each", draw)
    same(found)


def plans(bench: Bench) -> None:
    """Time the embedding and the dissection of a lattice, with and without positions."""
    size = 100 if bench.quick else 1000
    glass = pl.generate.spin_glass(size, 0)
    for drawn in (True, False):

        def prepare(threads: int, drawn: bool = drawn) -> None:
            graph = glass if drawn else (glass.num_spins, glass.edges)
            pl.plan(graph).evaluator.prepare(Budget.of(None, threads=threads))

        goal = Goal(CORES, seconds=1.0 if drawn else 2.0)
        kind = "with" if drawn else "without"
        bench.time(f"plan {size}² {kind} positions", prepare, goal, counts=bench.few())


def fields_alone(bench: Bench) -> None:
    """Time exact sums of a lattice with external fields by threads."""
    size = 12 if bench.quick else 28
    glass = pl.generate.spin_glass(size, 0)
    h = np.random.default_rng(0).standard_normal(size**2)
    model = pl.IsingModel(glass.edges, glass.couplings, h)
    bench.time(
        f"log Z {size}² with fields",
        lambda t: pl.log_partition(model, "treewidth", threads=t),
        counts=bench.few(2),
    )


WITH_GOALS = {
    "batches": batches,
    "log_z": log_z,
    "ground_state": ground_state,
    "fields": fields,
}
PARTS = {
    **WITH_GOALS,
    "products": products,
    "cold_batches": cold_batches,
    "samples": samples,
    "plans": plans,
    "fields_alone": fields_alone,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}, or all")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--threads", type=int, nargs="+", help="default: 1, 2, 4, … processors")
    given = parser.parse_args()
    unknown = sorted(set(given.parts) - {*PARTS, "all"})
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    names = list(PARTS) if "all" in given.parts else given.parts or list(WITH_GOALS)
    counts = given.threads or [t for t in (1, 2, 4, 8, 16, 32, 64) if t <= processors()]
    pl.ground_state(pl.generate.spin_glass(8, 0), "planar")  # imports
    started = perf_counter()
    bench = Bench(sorted({1, *counts}), quick=given.quick, as_json=given.json)
    for name in names:
        PARTS[name](bench)
    seconds = perf_counter() - started
    if given.json:
        rows = [row.data() for row in bench.rows]
        print(json.dumps({"processors": processors(), "seconds": seconds, "rows": rows}, indent=1))
    else:
        print(f"\n{seconds:.0f} s in all, on {processors()} processors")


if __name__ == "__main__":
    main()
