from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from helpers.command import planaris
from helpers.processes import ENVIRONMENT, lines, started, wait_until
from helpers.toy_figure import close_gate, runs
from planaris.experiments import FIGURES
from planaris.experiments.figures import ring_cost

TOY = """
from planaris.cli.main import run
from planaris.experiments import FIGURES
FIGURES["toy"] = "helpers.toy_figure"
run()
"""
COMMAND_WITH_TOY = [sys.executable, "-c", TOY, "reproduce", "toy", "--quick", "--jobs", "2"]


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def toy(tmp_path):
    """A folder to run in, and options of processes that run the toy figure there."""
    environment = ENVIRONMENT | {"TOY_FOLDER": str(tmp_path / "toy")}
    return tmp_path / "toy", {"cwd": tmp_path, "env": environment}


def stored(folder):
    return lines(folder / "report" / "results" / "toy.jsonl")


def wait_for_both_workers(process, folder, first):
    """Wait until both are at the gate, so that neither is still starting, and all else is told."""
    held = {first, first + 1}
    wait_until(lambda: held <= {seed for seed, _ in runs(folder)}, process)
    assert len({who for seed, who in runs(folder) if seed in held}) == 2


def test_lists_every_figure(tmp_path):
    out, _ = planaris("reproduce", "--list")
    assert all(name in out for name in FIGURES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [(), ("--all", "ring-cost"), ("nonsense",)])
def test_says_what_there_is(tmp_path, arguments):
    _, err = planaris("reproduce", *arguments, code=1)
    assert "ring-cost" in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def small_trials(settings):
    """Return the trials of every part of the figure that take no time."""
    most = {"ground-state": 32, "blossom": 64, "marginals": 64}
    return [t for t in ring_cost.trials(settings) if t["size"] <= most[t["part"]]]


def test_a_figure_of_a_paper_runs_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(ring_cost, "FIGURE", replace(ring_cost.FIGURE, trials=small_trials))
    out, err = planaris("reproduce", "ring-cost", "--quick", "--jobs", "2")
    assert err == ""
    assert "13/13" in out
    results = lines(tmp_path / "report" / "results" / "ring-cost.jsonl")
    assert len(results) == 13
    assert all(json.loads(line)["trial"]["figure"] == "ring-cost" for line in results)
    assert "Incomplete" not in (tmp_path / "report" / "index.html").read_text()


def test_an_interrupted_run_leaves_a_page_and_goes_on(tmp_path, toy):
    folder, options = toy
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    gate = close_gate(folder, 6)
    with started(COMMAND_WITH_TOY, **options) as process:
        wait_for_both_workers(process, folder, 6)
        wait_until(lambda: len(stored(tmp_path)) == 6, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
        _, errors = process.communicate()
    assert process.returncode == 130
    assert "planaris: interrupted" in errors
    assert "Traceback" not in errors
    before = stored(tmp_path)
    # A record that was not yet told to be on disk when the signal came is taken back.
    assert len(before) in (5, 6)
    assert f"Incomplete: {len(before)} of 12" in (tmp_path / "report" / "index.html").read_text()

    gate.unlink()
    done = subprocess.run(COMMAND_WITH_TOY, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "12/12" in done.stdout
    assert stored(tmp_path)[: len(before)] == before
    assert len(stored(tmp_path)) == 12
    assert "Incomplete" not in (tmp_path / "report" / "index.html").read_text()

    ran = runs(folder)
    assert subprocess.run(COMMAND_WITH_TOY, **options).returncode == 0
    assert len(stored(tmp_path)) == 12
    assert runs(folder) == ran  # nothing ran again


def test_a_terminal_gets_a_bar(toy):
    folder, options = toy
    close_gate(folder, 6)
    master, slave = pty.openpty()
    shown = b""
    with started(COMMAND_WITH_TOY, stdout=subprocess.DEVNULL, stderr=slave, **options):
        os.close(slave)
        while not (b"toy" in shown and b"6/12" in shown):  # as long as it takes
            shown += os.read(master, 100_000)
    os.close(master)
