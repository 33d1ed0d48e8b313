"""Widths and costs of proved intervals of planar log Z: the table of docs/theory/rigour.md.

    python benchmarks/bench_rigour.py            # up to 256²
    python benchmarks/bench_rigour.py --large    # up to 1000²; minutes, and some GB of memory
    python benchmarks/bench_rigour.py --only 1000    # these sizes alone

Processor seconds of one thread, the least of several runs; the graph is dissected before.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import planaris as pl

SIZES = {
    ("Gaussian", 0.3): (64, 128, 256),
    ("Gaussian", 1.0): (64, 128, 256),
    ("Gaussian", 3.0): (64, 128, 256),
    ("Gaussian", 5.0): (64, 128, 256),
    ("Gaussian", 10.0): (64, 128, 256),
    ("Gaussian", 30.0): (64, 128, 256),
    ("±J", 1.0): (64, 128, 256),
    ("±J", 3.0): (64, 128),  # 256² without a proof takes minutes, in double-double
    ("±J", 5.0): (64, 128),
}
CASES = [(kind, beta, size) for (kind, beta), sizes in SIZES.items() for size in sizes]
LARGE = [
    ("Gaussian", 0.3, 500),
    ("Gaussian", 1.0, 500),
    ("Gaussian", 3.0, 500),
    ("Gaussian", 10.0, 500),
    ("±J", 1.0, 500),
    ("Gaussian", 0.3, 1000),
    ("Gaussian", 1.0, 1000),
    ("Gaussian", 3.0, 1000),
]


def measure(kind: str, beta: float, size: int, plan: pl.Plan) -> str:
    """Return one row of the table."""
    rng = np.random.default_rng(size)
    count = plan.num_edges
    couplings = rng.normal(size=count) if kind == "Gaussian" else rng.choice([-1.0, 1.0], count)
    seconds = [np.inf, np.inf]
    for _ in range(7 if size <= 64 else 3 if size <= 500 else 4):
        for prove in (False, True):
            begin = time.process_time()
            found = plan.log_partition(beta * couplings, prove=prove, threads=1)
            seconds[prove] = min(seconds[prove], time.process_time() - begin)
    half = found.gap / 2
    width = f"{half:.1e} | {half / plan.num_spins:.1e}" if found.proved else "estimated |"
    way = found.stats.get("bound", "") if found.proved else ""
    if found.proved and found.stats["precision"] != "double":
        way += ", pairs"
    times = f"{seconds[0]:.3g} | {seconds[1]:.3g} | {seconds[1] / seconds[0]:.1f}"
    return f"| {kind}, β = {beta:g} | {size}² | {width} | {way} | {times} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", type=int, nargs="*", metavar="SIZE")
    chosen = parser.parse_args()
    cases = CASES + (LARGE if chosen.large or chosen.only else [])
    cases = [case for case in cases if not chosen.only or case[2] in chosen.only]
    print("| model | spins | half-width | per spin | by | s without | s with | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    plans: dict[int, pl.Plan] = {}
    for kind, beta, size in cases:
        if size not in plans:
            plans[size] = pl.plan(pl.generate.square_lattice(size))
            plans[size].log_partition(np.zeros(plans[size].num_edges))
        print(measure(kind, beta, size, plans[size]), flush=True)


if __name__ == "__main__":
    main()
