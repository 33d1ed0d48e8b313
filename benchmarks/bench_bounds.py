"""Bounds on log Z: GJ06's figure 3, large lattices, projected gradient, intervals of real models.

    python benchmarks/bench_bounds.py figure [--trials 40] [--out FILE.json]
    python benchmarks/bench_bounds.py rival
    python benchmarks/bench_bounds.py lattice SIDE SECONDS
    python benchmarks/bench_bounds.py trees SIDE…
    python benchmarks/bench_bounds.py uai FOLDER [SECONDS [FIRST LETTERS OF NAMES]]

Every number is checked against the exact one where there is one; times are printed, not asserted.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from planaris import IsingModel, treewidth
from planaris.bounds import clamped_marginals, interval, pdc, planar_and_trees, trw
from planaris.bounds.decomposition.trees import grow_trees, tree_decomposition
from planaris.generate import square_lattice
from planaris.subgraphs.bias_model import as_bias_model
from planaris.subgraphs.convex_combination import Decomposition
from planaris.subgraphs.families import lattice_family, lattice_shape

METHODS = {
    "trw": trw,
    "pdc-gj06": lambda model: pdc(model, subgraphs="lattice"),
    "pdc": pdc,
    "pdc+trw": planar_and_trees,
}
STRENGTHS = [0.2, 0.6, 1.0, 1.4, 2.0]


def lattice(side: int, coupling: float, field: float, seed: object) -> IsingModel:
    rng = np.random.default_rng(seed)
    graph = square_lattice(side)
    couplings = rng.uniform(-coupling, coupling, len(graph.edges))
    return IsingModel(graph.edges, couplings, rng.uniform(-field, field, side * side))


# -- GJ06 figure 3 --------------------------------------------------------------------------


def one_trial(job: tuple[str, float, int]) -> list[dict[str, object]]:
    scenario, strength, trial = job
    coupling, field = (strength, 0.05) if scenario == "coupling" else (0.5, strength)
    model = lattice(7, coupling, field, [trial, round(1000 * strength)])
    truth = treewidth.marginals(model)
    log_z = truth.log_z
    rows = []
    for name, method in METHODS.items():
        started = time.process_time()
        found = method(model)
        seconds = time.process_time() - started
        assert found.lower <= log_z + 1e-9
        assert found.upper >= log_z - 1e-9
        both = pair_probability(model, truth.nodes, truth.edges)
        guess = pair_probability(model, *found.pseudomarginals[:2])
        centre = 24
        clamped = (
            clamped_marginals(model, [centre], bound=method).nodes[0]
            if (name in ("trw", "pdc-gj06", "pdc"))
            else np.nan
        )
        rows.append(
            {
                "scenario": scenario,
                "strength": strength,
                "trial": trial,
                "method": name,
                "gap": (found.upper - log_z) / 49,
                "pair_error": float(np.abs(both - guess).mean()),
                "centre_error": float(abs(truth.nodes[centre] - found.beliefs()[centre])),
                "centre_clamped_error": float(abs(truth.nodes[centre] - clamped)),
                "seconds": seconds,
            }
        )
    return rows


def pair_probability(model: IsingModel, nodes: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """P(s_u = s_v = +1) of every edge."""
    u, v = model.edges.T
    return (equal + nodes[u] + nodes[v] - 1) / 2


def figure(trials: int, out: Path | None) -> None:
    jobs = [
        (scenario, strength, trial)
        for scenario in ("coupling", "field")
        for strength in STRENGTHS
        for trial in range(trials)
    ]
    started = time.monotonic()
    with ProcessPoolExecutor() as pool:
        rows = [row for found in pool.map(one_trial, jobs, chunksize=2) for row in found]
    print(f"{len(jobs)} models in {time.monotonic() - started:.0f} s")
    if out is not None:
        out.write_text(json.dumps(rows))
    kinds = ["gap", "pair_error", "centre_error", "centre_clamped_error", "seconds"]
    print(f"{'scenario':9s} {'α':>4s} {'method':9s}" + "".join(f"{kind:>22s}" for kind in kinds))
    for scenario in ("coupling", "field"):
        for strength in STRENGTHS:
            for name in METHODS:
                chosen = [
                    row
                    for row in rows
                    if (row["scenario"], row["strength"], row["method"])
                    == (scenario, strength, name)
                ]
                means = [np.mean([row[kind] for row in chosen]) for kind in kinds]
                cells = "".join(f"{mean:22.5f}" for mean in means)
                print(f"{scenario:9s} {strength:4.1f} {name:9s}{cells}")


# -- the paper's own optimiser --------------------------------------------------------------


def projected_gradient(state: Decomposition, target: float, seconds: float) -> tuple[float, float]:
    """Descend along the projected gradient, step halved on failure, until ``target``.

    The constraint and the weights are handled as in :class:`Decomposition`; only the direction
    differs.
    """
    started = time.process_time()
    x = np.concatenate([state.y, state.logits])
    value, gradient = state.value(x)
    step = 1.0
    while value > target and time.process_time() - started < seconds:
        trial = x - step * gradient
        new, new_gradient = state.value(trial)
        if new <= value - 0.5 * step * float(gradient @ gradient):
            x, value, gradient = trial, new, new_gradient
            step *= 1.5
        else:
            step *= 0.5
    return value, time.process_time() - started


class _Reached(Exception):
    """The bound is as low as was asked for."""


def rival() -> None:
    for coupling, field in ((2.0, 0.05), (1.0, 0.05), (0.5, 1.0)):
        model = lattice(7, coupling, field, 0)
        bare = as_bias_model(model)
        shape = lattice_shape(bare)
        assert shape is not None
        family = lattice_family(bare, shape)
        log_z = treewidth.log_partition(model).value - bare.constant
        best = Decomposition(bare, family)
        best.minimise(3000, 1e-9)
        for excess in (0.01, 0.001):
            # Both run to the same gap, this much above the best one known.
            target = log_z + (1 + excess) * (best.upper - log_z)

            def enough(bound: float, target: float = target + bare.constant) -> None:
                if bound <= target:
                    raise _Reached

            fast = Decomposition(bare, family, callback=enough)
            started = time.process_time()
            with suppress(_Reached):
                fast.minimise(3000, 0.0)
            ours = time.process_time() - started
            value, theirs = projected_gradient(Decomposition(bare, family), target, 60.0)
            print(
                f"coupling {coupling} field {field}: gap {(target - log_z) / 49:.5f} per spin; "
                f"quasi-Newton {ours:.2f} s, projected gradient {theirs:.2f} s "
                f"({'reached' if value <= target else f'only {(value - log_z) / 49:.5f}'}), "
                f"ratio {theirs / ours:.1f}",
                flush=True,
            )


# -- large lattices and real models ---------------------------------------------------------


def large(side: int, seconds: float) -> None:
    for coupling, field in ((1.0, 0.1), (2.0, 0.05), (0.5, 1.0)):
        model = lattice(side, coupling, field, 0)
        exact = treewidth.log_partition(model).value if side <= 20 else None
        for name, run in (
            ("trw", lambda m: trw(m, time_limit=seconds)),
            ("pdc", lambda m: pdc(m, time_limit=seconds)),
            ("interval", lambda m: interval(m, seconds)),
        ):
            started, cpu = time.monotonic(), time.process_time()
            found = run(model)
            if exact is not None:
                assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
            over = "" if exact is None else f"upper - exact {(found.upper - exact) / side**2:.6f} "
            wall, cpu = time.monotonic() - started, time.process_time() - cpu
            print(
                f"{side}×{side} coupling {coupling} field {field} {name}: {over}"
                f"upper - lower {found.gap / side**2:.6f} per spin, "
                f"{wall:.1f} s ({cpu:.1f} s of processor)",
                flush=True,
            )


def real_models(folder: Path, seconds: float, only: str) -> None:
    """Print a table: the interval without elimination, trees, planar subgraphs, and as chosen."""
    import planaris.bounds.best_interval as intervals
    from planaris.io import read_model
    from planaris.models.convert import mrf2ising

    share = intervals.EXACT_SHARE
    print("| model | lnZ | trees: upper − lnZ | planar | interval | width by method chosen |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in csv.DictReader((folder / "exact_answers.csv").open()):
        if not row["name"].startswith(only):
            continue
        mrf = read_model(folder / f"{row['name']}.uai")
        exact = float(row["exact_lnZ"])
        cells = []
        spins = mrf.is_binary and mrf.is_pairwise and not mrf.has_zeros
        model = mrf2ising(mrf)[0] if spins else mrf
        for run in (trw, pdc) if spins else (trw,) if mrf.is_pairwise else ():
            started = time.monotonic()
            found = run(model, time_limit=seconds)
            assert found.upper >= exact - 1e-6
            cells.append(f"{found.upper - exact:.3g} ({time.monotonic() - started:.1f} s)")
        cells += ["—"] * (2 - len(cells))
        for exact_share in (-1.0, share):
            intervals.EXACT_SHARE = exact_share
            started = time.monotonic()
            found = interval(mrf, seconds)
            assert found.lower - 1e-6 <= exact <= found.upper + 1e-6, row["name"]
            kind = "exact, " if found.exact else ""
            cells.append(f"{kind}{found.gap:.3g} ({time.monotonic() - started:.1f} s)")
        print(f"| {row['name']} | {exact:.4f} | " + " | ".join(cells) + " |", flush=True)


def trees(sides: list[int]) -> None:
    """Message passing against the optimiser, both over trees with optimised weights."""
    for side in sides:
        for coupling, field in ((1.0, 0.1), (2.0, 0.05), (0.5, 1.0)):
            bare = as_bias_model(lattice(side, coupling, field, 0))
            rows = []
            for name, run in (
                ("messages", lambda bare: tree_decomposition(bare)),
                (
                    "optimiser",
                    lambda bare: grow_trees(
                        bare,
                        max_iterations=500,
                        max_rounds=12,
                        tolerance=2e-7,
                        deadline=time.monotonic() + 60,
                    ),
                ),
            ):
                started = time.process_time()
                state, status = run(bare)
                cpu = time.process_time() - started
                rows.append(
                    f"{name} {(state.certified()) / side**2:.6f} per spin in {cpu:.2f} s "
                    f"({status}, disagreement {state.disagreement:.0e})"
                )
            print(
                f"{side}×{side} coupling {coupling} field {field}: " + "; ".join(rows), flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["figure", "rival", "lattice", "trees", "uai"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "figure":
        figure(given.trials, given.out)
    elif given.what == "rival":
        rival()
    elif given.what == "lattice":
        large(int(given.rest[0]), float(given.rest[1]))
    elif given.what == "trees":
        trees([int(side) for side in given.rest])
    else:
        folder, seconds, only = (*given.rest, *("10", "")[len(given.rest) - 1 :])
        real_models(Path(folder), float(seconds), only)


if __name__ == "__main__":
    sys.exit(main())
