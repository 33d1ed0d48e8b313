"""Where tensor networks end: stated errors that do not hold, refusals, proofs that do not close.

    python benchmarks/tensor_network_limits.py [--seeds N] [--uai FOLDER] [--all]

Makes the last table of docs/theory/tensor-network.md. Elimination gives the truth. Models are cold
or frustrated grids of 20 columns, several seeds each, and with ``--uai`` the pairwise grids and
segmentations of a folder of UAI files. A line says how many estimates were refused, how many
stated errors did not hold, the largest error of the others, and how many proofs closed. ``--all``
prints every model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_tensor_network import gaussian, timed, uniform

import planaris as pl
from planaris import tensor
from planaris.io import read_uai
from planaris.methods.tensor_network import short_sweep


def plus_minus(size: int, beta: float, seed: int) -> pl.IsingModel:
    """±J glass with weak fields."""
    rng = np.random.default_rng(seed)
    down, right = (rng.choice([-beta, beta], s) for s in ((size - 1, size), (size, size - 1)))
    return pl.IsingModel.from_image(0.3 * beta * rng.normal(size=(size, size)), right, down)


def ferromagnet(size: int, coupling: float, field: float) -> pl.IsingModel:
    return pl.IsingModel.from_image(np.full((size, size), field), coupling, coupling)


FAMILIES: dict[str, Callable[[int], pl.IsingModel]] = {
    "U(±2), U(±.5)": lambda seed: uniform(20, 2.0, 0.5, seed),
    "U(±5), U(±1)": lambda seed: uniform(20, 5.0, 1.0, seed),
    "Gaussian, β = 3": lambda seed: gaussian(20, 3.0, seed),
    "Gaussian, β = 10": lambda seed: gaussian(20, 10.0, seed),
    "Gaussian, β = 30": lambda seed: gaussian(20, 30.0, seed),
    "Gaussian, β = 100": lambda seed: gaussian(20, 100.0, seed),
    "±J, β = 10": lambda seed: plus_minus(20, 10.0, seed),
    "J = .6, h = .01": lambda seed: ferromagnet(20, 0.6, 0.01),
    "J = 400, h = 1": lambda seed: ferromagnet(20, 400.0, 1.0),
}


class Outcome(NamedTuple):
    """What became of one model."""

    refused: str
    error: float
    stated: float
    proof: str
    seconds: float

    @property
    def holds(self) -> bool:
        return not self.refused and self.error <= self.stated


def outcome(model: pl.IsingModel | pl.MarkovRandomField) -> Outcome:
    """Estimate and prove log Z, and hold the estimate against elimination."""
    sure = pl.log_partition(model, "treewidth")
    try:
        found, seconds, _ = timed(lambda: tensor.log_partition(model, threads=1))
    except pl.PlanarisError as error:
        return Outcome(str(error), np.inf, np.inf, "", 0.0)
    error = max(sure.lower - found.value, found.value - sure.upper, 0.0)
    try:
        proved = pl.log_partition(model, "tensor-network", prove=True, threads=1)
        proof = f"±{proved.gap / 2:.0e}" if proved.proved else proved.status
    except pl.PlanarisError as reason:
        proof = str(reason)
    return Outcome("", error, found.gap / 2, proof, seconds)


def told(name: str, outcomes: list[Outcome]) -> str:
    """Return the line of a family."""
    answered = [one for one in outcomes if not one.refused]
    false = sum(not one.holds for one in answered)
    error = max((one.error for one in answered), default=np.nan)
    stated = max((one.stated for one in answered), default=np.nan)
    closed = sum(one.proof.startswith("±") for one in answered)
    counts = f"{len(outcomes)} | {len(outcomes) - len(answered)} | {false}"
    return f"| {name} | {counts} | {error:.0e} | {stated:.0e} | {closed} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="models of each family")
    parser.add_argument("--uai", type=Path, help="folder with UAI files")
    parser.add_argument("--all", action="store_true", help="a line per model")
    options = parser.parse_args()
    print("| model | models | refused | false stated errors | largest error | stated | proofs |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, make in FAMILIES.items():
        seeds = range(1 if name.startswith("J") else options.seeds)
        show(f"20², {name}", [make(seed) for seed in seeds], options.all)
    for path in sorted(options.uai.glob("*.uai")) if options.uai else ():
        mrf = read_uai(path)
        if path.name.startswith(("Grids", "Segmentation")) and short_sweep(mrf) is not None:
            show(path.stem, [mrf], options.all)


def show(name: str, models: list, every: bool) -> None:
    outcomes = [outcome(model) for model in models]
    print(told(name, outcomes), flush=True)
    for one in outcomes if every else ():
        print(f"    {one}", flush=True)


if __name__ == "__main__":
    main()
