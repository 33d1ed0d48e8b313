from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.toy_figure import FIGURE
from planaris.errors import MethodError, MissingExtraError
from planaris.experiments.engine import engine
from planaris.experiments.figure import Settings, file_params, stable
from planaris.experiments.runner import run_figure, run_trial, stored_results
from planaris.experiments.store import Store

SETTINGS = Settings()
TESTS = Path(__file__).parents[2]


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
    trials = [{"seed": seed, "pause": 0.05, "dies": seed == 9} for seed in range(12)]
    figure = replace(FIGURE, trials=lambda settings: trials)
    with pytest.raises(MethodError, match="a worker process died"):
        run_figure(figure, SETTINGS, Store(tmp_path), jobs=2)
    results, total = stored_results(figure, SETTINGS, Store(tmp_path))
    assert 1 <= len(results) < total


def test_a_cluster_needs_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"planaris\[distributed\]"):
        run_figure(FIGURE, SETTINGS, Store(tmp_path), scheduler="tcp://127.0.0.1:1")


def test_trials_run_on_one_thread():
    def threads(params):
        from threadpoolctl import threadpool_info

        return {"threads": [pool["num_threads"] for pool in threadpool_info()]}

    _, record, _ = run_trial(threads, {})
    assert record is not None
    assert set(record["threads"]) <= {1}
    assert record["seconds"] >= 0


def test_a_worker_with_other_code_is_refused():
    version, _, _ = engine().partition("+")
    with pytest.raises(MethodError, match="install the same there"):
        run_trial(FIGURE.run, {"seed": 0, "pause": 0}, 0, f"{version}+other.core")


def test_a_file_counts_by_its_contents(tmp_path):
    (tmp_path / "a").write_text("x")
    first = file_params(tmp_path / "a")
    assert first["file"] == "a"
    (tmp_path / "a").write_text("y")
    assert file_params(tmp_path / "a")["sha256"] != first["sha256"]


@pytest.fixture
def cluster(monkeypatch):
    """Start Dask processes by hand: ``cluster(workers)`` starts a scheduler and workers again."""
    pytest.importorskip("distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    started = []

    def start(name, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *options, "--no-dashboard"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        started.append(process)
        return process

    def restart(workers):
        for process in started:
            process.kill()
            process.wait()
        started.clear()
        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", address.rsplit(":")[-1])
        for _ in range(workers):
            start("worker", address, "--nthreads", "1", "--no-nanny", "--death-timeout", "60")
        return scheduler

    restart.address = address
    yield restart
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_scheduler_that_is_lost_is_named_and_the_next_run_goes_on(
    tmp_path, monkeypatch, cluster, workers
):
    monkeypatch.setenv("TOY_PAUSE", "0.1")
    monkeypatch.setenv("TOY_TRIALS", "20")
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    scheduler = cluster(workers)

    def kill(progress):
        if progress.done >= 5:
            scheduler.kill()

    store = Store(tmp_path / "cluster")
    with pytest.raises(MethodError, match=f"scheduler at {cluster.address} was lost"):
        run_figure(FIGURE, SETTINGS, store, scheduler=cluster.address, report=kill)
    results, total = stored_results(FIGURE, SETTINGS, store)
    stored = {result.params["seed"] for result in results}
    assert 5 <= len(stored) < total == 20
    assert len(store.path(FIGURE.name).read_bytes().splitlines()) == len(stored)
    ran = log.read_text().splitlines()
    cluster(workers)
    outcome = run_figure(FIGURE, SETTINGS, store, scheduler=cluster.address)
    assert (outcome.stored, outcome.run, outcome.failures) == (len(stored), 20 - len(stored), [])
    again = log.read_text().splitlines()[len(ran) :]
    assert not stored & {int(line.split()[0]) for line in again}, "a stored trial ran again"
    assert str(os.getpid()) not in log.read_text().split(), "a trial ran here, not on the cluster"
    monkeypatch.delenv("TOY_LOG")
    run_figure(FIGURE, SETTINGS, Store(tmp_path / "serial"))
    assert comparable(store) == comparable(Store(tmp_path / "serial"))


@pytest.mark.filterwarnings("default")
def test_no_scheduler_at_an_address(tmp_path):
    pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(MethodError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
    ):
        run_figure(FIGURE, SETTINGS, Store(tmp_path), scheduler="tcp://127.0.0.1:9")
    with pytest.raises(MethodError, match="no Dask scheduler answers at nowhere://"):
        run_figure(FIGURE, SETTINGS, Store(tmp_path), scheduler="nowhere://127.0.0.1:9")


@pytest.mark.filterwarnings("default")
def test_a_trial_that_kills_its_workers_is_told(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask

    trials = [{"seed": seed, "pause": 0.0, "dies": seed == 2} for seed in range(3)]
    figure = replace(FIGURE, trials=lambda settings: trials)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        pytest.raises(MethodError, match="took several workers of tcp://"),
    ):
        run_figure(figure, SETTINGS, Store(tmp_path), scheduler=cluster.scheduler_address)


@pytest.mark.filterwarnings("default")
def test_a_cluster_that_loses_a_worker_gives_the_same(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("TOY_PAUSE", "0.1")
    monkeypatch.setenv("TOY_TRIALS", "30")
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    killed = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def kill_one(progress):
            if progress.done >= 5 and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        store = Store(tmp_path / "cluster")
        outcome = run_figure(
            FIGURE, SETTINGS, store, scheduler=cluster.scheduler_address, report=kill_one
        )
    workers = [int(line.split()[1]) for line in log.read_text().splitlines()]
    assert killed[0] in workers
    assert len(set(workers)) >= 2
    assert (outcome.run, outcome.failures) == (30, [])
    monkeypatch.delenv("TOY_LOG")
    run_figure(FIGURE, SETTINGS, Store(tmp_path / "serial"))
    assert comparable(store) == comparable(Store(tmp_path / "serial"))
