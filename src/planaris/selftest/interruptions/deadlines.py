"""Every method of every verb, stopped before its time."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from planaris import infer
from planaris.errors import MethodError, NotPlanarError, TimeLimitError, TooLargeError
from planaris.methods import methods
from planaris.methods.registry import Verb
from planaris.models import IsingModel, MarkovRandomField
from planaris.selftest.interruptions.interrupts import cube, lattice

LIMIT = 0.5

SPARE = 0.5
"""Seconds by which a limit may be passed, or a tenth of it where that is more."""

REPEATS = 3
"""A limit counts as broken when it is broken this often: other processes take time too."""

MAX_ENTRIES = 1_000_000
"""Table entries of random models."""

DO_NOT_FIT = (MethodError, NotPlanarError, TooLargeError)

METHODS: list[tuple[Verb, str]] = [
    (verb, name) for name, method in methods().items() for verb in method.tasks
]
"""Every verb of every method."""


def break_limit(verb: Verb, method: str, k: int) -> str | None:
    """Give a method a model that takes longer; return what was not kept."""
    return _break(verb, method, _model(method, k), LIMIT)


def break_random_limit(k: int) -> str | None:
    """Give some method a random model of any order and size; return what was not kept."""
    rng = np.random.default_rng(k)
    verb, method = METHODS[int(rng.integers(len(METHODS)))]
    return _break(verb, method, random_field(rng), float(rng.choice([0.02, 0.1, 0.5])))


def random_field(rng: np.random.Generator) -> MarkovRandomField:
    """Return a model with factors of one to five variables and up to a million table entries.

    >>> random_field(np.random.default_rng(0)).num_variables > 0
    True
    """
    order, labels = int(rng.integers(1, 6)), int(rng.integers(2, 8))
    each = labels**order
    count = int(min(10 ** rng.uniform(0, 6) / each, MAX_ENTRIES // each)) + 1
    n = int(rng.integers(order, max(2 * count, order) + 1))
    scopes = np.argsort(rng.random((count, min(n, 50))), axis=1)[:, :order]
    scopes = (scopes + rng.integers(0, n, count)[:, None]) % n
    tables = rng.normal(size=(count, *([labels] * order)))
    if rng.random() < 0.3:
        tables[rng.random(tables.shape) < 0.3] = -np.inf
    factors = [(tuple(s), t) for s, t in zip(scopes.tolist(), tables, strict=True)]
    return MarkovRandomField([labels] * n, factors, log=True)


def _break(verb: Verb, method: str, model: Any, limit: float) -> str | None:
    fault = None
    for _ in range(REPEATS):
        if (fault := _break_once(verb, method, model, limit)) is None:
            break
    return fault


def _break_once(verb: Verb, method: str, model: Any, limit: float) -> str | None:
    wall, work = time.monotonic(), time.process_time()
    found: Any = None
    try:
        memory: Any = {"memory_limit": 2**36} if method == "treewidth" else {}
        call = getattr(infer, verb)
        asked = (model, 2, 0, method) if verb == "sample" else (model, method)
        found = call(*asked, time_limit=limit, **memory)
    except TimeLimitError:
        if _always_answers(verb, method, model):
            return f"{verb} {method}: no interval"
    except (*DO_NOT_FIT, ValueError):
        pass
    # On a busy machine the time of the process says more than the wall clock.
    took = min(time.monotonic() - wall, time.process_time() - work)
    if took > limit + max(SPARE, 0.1 * limit):
        return f"{verb} {method}: took {took:.2f} s of {limit}"
    bounded = found is not None and verb in ("ground_state", "log_partition")
    if bounded and not found.lower <= found.upper:
        return f"{verb} {method}: [{found.lower}, {found.upper}]"
    if bounded and isinstance(model, IsingModel) and found.upper == math.inf:
        return f"{verb} {method}: no upper end"
    return None


def _always_answers(verb: Verb, method: str, model: Any) -> bool:
    """Return whether a method has an answer however little time there is."""
    if verb == "sample" or (verb == "marginals" and isinstance(model, MarkovRandomField)):
        return False  # factors of three or more variables have no estimates
    promises = {task.promise for task in methods()[method].tasks.values()}
    return method == "auto" or ("interval" in promises and method != "qpbo")


def _model(method: str, k: int) -> IsingModel:
    kind = methods()[method].slow_on
    if kind == "plane":
        return lattice(400)
    if kind == "wide":
        return lattice(24, fields=True)
    if kind == "small cube":
        return cube(3)
    if kind == "ferromagnet":
        cold = lattice(300)
        return cold.with_couplings(np.full(cold.num_edges, 2.0))
    return cube(10 + k % 8) if k % 2 else lattice(60 + 30 * (k % 4), fields=True)
