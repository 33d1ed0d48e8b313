"""The tables of a device: elimination with fields by width, batches of planar models by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from planaris.errors import PlanarisError
from planaris.experiments.performance import markdown_table
from planaris.generate import spin_glass
from planaris.gpu.device import find_device, import_torch
from planaris.gpu.program import Program
from planaris.gpu.schedule import PANEL
from planaris.gpu.tables import FORWARD
from planaris.infer.verbs import ground_state, log_partition, marginals
from planaris.kernels.frontier import MAX_BITS
from planaris.machine import processors
from planaris.models import IsingModel
from planaris.planar import Plan, plan
from planaris.planar.pfaffian.on_device import evaluate_on_device
from planaris.treewidth.plan import plan_elimination

DEVICE_BEGIN, DEVICE_END = (
    "<!-- planaris bench --device: begin -->",
    "<!-- planaris bench --device: end -->",
)
WIDTHS = (20, 24, 26, 28, 30, 32, 33, 34)
TASKS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "log Z": (log_partition, 34, 26),
    "marginals": (marginals, 32, 24),
    "ground state": (ground_state, 32, 24),
}
"""Per task: the verb, the widest grid for the device and for the CPU beside it."""

BATCHES = {11: 65536, 21: 65536, 50: 16384, 100: 4096}
CORES = (2, 16)


@dataclass(frozen=True)
class WidthRow:
    """A grid with fields: seconds on the device, and on some cores where that was measured.

    ``share`` is of the bandwidth of a copy, for log Z; ``refused`` says why there is no time.
    """

    task: str
    size: int
    seconds: float
    bytes: int
    share: float | None
    cores: dict[int, float]
    refused: str = ""


@dataclass(frozen=True)
class BatchRow:
    """Models of one graph: per second on the device, and on some cores.

    ``flops`` is the share of the speed of a product of matrices, ``share`` that of the bandwidth of
    a copy, for log Z; ``beats`` is the smallest batch that the device finishes before the cores
    named last.
    """

    task: str
    size: int
    models: int
    per_second: float
    flops: float
    share: float | None
    on_cpu: float
    apart: float
    cores: dict[int, float]
    beats: int | None


def measure_widths(device: Any, *, widths: tuple[int, ...] = WIDTHS) -> Iterator[WidthRow]:
    """Yield times of square grids with Gaussian couplings and fields."""
    found = find_device(device)
    bandwidth = _bandwidth(found)
    for task, (verb, most, most_cpu) in TASKS.items():
        for size in [w for w in widths if w <= most]:
            model = _glass(size)
            solve = partial(verb, model, "treewidth")
            try:
                solve(device=found) if size <= 24 else None  # kernels are compiled
                seconds, taken = _timed_and_weighed(partial(solve, device=found), found)
            except PlanarisError as error:
                yield WidthRow(task, size, 0.0, 0, None, {}, str(error))
                continue
            cores = {}
            if size <= most_cpu:
                counts = [c for c in CORES if c <= processors()]
                cores = {c: _timed(partial(solve, threads=c), found)[0] for c in counts}
            share = _bytes_moved(model) / seconds / bandwidth if task == "log Z" else None
            yield WidthRow(task, size, seconds, taken, share, cores)


def measure_device_batches(device: Any) -> Iterator[BatchRow]:
    """Yield throughputs of Gaussian glasses at β = 1."""
    torch, found = import_torch(), find_device(device)
    speed, bandwidth = _multiplications(found), _bandwidth(found)
    for size, count in BATCHES.items():
        rng = np.random.default_rng(size)
        prepared = plan(spin_glass(size, rng))
        couplings = rng.standard_normal((count, prepared.num_edges))
        given = torch.as_tensor(couplings, device=found)
        models = prepared.evaluator.models
        assert models is not None, "lattices are plane"
        least = models.multiplications / speed, _front_bytes(prepared) / bandwidth
        for task in ("log Z", "marginals"):
            yield _batch_row(prepared, couplings, given, task, least)


def _batch_row(
    prepared: Plan, couplings: Any, given: Any, task: str, least: tuple[float, float]
) -> BatchRow:
    """``least``: seconds per model by the multiplications alone, and by the bytes of log Z."""
    count = len(couplings)
    solve = partial(evaluate_on_device, prepared, correlations=task == "marginals")
    solve(given)
    seconds, rows = min((_timed(partial(solve, given), given.device) for _ in range(3)), key=_first)
    cores, apart = {}, 0.0
    some = couplings[: max(256, min(count, 16_000_000 // couplings.shape[1] ** 2 * 100))]
    verb = prepared.marginals if task == "marginals" else prepared.log_partition
    for number in [c for c in CORES if c <= processors()]:
        took, answer = _timed(partial(verb, some, threads=number), given.device)
        cores[number] = len(some) / took
        values = answer.log_z if task == "marginals" else answer.values
        apart = float(np.abs(rows.log_partition[: len(some)].cpu().numpy() / values - 1.0).max())
    beats = None
    if cores:
        rate, sizes = cores[max(cores)], [2**k for k in range(5, 17) if 2**k <= count]
        quicker = [
            k for k in sizes if _timed(partial(solve, given[:k]), given.device)[0] < k / rate
        ]
        beats = min(quicker, default=None)
    again = float((~rows.sound).double().mean())
    flops, share = (each * count / seconds for each in least)
    return BatchRow(
        task,
        round(prepared.num_spins**0.5),
        count,
        count / seconds,
        flops,
        share if task == "log Z" else None,
        again,
        apart,
        cores,
        beats,
    )


def render_widths(rows: list[WidthRow]) -> str:
    """Return the rows as a Markdown table.

    >>> row = WidthRow("log Z", 24, 0.05, 2**27, 0.5, {2: 3.0, 16: 0.5})
    >>> print(render_widths([row]).splitlines()[-1])
    | log Z | 24² | 0.05 s | 0.1 GiB | 50 % | 3 s (60×) | 0.5 s (10×) |
    """
    names = ["task", "grid", "device", "memory", "of the bandwidth"]
    names += [f"{c} cores" for c in CORES]
    table = []
    for row in rows:
        if row.refused:
            table.append([row.task, f"{row.size}²", f"refused: {row.refused}", "", "", "", ""])
            continue
        times = [row.cores.get(c) for c in CORES]
        cells = [
            row.task,
            f"{row.size}²",
            _readable(row.seconds),
            f"{row.bytes / 2**30:.1f} GiB",
            "" if row.share is None else f"{100 * row.share:.0f} %",
            *("" if t is None else f"{_readable(t)} ({t / row.seconds:.0f}×)" for t in times),
        ]
        table.append(cells)
    return markdown_table(names, table)


def render_device_batches(rows: list[BatchRow]) -> str:
    """Return the rows as a Markdown table.

    >>> row = BatchRow("log Z", 21, 65536, 6e5, 0.01, 0.3, 0.0, 1e-15, {2: 2e4, 16: 1e5}, 64)
    >>> print(render_device_batches([row]).splitlines()[-1])
    | log Z | 21² | 600,000 | 1.7 | 1.0 % | 30 % | 20,000 (30×) | 100,000 (6×) | 64 | 0 | 1e-15 |
    """
    names = ["task", "size", "models per second", "µs per model", "of the flops"]
    names += ["of the bandwidth"]
    names += [f"{c} cores" for c in CORES]
    names += [f"beats {CORES[-1]} cores from", "rows on the CPU", "apart"]
    table = []
    for row in rows:
        rates = [row.cores.get(c) for c in CORES]
        cells = [
            row.task,
            f"{row.size}²",
            f"{row.per_second:,.0f}",
            f"{1e6 / row.per_second:,.1f}",
            f"{100 * row.flops:.1f} %",
            "" if row.share is None else f"{100 * row.share:.0f} %",
            *("" if r is None else f"{r:,.0f} ({row.per_second / r:.0f}×)" for r in rates),
            "" if row.beats is None else f"{row.beats}",
            f"{row.on_cpu:.1g}",
            f"{row.apart:.1g}",
        ]
        table.append(cells)
    return markdown_table(names, table)


def _readable(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.1f} s"


def _glass(size: int) -> IsingModel:
    rng = np.random.default_rng(size)
    glass = spin_glass(size, rng)
    return IsingModel(glass.edges, glass.couplings, rng.standard_normal(glass.num_spins))


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _timed(work: Callable[[], Any], device: Any) -> tuple[float, Any]:
    torch = import_torch()

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    wait()
    start = perf_counter()
    answer = work()
    wait()
    return perf_counter() - start, answer


def _timed_and_weighed(work: Callable[[], Any], device: Any) -> tuple[float, int]:
    """Return the seconds, and the bytes that were taken on the device at most."""
    torch = import_torch()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds, _ = _timed(work, device)
    return seconds, torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0


def _bytes_moved(model: IsingModel) -> float:
    """Return the bytes that a forward elimination reads and writes."""
    chosen = plan_elimination(model, task="log_partition", kind="frontier")
    assert chosen.pairwise is not None
    program = Program(chosen.pairwise.arrays, chosen.order, MAX_BITS)
    steps = program.fuse(0, len(program), FORWARD)
    return 8.0 * sum(2.0**step.bits_before + 2.0**step.bits_after for step in steps)


def _front_bytes(prepared: Plan) -> float:
    """Return the bytes that an elimination reads and writes, in double and in single precision.

    A front is written once, then its lower triangle is read and written for every panel of rows.
    """
    tree = prepared.evaluator.elimination.tree
    eliminated = 2.0 * np.diff(tree.own)
    triangles = (eliminated + np.diff(tree.boundary)) ** 2 / 2
    return 12.0 * float((triangles * (1 + 2 * np.ceil(eliminated / PANEL))).sum())


def _bandwidth(device: Any) -> float:
    """Return the bytes per second of a copy, read and written."""
    torch = import_torch()
    size = 2**28 if device.type == "cuda" else 2**22
    a = torch.rand(size, dtype=torch.float64, device=device)
    b = torch.empty_like(a)
    b.copy_(a)
    return 16.0 * size / min(_timed(partial(b.copy_, a), device)[0] for _ in range(3))


def _multiplications(device: Any) -> float:
    """Return the multiplications per second of a product of matrices in double precision."""
    torch = import_torch()
    size = 8192 if device.type == "cuda" else 256
    a = torch.rand((size, size), dtype=torch.float64, device=device)
    torch.mm(a, a)
    return float(size) ** 3 / min(_timed(partial(torch.mm, a, a), device)[0] for _ in range(3))
