"""Width per spin of `interval` over processor time, beside trees alone and mean field alone.

``python benchmarks/plot_interval_width.py [--seconds 16] [--side 50] [--out FILE.svg]`` draws the
figure of docs/theory/bounds.md. Trees and mean field are drawn as their distance from the middle of
the last interval. Elimination and tensor networks are left out: `interval` does not use them here.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np

import planaris as pl
from planaris.bounds import interval, mean_field, trw
from planaris.budget import use_clock

OUT = Path(__file__).parents[1] / "docs" / "images" / "interval-width.svg"

Curve = list[tuple[float, float]]


def lattice(side: int, seed: int) -> pl.IsingModel:
    """Return a lattice with couplings U[-1, 1] and fields U[-.3, .3]."""
    rng = np.random.default_rng(seed)
    edges = pl.generate.square_lattice(side).edges
    couplings = rng.uniform(-1, 1, len(edges))
    return pl.IsingModel(edges, couplings, rng.uniform(-0.3, 0.3, side * side))


class Watch:
    """Notes the best bound over processor seconds."""

    def __init__(self, better) -> None:
        self.better, self.started, self.curve = better, time.process_time(), []

    def __call__(self, bound: float, *_: object) -> None:
        best = self.better(bound, self.curve[-1][1]) if self.curve else bound
        self.curve.append((time.process_time() - self.started, best))


def measure(model: pl.IsingModel, seconds: float) -> dict[str, Curve]:
    """Return curves of width per spin by name."""
    spins = model.num_spins
    with use_clock(time.process_time):
        found = interval(model, seconds)
        above, below = Watch(min), Watch(max)
        trw(model, time_limit=seconds, callback=above)
        mean_field(model, time_limit=seconds, callback=below)
    middle = (found.lower + found.upper) / 2
    trace = found.stats["trace"]
    return {
        "interval": [
            (step["seconds"], (step["upper"] - step["lower"]) / spins)
            for step in trace
            if np.isfinite(step["upper"] - step["lower"])
        ],
        "trees alone: upper end − log Z": [(t, (x - middle) / spins) for t, x in above.curve],
        "mean field alone: log Z − lower end": [(t, (middle - x) / spins) for t, x in below.curve],
    }


def draw(curves: dict[str, Curve], path: Path) -> None:
    """Draw the curves on logarithmic axes."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "planaris"
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    last = max(curve[-1][0] for curve in curves.values())
    for name, curve in curves.items():
        seconds, widths = np.array([*curve, (last, curve[-1][1])]).T
        axes.step(np.maximum(seconds, 0.1), widths, where="post", label=name)
    axes.set(xscale="log", yscale="log", xlim=(0.1, last), xlabel="seconds of processor")
    axes.set_ylabel("width per spin")
    axes.grid(color="#ddd")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=16.0)
    parser.add_argument("--side", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    curves = measure(lattice(given.side, given.seed), given.seconds)
    for name, curve in curves.items():
        assert all(a[1] >= b[1] for a, b in pairwise(curve)), name
        print(f"{name}: {curve[-1][1]:.3g} per spin after {curve[-1][0]:.1f} s")
    draw(curves, given.out)


if __name__ == "__main__":
    main()
