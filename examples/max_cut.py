"""The largest cut of a planar graph.

Max-cut is NP-hard in general and polynomial on planar graphs (Hadlock 1975): a ground state of the
antiferromagnet with J = -w / 2. The proof is a packing of odd cycles, checked by code that shares
nothing with the solver.
"""

from pathlib import Path

import numpy as np
import typer
from matplotlib.collections import LineCollection

import planaris as pl
from planaris.report.pictures import BROKEN, DOWN, UP, new_figure
from planaris.verify import check_certificate


def main(size: int = 300, seed: int = 2, out: Path = Path("max_cut.png")) -> dict[str, float]:
    """Cut a random triangulation of SIZE points, edges weighted by their length."""
    rng = np.random.default_rng(seed)
    drawing = pl.generate.random_triangulation(size, rng)
    ends = drawing.positions[drawing.edges]
    weights = np.hypot(*(ends[:, 0] - ends[:, 1]).T)
    model = pl.IsingModel(
        drawing.edges, -weights / 2, positions=drawing.positions, offset=weights.sum() / 2
    )
    state = pl.ground_state(model)  # its log weight is the weight of the cut
    proved = check_certificate(model, state)
    cut = state.spins[drawing.edges[:, 0]] != state.spins[drawing.edges[:, 1]]
    print(f"{size} points, {len(weights)} edges: cut {-state.energy:.6f} of {weights.sum():.6f}")
    print(f"exact: {state.exact}; certificate checked: {proved}")
    figure, ((axes,),) = new_figure(1, 1, size=6)
    axes.add_collection(LineCollection(list(ends[cut]), colors="#9aa7b5", linewidths=0.8))
    axes.add_collection(LineCollection(list(ends[~cut]), colors=BROKEN, linewidths=1.8))
    colours = np.where(state.spins > 0, UP, DOWN)
    axes.scatter(*drawing.positions.T, c=colours, edgecolors=DOWN, s=22, zorder=3)
    axes.set(title="edges that are not cut are red", aspect="equal")
    axes.set_axis_off()
    figure.savefig(out, dpi=100)
    return {
        "cut": -state.energy,
        "recomputed": float(weights[cut].sum()),
        "proved": float(proved and state.exact),
    }


if __name__ == "__main__":
    typer.run(main)
