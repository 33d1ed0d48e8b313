"""``planaris demo``: real results with a picture, in a minute."""

from __future__ import annotations

import math
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from planaris.budget import processors
from planaris.cli.reproduce import FigureBars
from planaris.embed import embed
from planaris.experiments.figure import Settings
from planaris.experiments.reproduce import reproduce
from planaris.generate import spin_glass, square_lattice
from planaris.infer import ground_state, log_partition, sample
from planaris.models import IsingModel
from planaris.report.pictures import draw_frustration, draw_spins, new_figure
from planaris.verify import check_certificate

FIGURES = ("ring-cost", "side-chains")
"""Figures of the papers that take seconds."""

CRITICAL = math.log1p(math.sqrt(2.0)) / 2
"""Onsager's critical coupling of the square lattice."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path(
        "planaris-demo"
    ),
) -> None:
    """Solve spin glasses of up to a million spins, draw exact samples; a picture and a page."""
    table = Table("what", "spins", "answer", "certificate", "seconds")
    figure, axes = new_figure(1, 3, size=6)
    _ground_states(table, axes[0, 0])
    _partition_functions(table)
    _samples(table, axes[0, 1:])
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "planaris.png"
    figure.savefig(picture, dpi=110)
    console = Console(highlight=False, soft_wrap=True)
    Console().print(table)
    with FigureBars() as bars:
        reproduce(FIGURES, out, Settings(quick=True), jobs=processors(), report=bars)
    console.print(f"Look at {picture}")
    console.print(f"and at {out / 'index.html'}: two figures of the papers, computed just now.")
    console.print("The rest, ten minutes: planaris reproduce --all --quick; all: without --quick.")


def _ground_states(table: Table, axes: Any) -> None:
    for size, disorder in ((30, "bimodal"), (1000, "gaussian")):
        glass = spin_glass(size, np.random.default_rng(size), disorder=disorder)
        started = perf_counter()
        result = ground_state(glass)
        seconds = perf_counter() - started
        proved = check_certificate(glass, result)
        table.add_row(
            f"ground state {size}² {disorder}",
            f"{glass.num_spins:,}",
            f"E/n = {result.energy / glass.num_spins:.6f}",
            "dual bound checked" if proved else "none",
            f"{seconds:.2f}",
        )
        if size == 30:
            draw_frustration(axes, glass, result.spins, embed(glass))
            axes.set_title(
                "ground state of a ±J glass\nunsatisfied edges pair the frustrated faces"
            )


def _partition_functions(table: Table) -> None:
    for beta in (1.0, 30.0):
        glass = spin_glass(100, np.random.default_rng(1), beta=beta)
        started = perf_counter()
        result = log_partition(glass)
        table.add_row(
            f"log Z 100² gaussian, β={beta:g}",
            f"{glass.num_spins:,}",
            f"{result.value:.9f}",
            f"± {result.gap / 2:.1g}",
            f"{perf_counter() - started:.2f}",
        )


def _samples(table: Table, axes: Any) -> None:
    size = 200
    lattice = square_lattice(size)
    for place, (name, coupling) in zip(
        axes, (("at", CRITICAL), ("5 % above", CRITICAL / 1.05)), strict=True
    ):
        magnet = IsingModel(lattice.edges, coupling, positions=lattice.positions)
        started = perf_counter()
        state = sample(magnet, 1, np.random.default_rng(4))[0]
        seconds = perf_counter() - started
        draw_spins(place, state, (size, size))
        place.set_title(f"exact sample of the {size}×{size} ferromagnet\n{name} the critical point")
        table.add_row(
            f"sample {size}², {name} Tc",
            f"{magnet.num_spins:,}",
            f"|m| = {abs(float(state.mean())):.3f}",
            "exact",
            f"{seconds:.2f}",
        )
