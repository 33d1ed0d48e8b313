"""The longest work between two looks at the clock, of every method on models that take longer.

``python benchmarks/bench_stretches.py [--limit 1] [--repeats 3] [--least 10] [--only TEXT]`` runs
every method of every verb on the models named in docs/reliability.md, and the calls of
``stretch_calls.py``, with one thread, and prints the stretches that took at least so many
milliseconds of processor time. A call with long ones is repeated, and the least counts: other
processes disturb. Modules that are imported on first use are imported before. Calls that take no
limit are watched for signals instead: how long they handle none.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before BLAS is loaded: its threads spin

import highspy  # noqa: F401  # imported on first use by planaris, too
import numpy as np
import scipy.optimize  # noqa: F401
from stretch_calls import LIMITED, UNLIMITED

from planaris import IsingModel, MarkovRandomField
from planaris.generate import square_lattice
from planaris.methods import methods
from planaris.selftest.interruptions.interrupts import cube, lattice
from planaris.selftest.stretches import longest_stretches, stretches_of


def complete(spins: int) -> IsingModel:
    """Return a complete graph with normal couplings and fields."""
    rng = np.random.default_rng(0)
    edges = np.array([(u, v) for u in range(spins) for v in range(u)])
    return IsingModel(edges, rng.normal(size=len(edges)), 0.1 * rng.normal(size=spins))


def labelled(variables: int, labels: int, order: int, factors: int) -> MarkovRandomField:
    """Return random tables of variables that lie near each other."""
    rng = np.random.default_rng(1)
    start = rng.integers(0, variables, factors)[:, None]
    scopes = (start + np.argsort(rng.random((factors, 50)), axis=1)[:, :order]) % variables
    tables = rng.normal(size=(factors, *([labels] * order)))
    made: Any = [(tuple(s), t) for s, t in zip(scopes.tolist(), tables, strict=True)]
    return MarkovRandomField([labels] * variables, made, log=True)


def torus(side: int) -> IsingModel:
    """Return a ±J torus."""
    import planaris as pl

    edges = pl.generate.torus(side).edges
    return IsingModel(edges, np.random.default_rng(0).choice([-1.0, 1.0], len(edges)))


def cold(side: int) -> IsingModel:
    """Return a planar glass at a low temperature."""
    model = lattice(side)
    return IsingModel(model.edges, 10 * model.couplings)


def attractive(side: int) -> IsingModel:
    """Return a lattice without negative couplings, with random fields."""
    grid, rng = square_lattice(side, side), np.random.default_rng(0)
    return IsingModel(grid.edges, rng.random(len(grid.edges)), rng.normal(size=side * side))


def label_lattice(side: int, labels: int) -> MarkovRandomField:
    """Return random tables of variables and pairs on a lattice."""
    edges, rng = square_lattice(side, side).edges.tolist(), np.random.default_rng(0)
    made: Any = [(tuple(pair), rng.normal(size=(labels, labels))) for pair in edges]
    made += [((v,), rng.normal(size=labels)) for v in range(side * side)]
    return MarkovRandomField([labels] * (side * side), made, log=True)


MODELS: dict[str, Callable[[], Any]] = {
    "plane 400²": lambda: lattice(400),
    "plane 300²": lambda: lattice(300),
    "24² with fields": lambda: lattice(24, fields=True),
    "100² with fields": lambda: lattice(100, fields=True),
    "150² with fields": lambda: lattice(150, fields=True),
    "attractive 256²": lambda: attractive(256),
    "cold 300²": lambda: cold(300),
    "8³": lambda: cube(8),
    "12³": lambda: cube(12),
    "16³": lambda: cube(16),
    "K150": lambda: complete(150),
    "K200": lambda: complete(200),
    "torus 64²": lambda: torus(64),
    "torus 100²": lambda: torus(100),
    "4 labels 40²": lambda: label_lattice(40, 4),
    "14,000 variables": lambda: labelled(14_000, 3, 2, 40_000),
    "500 variables, third order": lambda: labelled(500, 7, 3, 1_000),
}


def least_of(measure: Callable[[], dict[str, float]], options: Any) -> dict[str, float]:
    """Return the milliseconds of stretches that are long in every repeat."""
    found: dict[str, float] = {}
    for k in range(options.repeats):
        once = {place: 1e3 * gap for place, gap in measure().items() if 1e3 * gap > options.least}
        found = once if k == 0 else {p: min(g, once[p]) for p, g in found.items() if p in once}
        if not found:
            break
    return found


def longest_deafness(call: Callable[[], Any]) -> dict[str, float]:
    """Return the longest seconds of processor time of a call in which no signal was handled."""
    last, longest = time.thread_time(), 0.0

    def on_signal(*_: Any) -> None:
        nonlocal last, longest
        now = time.thread_time()
        last, longest = now, max(longest, now - last)

    before = signal.signal(signal.SIGPROF, on_signal)
    signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    try:
        last = time.thread_time()
        call()
        on_signal()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    return {"no signal handled": longest - TICK}


TICK = 0.004
"""Seconds between signals."""


def measurements(options: Any) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    """Yield all calls by name, each with what measures it once."""
    for name, (method, made) in product(MODELS, methods().items()):
        for verb in made.tasks:
            yield (
                f"{verb} {method} {name}",
                lambda n=name, v=verb, m=method: longest_stretches(
                    MODELS[n](), v, m, time_limit=options.limit, threads=1
                ),
            )
    for name, prepare in LIMITED.items():
        yield name, lambda p=prepare: stretches_of(partial(p(), options.limit))
    for name, quiet in UNLIMITED.items():
        yield name, lambda p=quiet: longest_deafness(p())


def main() -> None:
    """Measure, then print all places, the longest stretch first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--least", type=float, default=10.0, help="milliseconds")
    parser.add_argument("--only", default="", help="calls whose names contain this")
    options = parser.parse_args()
    longest: dict[str, tuple[float, str]] = {}
    for call, measure in measurements(options):
        if options.only not in call:
            continue
        for place, gap in least_of(measure, options).items():
            print(f"{gap:6.0f} ms  {place}: {call}", flush=True)
            longest[place] = max(longest.get(place, (0.0, "")), (gap, call))
    print("\nBy place:")
    for place, (gap, call) in sorted(longest.items(), key=lambda item: -item[1][0]):
        print(f"{gap:6.0f} ms  {place}: {call}")


if __name__ == "__main__":
    main()
