"""A ferromagnet on the torus, against the closed form.

A lattice with periodic boundaries is not planar; it lies on a surface of genus one, where the
partition function is a sum of four Pfaffians. Kaufman's formula of 1949 has the same number, so the
two are compared digit by digit; the specific heat shows the phase transition that Onsager found.
"""

from pathlib import Path

import numpy as np
import typer

import planaris as pl
from planaris.reference.kaufman import kaufman_log_partition
from planaris.report.pictures import BROKEN, new_figure

CRITICAL = 2 / np.log1p(np.sqrt(2))


def main(size: int = 12, out: Path = Path("torus.png")) -> dict[str, float]:
    """Compare tori of up to SIZE×SIZE spins with Kaufman's formula."""
    temperatures = np.linspace(1.6, 3.2, 17)
    figure, ((heat, error),) = new_figure(1, 2)
    worst = 0.0
    sizes = sorted({max(size // 3, 3), max(2 * size // 3, 3), size})
    for length in sizes:
        torus = pl.generate.torus(length)
        model = pl.IsingModel(torus.edges, 1.0)
        sweep = pl.thermodynamics(model, 1 / temperatures)
        exact = [kaufman_log_partition(length, length, 1 / t) for t in temperatures]
        relative = np.abs(sweep.log_partition / exact - 1)
        worst = max(worst, float(relative.max()))
        heat.plot(temperatures, sweep.specific_heat / length**2, "o-", ms=3, label=f"{length}²")
        error.semilogy(temperatures, relative + 1e-17, "o-", ms=3, label=f"{length}²")
    heat.axvline(CRITICAL, color=BROKEN, lw=1, label="Onsager's $T_c$")
    heat.set(xlabel="temperature", ylabel="specific heat per spin", title="ferromagnet on a torus")
    error.set(xlabel="temperature", ylabel="relative error of log Z", title="against Kaufman 1949")
    error.set_ylim(1e-17, 1e-10)
    for axes in (heat, error):
        axes.legend()
    figure.savefig(out, dpi=100)
    print(f"largest relative error of log Z: {worst:.1e}")
    return {"worst": worst}


if __name__ == "__main__":
    typer.run(main)
