"""The store of experiments, its writers killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from planaris.experiments.figure import Figure
from planaris.experiments.store import Store, trial_key

SCRIPT = "from planaris.selftest.interruptions.faults import main; main()"
"""For ``python -c``, with a folder and the number of a writer: append until killed."""


def toy() -> Figure:
    """Return a figure of trials that cost nothing."""
    from planaris.experiments import FIGURES, load_figure

    return load_figure(next(iter(FIGURES)))


def main() -> None:
    """Append records without end; tell of each on stdout once it is on disk."""
    store, figure = Store(Path(sys.argv[1])), toy()
    writer, k = int(sys.argv[2]), 0
    while True:
        store.append(figure, {"writer": writer, "k": k}, {"x": "y" * (k % 500)})
        sys.stdout.write(f"{k}\n")
        sys.stdout.flush()
        k += 1


def kill_writers(times: int, seed: int = 0) -> Iterator[str | None]:
    """Kill two writers of one store at random moments; yield what was lost or doubled."""
    rng = np.random.default_rng([seed, 13])
    figure = toy()
    with TemporaryDirectory() as name:
        folder = Path(name)
        for attempt in range(times):
            pair = [2 * attempt, 2 * attempt + 1]
            told = _run_until_killed(folder, pair, float(rng.uniform(0.0, 0.3)))
            if rng.random() < 0.3:
                _truncate(folder / f"{figure.name}.jsonl", int(rng.integers(1, 20)))
                told = [max(count - 1, 0) for count in told]  # the last record is gone
            held = Store(folder).read(figure)
            yield _missing(figure, held, pair, told)


def _run_until_killed(folder: Path, writers: list[int], delay: float) -> list[int]:
    """Return how many records each writer was told to be on disk."""
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    started = [
        subprocess.Popen([*command, str(writer)], stdout=subprocess.PIPE, text=True)
        for writer in writers
    ]
    for process in started:
        assert process.stdout is not None, "a pipe was asked for"
        process.stdout.readline()
    time.sleep(delay)
    told = []
    for process in started:
        os.kill(process.pid, signal.SIGKILL)
        rest = process.communicate()[0]
        whole = rest[: rest.rfind("\n") + 1]
        told.append(1 + whole.count("\n"))
    return told


def _truncate(path: Path, count: int) -> None:
    os.truncate(path, path.stat().st_size - count)


def _missing(
    figure: Figure, held: Mapping[str, object], pair: list[int], told: list[int]
) -> str | None:
    # A cut may take the last record of either writer, never more than one.
    lost = sum(
        trial_key(figure, {"writer": writer, "k": k}) not in held
        for writer, count in zip(pair, told, strict=True)
        for k in range(count)
    )
    return f"{lost} of {sum(told)} records were lost" if lost else None
