"""Run the trials of a figure that are not stored yet, on any number of workers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from time import perf_counter
from typing import Any

from planaris.budget import use_threads
from planaris.errors import MethodError, missing_extra
from planaris.experiments.engine import engine, same_sources
from planaris.experiments.figure import Figure, Params, Record, Result, Settings
from planaris.experiments.store import Store, trial_key
from planaris.workers import owned

AHEAD = 4
"""Trials at a scheduler for each thread of its workers."""


@dataclass(frozen=True)
class Progress:
    """How far a figure is: trials stored, of how many."""

    figure: Figure
    done: int
    total: int


@dataclass
class Outcome:
    """What a run has done: trials found in the store, run, and failed with what error."""

    stored: int = 0
    run: int = 0
    failures: list[tuple[Params, str]] = field(default_factory=list)


def run_figure(
    figure: Figure,
    settings: Settings,
    store: Store,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    report: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run all trials of a figure that the store does not hold, and store them as they end.

    Parameters
    ----------
    figure : Figure
        What to run.
    settings : Settings
        Which trials.
    store : Store
        Where results are and go.
    jobs : int
        Processes on this machine; 1 runs in this one.
    scheduler : str, optional
        Address of a Dask scheduler to run on instead, as ``tcp://host:8786``.
    report : callable, optional
        Called after every trial.

    Returns
    -------
    Outcome
        A trial that raised is not stored; the others are.
    """
    trials = {trial_key(figure, params): params for params in figure.trials(settings)}
    held = store.read(figure)
    pending = [params for key, params in trials.items() if key not in held]
    outcome = Outcome(stored=len(trials) - len(pending))

    def tell() -> None:
        if report is not None:
            report(Progress(figure, outcome.stored + outcome.run, len(trials)))

    tell()
    with contextlib.closing(run_all(figure.run, pending, jobs, scheduler)) as results:
        for index, record, error in results:
            if record is None:
                outcome.failures.append((pending[index], error))
            else:
                store.append(figure, pending[index], record)
                outcome.run += 1
            tell()
    return outcome


def stored_results(figure: Figure, settings: Settings, store: Store) -> tuple[list[Result], int]:
    """Return the stored results in the order of the trials, and how many trials there are."""
    trials = {trial_key(figure, params): params for params in figure.trials(settings)}
    held = store.read(figure)
    return [Result(trials[key], held[key]) for key in trials if key in held], len(trials)


def run_all(
    run: Callable[[Any], Record],
    pending: Iterable[Any],
    jobs: int = 1,
    scheduler: str | None = None,
) -> Generator[tuple[int, Record | None, str], None, None]:
    """Yield (index, record, error) as trials end, in any order.

    ``pending`` may be a generator: on processes and on a cluster, only some more trials than there
    are workers are taken from it at a time.
    """
    if scheduler is not None:
        yield from _cluster_results(run, pending, scheduler)
        return
    from joblib import Parallel, delayed

    trial = delayed(owned(run_trial))
    work = (trial(run, params, k, engine()) for k, params in enumerate(pending))
    # One trial per message: a kill loses no more than the trials in flight.
    options: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    try:
        yield from Parallel(jobs, pre_dispatch="2*n_jobs", **options)(work)
    except BrokenExecutor as error:
        msg = (
            "a worker process died: killed, or out of memory. All trials that had ended are "
            "stored; start again to go on, with fewer --jobs if memory was short"
        )
        raise MethodError(msg) from error


def _cluster_results(
    run: Callable[[Any], Record], pending: Iterable[Any], scheduler: str
) -> Generator[tuple[int, Record | None, str], None, None]:
    """Yield (index, record, error) as trials end on a Dask cluster, of any size."""
    try:
        import distributed
    except ImportError as error:
        raise missing_extra(package="distributed", extra="distributed") from error
    connect: Any = distributed.Client
    try:
        client = connect(scheduler, set_as_default=False)
    except (OSError, ValueError) as error:
        msg = f"no Dask scheduler answers at {scheduler}: {error}; start one with `dask scheduler`"
        raise MethodError(msg) from error
    with client:
        work = (
            client.submit(run_trial, run, params, k, engine(), pure=False)
            for k, params in enumerate(pending)
        )
        workers = sum(client.nthreads().values())
        finished: Any = distributed.as_completed
        try:
            # No more than a few trials per worker wait at the scheduler, however many there are.
            waiting = finished(list(islice(work, AHEAD * max(workers, 1))), loop=client.loop)
            for future in waiting:
                found = future.result()
                for new in islice(work, 1):
                    waiting.add(new)
                yield found
        except (CancelledError, OSError) as error:  # what trials raise is not raised here
            msg = (
                f"the Dask scheduler at {scheduler} was lost. All trials that had ended are "
                "stored; start it and its workers, then this run again to go on"
            )
            raise MethodError(msg) from error
        except distributed.KilledWorker as error:
            msg = (
                f"one trial took several workers of {scheduler} down with it: {error}. All trials "
                "that had ended are stored; start again with more memory per worker"
            )
            raise MethodError(msg) from error


@lru_cache(maxsize=1)
def _thread_pools(num_modules: int) -> Any:
    """Return the thread pools of libraries, found again once more modules were imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def run_trial(
    run: Callable[[Params], Record], params: Params, index: int = 0, code: str = ""
) -> tuple[int, Record | None, str]:
    """Run one trial in a worker, on one thread, and never raise for what the trial raises."""
    if code and not same_sources(engine(), code):
        msg = f"a worker has planaris {engine()}, the run needs {code}: install the same there"
        raise MethodError(msg)
    started = perf_counter()
    try:
        # Sums are rounded as the number of threads has it, so that number is fixed.
        with use_threads(1), _thread_pools(len(sys.modules)).limit(limits=1):
            record = run(params)
    except Exception as error:  # the other trials go on
        return index, None, f"{type(error).__name__}: {error}"
    record.setdefault("seconds", perf_counter() - started)
    return index, record, ""
