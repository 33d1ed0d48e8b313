"""Memory: what would not fit is refused before it is taken, under a hard limit of the system."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest

import planaris as pl
from planaris.errors import TooLargeError
from planaris.planar import plan
from planaris.selftest.interruptions.interrupts import cube, lattice

START = """
import json
import os
import resource
import sys
import traceback
import numpy as np
import planaris as pl
from planaris import IsingModel
from planaris.errors import TooLargeError
from planaris.selftest.interruptions.interrupts import cube, lattice
from planaris.reference import enumerate_states
from planaris.relax import entropy_bound

def small(model):
    return pl.ground_state(model).energy

def try_it(work, room):
    small(IsingModel([(0, 1)], [1.0]))
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + room, now + room))
    said = "done"
    try:
        exec(work, globals())
    except TooLargeError as error:
        said = error.bytes_needed
    assert small(IsingModel([(0, 1)], [1.0])) == -1.0
    return said

for name, (work, mebibytes) in json.loads(sys.argv[1]).items():
    child = os.fork()  # before any thread is started
    if child:
        os.waitpid(child, 0)
        continue
    try:
        print(json.dumps([name, try_it(work, mebibytes * 2**20)]), flush=True)
    except BaseException:
        print(name, file=sys.stderr)
        traceback.print_exc()
    os._exit(0)
"""

WORK = {
    "planar log Z": ("m = lattice(300); pl.log_partition(m, 'planar')", 60),
    "planar marginals": ("m = lattice(300); pl.marginals(m, 'planar')", 200),
    "planar samples": ("m = lattice(300); pl.sample(m, 1, 0, 'planar')", 200),
    "elimination": ("pl.log_partition(lattice(26, fields=True), 'treewidth')", 300),
    "elimination of labels": (
        "pl.ground_state(pl.MarkovRandomField.from_ising(cube(6)), 'treewidth')",
        300,
    ),
    "brute force": (
        "pl.log_partition(IsingModel([(k, k + 1) for k in range(17)], 1.0), 'brute-force')",
        20,
    ),
    "dense relaxation": ("entropy_bound(cube(14))", 150),
    "log determinant": ("pl.log_partition(cube(4), 'logdet')", 50),
}


@cache
def refusals() -> tuple[dict[str, int | str], str]:
    """Return how many bytes each piece of work asked for, each in a process, and what went wrong.

    One process imports everything, and is copied for every piece.
    """
    done = subprocess.run(
        [sys.executable, "-c", START, json.dumps(WORK)],
        capture_output=True,
        text=True,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"},
    )
    return dict(map(json.loads, done.stdout.splitlines())), done.stderr


@pytest.mark.parametrize("name", WORK)
def test_refused_before_it_is_taken(name):
    asked, errors = refusals()
    assert name in asked, errors
    assert int(asked[name]) > WORK[name][1] * 2**20 / 2


@pytest.mark.parametrize("task", ["log_partition", "marginals"])
def test_a_given_limit_counts(task):
    model = lattice(50)
    with pytest.raises(TooLargeError, match="memory_limit") as refusal:
        getattr(pl, task)(model, "planar", memory_limit=100_000)
    assert refusal.value.bytes_needed > 100_000
    with pytest.raises(TooLargeError):
        plan(model).sample(model.couplings, 1, None, memory_limit=100_000)
    with pytest.raises(TooLargeError):
        getattr(pl, task)(cube(5), "treewidth", memory_limit=100_000)


MEASURE = """
import json
import os
import resource
import sys
import numpy as np
import planaris as pl
from planaris.budget import Budget

asked = []
check = Budget.check_memory

def watched(budget, needed, *what):
    asked.append(needed)
    check(budget, needed, *what)

Budget.check_memory = watched
grown = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
calls = {
    "log Z": lambda plan, row: plan.log_partition(row, threads=1),
    "marginals": lambda plan, row: plan.marginals(row, threads=1),
    "proofs": lambda plan, row: plan.log_partition(row, prove=True, threads=1),
    "proved marginals": lambda plan, row: plan.marginals(row, prove=True, threads=1),
    "correlations": lambda plan, row: plan.correlations(row, [(0, 7)], threads=1),
    "samples": lambda plan, row: plan.sample(row, 1, 0, threads=1),
}
small, plan = (pl.plan(pl.generate.square_lattice(size)) for size in (4, 120))
rng = np.random.default_rng(0)
edges = plan.num_edges
rows = {"Gaussian": rng.normal(size=edges), "equal": rng.choice([-1.0, 1.0], edges)}
for call in calls.values():
    call(small, np.ones(small.num_edges))
for task, kind, beta in json.loads(sys.argv[1]):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    for call in calls.values():  # pages of libraries are mapped in every process anew
        call(small, np.ones(small.num_edges))
    asked.clear()
    before = grown()
    calls[task](plan, beta * rows[kind])
    print(json.dumps([f"{task}, {kind}, {beta}", grown() - before, max(asked)]), flush=True)
    os._exit(0)
"""

SPENT = [
    ("log Z", "Gaussian", 300.0),
    ("marginals", "Gaussian", 300.0),
    ("proofs", "Gaussian", 3.0),
    ("proved marginals", "Gaussian", 3.0),
    ("correlations", "Gaussian", 1.0),
    ("samples", "Gaussian", 300.0),
]
TWICE = [
    ("log Z", "equal", 10.0),
    ("marginals", "equal", 3.0),
    ("samples", "equal", 3.0),
    ("correlations", "Gaussian", 30.0),
]


def test_no_more_memory_is_taken_than_was_asked_for():
    """Cold planes take more than warm ones, double-double and equal couplings up to twice that."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, json.dumps(SPENT + TWICE)],
        capture_output=True,
        text=True,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"},
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(SPENT + TWICE), done.stderr
    for k, (name, taken, asked) in enumerate(found):
        assert taken <= asked * (1 if k < len(SPENT) else 2), name
        assert asked <= 4 * taken, name
