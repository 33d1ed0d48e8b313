"""A figure of cheap trials, for tests of the store and the runner; workers import it.

With the environment variable ``TOY_FOLDER`` a trial notes who ran it in the file ``log`` there, and
waits while there is a file ``gate`` with a number no larger than its seed.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from planaris.experiments.figure import Figure, Result, Settings
from planaris.report.parts import Panels, Picture, Table, Verdict
from planaris.report.pictures import new_figure


def trials(settings: Settings):
    count, folder = int(os.environ.get("TOY_TRIALS", "12")), os.environ.get("TOY_FOLDER")
    # What is called `path` is no part of the key of a trial.
    return [{"seed": seed} | ({"path": folder} if folder else {}) for seed in range(count)]


def close_gate(folder: Path, seed: int) -> Path:
    """Let the trials from a seed on wait until the file that is returned is gone."""
    folder.mkdir(exist_ok=True)
    new, gate = folder / "new", folder / "gate"
    new.write_text(str(seed))
    return new.rename(gate)


def _waits(folder: Path, seed: int) -> bool:
    try:
        return seed >= int((folder / "gate").read_text())
    except FileNotFoundError:
        return False


def run(params):
    if "path" in params:
        folder = Path(params["path"])
        with (folder / "log").open("a") as file:
            file.write(f"{params['seed']} {os.getpid()}\n")
        while _waits(folder, params["seed"]):
            time.sleep(0.005)
    if params["seed"] == int(os.environ.get("TOY_FAILS", "-1")):
        msg = "this one <fails>"
        raise ValueError(msg)
    if params.get("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    matrix = np.random.default_rng(params["seed"]).standard_normal((60, 60))
    return {"eigenvalues": np.linalg.eigvalsh(matrix @ matrix.T)}


def runs(folder: Path) -> list[tuple[int, int]]:
    """Return (seed, process) of every run that was noted."""
    log = folder / "log"
    whole = log.read_text().rpartition("\n")[0] if log.exists() else ""
    return [(int(line.split()[0]), int(line.split()[1])) for line in whole.splitlines()]


def plot(results: list[Result]) -> Panels:
    figure, axes = new_figure(size=3)
    axes[0, 0].plot([result.record["eigenvalues"][-1] for result in results])
    return Panels(
        pictures=[Picture("Largest eigenvalues.", figure)],
        tables=[Table("Seeds", ("seed",), [[result.params["seed"]] for result in results])],
        verdicts=[Verdict("All are there.", f"{len(results)} are.", True)],
    )


FIGURE = Figure("toy", "A toy", "Nobody 2000", "It works.", 1, trials, run, plot)
