from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest

from helpers.processes import ENVIRONMENT, started, wait_until
from helpers.toy_figure import FIGURE, close_gate, runs
from planaris.budget import UNLIMITED, team, use_threads
from planaris.errors import MethodError, MissingExtraError
from planaris.experiments.engine import engine
from planaris.experiments.figure import Settings, file_params, stable
from planaris.experiments.runner import run_figure, run_trial, stored_results
from planaris.experiments.store import Store

SETTINGS = Settings()


def comparable(store, figure=FIGURE):
    results, total = stored_results(figure, SETTINGS, store)
    assert len(results) == total
    return [(params, stable(record)) for params, record in results]


@pytest.fixture
def serial(tmp_path):
    store = Store(tmp_path / "serial")
    outcome = run_figure(FIGURE, SETTINGS, store)
    assert (outcome.stored, outcome.run, outcome.failures) == (0, 12, [])
    return comparable(store)


def test_a_second_run_does_nothing(tmp_path, serial):
    told = []
    outcome = run_figure(FIGURE, SETTINGS, Store(tmp_path / "serial"), report=told.append)
    assert (outcome.stored, outcome.run) == (12, 0)
    assert [(progress.done, progress.total) for progress in told] == [(12, 12)]


@pytest.mark.parametrize("jobs", [2, 3])
def test_any_number_of_processes_gives_the_same(tmp_path, serial, jobs):
    store = Store(tmp_path / "parallel")
    run_figure(FIGURE, SETTINGS, store, jobs=jobs)
    assert comparable(store) == serial


def test_a_new_version_runs_again(tmp_path, serial):
    outcome = run_figure(replace(FIGURE, version=2), SETTINGS, Store(tmp_path / "serial"))
    assert outcome.run == 12


def test_a_failing_trial_does_not_stop_the_others_and_is_tried_again(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setenv("TOY_FAILS", "4")
    outcome = run_figure(FIGURE, SETTINGS, store)
    assert outcome.run == 11
    assert [(params["seed"], error) for params, error in outcome.failures] == [
        (4, "ValueError: this one <fails>")
    ]
    monkeypatch.delenv("TOY_FAILS")
    assert run_figure(FIGURE, SETTINGS, store).run == 1


def test_a_worker_that_dies_stops_the_run_with_what_came_before_stored(tmp_path):
    folder = tmp_path / "folder"
    trials = [{"seed": seed, "dies": seed == 9, "path": str(folder)} for seed in range(12)]
    figure = replace(FIGURE, trials=lambda settings: trials)
    gate = close_gate(folder, 9)

    def open_gate(progress):
        if progress.done:
            gate.unlink(missing_ok=True)

    with pytest.raises(MethodError, match="a worker process died"):
        run_figure(figure, SETTINGS, Store(tmp_path), jobs=2, report=open_gate)
    results, total = stored_results(figure, SETTINGS, Store(tmp_path))
    assert 1 <= len(results) < total


def test_a_cluster_needs_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="extra 'distributed'"):
        run_figure(FIGURE, SETTINGS, Store(tmp_path), scheduler="tcp://127.0.0.1:1")


def test_trials_run_on_one_thread():
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads(params):
        libraries = [pool["num_threads"] for pool in threadpool_info()]
        return {"threads": [*libraries, UNLIMITED.workers(), team(None)[0]]}

    with threadpool_limits(2), use_threads(2):
        assert {2} == set(threads({})["threads"])
        _, record, _ = run_trial(threads, {})
    assert record is not None
    assert set(record["threads"]) <= {1}
    assert record["seconds"] >= 0


def test_a_worker_with_other_code_is_refused():
    version, _, _ = engine().partition("+")
    with pytest.raises(MethodError, match="install the same there"):
        run_trial(FIGURE.run, {"seed": 0}, 0, f"{version}+other.core")


def test_a_file_counts_by_its_contents(tmp_path):
    (tmp_path / "a").write_text("x")
    first = file_params(tmp_path / "a")
    assert first["file"] == "a"
    (tmp_path / "a").write_text("y")
    assert file_params(tmp_path / "a")["sha256"] != first["sha256"]


@pytest.fixture
def cluster(tmp_path):
    """Start Dask processes by hand: ``cluster(workers)`` starts a scheduler and workers again."""
    pytest.importorskip("distributed")
    running = ExitStack()

    def start(name, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *options, "--no-dashboard"]
        return running.enter_context(started(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL))

    def restart(workers):
        running.close()
        told = tmp_path / "scheduler.json"
        told.unlink(missing_ok=True)
        options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told))
        scheduler = start("scheduler", *options)
        wait_until(lambda: address(told) is not None, scheduler)
        for _ in range(workers):
            options = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0")
            start("worker", address(told), *options)
        return scheduler, address(told)

    with running:
        yield restart


def address(told):
    """Return what a scheduler wrote about itself once it listens; None before."""
    try:
        return json.loads(told.read_text())["address"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_scheduler_that_is_lost_is_named_and_the_next_run_goes_on(
    tmp_path, monkeypatch, cluster, workers
):
    folder = tmp_path / "folder"
    monkeypatch.setenv("TOY_TRIALS", "20")
    monkeypatch.setenv("TOY_FOLDER", str(folder))
    gate = close_gate(folder, 10)  # so that some trials are left
    scheduler, where = cluster(workers)

    def kill(progress):
        if progress.done >= 5:
            scheduler.kill()

    store = Store(tmp_path / "cluster")
    with pytest.raises(MethodError, match=f"scheduler at {where} was lost"):
        run_figure(FIGURE, SETTINGS, store, scheduler=where, report=kill)
    results, total = stored_results(FIGURE, SETTINGS, store)
    stored = {result.params["seed"] for result in results}
    assert 5 <= len(stored) <= 10 < total == 20
    assert len(store.path(FIGURE.name).read_bytes().splitlines()) == len(stored)
    _, where = cluster(workers)
    ran = runs(folder)
    gate.unlink()
    outcome = run_figure(FIGURE, SETTINGS, store, scheduler=where)
    assert (outcome.stored, outcome.run, outcome.failures) == (len(stored), 20 - len(stored), [])
    again = runs(folder)[len(ran) :]
    assert not stored & {seed for seed, _ in again}, "a stored trial ran again"
    everywhere = {process for _, process in runs(folder)}
    assert os.getpid() not in everywhere, "a trial ran here, not on the cluster"
    run_figure(FIGURE, SETTINGS, Store(tmp_path / "serial"))
    assert comparable(store) == comparable(Store(tmp_path / "serial"))


@pytest.mark.filterwarnings("default")
def test_no_scheduler_at_an_address(tmp_path):
    pytest.importorskip("distributed")
    import dask

    with (
        socket.socket() as silent,  # bound, so that nobody else listens there
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
    ):
        silent.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(MethodError, match=f"no Dask scheduler answers at {nobody}"):
            run_figure(FIGURE, SETTINGS, Store(tmp_path), scheduler=nobody)
    with pytest.raises(MethodError, match="no Dask scheduler answers at nowhere://"):
        run_figure(FIGURE, SETTINGS, Store(tmp_path), scheduler="nowhere://127.0.0.1:9")


@pytest.mark.filterwarnings("default")
def test_a_trial_that_kills_its_workers_is_told(tmp_path, cluster, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    folder = tmp_path / "folder"
    trials = [{"seed": seed, "dies": seed == 2, "path": str(folder)} for seed in range(3)]
    figure = replace(FIGURE, trials=lambda settings: trials)
    gate = close_gate(folder, 2)

    def open_gate(progress):  # until then the worker holds results that nobody has fetched
        if progress.done == 2:
            gate.unlink()

    _, where = cluster(1)
    with pytest.raises(MethodError, match="took several workers of tcp://"):
        run_figure(figure, SETTINGS, Store(tmp_path), scheduler=where, report=open_gate)
    assert len(stored_results(figure, SETTINGS, Store(tmp_path))[0]) == 2


@pytest.mark.filterwarnings("default")
def test_a_cluster_that_loses_a_worker_gives_the_same(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    folder = tmp_path / "folder"
    monkeypatch.setenv("TOY_TRIALS", "30")
    monkeypatch.setenv("TOY_FOLDER", str(folder))
    gate = close_gate(folder, 20)  # the last trials wait for the kill
    ended = threading.Event()
    store = Store(tmp_path / "cluster")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # a port that the system chooses
            memory_limit=0,  # whatever else runs on the machine
        ) as cluster,
        ThreadPoolExecutor(1) as pool,
    ):
        one = cluster.workers[0].pid

        def kill_one() -> bool:
            # By itself: where one worker is slow to start, all trials may wait, and none reports.
            wait_until(lambda: ended.is_set() or one in {process for _, process in runs(folder)})
            early = not ended.is_set()
            os.kill(one, signal.SIGKILL)
            gate.unlink()
            return early

        killed = pool.submit(kill_one)
        try:
            outcome = run_figure(FIGURE, SETTINGS, store, scheduler=cluster.scheduler_address)
        finally:
            ended.set()
        assert killed.result()
    assert len({process for _, process in runs(folder)}) >= 2
    assert (outcome.run, outcome.failures) == (30, [])
    run_figure(FIGURE, SETTINGS, Store(tmp_path / "serial"))
    assert comparable(store) == comparable(Store(tmp_path / "serial"))
