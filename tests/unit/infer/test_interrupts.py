"""Ctrl-C: any kernel ends, and the process goes on. How soon: ``planaris selftest`` measures."""

from __future__ import annotations

import subprocess
import sys

import pytest

import planaris as pl
from helpers.clocks import InterruptingClock
from helpers.processes import ENVIRONMENT
from planaris.budget import use_clock
from planaris.selftest.interruptions.interrupts import SCRIPT, WORK, cube, lattice


@pytest.mark.parametrize("work", WORK)
def test_a_signal_ends_the_work(work):
    # The work is repeated until the signal comes, and the process is used again after it.
    command = [sys.executable, "-c", SCRIPT, work, "0.2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("interrupted ")


@pytest.mark.parametrize(
    ("verb", "method", "make"),
    [
        ("ground_state", "planar", lambda: lattice(12)),
        ("log_partition", "planar", lambda: lattice(12)),
        ("marginals", "planar", lambda: lattice(8)),
        ("log_partition", "treewidth", lambda: lattice(5, fields=True)),
        ("marginals", "treewidth", lambda: lattice(5, fields=True)),
        ("ground_state", "branch-and-cut", lambda: cube(3)),
        ("ground_state", "cycle-lp", lambda: cube(3)),
        ("ground_state", "mplp", lambda: cube(3)),
        ("log_partition", "pdc", lambda: cube(3)),
        ("log_partition", "mean-field", lambda: cube(3)),
    ],
)
def test_no_look_at_the_clock_follows_a_signal(verb, method, make):
    model = make()
    for at in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89):
        with use_clock(InterruptingClock(at)) as clock:
            try:
                getattr(pl, verb)(model, method, time_limit=1e6)
            except KeyboardInterrupt:
                assert clock.after == 0
            else:
                assert clock.looks < at
    again = pl.ground_state(pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0]))
    assert again.energy == -4.0


INTERRUPTED = """
from helpers.clocks import InterruptingClock
from planaris.budget import use_clock
from planaris.cli.main import run
with use_clock(InterruptingClock(4)):
    run()
"""


def test_the_command_line_says_so_in_one_line(tmp_path):
    from planaris.io import write_uai
    from planaris.models import MarkovRandomField

    path = tmp_path / "model.uai"
    write_uai(MarkovRandomField.from_ising(cube(6)), path)
    command = [sys.executable, "-c", INTERRUPTED, "map", str(path), "--method", "branch-and-cut"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr == "planaris: interrupted\n"
