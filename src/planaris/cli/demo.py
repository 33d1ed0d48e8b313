"""``planaris demo``: real results with a picture, in a minute."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from planaris.embed import embed
from planaris.generate import spin_glass
from planaris.infer import ground_state
from planaris.report.pictures import draw_frustration, new_figure


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("planaris-demo"),
) -> None:
    """Solve spin glasses exactly, from 30×30 to a million spins, and draw one."""
    console = Console()
    table = Table("ground state of", "spins", "energy per spin", "proved", "seconds")
    for size, disorder in ((30, "bimodal"), (300, "gaussian"), (1000, "gaussian")):
        glass = spin_glass(size, np.random.default_rng(size), disorder=disorder)
        started = perf_counter()
        result = ground_state(glass)
        seconds = perf_counter() - started
        table.add_row(
            f"{size}×{size} {disorder} glass",
            f"{glass.num_spins:,}",
            f"{result.energy / glass.num_spins:.6f}",
            "exact" if result.exact else f"within {result.gap:.2g}",
            f"{seconds:.2f}",
        )
        if size == 30:
            figure, axes = new_figure(size=7)
            draw_frustration(axes[0, 0], glass, result.spins, embed(glass))
            axes[0, 0].set_title("ground state of a 30×30 ±J glass: frustrated faces, paired")
            out.mkdir(parents=True, exist_ok=True)
            figure.savefig(out / "ground_state.png", dpi=150)
    console.print(table)
    console.print(f"picture: {out / 'ground_state.png'}")
