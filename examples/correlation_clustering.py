"""Two clusters from noisy comparisons.

Neighbouring regions of a map were compared, "same" or "different", and some of the answers are
wrong. The best split into two clusters contradicts as few answers as possible: a planar ground
state. Marginals say how sure each border is. Given that every answer is wrong with probability p,
the couplings are ±½ log((1 - p) / p) and both are exact.
"""

from pathlib import Path

import numpy as np
import typer
from matplotlib.collections import LineCollection

import planaris as pl
from planaris.report.pictures import BROKEN, DOWN, UP, new_figure


def main(
    size: int = 400,
    noise: float = 0.1,
    seed: int = 3,
    out: Path = Path("correlation_clustering.png"),
) -> dict[str, float]:
    """Cluster SIZE regions from comparisons of which a share NOISE is wrong."""
    rng = np.random.default_rng(seed)
    drawing = pl.generate.random_triangulation(size, rng)
    x, y = drawing.positions.T
    truth = np.where(np.sin(7 * x) + np.cos(6 * y + 1) > 0.2, 1, -1)
    u, v = drawing.edges.T
    answers = np.where(rng.random(len(u)) < noise, -1, 1) * truth[u] * truth[v]
    strength = np.log((1 - noise) / noise) / 2
    model = pl.IsingModel(drawing.edges, strength * answers, positions=drawing.positions)
    state = pl.ground_state(model)
    spins = state.spins * (1 if state.spins @ truth >= 0 else -1)
    doubtful = pl.marginals(model).edges
    sure = np.maximum(doubtful, 1 - doubtful)
    wrong = float((spins != truth).mean())
    broken = int((spins[u] * spins[v] != answers).sum())
    planted = int((truth[u] * truth[v] != answers).sum())
    print(f"{broken} of {len(u)} answers contradicted (the truth contradicts {planted})")
    print(f"{wrong:.1%} of the regions are in the wrong cluster; proved best: {state.exact}")
    figure, ((left, right),) = new_figure(1, 2, size=5)
    lines = drawing.positions[drawing.edges]
    left.add_collection(LineCollection(list(lines[answers > 0]), colors="#bbbbbb", linewidths=0.7))
    left.add_collection(LineCollection(list(lines[answers < 0]), colors=BROKEN, linewidths=1.2))
    left.scatter(x, y, c="#dddddd", edgecolors=DOWN, s=14, zorder=3)
    left.set_title('what was answered: "different" is red')
    shades = LineCollection(
        list(lines), array=sure, cmap="coolwarm_r", linewidths=1.2, clim=(0.5, 1)
    )
    right.add_collection(shades)
    right.scatter(x, y, c=np.where(spins > 0, UP, DOWN), edgecolors=DOWN, s=20, zorder=3)
    missed = spins != truth
    right.scatter(x[missed], y[missed], marker="x", c="black", s=40, zorder=4, label="wrong")
    right.set_title("best clusters; edges by certainty")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False)
    figure.colorbar(shades, ax=right, shrink=0.8, label="probability of the more likely relation")
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.set_axis_off()
    figure.savefig(out, dpi=100)
    return {
        "wrong": wrong,
        "broken": float(broken),
        "planted": float(planted),
        "exact": float(state.exact),
    }


if __name__ == "__main__":
    typer.run(main)
