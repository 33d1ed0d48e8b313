"""The same numbers, to the last bit, from any number of threads and processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from planaris.infer import ground_state, log_partition, sample
from planaris.models import IsingModel
from planaris.planar import Plan, plan
from planaris.selftest.models import make_case
from planaris.typing import FloatArray


def answers(seed: int) -> tuple[Any, ...]:
    """Return what the verbs say about the model of a seed, as plain numbers."""
    model = make_case(seed).model
    found: list[Any] = [ground_state(model).energy, log_partition(model, time_limit=60.0).value]
    if isinstance(model, IsingModel):
        found.append(sample(model, 3, np.random.default_rng(seed)).tolist())
    return tuple(found)


def compare_workers(seeds: range) -> Iterator[str | None]:
    """Run seeds here and on 1, 2 and 4 workers, forked and spawned; yield what differs."""
    import multiprocessing

    expected = [_quiet(seed) for seed in seeds]
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        for workers in (1, 2, 4) if method == "fork" else (2,):
            with context.Pool(workers) as pool:
                found = pool.map(_quiet, seeds)
            for seed, here, there in zip(seeds, expected, found, strict=True):
                same = here == there
                yield None if same else f"seed {seed}: {method}, {workers} workers: {there!r}"


def _quiet(seed: int) -> str:
    """Return answers, or the refusal, as text that shows every bit."""
    try:
        return repr(answers(seed))
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


def compare_threads(rounds: int) -> Iterator[str | None]:
    """Use one plan from two threads at once, and 1, 2 and 4 threads inside it."""
    from planaris.selftest.interruptions.interrupts import lattice

    for k in range(rounds):
        model = lattice(20 + 5 * (k % 5))
        couplings = model.couplings * (0.5 + k % 4)
        shared = plan(model)
        expected = _evaluate(plan(model), couplings, 1)
        results: list[Any] = [None, None]

        def run(place: int, shared: Plan, couplings: FloatArray, out: list[Any]) -> None:
            out[place] = _evaluate(shared, couplings, 2)

        pair = [
            threading.Thread(target=run, args=(place, shared, couplings, results))
            for place in (0, 1)
        ]
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()
        for place, found in enumerate([*results, _evaluate(shared, couplings, 4)]):
            yield None if found == expected else f"lattice {k}: thread {place} differs"


def _evaluate(shared: Plan, couplings: FloatArray, threads: int) -> tuple[Any, ...]:
    value = shared.log_partition(couplings, threads=threads).value
    edges = np.asarray(shared.marginals(couplings, threads=threads).edges).tobytes()
    states = shared.sample(couplings, 2, np.random.default_rng(0), threads=threads).tobytes()
    return value, edges, states
