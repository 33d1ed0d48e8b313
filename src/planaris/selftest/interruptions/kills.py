"""A run of experiments, killed at random moments and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from planaris.experiments.figure import Figure, Params, Record, Settings, stable
from planaris.experiments.runner import run_figure, stored_results
from planaris.experiments.store import Store
from planaris.report.parts import Panels

SCRIPT = "from planaris.selftest.interruptions.kills import main; main()"
"""For ``python -c``, with a folder and a number of trials: run to the end."""
PAUSE = 0.01
TRIALS = 20
"""New ones for every run, so that each has some left to do."""
LATEST = 0.2
"""Seconds between the first trial of a run and its kill, at most."""


def toy(folder: Path, trials: int, pause: float = PAUSE) -> Figure:
    """Return a figure of cheap trials that note each run in a file of the folder."""
    log = str(folder / "log")
    # What is called `path` is no part of the key of a trial.
    params = [{"seed": seed, "pause": pause, "path": log} for seed in range(trials)]
    return Figure("toy", "", "", "", 1, lambda settings: params, run_toy, lambda results: Panels())


def run_toy(params: Params) -> Record:
    """Note the run, take a moment, and return numbers of which every bit counts."""
    with Path(params["path"]).open("a", encoding="utf-8") as file:
        file.write(f"{params['seed']}\n")
    time.sleep(params["pause"])
    matrix = np.random.default_rng(params["seed"]).standard_normal((30, 30))
    return {"eigenvalues": np.linalg.eigvalsh(matrix @ matrix.T)}


def main() -> None:
    """Run what is left of the trials."""
    folder, trials = Path(sys.argv[1]), int(sys.argv[2])
    run_figure(toy(folder, trials), Settings(), Store(folder))


def kill_runs(times: int, seed: int = 0) -> Iterator[str | None]:
    """Kill a run at random moments, resume it each time; yield what was lost or done again.

    The last finding, one more than the kills, is of the whole: all trials are there, and the
    results are those of a run that nobody disturbed.
    """
    rng = np.random.default_rng([seed, 14])
    with TemporaryDirectory() as name:
        folder = Path(name)
        store, trials = Store(folder), 0
        (folder / "log").touch()
        for _ in range(times):
            trials += TRIALS
            figure = toy(folder, trials)
            before, stored = len(_log(folder)), _stored(figure, store)
            process = _start(folder, trials)
            _wait(folder, before, process)
            time.sleep(float(rng.uniform(0.0, LATEST)))
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            yield _judge(_log(folder)[before:], stored, _stored(figure, store))
        trials += TRIALS
        errors = _start(folder, trials).communicate()[1]
        yield f"the last run: {errors[-300:]}" if errors else _compare(folder, trials, times)


def _start(folder: Path, trials: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(folder), str(trials)]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)


def _log(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "log").read_text(encoding="utf-8").splitlines()]


def _stored(figure: Figure, store: Store) -> set[int]:
    return {result.params["seed"] for result in stored_results(figure, Settings(), store)[0]}


def _wait(folder: Path, before: int, process: subprocess.Popen[str]) -> None:
    """Wait for the first trial of a run."""
    while len(_log(folder)) <= before and process.poll() is None:
        time.sleep(0.005)


def _judge(ran: list[int], before: set[int], after: set[int]) -> str | None:
    if not ran:
        return "a run did nothing"
    if not before <= after:
        return f"{len(before - after)} stored trials were lost"
    if before & set(ran):
        return f"{len(before & set(ran))} stored trials ran again"
    lost = len(set(ran) - after)
    return f"{lost} trials of {len(ran)} were lost by one kill" if lost > 1 else None


def _compare(folder: Path, trials: int, kills: int) -> str | None:
    """Compare with a run of its own that nobody disturbs; its trials do not wait."""
    runs = len(_log(folder))
    if runs > trials + kills:
        return f"{trials} trials took {runs} runs"
    alone = folder / "alone"
    alone.mkdir()
    run_figure(toy(alone, trials, pause=0.0), Settings(), Store(alone))
    found, expected = _numbers(folder, trials, PAUSE), _numbers(alone, trials, 0.0)
    if len(found) != trials or found != expected:
        return f"{len(found)} of {trials} trials are stored, or their results differ"
    return None


def _numbers(folder: Path, trials: int, pause: float) -> list[Record]:
    results, _ = stored_results(toy(folder, trials, pause), Settings(), Store(folder))
    return [stable(result.record) for result in results]
