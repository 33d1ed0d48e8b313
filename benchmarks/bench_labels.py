"""Least energies of Markov random fields beside toulbar2 and an integer program (HiGHS).

``python benchmarks/bench_labels.py FILE.uai ... [--limit 60] [--plot gap.svg]`` measures files;
``--networks N`` adds models like those of protein-protein interactions (third-order factors, 14,000
variables), ``--grids N`` lattices of random tables. Processor seconds, limits too, after the file
is read for planaris and with it for toulbar2, which is left out where it is not installed. For
networks toulbar2 runs three times: as it is, with ``-A`` and with ``-vns``; the best energy counts.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import planaris as pl
from planaris.budget import use_clock
from planaris.models import MarkovRandomField
from planaris.verify import check_result

PRECISION = 9
"""Digits of the costs of toulbar2, which are whole numbers."""


def interaction_network(seed: int, proteins: int = 230, pairs: int = 13_000) -> MarkovRandomField:
    """Interactions of pairs of proteins, places of proteins, and triangles of interactions.

    All tables of third order are normal numbers, so most cycles are frustrated.
    """
    rng = np.random.default_rng(seed)
    weight = 1 / (np.arange(proteins) + 5.0)
    known: set[tuple[int, int]] = set()
    while len(known) < pairs:
        a, b = sorted(rng.choice(proteins, 2, replace=False, p=weight / weight.sum()).tolist())
        known.add((a, b))
    number = {pair: k for k, pair in enumerate(sorted(known))}
    factors: list[Any] = [((k,), [0.0, rng.normal(-2.0, 1.5)]) for k in range(pairs)]
    factors += [((pairs + k,), [0.0, rng.normal(-0.5, 1.5)]) for k in range(4 * proteins)]
    near: dict[int, set[int]] = {}
    for (a, b), k in number.items():
        place = pairs + int(rng.integers(4)) * proteins
        factors.append(((k, place + a, place + b), rng.normal(size=(2, 2, 2))))
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    for a, b in rng.permutation(sorted(number))[:6000].tolist():
        common = sorted(near[a] & near[b])
        if common:
            c = int(rng.choice(common))
            trio = [number[min(p), max(p)] for p in ((a, b), (b, c), (a, c))]
            factors.append((trio, rng.normal(size=(2, 2, 2))))
    return MarkovRandomField([2] * (pairs + 4 * proteins), factors, log=True)


def lattice(seed: int, side: int = 20, labels: int = 4) -> MarkovRandomField:
    """Normal tables on a square lattice."""
    rng = np.random.default_rng(seed)
    cell = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([cell[:, :-1], cell[:, 1:]], -1).reshape(-1, 2),
            np.stack([cell[:-1], cell[1:]], -1).reshape(-1, 2),
        ]
    )
    factors: list[Any] = [(pair, rng.normal(size=(labels, labels))) for pair in pairs.tolist()]
    factors += [((v,), rng.normal(size=labels)) for v in range(side * side)]
    return MarkovRandomField([labels] * (side * side), factors, log=True)


def toulbar2(
    path: Path, limit: float, option: str = "-A"
) -> tuple[float, float, bool, list[tuple[float, float]]]:
    """Return processor seconds, the energy, whether it is proved, and (seconds, energy) of states.

    ``-A`` (virtual arc consistency before the search) closes more of the large files, ``-vns``
    (variable neighbourhood search) finds better states of those that stay open.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = ["toulbar2", str(path), f"-precision={PRECISION}", f"-timer={int(limit)}"]
    command += [option] if option else []
    started, seen, proved = time.perf_counter(), [], False
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "asked for"
        for line in process.stdout:
            found = re.search(r"(New solution|Optimum):.* energy: (\S+)", line)
            if found:
                seen.append((time.perf_counter() - started, float(found[2])))
                proved |= found[1] == "Optimum"
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return spent, seen[-1][1] if seen else np.inf, proved, seen


def integer_program(mrf: MarkovRandomField, limit: float) -> tuple[float, bool]:
    """Return processor seconds of HiGHS on the plain integer program, and whether it is closed."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    cards = mrf.cardinalities
    first = np.concatenate([[0], np.cumsum(cards)])
    count = int(first[-1])
    costs, entries, sides = [np.zeros(count)], [], [np.ones(len(cards))]
    owner = np.repeat(np.arange(len(cards)), cards)
    entries.append((owner, np.arange(count), np.ones(count)))
    row = len(cards)
    for f in range(mrf.num_factors):
        scope, energy = mrf.scope(f), np.minimum(-mrf.log_table(f), 1e3)
        if len(scope) == 1:
            costs[0][first[scope[0]] : first[scope[0] + 1]] += energy.ravel()
            continue
        costs.append(energy.ravel())
        place = count + np.arange(energy.size).reshape(energy.shape)
        count += energy.size
        for axis, v in enumerate(scope.tolist()):
            labels = np.moveaxis(place, axis, 0).reshape(cards[v], -1)
            at = row + np.repeat(np.arange(cards[v]), labels.shape[1])
            entries.append((at, labels.ravel(), np.ones(labels.size)))
            own = np.arange(cards[v])
            entries.append((row + own, first[v] + own, -np.ones(cards[v])))
            row += int(cards[v])
            sides.append(np.zeros(cards[v]))
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = coo_array((values, (rows, columns)), shape=(row, count)).tocsr()
    side, integral = np.concatenate(sides), np.zeros(count)
    integral[: int(first[-1])] = 1
    began = time.process_time()
    found = milp(
        np.concatenate(costs),
        integrality=integral,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, side, side),
        options={"time_limit": limit, "mip_rel_gap": 0.0},
    )
    return time.process_time() - began, found.status == 0


def measure(
    name: str, mrf: MarkovRandomField, path: Path, options: Any, asked: tuple[str, ...] = ("-A",)
) -> dict[str, Any]:
    """Run everything on one model; print and return a line."""
    began = time.process_time()
    with use_clock(time.process_time):
        found = pl.ground_state(mrf, time_limit=options.limit)
    line: dict[str, Any] = {"name": name, "planaris": time.process_time() - began}
    line |= {"lower": found.lower, "upper": found.upper, "exact": found.exact}
    line["trace"] = found.trace
    if options.prove:
        began = time.process_time()
        with use_clock(time.process_time):
            proved = pl.ground_state(mrf, time_limit=options.limit, prove=True)
        line["with proof"] = time.process_time() - began
        began = time.process_time()
        line["checked"] = check_result(mrf, proved).proved
        line["check"] = time.process_time() - began
    if shutil.which("toulbar2"):
        tries = [toulbar2(path, options.limit, option) for option in asked]
        line["toulbar2 by option"] = {o: t[:2] for o, t in zip(asked, tries, strict=True)}
        spent, energy, closed, seen = min(tries, key=lambda found: found[1])
        line |= {"toulbar2": spent, "its energy": energy, "its proof": closed, "seen": seen}
    if options.integer_program:
        line["HiGHS"], line["its end"] = integer_program(mrf, options.limit)
    print({key: value for key, value in line.items() if key not in ("trace", "seen")}, flush=True)
    return line


def plot(lines: list[dict[str, Any]], path: str) -> None:
    """Draw both ends over time, relative to the best energy known, one panel per model."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(lines), figsize=(3 * len(lines), 2.8), squeeze=False)
    for panel, line in zip(panels[0], lines, strict=True):
        best = min(line["upper"], line.get("its energy", np.inf))
        scale = max(abs(best), 1.0)
        rows = [row for row in line["trace"] if np.isfinite(row["lower"])]
        seconds = [row["seconds"] for row in rows]
        for end, style in (("upper", "C0-"), ("lower", "C0--")):
            gaps = [abs(row[end] - best) / scale + 1e-9 for row in rows]
            panel.step(seconds, gaps, style, where="post", label=f"planaris, {end} end")
        seen = line.get("seen", [])
        gaps = [max(energy - best, 0.0) / scale + 1e-9 for _, energy in seen]
        panel.step([s for s, _ in seen], gaps, "C1o-", where="post", label="toulbar2, states")
        panel.set(xscale="log", yscale="log", xlabel="seconds", title=line["name"])
        panel.xaxis.set_minor_formatter("")
    panels[0][0].set_ylabel("distance to the best energy, relative")
    panels[0][0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--networks", type=int, default=0)
    parser.add_argument("--grids", type=int, default=0)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--integer-program", action="store_true")
    parser.add_argument("--plot")
    options = parser.parse_args()
    lines = []
    pl.ground_state(lattice(0, side=3))  # what is imported at the first call
    for path in options.files:
        lines.append(measure(path.name.split(".")[0], pl.io.read_uai(path), path, options))
    made = [(f"network {seed}", interaction_network(seed)) for seed in range(options.networks)]
    made += [(f"lattice {seed}", lattice(seed)) for seed in range(options.grids)]
    with tempfile.TemporaryDirectory() as folder:
        for name, mrf in made:
            path = Path(folder) / f"{name.replace(' ', '-')}.uai"
            pl.io.write_uai(mrf, path)
            asked = ("", "-A", "-vns") if name.startswith("network") else ("-A",)
            lines.append(measure(name, mrf, path, options, asked))
    if options.plot:
        plot(lines, options.plot)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
