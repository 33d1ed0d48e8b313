"""``planaris reproduce``: the figures of the papers, computed again, on one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planaris.errors import MethodError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from planaris.experiments.runner import Progress
    from planaris.report.parts import Section

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Figures to run.")]
Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", exists=True, file_okay=False, help="Folder of your own data."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: all cores.")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="tcp://HOST:PORT", help="Run on a Dask cluster instead.")
]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Trials that need a GPU too ('cuda'), one trial at a time."),
]


def reproduce_figures(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="All figures.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer trials: a minute or so per figure.")
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the page and the results.")
    ] = Path("report"),
    data: Data = None,
    scheduler: Scheduler = None,
    device: Device = None,
    list_figures: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
) -> None:
    """Compute the figures of four papers again and write a page; a killed run goes on."""
    from rich.console import Console

    from planaris.experiments import FIGURES
    from planaris.experiments.figure import Settings
    from planaris.experiments.reproduce import reproduce
    from planaris.machine import processors

    if list_figures:
        _print_list()
        return
    if every == bool(names):
        msg = f"name some figures, or --all: {', '.join(FIGURES)}"
        raise MethodError(msg)
    _require_device(device)
    chosen = list(FIGURES) if every else list(dict.fromkeys(names or ()))
    try:
        with FigureBars() as bars:
            sections = reproduce(
                chosen,
                out,
                Settings(quick=quick, data=data, device=device),
                jobs=1 if device is not None else jobs or processors(),
                scheduler=scheduler,
                report=bars,
            )
    except KeyboardInterrupt:
        Console(stderr=True).print("planaris: interrupted; the same command goes on from here")
        raise typer.Exit(130) from None
    print_sections(sections)
    Console().print(f"Look at {out / 'index.html'}", highlight=False, soft_wrap=True)
    if any(section.problems for section in sections):
        raise typer.Exit(1)


def _require_device(device: str | None) -> None:
    """Refuse a device that is not there before any trial fails of it."""
    if device is None:
        return
    from planaris.gpu.device import find_device

    find_device(device)


class FigureBars:
    """One bar per figure with the time left, on stderr, if that is a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        self.tasks: dict[str, TaskID] = {}

    def __enter__(self) -> FigureBars:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.bars.disable:  # older versions of rich end a line even so
            self.bars.stop()

    def __call__(self, progress: Progress) -> None:
        """Move the bar of a figure."""
        name = progress.figure.name
        if name not in self.tasks:
            # What was stored before counts as done, not as speed.
            self.tasks[name] = self.bars.add_task(
                name, total=progress.total, completed=progress.done
            )
        self.bars.update(self.tasks[name], completed=progress.done)


def print_sections(sections: list[Section]) -> None:
    """Print every claim with its verdict."""
    from rich.console import Console
    from rich.table import Table

    table = Table("figure", "trials", "claim", "measured", "")
    words = {True: "holds", False: "fails", None: "open"}
    for section in sections:
        name, trials = section.name, f"{section.done}/{section.total}"
        for verdict in section.panels.verdicts:
            table.add_row(name, trials, verdict.claim, verdict.measured, words[verdict.holds])
            name = trials = ""
        if not section.panels.verdicts:
            table.add_row(name, trials, section.claim, "nothing yet", "")
    console = Console()
    console.print(table)
    for section in sections:
        for problem in section.problems:
            console.print(f"{section.name}: {problem}", markup=False, style="red")


def _print_list() -> None:
    from rich.console import Console
    from rich.table import Table

    from planaris.experiments import FIGURES, load_figure

    table = Table("name", "figure", "published in", box=None)
    for name in FIGURES:
        figure = load_figure(name)
        table.add_row(name, figure.title, figure.paper)
    Console().print(table)
