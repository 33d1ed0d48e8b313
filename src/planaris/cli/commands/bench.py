"""``planaris bench``: the performance table, measured on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from planaris.cli.options import Json, print_json

Row = TypeVar("Row")

Write = Annotated[
    Path | None,
    typer.Option(metavar="FILE", exists=True, help="Put the table between the marks of FILE."),
]


def bench(
    full: Annotated[bool, typer.Option("--full", help="Sizes up to a million spins.")] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Batches of models instead, by size and threads.")
    ] = False,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="DEVICE", help="A GPU ('cuda') beside this machine."),
    ] = None,
    write: Write = None,
    json: Json = False,
) -> None:
    """Time planaris beside the packages that solve the same, as far as they are installed."""
    if device is not None:
        _bench_device(device, write, json)
        return
    from planaris.experiments import batch_performance as batches
    from planaris.experiments.performance import BEGIN, END, measure, render_table
    from planaris.report.machine import describe_machine

    rows: list[Any] = _watched(batches.measure_batches() if batch else measure(full=full))
    machine = describe_machine()
    if json:
        print_json({"machine": machine, "rows": [asdict(row) for row in rows]})
        return
    where = f"{machine['processor']}, {machine['cores']} cores, planaris {machine['planaris']}"
    option = " --batch" if batch else " --full" if full else ""
    how = (
        "wall time, least of three runs"
        if batch
        else "processor time, least of three runs on fresh models"
    )
    how += "" if batch else ", one thread"
    table = batches.render_batches(rows) if batch else render_table(rows)
    table += f"\n\nMeasured by `planaris bench{option}` on {where}; {how}."
    marks = (batches.BATCH_BEGIN, batches.BATCH_END) if batch else (BEGIN, END)
    _show(table, write, *marks)


def _bench_device(device: str, write: Path | None, json: bool) -> None:
    """Time elimination and batches on a device."""
    from planaris.experiments import device_performance as devices
    from planaris.gpu.device import find_device, import_torch
    from planaris.report.machine import describe_machine

    found, machine = find_device(device), describe_machine()
    widths = _watched(devices.measure_widths(found))
    batches = _watched(devices.measure_device_batches(found))
    if json:
        tables = {
            "widths": [asdict(row) for row in widths],
            "batches": [asdict(row) for row in batches],
        }
        print_json({"machine": machine, **tables})
        return
    torch = import_torch()
    name = torch.cuda.get_device_name(found) if found.type == "cuda" else "torch on the CPU"
    where = f"{name}, beside {machine['processor']}, planaris {machine['planaris']}"
    table = f"{devices.render_widths(widths)}\n\n{devices.render_device_batches(batches)}"
    table += f"\n\nMeasured by `planaris bench --device {device}` on {where}; wall time."
    _show(table, write, devices.DEVICE_BEGIN, devices.DEVICE_END)


def _show(table: str, write: Path | None, begin: str, end: str) -> None:
    """Print a table, or put it between two marks of a file."""
    from rich.console import Console

    from planaris.experiments.performance import update_file

    if write is None:
        Console().print(table, markup=False, highlight=False, soft_wrap=True)
    else:
        update_file(write, table, begin=begin, end=end)


def _watched(rows: Iterable[Row]) -> list[Row]:
    """Return all rows; a bar shows that they are being measured."""
    from planaris.budget import watch

    found = []
    with watch("measuring") as told:
        for row in rows:
            found.append(row)
            if told is not None:
                told(-1.0)
    return found
