"""``planaris selftest``: planaris against oracles, for as long as you like."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from planaris.io import read_model
from planaris.selftest import check_model
from planaris.selftest.models import Case
from planaris.selftest.sections import Section, soak

MINUTE = 1 / 60


def selftest(
    hours: Annotated[
        float, typer.Option(help="How long to go on.", show_default="one minute")
    ] = MINUTE,
    seed: Annotated[int, typer.Option(help="First seed of the random models.")] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes; 0: one per core.")] = 0,
    out: Annotated[str, typer.Option(help="Folder for models that fail.")] = "selftest-failures",
    model: Annotated[str | None, typer.Option(help="Check one model file only.")] = None,
) -> None:
    """Run random models of every kind through every method, and compare with oracles.

    Models that fail are made smaller and written out. Exit code 0 when nothing failed, 1
    otherwise.
    """
    if model is not None:
        verdict = check_model(Case("a file", read_model(model)))
        sys.stdout.write("\n".join(verdict.contradictions or ["no contradiction"]) + "\n")
        raise typer.Exit(int(bool(verdict.contradictions)))
    workers = jobs or os.cpu_count() or 1
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("random models", total=1.0)
        section = soak(
            3600 * hours,
            seed,
            jobs=workers,
            folder=Path(out),
            tell=lambda share: bar.update(task, completed=share),
        )
    _show([section])
    raise typer.Exit(int(bool(section.faults)))


def _show(sections: list[Section]) -> None:
    console = Console()
    table = Table("what", "tried", "faults", "seconds", box=None)
    for section in sections:
        table.add_row(
            section.name, str(section.tried), str(len(section.faults)), f"{section.seconds:.0f}"
        )
    console.print(table)
    for section in sections:
        console.print(", ".join(f"{name} {count}" for name, count in section.details.items()))
        for fault in section.faults[:20]:
            console.print(fault)
