"""Run figures and write their page: what ``planaris reproduce`` does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from planaris.experiments import FIGURES, load_figure
from planaris.experiments.engine import engine
from planaris.experiments.figure import Figure, Settings
from planaris.experiments.runner import Progress, run_figure, stored_results
from planaris.experiments.store import Store
from planaris.report.machine import describe_machine
from planaris.report.page import render_page, write_page
from planaris.report.parts import Panels, Section
from planaris.report.pictures import new_figure

TITLE = "Figures of four papers, made again"
INTRO = (
    "Every figure is computed on this machine from fixed seeds. Each shows what the paper "
    "claims beside what was measured; the marks are computed from the data."
)


def reproduce(
    names: Sequence[str],
    out: Path,
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    report: Callable[[Progress], None] | None = None,
    before: Sequence[Section] = (),
    title: str = TITLE,
) -> list[Section]:
    """Run figures and write ``index.html`` into a folder, after each of them.

    Parameters
    ----------
    names : sequence of str
        Figures to run, of :data:`planaris.experiments.FIGURES`.
    out : pathlib.Path
        Folder for the page; results are kept under ``results`` in it and used again.
    settings, jobs, scheduler, report
        See :func:`planaris.experiments.runner.run_figure`.
    before : sequence of Section
        Sections that the page begins with.
    title : str
        Of the page.

    Returns
    -------
    list of Section
        What the page shows: the named figures and all others that have stored results.
    """
    settings = settings or Settings()
    figures = [load_figure(name) for name in names]
    new_figure()  # if pictures cannot be drawn that is said now, not after the trials
    store = Store(out / "results")
    sections: dict[str, Section] = {}
    for name in FIGURES:
        if name in names or store.path(name).exists():
            sections[name] = stored_section(load_figure(name), settings, store, out)
    for figure in figures:
        problems: list[str] = []
        try:
            outcome = run_figure(
                figure, settings, store, jobs=jobs, scheduler=scheduler, report=report
            )
            problems = [f"A trial failed: {error} {params}" for params, error in outcome.failures]
        finally:  # an interrupted run shows what it has
            section = stored_section(figure, settings, store, out)
            problems = [*section.problems, *problems[:5], *_more(problems)]
            sections[figure.name] = replace(section, problems=problems)
            facts = describe_machine() | {"numbers computed by": engine()}
            shown = [*before, *sections.values()]
            html = render_page(title, shown, intro=INTRO, facts=facts)
            write_page(out / "index.html", html)
    return list(sections.values())


def stored_section(figure: Figure, settings: Settings, store: Store, out: Path) -> Section:
    """Return the section of a figure from what is stored."""
    results, total = stored_results(figure, settings, store)
    panels, problems = Panels(), []
    if results:
        try:
            panels = figure.plot(results)
        except Exception as error:  # a page without one picture is better than no page
            problems = [f"The plot failed: {type(error).__name__}: {error}"]
    return Section(
        name=figure.name,
        title=figure.title,
        source=figure.paper,
        claim=figure.claim,
        command=_command(figure, settings, out),
        done=len(results),
        total=total,
        panels=panels,
        problems=problems,
    )


def _command(figure: Figure, settings: Settings, out: Path) -> str:
    words = ["planaris", "reproduce", figure.name, *(["--quick"] if settings.quick else [])]
    if settings.data is not None:
        words += ["--data", str(settings.data)]
    if settings.device is not None:
        words += ["--device", settings.device]
    return shlex.join([*words, "--out", str(out)])


def _more(problems: list[str]) -> list[str]:
    return [f"… and {len(problems) - 5} more"] if len(problems) > 5 else []
