"""What ``planaris demo`` computes, and the page that shows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as ScreenTable

from planaris.cli.commands.reproduce import FigureBars
from planaris.embed import embed
from planaris.experiments.figure import Settings
from planaris.experiments.reproduce import reproduce
from planaris.generate import spin_glass, square_lattice
from planaris.infer import ground_state, log_partition, sample
from planaris.machine import processors
from planaris.models import IsingModel
from planaris.report.parts import Panels, Picture, Section, Table
from planaris.report.pictures import draw_frustration, draw_spins, new_axes, new_figure
from planaris.verify import check_certificate

FIGURES = ("ring-cost", "side-chains")
"""Figures of the papers that take seconds."""

GLASSES = ((30, "bimodal"), (1000, "gaussian"))
"""Sides and disorder of the spin glasses whose ground states are found; the first is drawn."""

FERROMAGNET = 200
"""Side of the ferromagnet that is sampled."""

PROOFS = (
    "A dual bound is a packing of cuts whose weight equals the energy; it was checked without the "
    "solver. The interval of log Z is a theorem about the arithmetic that was done: rounding is "
    "bounded, not estimated."
)

HEADER = ("what", "spins", "answer", "certificate", "time")

Row = tuple[str, str, str, str, str]

CRITICAL = math.log1p(math.sqrt(2.0)) / 2
"""Onsager's critical coupling of the square lattice."""


@dataclass(frozen=True)
class Panel:
    """A picture of the demo: in the PNG with its title, on the page with its caption."""

    title: str
    caption: str
    draw: Callable[[Any], None]


def make_demo(out: Path) -> None:
    """Compute, print a table, and write a picture and a page that begins with both."""
    rows: list[Row] = []
    panels = [_ground_states(rows)]
    _partition_functions(rows)
    panels += _samples(rows)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "planaris.png"
    figure, axes = new_figure(1, 3, size=4.5)
    for place, panel in zip(axes[0], panels, strict=True):
        panel.draw(place)
        place.set_title(panel.title)
    figure.savefig(picture, dpi=150)
    table = ScreenTable(*HEADER)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    with FigureBars() as bars:
        reproduce(
            FIGURES,
            out,
            Settings(quick=True),
            jobs=processors(),
            report=bars,
            before=[_computed(panels, rows)],
            title="planaris: computed on this machine",
        )
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"Look at {picture}")
    console.print(f"and at {out / 'index.html'}: the same with its certificates, and two figures.")
    console.print("The rest, ten minutes: planaris reproduce --all --quick; all: without --quick.")


def _computed(panels: Sequence[Panel], rows: list[Row]) -> Section:
    """Return the first section of the page: pictures, the table and what proves it."""
    pictures = []
    for panel in panels:
        figure, axes = new_axes()
        panel.draw(axes)
        pictures.append(Picture(panel.caption, figure))
    return Section(
        name="computed",
        title="Ground states, partition functions and samples, exact",
        source="planaris demo",
        claim="",
        command="planaris demo",
        done=len(rows),
        total=len(rows),
        panels=Panels(
            pictures=pictures,
            tables=[Table("What was computed, and what proves it", HEADER, rows)],
            notes=[PROOFS],
        ),
    )


def _duration(seconds: float) -> str:
    """Return a time with two digits.

    >>> _duration(0.00123), _duration(0.27), _duration(3.456)
    ('1.2 ms', '0.27 s', '3.5 s')
    """
    return f"{1000 * seconds:.2g} ms" if seconds < 0.099 else f"{seconds:.2g} s"


def _ground_states(rows: list[Row]) -> Panel:
    drawn = []
    for size, disorder in GLASSES:
        glass = spin_glass(size, np.random.default_rng(size), disorder=disorder)
        started = perf_counter()
        result = ground_state(glass)
        seconds = perf_counter() - started
        proved = check_certificate(glass, result)
        rows.append(
            (
                f"ground state {size}² {disorder}",
                f"{glass.num_spins:,}",
                f"E/n = {result.energy / glass.num_spins:.6f}",
                "dual bound checked" if proved else "none",
                _duration(seconds),
            )
        )
        drawn.append((glass, result.spins))
    glass, spins = drawn[0]
    return Panel(
        "ground state of a ±J glass\nunsatisfied edges pair the frustrated faces",
        "A ground state of a ±J glass: unsatisfied edges (red) pair up the frustrated faces "
        "(shaded) at the least cost.",
        lambda axes: draw_frustration(axes, glass, spins, embed(glass)),
    )


def _partition_functions(rows: list[Row]) -> None:
    for beta in (1.0, 30.0):
        glass = spin_glass(100, np.random.default_rng(1), beta=beta)
        started = perf_counter()
        result = log_partition(glass, prove=True)
        rows.append(
            (
                f"log Z 100² gaussian, β={beta:g}",
                f"{glass.num_spins:,}",
                f"{result.value:.9f}",
                f"{'proved' if result.proved else 'estimated'} ± {result.gap / 2:.1g}",
                _duration(perf_counter() - started),
            )
        )


def _samples(rows: list[Row]) -> list[Panel]:
    size, panels = FERROMAGNET, []
    lattice = square_lattice(size)
    for name, coupling in (("at", CRITICAL), ("5 % above", CRITICAL / 1.05)):
        magnet = IsingModel(lattice.edges, coupling, positions=lattice.positions)
        started = perf_counter()
        state = sample(magnet, 1, np.random.default_rng(4))[0]
        seconds = perf_counter() - started
        panels.append(
            Panel(
                f"exact sample of the {size}×{size} ferromagnet\n{name} the critical point",
                f"An exact sample of the {size}×{size} ferromagnet {name} the critical point.",
                partial(draw_spins, spins=state, shape=(size, size)),
            )
        )
        rows.append(
            (
                f"sample {size}², {name} Tc",
                f"{magnet.num_spins:,}",
                f"|m| = {abs(float(state.mean())):.3f}",
                "exact sampler",
                _duration(seconds),
            )
        )
    return panels
