"""``planaris selftest``: planaris against oracles, limits and faults, for as long as you like."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from planaris.selftest.sections import Section

MINUTE = 1 / 60
SHARES = (0.5, 0.15, 0.15, 0.1)
"""Shares of the time for random models, certificates, leaves and readers. The other sections have
fixed counts and take about a tenth of an hour."""

CHANGES, FILES = 20, 4000
"""Changes of every kind of certificate, and damaged files, in a round."""

KILLS = 20

BEGIN, END = "<!-- selftest: begin -->", "<!-- selftest: end -->"


def selftest(
    hours: Annotated[
        float,
        typer.Option(
            help="How long random trials run; checks of fixed size add some minutes.",
            show_default="one minute",
            min=0.0,
        ),
    ] = MINUTE,
    seed: Annotated[int, typer.Option(help="First seed of the random models.")] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes; 0: one per core.")] = 0,
    out: Annotated[str, typer.Option(help="Folder for models that fail.")] = "selftest-failures",
    model: Annotated[str | None, typer.Option(help="Check one model file only.")] = None,
    write: Annotated[str | None, typer.Option(help="Markdown file whose table to replace.")] = None,
) -> None:
    """Check planaris: against oracles, at its limits, under faults, on damaged input.

    Models that fail are made smaller and written out. Exit code 0 when nothing failed, 1
    otherwise.
    """
    from rich.console import Console
    from rich.progress import Progress

    from planaris.machine import processors

    if model is not None:
        from planaris.io import read_model
        from planaris.selftest.models import Case
        from planaris.selftest.soak import check_model

        verdict = check_model(Case("a file", read_model(model)))
        sys.stdout.write("\n".join(verdict.contradictions or ["no contradiction"]) + "\n")
        raise typer.Exit(int(bool(verdict.contradictions)))
    plan = _plan(hours, seed, jobs or processors(), Path(out))
    found: list[Section] = []
    console, shown = Console(stderr=True), sys.stderr.isatty()
    for title, run in plan:
        bar = Progress(console=console, disable=not shown, transient=True)
        with bar if shown else nullcontext():  # older rich ends a line even so
            found.append(run(tell=partial(_advance, bar, bar.add_task(title, total=1.0))))
        _show(found[-1])
    if write is not None:
        _write(Path(write), found)
    raise typer.Exit(int(any(section.faults for section in found)))


def _advance(bar: Progress, task: TaskID, share: float) -> None:
    bar.update(task, completed=share)


def _plan(
    hours: float, seed: int, workers: int, folder: Path
) -> list[tuple[str, Callable[..., Section]]]:
    """Return the sections, as long as their shares of the time, or as their counts."""
    from planaris.selftest import sections

    times = max(1, round(hours))
    models, certificates, leaves, files = (3600 * hours * share for share in SHARES)
    soak = partial(sections.soak, models, seed, jobs=workers, folder=folder)
    corrupted = partial(sections.corrupted, CHANGES, seconds=certificates, jobs=workers)
    readers = partial(sections.readers, FILES, seed, seconds=files, jobs=workers)
    killed = partial(sections.store_faults, round(3 + 20 * hours), seed, jobs=workers)
    return [
        ("random models", soak),
        ("certificates", corrupted),
        ("leaves", partial(sections.forged, seed, seconds=leaves, jobs=workers)),
        ("time limits", partial(sections.time_limits, times)),
        ("interrupts", partial(sections.interrupts, times)),
        ("threads", partial(sections.concurrency, times, seed)),
        ("readers", readers),
        ("store", killed),
        ("runs", partial(sections.killed_runs, KILLS * times, seed)),
    ]


def _show(section: Section) -> None:
    """Print what a section found, as soon as it has ended."""
    details = ", ".join(f"{name} {count}" for name, count in section.details.items())
    counts = f"{section.tried:,} tried, {len(section.faults)} faults, {section.seconds:.0f} s"
    lines = [f"{section.name}: {counts} ({details})", *section.faults[:20]]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _write(path: Path, found: list[Section]) -> None:
    """Put the table between the markers of a page; the page is replaced as a whole."""
    from planaris.machine import processors
    from planaris.report.marked import insert_between
    from planaris.report.page import write_page

    rows = [
        f"| {s.name} | {s.promise} | {s.tried:,} | {len(s.faults)} | {s.seconds:.0f} s |"
        for s in found
    ]
    head = [
        "| what | what must hold | tried | faults | time |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    said = f"`planaris selftest` on {date.today().isoformat()}, {processors()} processors:"
    table = "\n".join([said, "", *head, *rows])
    write_page(path, insert_between(path.read_text(encoding="utf-8"), BEGIN, END, table))
