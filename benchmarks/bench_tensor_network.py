"""Estimates and proofs by tensor networks: errors, stated errors, proved widths, processor time.

    python benchmarks/bench_tensor_network.py [--large] [--proofs] [--only TEXT] [--growth]

Everything runs on one thread. Times are of the processor, so that a busy machine does not matter;
the time on the clock stands behind them. Where elimination fits it gives the truth, elsewhere a
contraction with twice the bond does. quimb, where it is installed (``pip install quimb``),
contracts the same lattices at the same bond dimension in the same run.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import planaris as pl
from planaris import tensor
from planaris.budget import Budget
from planaris.kernels.tensor import Accuracy
from planaris.tensor.run import Run

PEER_BOND = 32
"""Bond dimension at which quimb contracts the same lattice."""


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
    """Return a result, and seconds of the processor and on the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    result = call()
    return result, time.process_time() - processor, time.perf_counter() - clock


def contract(model, bond: int) -> float:
    """Return log Z of a single contraction."""
    run = Run(model, None, bond, Budget.of(None, threads=1))
    return run.contract(Accuracy(bond), run.budget).log_partition + run.network.constant


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
    ising = isinstance(model, pl.IsingModel)
    n = model.num_spins if ising else model.num_variables
    try:
        found, seconds, clock = timed(lambda: tensor.log_partition(model, threads=1))
    except pl.PlanarisError as error:
        print(f"| {name} | refused: {error} |", flush=True)
        return
    bond = found.stats["bond"]
    if ising and n <= 400:
        truth = pl.log_partition(model, "treewidth").value
    else:
        truth = contract(model, 2 * bond)
    line = f"| {name} | {abs(found.value - truth) / n:.0e} | {found.gap / 2 / n:.0e} | {bond} "
    line += f"| {seconds:.2f} ({clock:.2f}) |"
    if n > 50_000:
        got, spent, waited = timed(lambda: tensor.marginals(model, threads=1))
        line += f" marginals: stated {got.error:.0e}, {spent:.0f} ({waited:.0f}) |"
    if ising and (size := round(n**0.5)) ** 2 == n and n <= 10_000:
        for peer in (contract, lambda model, bond: quimb_log_partition(model, (size, size), bond)):
            other, spent, _ = timed(lambda peer=peer: peer(model, PEER_BOND))
            line += " – |" if other is None else f" {abs(other - truth) / n:.0e}, {spent:.2f} |"
    if proofs and ising:
        sure, spent, _ = timed(lambda: tensor.log_partition(model, prove=True, threads=1))
        width = f"{sure.gap / 2:.1e}" if sure.proved else sure.status
        line += f" {width} | {spent:.1f} |"
    print(line, flush=True)


def growth() -> None:
    """Print what one contraction costs as rows and columns grow, at one bond dimension."""
    print("| rows | columns | s | MiB, more than at the start |")
    print("| --- | --- | --- | --- |")
    rng = np.random.default_rng(0)
    for rows, columns in ((50, 50), (100, 50), (200, 50), (400, 50), (100, 100), (200, 200)):
        right, down = (
            rng.uniform(-1, 1, (rows, columns - 1)),
            rng.uniform(-1, 1, (rows - 1, columns)),
        )
        model = pl.IsingModel.from_image(rng.uniform(-0.3, 0.3, (rows, columns)), right, down)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _, seconds, _ = timed(lambda model=model: contract(model, 24))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"| {rows} | {columns} | {seconds:.2f} | {grown:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="lattices of 10^5 spins, too")
    parser.add_argument("--proofs", action="store_true", help="proved widths, too")
    parser.add_argument("--growth", action="store_true", help="cost over rows and columns only")
    parser.add_argument("--only", default="", help="rows whose name has this text")
    options = parser.parse_args()
    if options.growth:
        growth()
        return
    quimb_log_partition(uniform(3, 0.5, 0.5), (3, 3), 4)  # imports and compiles
    peers = f"χ={PEER_BOND}: error, s | quimb, χ={PEER_BOND}: error, s"
    print(f"| model | error per spin | stated | bond | s (clock) | {peers} | proved ± | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, make in {**SMALL, **WIDE, **(LARGE if options.large else {})}.items():
        if options.only in name:
            show(name, make(), options.proofs)


if __name__ == "__main__":
    main()
