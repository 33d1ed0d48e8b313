from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time

import pytest

from helpers.command import COMMAND
from planaris.experiments import FIGURES

RING = ("reproduce", "ring-cost", "--quick", "--jobs", "2")


def planaris(*arguments, cwd, **options):
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def stored(folder):
    path = folder / "report" / "results" / "ring-cost.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def start(cwd, **options):
    return subprocess.Popen(
        [*COMMAND, *RING],
        cwd=cwd,
        start_new_session=True,
        **options,
    )


def wait_for_results(process, folder, count):
    end = time.monotonic() + 120
    while len(stored(folder)) < count:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


def test_lists_every_figure(tmp_path):
    done = planaris("reproduce", "--list", cwd=tmp_path)
    assert all(name in done.stdout for name in FIGURES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [(), ("--all", "ring-cost"), ("nonsense",)])
def test_says_what_there_is(tmp_path, arguments):
    done = planaris("reproduce", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "ring-cost" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_leaves_a_page_and_goes_on(tmp_path):
    process = start(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_results(process, tmp_path, 6)  # a worker that is still starting would say so
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "planaris: interrupted" in errors
    assert "Traceback" not in errors
    page = (tmp_path / "report" / "index.html").read_text()
    before = stored(tmp_path)
    assert f"Incomplete: {len(before)} of 18" in page

    done = planaris(*RING, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "18/18" in done.stdout
    assert stored(tmp_path)[: len(before)] == before
    assert len(stored(tmp_path)) == 18
    assert all(json.loads(line)["trial"]["figure"] == "ring-cost" for line in stored(tmp_path))
    assert "Incomplete" not in (tmp_path / "report" / "index.html").read_text()

    started = time.monotonic()
    assert planaris(*RING, cwd=tmp_path).returncode == 0
    assert time.monotonic() - started < 30
    assert len(stored(tmp_path)) == 18


def test_a_terminal_gets_a_bar(tmp_path):
    master, slave = pty.openpty()
    process = start(tmp_path, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    wait_for_results(process, tmp_path, 1)
    time.sleep(0.5)
    shown = os.read(master, 100_000).decode(errors="replace")  # may end within a letter
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    os.close(master)
    assert "ring-cost" in shown
    assert "/18" in shown
