"""A figure of cheap trials, for tests of the store and the runner; workers import it."""

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
    count, pause = int(os.environ.get("TOY_TRIALS", "12")), float(os.environ.get("TOY_PAUSE", "0"))
    return [{"seed": seed, "pause": pause} for seed in range(count)]


def run(params):
    log = os.environ.get("TOY_LOG")
    if log:  # who ran what: one line per run
        with Path(log).open("a") as file:
            file.write(f"{params['seed']} {os.getpid()}\n")
    time.sleep(params["pause"])
    if params["seed"] == int(os.environ.get("TOY_FAILS", "-1")):
        msg = "this one <fails>"
        raise ValueError(msg)
    if params.get("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    matrix = np.random.default_rng(params["seed"]).standard_normal((60, 60))
    return {"eigenvalues": np.linalg.eigvalsh(matrix @ matrix.T)}


def plot(results: list[Result]) -> Panels:
    figure, axes = new_figure(size=3)
    axes[0, 0].plot([result.record["eigenvalues"][-1] for result in results])
    return Panels(
        pictures=[Picture("Largest eigenvalues.", figure)],
        tables=[Table("Seeds", ("seed",), [[result.params["seed"]] for result in results])],
        verdicts=[Verdict("All are there.", f"{len(results)} are.", True)],
    )


FIGURE = Figure("toy", "A toy", "Nobody 2000", "It works.", 1, trials, run, plot)
