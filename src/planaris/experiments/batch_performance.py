"""The table of batches: models per second of one graph, by size and number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from planaris.experiments.performance import kac_ward_log_partition, markdown_table
from planaris.generate import spin_glass
from planaris.machine import processors
from planaris.planar import plan

BATCH_BEGIN, BATCH_END = (
    "<!-- planaris bench --batch: begin -->",
    "<!-- planaris bench --batch: end -->",
)
SIZES = (11, 21, 50, 100)
THREADS = (1, 2, 4, 8, 16)
SECONDS = 0.5
"""About what a batch of more than 512 models takes, on one thread."""


@dataclass(frozen=True)
class BatchRow:
    """Throughput of one size on some threads.

    ``per_second`` counts models. ``alone`` and ``lu`` are the seconds of one model by a call of
    its own, and by SciPy's sparse LU of the Kac–Ward matrix; ``limit`` is the seconds that its
    multiplications take at the speed of this machine's matrix products.
    """

    size: int
    threads: int
    models: int
    per_second: float
    efficiency: float
    alone: float
    lu: float
    limit: float
    agrees: bool


def measure_batches(*, sizes: tuple[int, ...] = SIZES) -> Iterator[BatchRow]:
    """Yield the rows of the table: Gaussian glasses at β = 1, wall time, best of three."""
    speed = _multiplications_per_second()
    for size in sizes:
        rng = np.random.default_rng(size)
        glass = spin_glass(size, rng)
        prepared = plan(glass)
        models = prepared.evaluator.models
        assert models is not None, "lattices are plane"
        one = _best(partial(prepared.log_partition, glass.couplings, threads=1))
        lu, expected = _timed(partial(kac_ward_log_partition, glass))
        same = abs(prepared.log_partition(glass.couplings).value - expected) <= 1e-8 * expected
        count = int(np.clip(4 * SECONDS / one, 512, 4096)) // 512 * 512
        couplings = rng.standard_normal((count, glass.num_edges))
        first = 0.0
        for threads in [t for t in THREADS if t <= processors()]:
            rate = count / _best(partial(prepared.log_partition, couplings, threads=threads))
            first = first or rate
            yield BatchRow(
                size,
                threads,
                count,
                rate,
                rate / (threads * first),
                one,
                lu,
                models.multiplications / speed,
                same,
            )


def render_batches(rows: list[BatchRow]) -> str:
    """Return the rows as a Markdown table.

    >>> row = BatchRow(11, 2, 64, 5e4, 0.95, 4e-4, 2e-3, 2e-6, True)
    >>> print(render_batches([row]).splitlines()[-1])
    | 11² | 2 | 50,000 | 95 % | 40 | 20× | 100× | 2.0 |
    """
    names = ["size", "threads", "models per second", "efficiency", "µs per model and core"]
    names += ["one log Z per call", "SciPy's sparse LU", "limit, µs"]
    table = [
        [
            f"{row.size}²",
            f"{row.threads}",
            f"{row.per_second:,.0f}",
            f"{100 * row.efficiency:.0f} %",
            f"{1e6 * row.threads / row.per_second:,.0f}",
            f"{row.alone * row.per_second:,.0f}×",
            f"{row.lu * row.per_second:,.0f}×" if row.agrees else "another answer",
            f"{1e6 * row.limit:,.1f}",
        ]
        for row in rows
    ]
    return markdown_table(names, table)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    answer = work()
    return perf_counter() - start, answer


def _best(work: Callable[[], Any]) -> float:
    return min(_timed(work)[0] for _ in range(3))


def _multiplications_per_second() -> float:
    """Return what one core does in products of large matrices."""
    a = np.random.default_rng(0).standard_normal((700, 700))
    with threadpool_limits(1):  # threads of BLAS that wait count as processor time
        a @ a
        seconds = _best(partial(np.matmul, a, a))
    return float(len(a) ** 3 / seconds)
