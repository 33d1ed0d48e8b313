"""``planaris bench``: the performance table, measured on this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from planaris.cli.options import Json, print_json

Write = Annotated[
    Path | None,
    typer.Option(metavar="FILE", exists=True, help="Put the table between the marks of FILE."),
]


def bench(
    full: Annotated[bool, typer.Option("--full", help="Sizes up to a million spins.")] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Batches of models instead, by size and threads.")
    ] = False,
    write: Write = None,
    json: Json = False,
) -> None:
    """Time planaris beside the packages that solve the same, as far as they are installed."""
    from rich.console import Console

    from planaris.experiments import batch_performance as batches
    from planaris.experiments.performance import measure, render_table, update_file
    from planaris.progress import watch
    from planaris.report.machine import describe_machine

    rows: list[Any] = []
    with watch("measuring") as told:
        for row in batches.measure_batches() if batch else measure(full=full):
            rows.append(row)
            if told is not None:
                told(-1.0)
    machine = describe_machine()
    if json:
        print_json({"machine": machine, "rows": [asdict(row) for row in rows]})
        return
    where = f"{machine['processor']}, {machine['cores']} cores, planaris {machine['planaris']}"
    option = " --batch" if batch else " --full" if full else ""
    how = "wall time, least of three runs" if batch else "processor time, least of three runs"
    how += "" if batch else ", one thread"
    table = batches.render_batches(rows) if batch else render_table(rows)
    table += f"\n\nMeasured by `planaris bench{option}` on {where}; {how}."
    if write is None:
        Console().print(table, markup=False, highlight=False, soft_wrap=True)
    elif batch:
        update_file(write, table, begin=batches.BATCH_BEGIN, end=batches.BATCH_END)
    else:
        update_file(write, table)
