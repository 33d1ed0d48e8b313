"""Both ends over time on five families of models, beside toulbar2, and times of HiGHS.

``python benchmarks/bench_anytime.py [--limit 20] [--protein FILE.uai] [--plot anytime.svg]``
measures a ±J torus, a Gaussian cube, a sparse maximum cut, a protein (left out without a file) and
a lattice of labels; ``--integer-program`` adds HiGHS. All times are processor seconds: those of the
trace of planaris and of the lines of toulbar2 are read off the clock of the process. Limits are
wall-clock seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from bench_labels import PRECISION, integer_program, lattice

import planaris as pl
from planaris.embed import low_genus_embedding
from planaris.models import MarkovRandomField
from planaris.relax import branch_and_cut

TICK = 0.02
"""Seconds between two readings of the clock."""


@dataclass
class Curve:
    """Ends of an interval over processor seconds."""

    seconds: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    total: float = 0.0

    def add(self, seconds: float, lower: float, upper: float) -> None:
        """Add a point; ends never get worse."""
        self.seconds.append(seconds)
        self.lower.append(max([lower, *self.lower[-1:]]))
        self.upper.append(min([upper, *self.upper[-1:]]))

    @property
    def closed(self) -> bool:
        """Whether the ends met, to the precision of printed energies."""
        gap = self.upper[-1] - self.lower[-1] if self.upper else np.inf
        return gap <= 1e-6 * max(1.0, abs(self.upper[-1]) if self.upper else 1.0)


def torus(seed: int, side: int = 40) -> pl.IsingModel:
    """Return a ±J torus."""
    edges = pl.generate.torus(side).edges
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(edges))
    return pl.IsingModel(edges, signs)


def cube(seed: int, side: int = 7) -> pl.IsingModel:
    """Return a periodic cubic lattice with normal couplings of five digits."""
    rng = np.random.default_rng(seed)
    site = np.arange(side**3).reshape(side, side, side)
    pairs = [np.stack([site, np.roll(site, -1, axis)], -1).reshape(-1, 2) for axis in range(3)]
    return pl.IsingModel(np.concatenate(pairs), np.rint(1e5 * rng.normal(size=3 * side**3)) / 1e5)


def sparse_cut(seed: int, spins: int = 80, density: float = 0.1) -> pl.IsingModel:
    """Return a sparse graph with couplings ±1, as pm1s of the Biq Mac library."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, v) for u in range(spins) for v in range(u)])
    edges = pairs[rng.choice(len(pairs), int(density * len(pairs)), replace=False)]
    return pl.IsingModel(edges, rng.choice([-1.0, 1.0], len(edges)), num_spins=spins)


def solve(model: pl.IsingModel | MarkovRandomField, limit: float) -> pl.result.GroundState:
    """Solve a model; models on no surface by branch and cut, as ``auto`` does, for its trace."""
    surface = isinstance(model, pl.IsingModel) and low_genus_embedding(model.edges, model.num_spins)
    if isinstance(model, MarkovRandomField) or surface:
        return pl.ground_state(model, time_limit=limit)
    return branch_and_cut(model, time_limit=limit)


def planaris_curve(model: pl.IsingModel | MarkovRandomField, limit: float) -> Curve:
    """Return the trace of planaris by processor seconds."""
    walls, clocks, ended = [0.0], [0.0], threading.Event()
    started, before = time.perf_counter(), time.process_time()

    def watch() -> None:
        while not ended.wait(TICK):
            walls.append(time.perf_counter() - started)
            clocks.append(time.process_time() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = solve(model, limit)
    ended.set()
    watcher.join()
    curve = Curve(total=time.process_time() - before)
    for row in found.trace:
        if np.isfinite(row["lower"]) and np.isfinite(row["upper"]):
            at = float(np.interp(row["seconds"], walls, clocks))
            curve.add(at, row["lower"], row["upper"])
    curve.add(curve.total, found.lower, found.upper)
    return curve


def toulbar2_curve(path: Path, limit: float) -> Curve:
    """Return what toulbar2 prints, by the processor seconds of its process."""
    command = ["stdbuf", "-oL", "toulbar2", str(path), "-A", f"-precision={PRECISION}"]
    curve, last = Curve(), (np.inf, 0.0)
    tick = os.sysconf("SC_CLK_TCK")
    number = r"(-?\d+)"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        stop = threading.Timer(limit, process.kill)
        stop.start()
        assert process.stdout is not None, "asked for"
        for line in process.stdout:
            try:
                clock = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                break
            curve.total = (int(clock[11]) + int(clock[12])) / tick
            state = re.search(rf"(?:New solution|Optimum): {number} energy: (\S+)", line)
            if state:
                last = float(state[2]), float(state[1])
                lower = curve.lower[-1] if curve.lower else -np.inf
                curve.add(curve.total, last[0] if "Optimum" in line else lower, last[0])
            gap = re.search(rf"Optimality gap: \[{number}, {number}\]", line)
            if gap and np.isfinite(last[0]):
                below = (float(gap[1]) - last[1]) / 10.0**PRECISION
                curve.add(curve.total, last[0] + below, last[0])
        stop.cancel()
    if not curve.closed:
        curve.total = max(curve.total, 0.0)
    return curve


def measure(
    name: str, model: pl.IsingModel | MarkovRandomField, limit: float, *, integer: bool
) -> dict[str, Curve]:
    """Run everything on one model and print a line of the table."""
    mrf = model if isinstance(model, MarkovRandomField) else MarkovRandomField.from_ising(model)
    curves = {"planaris": planaris_curve(model, limit)}
    if shutil.which("toulbar2"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.uai"
            pl.io.write_uai(mrf, path)
            curves["toulbar2"] = toulbar2_curve(path, limit)
    cells = [name, str(mrf.num_variables)]
    for curve in curves.values():
        ends = f"[{curve.lower[-1]:.6g}, {curve.upper[-1]:.6g}]" if curve.upper else "no state"
        cells.append(f"{curve.total:.2f}" if curve.closed else f"{curve.total:.0f}: {ends}")
    if integer:
        spent, closed = integer_program(mrf, limit)
        cells.append(f"{spent:.2f}" if closed else f"open after {spent:.0f}")
    print("| " + " | ".join(cells) + " |", flush=True)
    return curves


def plot(families: dict[str, dict[str, Curve]], path: str) -> None:
    """Draw the distance of both ends to the best energy known, one panel per family."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(families), figsize=(2.5 * len(families), 3.1), sharey=True)
    colours = {"planaris": "C0", "toulbar2": "C1"}
    for panel, (name, curves) in zip(np.atleast_1d(panels), families.items(), strict=True):
        best = min(min(curve.upper, default=np.inf) for curve in curves.values())
        for program, curve in curves.items():
            seconds = np.maximum([*curve.seconds, curve.total], 1e-3)
            for end, style in (("upper", "-"), ("lower", "--")):
                values = np.array(getattr(curve, end) or [np.nan])
                values = np.append(values, values[-1])[: len(seconds)]
                gap = np.abs(values - best) / max(abs(best), 1e-9)
                gap = np.where(gap < 1e-6, 1e-6, gap)
                panel.step(
                    seconds,
                    gap,
                    colours[program] + style,
                    where="post",
                    lw=1.2,
                    label=f"{program}, {end} end",
                )
            if curve.closed:
                panel.plot(curve.total, 1e-6, colours[program] + "o", ms=4)
        panel.set(xscale="log", yscale="log", xlabel="processor seconds", ylim=(7e-7, 2))
        panel.set_xlim(1e-3, 20)
        panel.xaxis.set_minor_formatter("")
        panel.set_title(name, fontsize=9)
    first = np.atleast_1d(panels)[0]
    first.set_ylabel("distance to the best energy,\nrelative", fontsize=8)
    figure.legend(*first.get_legend_handles_labels(), ncol=4, fontsize=7, loc="lower center")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path)


def main() -> None:
    """Measure the families."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--protein", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--integer-program", action="store_true", help="HiGHS, too")
    parser.add_argument("--plot")
    options = parser.parse_args()
    models: dict[str, pl.IsingModel | MarkovRandomField] = {
        "±J torus 40×40": torus(options.seed),
        "Gaussian cube 7×7×7": cube(options.seed),
        "sparse cut, 80 spins": sparse_cut(options.seed),
    }
    if options.protein:
        models[f"protein {options.protein.name.split('.')[0]}"] = pl.io.read_uai(options.protein)
    models["lattice 20×20, 4 labels"] = lattice(options.seed)
    for warm in (torus(0, 4), lattice(0, side=3), sparse_cut(0, 20, 0.5)):
        pl.ground_state(warm)  # what is imported at the first call
    print("| model | variables | planaris | toulbar2 | HiGHS |\n| --- | --- | --- | --- | --- |")
    families = {
        name: measure(name, model, options.limit, integer=options.integer_program)
        for name, model in models.items()
    }
    if options.plot:
        plot(families, options.plot)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
