from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import psutil
import pytest

from helpers.processes import ENVIRONMENT, started, wait_until
from helpers.toy_figure import FIGURE, close_gate, runs
from helpers.trials import trials
from planaris.errors import ModelError
from planaris.experiments.figure import Settings, stable
from planaris.experiments.runner import run_figure, stored_results
from planaris.experiments.store import Store, encode, plain, trial_key
from planaris.selftest.interruptions import kills

SETTINGS = Settings()

WRITE = """
from pathlib import Path
import sys
from helpers.toy_figure import FIGURE
from planaris.experiments.store import Store
if __name__ == "__main__":
    for k in range(200):
        Store(Path(sys.argv[1])).append(FIGURE, {"writer": sys.argv[2], "k": k}, {"x": "y" * k})
"""


RUN = """
from pathlib import Path
import sys
from helpers.toy_figure import FIGURE
from planaris.experiments.figure import Settings
from planaris.experiments.runner import run_figure
from planaris.experiments.store import Store
if __name__ == "__main__":
    run_figure(FIGURE, Settings(), Store(Path(sys.argv[1])), jobs=int(sys.argv[2]))
"""


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def test_reads_back_what_was_appended(store):
    store.append(FIGURE, {"seed": 1}, {"x": np.float64(0.1), "spins": np.array([1, -1])})
    assert store.read(FIGURE) == {trial_key(FIGURE, {"seed": 1}): {"x": 0.1, "spins": [1, -1]}}
    assert Store(store.folder / "nothing").read(FIGURE) == {}


def test_the_key_covers_all_that_matters_and_not_the_place_of_a_file():
    key = trial_key(FIGURE, {"seed": 1})
    assert key != trial_key(FIGURE, {"seed": 2})
    assert key != trial_key(replace(FIGURE, version=2), {"seed": 1})
    assert key != trial_key(replace(FIGURE, name="other"), {"seed": 1})
    assert key == trial_key(FIGURE, {"seed": np.int64(1), "path": "/anywhere"})


@pytest.mark.parametrize("value", [float("nan"), np.inf, object()])
def test_refuses_what_json_cannot_say(store, value):
    with pytest.raises(ModelError, match="a trial must hold"):
        store.append(FIGURE, {"seed": 1}, {"deep": [{"x": value}]})
    assert store.read(FIGURE) == {}


@pytest.mark.parametrize(
    "value",
    [
        np.array([1, -1], dtype=np.int8),
        np.array([[0.5, -0.0], [1e30, 0.1]], dtype=np.float32),
        np.array([True, False]),
        np.array(["a", "b"]),
        np.array([1, "b", None], dtype=object),
        np.zeros((0, 3)),
        np.array(2**63, dtype=np.uint64),
    ],
)
def test_arrays_are_what_their_numbers_are_one_by_one(value):
    given = value.tolist()
    assert repr(plain(value)) == repr(plain(given))
    assert all(type(x) is not np.generic for x in np.ravel(np.array(plain(value), dtype=object)))


@pytest.mark.parametrize("value", [[1.0, np.nan], [[np.inf]], [-np.inf]])
def test_arrays_of_odd_numbers_are_refused(value):
    with pytest.raises(ModelError, match="a trial must hold finite numbers"):
        plain(np.array(value))


def test_a_record_cut_anywhere_is_left_out_and_the_next_one_is_not(store):
    for seed in range(2):
        store.append(FIGURE, {"seed": seed}, {"x": seed, "text": "ü\n"})
    whole = store.path(FIGURE.name).read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        store.path(FIGURE.name).write_bytes(whole[:length])
        assert [record["x"] for record in store.read(FIGURE).values()] == [0]
        store.append(FIGURE, {"seed": 2}, {"x": 2})
        # Without its newline alone a record is whole, once the next one has put it there.
        expected = [0, 1, 2] if length == len(whole) - 1 else [0, 2]
        assert [record["x"] for record in store.read(FIGURE).values()] == expected


def test_a_flipped_bit_is_noticed(store):
    store.append(FIGURE, {"seed": 0}, {"x": 0})
    whole = store.path(FIGURE.name).read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        store.path(FIGURE.name).write_bytes(damaged)
        assert store.read(FIGURE) == {}


def test_a_line_that_is_no_trial_is_left_out(store):
    store.folder.mkdir()
    store.path(FIGURE.name).write_bytes(b"\n\xff\xfe\n" + encode({"record": 1}) + b"{}\n[]\n")
    assert store.read(FIGURE) == {}


def test_two_writers_at_once(store):
    with ExitStack() as running:
        command = [sys.executable, "-c", WRITE, str(store.folder)]
        options = {"env": ENVIRONMENT, "stderr": subprocess.PIPE}
        for writer in [running.enter_context(started([*command, k], **options)) for k in "ab"]:
            _, errors = writer.communicate()
            assert writer.returncode == 0, errors
    assert len(store.read(FIGURE)) == 400
    assert len(store.path(FIGURE.name).read_bytes().splitlines()) == 400


def seeds(store):
    return {result.params["seed"] for result in stored_results(FIGURE, SETTINGS, store)[0]}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_kill_loses_the_trials_in_flight_and_nothing_else(jobs, store, tmp_path):
    folder = tmp_path / "folder"
    command = [sys.executable, "-c", RUN, str(store.folder), str(jobs)]
    environment = ENVIRONMENT | {"TOY_FOLDER": str(folder)}
    for first in (4, 8):
        gate, before = close_gate(folder, first), len(runs(folder))
        in_flight = set(range(first, first + jobs))
        with started(command, env=environment) as process:
            wait_until(
                lambda wanted=in_flight, ran=before: (
                    wanted <= {seed for seed, _ in runs(folder)[ran:]}
                ),
                process,
            )
            wait_until(lambda wanted=first: len(seeds(store)) == wanted, process)
            os.killpg(process.pid, signal.SIGKILL)
        assert seeds(store) == set(range(first))
    gate.unlink()
    subprocess.run(command, env=environment, check=True)
    ran = Counter(seed for seed, _ in runs(folder))
    assert ran == {seed: 2 if seed in (4, 5, 8, 9)[:: 3 - jobs] else 1 for seed in range(12)}
    alone = Store(tmp_path / "alone")
    run_figure(FIGURE, SETTINGS, alone)
    found, expected = (stored_results(FIGURE, SETTINGS, where)[0] for where in (store, alone))
    assert [stable(r.record) for r in found] == [stable(r.record) for r in expected]


def is_gone(process):
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_workers_end_with_the_run_that_started_them(store, tmp_path):
    folder = tmp_path / "folder"
    command = [sys.executable, "-c", RUN, str(store.folder), "2"]
    close_gate(folder, 0)  # all trials wait, for ever
    with started(command, env=ENVIRONMENT | {"TOY_FOLDER": str(folder)}) as process:
        wait_until(lambda: len(runs(folder)) == 2, process)
        process.kill()  # and not its group
        wait_until(lambda: all(is_gone(worker) for _, worker in runs(folder)))
    assert len({worker for _, worker in runs(folder)}) == 2


def test_kills_at_any_moment_lose_one_trial_at_most():
    count = trials(4, 20)
    assert list(kills.kill_runs(count, seed=1)) == [None] * (count + 1)


def test_what_a_kill_must_not_do_is_noticed(tmp_path, monkeypatch):
    assert kills._judge([], set(), set()) == "a run did nothing"
    assert kills._judge([3], {1, 2}, {1, 3}) == "1 stored trials were lost"
    assert kills._judge([2, 3], {1, 2}, {1, 2, 3}) == "1 stored trials ran again"
    assert kills._judge([3, 4, 5], {1}, {1}) == "3 trials of 3 were lost by one kill"
    kills.run_figure(kills.toy(tmp_path, 3), SETTINGS, Store(tmp_path))
    monkeypatch.setattr(kills, "run_toy", lambda params: {"eigenvalues": [0.0]})
    assert kills._compare(tmp_path, 3, 0) == "3 of 3 trials are stored, or their results differ"
    (tmp_path / "log").write_text("0\n" * 9)
    assert kills._compare(tmp_path, 3, 0) == "3 trials took 9 runs"


def test_a_full_disk_stops_the_run_and_leaves_all_before_it(store):
    for seed in range(3):
        store.append(FIGURE, {"seed": seed}, {"x": seed})
    whole = store.path(FIGURE.name).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel writes what fits, then refuses: a real short write.
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 40, hard))
    try:
        with pytest.raises(OSError, match=r"No space left|too large"):
            store.append(FIGURE, {"seed": 3}, {"x": 3})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.path(FIGURE.name).read_bytes() == whole
    store.append(FIGURE, {"seed": 3}, {"x": 3})
    assert len(store.read(FIGURE)) == 4


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root for a tmpfs")
def test_a_full_file_system(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs here: {mounted.stderr.strip()}")
    try:
        store = Store(disk / "results")
        with pytest.raises(OSError, match="No space left"):
            fill(store)
        kept = store.read(FIGURE)
        assert 20 < len(kept) < 70
        assert store.path(FIGURE.name).read_bytes().endswith(b"}\n")
    finally:
        subprocess.run(["umount", disk], check=True)


def fill(store):
    for seed in range(1000):
        store.append(FIGURE, {"seed": seed}, {"x": "x" * 999})
