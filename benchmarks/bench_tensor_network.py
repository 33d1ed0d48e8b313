"""Estimates and proofs by tensor networks: errors, stated errors, proved widths, time.

    python benchmarks/bench_tensor_network.py [--only TEXT] [--large] [--proofs] [--peers]
    python benchmarks/bench_tensor_network.py --growth | --threads

Makes the tables of docs/theory/tensor-network.md: every line is a call with default settings. Times
are of the processor (all threads together), then on the clock: on a busy machine the first holds.
Where elimination fits it gives the truth, elsewhere a contraction with twice the bond and pivots
down to 1e-14 does. ``--peers`` contracts the same lattices once at one bond dimension, and so does
quimb, where it is installed (``pip install quimb``). ``--threads`` tells what a second thread gains
from the time that each of two has worked.
"""

from __future__ import annotations

import argparse
import functools
import resource
import time

import numpy as np

import planaris as pl
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
    found = run.contract(Accuracy(bond), run.budget, run.sweep.program)
    return found.log_partition + run.network.constant


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


def estimate(model) -> str:
    """Return the columns of the estimate: its error, its stated error, the bond and the time."""
    n = num_variables(model)
    try:
        found, seconds, clock = timed(lambda: pl.log_partition(model, "tensor-network"))
    except pl.PlanarisError as error:
        return f" refused: {error} | – | – | – |"
    bond = found.stats["bond"]
    error = abs(found.value - truth_of(model, bond)) / n
    return f" {error:.0e} | {found.gap / 2 / n:.0e} | {bond} | {seconds:.2f} ({clock:.2f}) |"


def proof(model) -> str:
    """Return the columns of the proof: half of the width, and the time."""
    sure, seconds, clock = timed(lambda: pl.log_partition(model, "tensor-network", prove=True))
    width = f"{sure.gap / 2:.1e}" if sure.proved else sure.status
    return f" {width} | {seconds:.1f} ({clock:.1f}) |"


def peers(model) -> str:
    """Return error and time of a contraction at one bond dimension, and of quimb's."""
    n, line = num_variables(model), ""
    size = round(n**0.5)
    exact = truth_of(model, 2 * PEER_BOND)
    for peer in (contract, lambda model, bond: quimb_log_partition(model, (size, size), bond)):
        other, spent, _ = timed(lambda peer=peer: peer(model, PEER_BOND))
        line += " – |" if other is None else f" {abs(other - exact) / n:.0e}, {spent:.2f} |"
    return line


def all_marginals(model) -> str:
    """Return the stated error of all marginals, and the time."""
    found, seconds, clock = timed(lambda: pl.marginals(model, "tensor-network"))
    return f" marginals: {found.error:.0e} (stated), {seconds:.1f} ({clock:.1f}) |"


@functools.cache
def truth_of(model, bond: int) -> float:
    """Return log Z by elimination, or by a contraction with twice the bond."""
    if isinstance(model, pl.IsingModel) and model.num_spins <= 400:
        return pl.log_partition(model, "treewidth").value
    return contract(model, 2 * bond)


def num_variables(model) -> int:
    return model.num_spins if isinstance(model, pl.IsingModel) else model.num_variables


def show(name: str, model, options: argparse.Namespace) -> None:
    """Print the line of a model."""
    spins = isinstance(model, pl.IsingModel)
    print(f"| {name} |{estimate(model)}", end="", flush=True)
    if num_variables(model) > 200_000:
        print(all_marginals(model), end="", flush=True)
    if options.peers and spins and num_variables(model) <= 10_000:
        print(peers(model), end="", flush=True)
    if options.proofs and spins:
        print(proof(model), end="", flush=True)
    print(flush=True)


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


def share_of_threads() -> None:
    """Print how long the busier of two threads works, relative to one thread that does it all."""
    print("| model | task | one thread, s | two: all, s | two: the caller's, s |")
    print("| --- | --- | --- | --- | --- |")
    for name in ("100², U(1), U(.3)", "100², U(1.5), U(.5)", "50², U(2), U(.5)"):
        model = WIDE[name]()
        for prove in (False, True):
            line = f"| {name} | {'proof' if prove else 'estimate'} |"
            for threads in (1, 2):
                own = time.thread_time()
                _, seconds, _ = timed(
                    lambda model=model, prove=prove, threads=threads: pl.log_partition(
                        model, "tensor-network", prove=prove, threads=threads
                    )
                )
                line += f" {seconds:.2f} |"
            print(f"{line} {time.thread_time() - own:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name has this text")
    parser.add_argument("--large", action="store_true", help="lattices of 10^5 spins, too")
    parser.add_argument("--proofs", action="store_true", help="proved widths, too")
    parser.add_argument("--peers", action="store_true", help="one bond dimension, and quimb")
    parser.add_argument("--growth", action="store_true", help="cost over rows and columns only")
    parser.add_argument("--threads", action="store_true", help="gain of a second thread only")
    options = parser.parse_args()
    if options.growth:
        growth()
        return
    if options.threads:
        share_of_threads()
        return
    small = uniform(3, 0.5, 0.5)
    pl.log_partition(small, "tensor-network")  # imports
    if options.peers:
        quimb_log_partition(small, (3, 3), 4)  # imports and compiles
    head = "| model | error per spin | stated | bond | s (clock) |"
    if options.peers:
        head += f" χ={PEER_BOND}: error, s | quimb, χ={PEER_BOND}: error, s |"
    if options.proofs:
        head += " proved ± | s (clock) |"
    print(head)
    print("|" + " --- |" * (head.count("|") - 1))
    for name, make in {**SMALL, **WIDE, **(LARGE if options.large else {})}.items():
        if options.only in name:
            show(name, make(), options)


if __name__ == "__main__":
    main()
