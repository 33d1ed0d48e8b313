"""The parts of a self-test: each tries something many times and counts what went wrong.

What only computes is spread over worker processes, round after round until its time is up; the
number of workers changes nothing in what a round tries. What measures time or sends signals runs
alone.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from planaris.selftest.models import Case, make_case
from planaris.selftest.shrink import shrink, write_failure
from planaris.selftest.soak import Verdict, check_model, soak_seed
from planaris.workers import owned

CHUNK = 20
"""Seeds handed to a worker at a time."""
FILES_PER_TASK = 2000
"""Damaged files that a worker reads in turn: it needs proofs of every kind to damage."""
EVERY = 20
"""A round tries one out of this many changes of leaves."""

Tell = Callable[[float], None]
"""Called with the share of the time that has passed."""
Task = tuple[str, Callable[[], Iterable[str | None]]]
"""A label, and work that returns its findings: None where all held, else what did not."""


@dataclass
class Section:
    """What one part of the self-test found.

    Attributes
    ----------
    name, promise : str
        What was tried, and what must hold.
    tried : int
        How often.
    faults : list of str
        What did not hold.
    details : dict
        Counts of whatever the section wants to tell.
    """

    name: str
    promise: str
    tried: int = 0
    faults: list[str] = field(default_factory=list)
    details: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def soak(seconds: float, first: int, *, jobs: int, folder: Path, tell: Tell) -> Section:
    """Run random models through every method until time is up; shrink and write failures."""
    section = Section(
        "differential soak",
        "methods agree with each other and with an oracle; intervals contain the truth",
    )
    started = time.monotonic()
    for seed, verdict in _verdicts(seconds, first, jobs, tell):
        section.tried += 1
        section.details["answers"] += verdict.answers
        section.details["refusals"] += verdict.refusals
        section.details[verdict.kind] += 1
        if verdict.contradictions:
            path = _keep(seed, verdict, folder)
            section.faults.append(f"seed {seed}: {verdict.contradictions[0]} ({path})")
    section.seconds = time.monotonic() - started
    return section


def _verdicts(seconds: float, first: int, jobs: int, tell: Tell) -> Iterator[tuple[int, Verdict]]:
    """Yield verdicts of seed after seed; at least one chunk per worker."""
    from joblib import Parallel, delayed

    started = time.monotonic()
    seed = first
    with Parallel(n_jobs=jobs, return_as="generator") as pool:
        while seed == first or time.monotonic() - started < seconds:
            run = range(seed, seed + CHUNK * max(jobs, 1))
            yield from zip(run, pool(delayed(owned(soak_seed))(s) for s in run), strict=True)
            seed = run.stop
            tell(min((time.monotonic() - started) / max(seconds, 1e-9), 1.0))


def _keep(seed: int, verdict: Verdict, folder: Path) -> Path:
    case = make_case(seed)
    method = verdict.contradictions[0].split(":")[0]

    def fails(attempt: Case) -> bool:
        return any(text.startswith(method) for text in check_model(attempt).contradictions)

    bare = Case(case.kind, case.model)  # without its embedding, if it fails without
    small = shrink(bare, fails) if fails(bare) else case
    found = check_model(small).contradictions or verdict.contradictions
    return write_failure(small, found, folder, f"failure-{seed}")


def corrupted(count: int, *, seconds: float = 0.0, jobs: int, tell: Tell) -> Section:
    """Change a number of every kind of saved result, ``count`` times each in a round."""
    from planaris.selftest.tampering.corruption import KINDS, corrupt_kind

    section = Section("certificates corrupted", "a changed number is refused, or still true")

    def make_round(k: int) -> list[Task]:
        return [(kind, partial(corrupt_kind, kind, count, seed=7 + k)) for kind in KINDS]

    _spread(section, make_round, seconds, jobs, tell)
    return section


def forged(first: int, *, seconds: float = 0.0, jobs: int, tell: Tell) -> Section:
    """Change leaves of a small result of every method; all, if there is time for all rounds."""
    from planaris.selftest.tampering.forgery import PROOF_SHARE, cases, forge

    promise = "a changed leaf is refused, or the result still true by brute force in rationals"
    section = Section("leaves forged", promise)
    results = list(enumerate(cases()))

    def make_round(k: int) -> list[Task]:
        if k >= EVERY * PROOF_SHARE:
            return []
        return [
            (case.name.split(":")[0], partial(forge, case, every=EVERY, seed=first + i + k))
            for i, case in results
        ]

    _spread(section, make_round, seconds, jobs, tell)
    return section


def time_limits(rounds: int, *, tell: Tell) -> Section:
    """Stop every method of every verb on models that take longer, and on random ones."""
    from planaris.selftest.interruptions.deadlines import METHODS, break_limit, break_random_limit

    section = Section("time limits", "kept to 10 % or 0.5 s, and the interval holds")
    count = rounds * len(METHODS)
    with _timed(section):
        for k in range(count):
            verb, method = METHODS[k % len(METHODS)]
            _collect(section, [break_limit(verb, method, k // len(METHODS))], verb)
            _collect(section, [break_random_limit(k)], "random models")
            tell((k + 1) / count)
    return section


def interrupts(rounds: int, *, tell: Tell) -> Section:
    """Interrupt every kernel in a process of its own."""
    from planaris.selftest.interruptions.interrupts import WORK, in_a_process

    section = Section("interrupts", "Ctrl-C ends a kernel within a second; the process goes on")
    with _timed(section):
        for k in range(rounds * len(WORK)):
            name = list(WORK)[k % len(WORK)]
            _collect(section, [in_a_process(name, 0.5 + 0.5 * (k // len(WORK) % 5))], "kernels")
            tell((k + 1) / (rounds * len(WORK)))
    return section


def concurrency(rounds: int, first: int, *, tell: Tell) -> Section:
    """Compare threads and processes with one thread in one process."""
    from planaris.selftest.interruptions.concurrency import compare_threads, compare_workers

    section = Section("threads and processes", "1, 2 or 4, forked or spawned: the same bits")
    with _timed(section):
        _collect(section, compare_threads(5 * rounds), "threads")
        tell(0.5)
        _collect(section, compare_workers(range(first, first + 20 * rounds)), "processes")
        tell(1.0)
    return section


def readers(count: int, first: int, *, seconds: float = 0.0, jobs: int, tell: Tell) -> Section:
    """Damage files of every format, ``count`` in a round."""
    from planaris.selftest.tampering.hostile import MAX_SECONDS, read_damaged

    section = Section("readers, files damaged", "an answer or a planaris error, in 2 s and 200 MiB")
    starts = range(0, count, FILES_PER_TASK)

    def make_round(k: int) -> list[Task]:
        parts = [
            (k * len(starts) + i, min(FILES_PER_TASK, count - s)) for i, s in enumerate(starts)
        ]
        return [
            ("files", partial(read_damaged, files, first, part=part, max_seconds=MAX_SECONDS))
            for part, files in parts
        ]

    _spread(section, make_round, seconds, jobs, tell)
    return section


def store_faults(times: int, first: int, *, jobs: int, tell: Tell) -> Section:
    """Kill writers of a store, and cut off its last record."""
    from planaris.selftest.interruptions.faults import kill_writers

    section = Section("store, writers killed", "nothing that was acknowledged is lost")
    tasks: list[Task] = [("kills", partial(kill_writers, 1, first + k)) for k in range(times)]
    _spread(section, lambda _: tasks, 0.0, jobs, tell)
    return section


def killed_runs(times: int, first: int, *, tell: Tell) -> Section:
    """Kill a run of experiments again and again, and let the last one finish."""
    from planaris.selftest.interruptions.kills import kill_runs

    promise = "no finished trial is lost or run again; results as without kills"
    section = Section("experiments, run killed and resumed", promise)
    with _timed(section):
        for k, fault in enumerate(kill_runs(times, first)):
            _collect(section, [fault], "kills" if k < times else "whole runs")
            tell(k / times)
    return section


def _spread(
    section: Section, make_round: Callable[[int], list[Task]], seconds: float, jobs: int, tell: Tell
) -> None:
    """Run rounds of tasks on worker processes: one whole round, and more while there is time.

    Findings are counted in the order of the tasks.
    """
    from joblib import Parallel, delayed

    labels: list[str] = []
    with _timed(section), Parallel(n_jobs=jobs, return_as="generator") as pool:
        begun, first = time.monotonic(), make_round(0)

        def passed() -> float:
            return (time.monotonic() - begun) / max(seconds, 1e-9)

        def send() -> Iterator[Any]:
            for k in itertools.count():
                tasks = make_round(k) if k else first
                for label, task in tasks:
                    if k and passed() >= 1.0:
                        return
                    labels.append(label)
                    yield delayed(owned(_findings))(task)
                if not tasks:
                    return

        for k, findings in enumerate(pool(send()), 1):
            _collect(section, findings, labels[k - 1])
            tell(min(k / len(first), max(passed(), 0.0), 1.0))


def _findings(task: Callable[[], Iterable[str | None]]) -> list[str | None]:
    return list(task())


@contextmanager
def _timed(section: Section) -> Iterator[None]:
    started = time.monotonic()
    yield
    section.seconds = time.monotonic() - started


def _collect(section: Section, findings: Iterable[str | None], label: str) -> None:
    for fault in findings:
        section.tried += 1
        section.details[label] += 1
        if fault is not None:
            section.faults.append(f"{label}: {fault}")
