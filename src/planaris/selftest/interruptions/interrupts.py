"""Ctrl-C in the middle of each kernel, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from planaris.generate import square_lattice
from planaris.infer import ground_state, log_partition, marginals, sample
from planaris.models import IsingModel

SCRIPT = "from planaris.selftest.interruptions.interrupts import main; main()"
"""For ``python -c``, with the name of the work and the seconds before the signal."""


def lattice(n: int, *, fields: bool = False, seed: int = 0) -> IsingModel:
    """Return a Gaussian spin glass."""
    grid, rng = square_lattice(n, n), np.random.default_rng(seed)
    h = rng.normal(size=n * n) if fields else None
    return IsingModel(grid.edges, rng.normal(size=len(grid.edges)), h)


def cube(n: int, *, seed: int = 0) -> IsingModel:
    """Return a spin glass with fields in three dimensions."""
    place, rng = np.arange(n**3).reshape(n, n, n), np.random.default_rng(seed)
    ends = [
        np.stack([np.take(place, range(n - 1), k), np.take(place, range(1, n), k)], -1)
        for k in range(3)
    ]
    edges = np.concatenate([pair.reshape(-1, 2) for pair in ends])
    return IsingModel(edges, rng.normal(size=len(edges)), rng.normal(size=n**3))


Work = tuple[Callable[[], IsingModel], Callable[[IsingModel], Any]]
WORK: dict[str, Work] = {
    "matching": (lambda: lattice(1000), lambda m: [ground_state(m, "planar") for _ in range(9)]),
    "planar log Z": (lambda: lattice(1000), lambda m: log_partition(m, "planar")),
    "planar marginals": (lambda: lattice(500), lambda m: marginals(m, "planar")),
    "planar samples": (lambda: lattice(100), lambda m: sample(m, 10**5, 0, "planar")),
    "elimination": (
        lambda: lattice(26, fields=True),
        lambda m: log_partition(m, "treewidth", memory_limit=2**40),
    ),
    "branch and cut": (lambda: cube(12), lambda m: ground_state(m, "branch-and-cut")),
    "cycle relaxation": (lambda: cube(20), lambda m: ground_state(m, "cycle-lp")),
    "bounds": (lambda: cube(12), lambda m: log_partition(m, "pdc")),
}
"""Models and work on them that takes much longer than the signal."""


def interrupt(name: str, delay: float) -> float:
    """Start work in this process and interrupt it; return how long it went on."""
    make, work = WORK[name]
    model, sent = make(), [0.0, 0.0]

    def send() -> None:
        time.sleep(delay)
        sent[:] = time.monotonic(), time.process_time()
        os.kill(os.getpid(), signal.SIGINT)

    try:
        threading.Thread(target=send, daemon=True).start()  # inside: it may be quicker than we are
        while True:  # a quick machine works until the signal comes, too
            work(model)
    except KeyboardInterrupt:
        # On a busy machine the time of the process says more than the wall clock.
        return min(time.monotonic() - sent[0], time.process_time() - sent[1])


def main() -> None:
    """Interrupt the work named on the command line, then use the process again."""
    # What a shell starts in the background ignores the signal, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seconds = interrupt(sys.argv[1], float(sys.argv[2]))
    again = ground_state(IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0]))
    assert again.energy == -4.0, "the process is of no more use"
    sys.stdout.write(f"interrupted {seconds:.3f}\n")


def in_a_process(name: str, delay: float) -> str | None:
    """Interrupt work in a new process; return what was wrong."""
    command = [sys.executable, "-c", SCRIPT, name, str(delay)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired as late:
        said = (late.stderr or b"").decode(errors="replace").strip().splitlines()[-1:]
        return f"{name}: went on for 300 s after a signal at {delay} s {said}"
    if done.returncode != 0:
        return f"{name}: {done.stderr.strip().splitlines()[-1:]}"
    _, seconds = done.stdout.split()
    if float(seconds) > 1.0:
        return f"{name}: ended {seconds} s after the signal"
    return None
