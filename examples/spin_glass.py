"""Two spin glasses: specific heat and domain walls.

Couplings of a Gaussian glass are normal, those of a ±J glass are +1 or -1. At low temperature the
±J glass has a gap (its specific heat falls off exponentially) and ground states without number; the
Gaussian one has one ground state and excitations at any energy.

A domain wall is what a change of the boundary from periodic to antiperiodic costs. A lattice that
is periodic in one direction is a cylinder, which is planar, so both ground states are exact. In the
Gaussian glass the cost falls with the width of the cylinder: no order survives at any temperature.
"""

from pathlib import Path

import numpy as np
import typer

import planaris as pl
from planaris.report.pictures import BROKEN, new_figure


def wall_energies(disorder: str, width: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return what changing the boundary condition costs, for ``count`` glasses."""
    lattice = pl.generate.cylinder(width)
    glasses = (pl.generate.spin_glass(lattice, rng, disorder=disorder) for _ in range(count))
    return np.array([abs(pl.domain_wall(g, (width, width)).energy) for g in glasses])


def draw_wall(axes, width: int, rng: np.random.Generator) -> None:
    """Draw where the two ground states of one Gaussian glass differ, unrolled."""
    wall = pl.domain_wall(pl.generate.spin_glass(pl.generate.cylinder(width), rng), (width, width))
    overlap = wall.overlap.reshape(width, width)
    axes.imshow(overlap, cmap="cividis", interpolation="nearest")
    axes.set_title(f"overlap of the two ground states, {width}×{width}\nits borders are the wall")
    axes.set_axis_off()


def main(
    size: int = 16, samples: int = 30, seed: int = 1, out: Path = Path("spin_glass.png")
) -> dict[str, float]:
    """Compare Gaussian and ±J glasses up to SIZE×SIZE, with SAMPLES glasses per width."""
    rng = np.random.default_rng(seed)
    figure, ((heat, wall, picture),) = new_figure(1, 3)
    temperatures = np.linspace(0.15, 2.5, 20)
    widths = [w for w in (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if w <= size]
    answers = {}
    for disorder, name, marker in (("gaussian", "Gaussian", "o"), ("bimodal", "±J", "s")):
        glass = pl.generate.spin_glass(size, rng, disorder=disorder)
        sweep = pl.thermodynamics(glass, 1 / temperatures)
        heat.plot(temperatures, sweep.specific_heat / glass.num_spins, marker=marker, label=name)
        costs = [wall_energies(disorder, w, samples, rng) for w in widths]
        mean = np.array([c.mean() for c in costs])
        error = [c.std() / np.sqrt(samples) for c in costs]
        wall.errorbar(widths, mean, error, marker=marker, capsize=3, label=name)
        exponent = np.polyfit(np.log(widths), np.log(mean), 1)[0] if len(widths) > 1 else np.nan
        answers[f"wall exponent {name}"] = float(exponent)
        answers[f"coldest heat {name}"] = float(sweep.specific_heat[0] / glass.num_spins)
        print(f"{name}: wall energy ~ width^{exponent:.2f}")
    heat.set(xlabel="temperature", ylabel="specific heat per spin", title=f"{size}×{size}, exact")
    wall.set(xlabel="width", ylabel="domain-wall energy", xscale="log", yscale="log")
    wall.set_xticks(widths, labels=[str(w) for w in widths])
    wall.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    wall.yaxis.set_major_formatter("{x:g}")
    wall.yaxis.set_minor_formatter("{x:g}")
    wall.set_title(f"mean of {samples} glasses")
    for axes in (heat, wall):
        axes.legend()
    heat.axhline(0, color=BROKEN, lw=0.5)
    draw_wall(picture, max(size, 8), rng)
    figure.savefig(out, dpi=100)
    return answers


if __name__ == "__main__":
    typer.run(main)
