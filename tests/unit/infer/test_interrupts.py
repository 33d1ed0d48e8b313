"""Ctrl-C: any kernel ends within a second, and the process goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from planaris.selftest.interrupts import SCRIPT, WORK

PATIENCE = 1.0
"""Seconds of work after the signal; on a busy machine the wall clock runs faster."""


@pytest.mark.parametrize("work", WORK)
def test_a_signal_ends_the_work(work):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, work, "1.0"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    kind, seconds = done.stdout.split()
    assert kind == "interrupted", done.stdout
    assert float(seconds) <= PATIENCE


def test_the_command_line_says_so_in_one_line(tmp_path):
    from planaris.io import write_uai
    from planaris.models import MarkovRandomField
    from planaris.selftest.interrupts import cube

    path = tmp_path / "model.uai"
    write_uai(MarkovRandomField.from_ising(cube(12)), path)
    code = "from planaris.cli.main import run; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "map", str(path), "--method", "branch-and-cut"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3.0)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err == "planaris: interrupted\n"
