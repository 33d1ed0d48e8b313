"""Estimates and proofs by tensor networks: errors, stated errors, proved widths, processor time.

    python benchmarks/bench_tensor_network.py [--large] [--proofs]

Everything runs on one thread and is timed by the processor, so that a busy machine does not
matter. Where elimination fits it gives the truth, elsewhere a contraction with a larger bond does.
quimb, where it is installed, contracts the same lattices at the same bond dimension.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import planaris as pl
from planaris import tensor


def uniform(size: int, a: float, b: float, seed: int = 3) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    down, right = rng.uniform(-a, a, (size - 1, size)), rng.uniform(-a, a, (size, size - 1))
    return pl.IsingModel.from_image(rng.uniform(-b, b, (size, size)), right, down)


def gaussian(size: int, beta: float, seed: int = 3) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    down, right = rng.normal(size=(size - 1, size)), rng.normal(size=(size, size - 1))
    fields = 0.3 * rng.normal(size=(size, size))
    return pl.IsingModel.from_image(beta * fields, beta * right, beta * down)


def attractive(size: int, seed: int = 3) -> pl.IsingModel:
    return pl.IsingModel.from_image(np.random.default_rng(seed).normal(size=(size, size)), 0.8, 0.8)


def labelled(size: int, labels: int, seed: int = 3) -> pl.MarkovRandomField:
    rng = np.random.default_rng(seed)
    index = np.arange(size * size).reshape(size, size)
    pairs = np.r_[
        np.c_[index[:, :-1].ravel(), index[:, 1:].ravel()],
        np.c_[index[:-1].ravel(), index[1:].ravel()],
    ]
    factors = [((v,), rng.exponential(size=labels)) for v in range(size * size)]
    factors += [((u, v), rng.exponential(size=(labels, labels))) for u, v in pairs.tolist()]
    return pl.MarkovRandomField(np.full(size * size, labels), factors)


SMALL = {
    "20², U(.5), U(.5)": lambda: uniform(20, 0.5, 0.5),
    "20², U(1), U(.3)": lambda: uniform(20, 1.0, 0.3),
    "20², U(2), U(.5)": lambda: uniform(20, 2.0, 0.5),
    "20², U(5), U(1)": lambda: uniform(20, 5.0, 1.0),
    "20², J=.44, h=.01": lambda: pl.IsingModel.from_image(np.full((20, 20), 0.01), 0.44, 0.44),
    "20², Gaussian, β=3": lambda: gaussian(20, 3.0),
    "20², Gaussian, β=10": lambda: gaussian(20, 10.0),
    "20², Gaussian, β=30": lambda: gaussian(20, 30.0),
}
WIDE = {
    "50², U(1.5), U(.5)": lambda: uniform(50, 1.5, 0.5),
    "50², U(2), U(.5)": lambda: uniform(50, 2.0, 0.5),
    "100², U(.5), U(.5)": lambda: uniform(100, 0.5, 0.5),
    "100², U(1), U(.3)": lambda: uniform(100, 1.0, 0.3),
    "100², U(1.5), U(.5)": lambda: uniform(100, 1.5, 0.5),
    "64², 4 labels": lambda: labelled(64, 4),
}
LARGE = {
    "300², U(.5), U(.5)": lambda: uniform(300, 0.5, 0.5),
    "512², J=.8, h~N(0,1)": lambda: attractive(512),
}


def timed(call):
    started = time.process_time()
    result = call()
    return result, time.process_time() - started


def quimb_log_partition(model: pl.IsingModel, shape: tuple[int, int], bond: int):
    """Boundary contraction of the same lattice by quimb; None when it is not installed."""
    try:
        import quimb.tensor as qtn
    except ImportError:
        return None
    couplings = {
        (divmod(int(u), shape[1]), divmod(int(v), shape[1])): float(x)
        for (u, v), x in zip(model.edges, model.couplings, strict=True)
    }
    fields = model.fields.reshape(shape)

    def coupling(a, b):
        return couplings.get((a, b), couplings.get((b, a), 0.0))

    sites = list(np.ndindex(*shape))
    network = qtn.TN2D_classical_ising_partition_function(
        *shape, beta=1.0, j=coupling, outputs=sites
    )
    for a, b in sites:
        weights = qtn.Tensor(np.exp(fields[a, b] * np.array([1.0, -1.0])), inds=[f"s{a},{b}"])
        site = network[f"I{a},{b}"]
        site.modify(data=(done := site @ weights).data, inds=done.inds)
    mantissa, exponent = network.contract_boundary(max_bond=bond, cutoff=0.0, strip_exponent=True)
    return float(np.log(abs(mantissa)) + exponent * np.log(10))


def show(name: str, model, proofs: bool) -> None:
    n = model.num_spins if isinstance(model, pl.IsingModel) else model.num_variables
    try:
        found, seconds = timed(lambda: tensor.log_partition(model, threads=1))
    except pl.PlanarisError as error:
        print(f"| {name} | refused: {error} |")
        return
    ising = isinstance(model, pl.IsingModel)
    if ising and n <= 400:
        truth = pl.log_partition(model, "treewidth").value
    else:
        truth = tensor.log_partition(model, tolerance=0.0, max_bond=64, threads=1).value
    line = f"| {name} | {abs(found.value - truth) / n:.0e} | {found.gap / 2 / n:.0e} "
    line += f"| {found.stats['bond']} | {seconds:.2f} |"
    if ising and (size := round(n**0.5)) ** 2 == n and n <= 10_000:
        other, spent = timed(lambda: quimb_log_partition(model, (size, size), 32))
        line += " – |" if other is None else f" {abs(other - truth) / n:.0e}, {spent:.1f} |"
    if proofs and ising:
        sure, spent = timed(lambda: tensor.log_partition(model, prove=True, threads=1))
        width = f"{sure.gap / 2:.1e}" if sure.proved else sure.status
        line += f" {width} | {spent:.1f} |"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="lattices of 10^5 spins, too")
    parser.add_argument("--proofs", action="store_true", help="proved widths, too")
    options = parser.parse_args()
    print("| model | error per spin | stated per spin | bond | s | quimb, χ=32 | proved ± | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, make in {**SMALL, **WIDE, **(LARGE if options.large else {})}.items():
        show(name, make(), options.proofs)


if __name__ == "__main__":
    main()
