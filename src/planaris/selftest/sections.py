"""The parts of a self-test: each tries something many times and counts what went wrong."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from planaris.selftest.models import Case, make_case
from planaris.selftest.shrink import shrink, write_failure
from planaris.selftest.soak import Verdict, check_model, soak_seed

CHUNK = 20
"""Seeds handed to a worker at a time."""

Tell = Callable[[float], None]
"""Called with the share of the time that has passed."""


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
            yield from zip(run, pool(delayed(soak_seed)(s) for s in run), strict=True)
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
