"""Every method of every verb, stopped before its time."""

from __future__ import annotations

import math
import time
from typing import Any

from planaris import infer
from planaris.errors import TimeLimitError
from planaris.methods import methods
from planaris.methods.registry import Verb
from planaris.models import IsingModel
from planaris.selftest.interrupts import cube, lattice

LIMIT = 0.5

METHODS: list[tuple[Verb, str]] = [
    (verb, name)
    for name, method in methods().items()
    for verb in method.tasks
    if verb != "sample" and method.slow_on != "none"
]
"""Every verb and method that can be made to take longer than its limit."""


def break_limit(verb: Verb, method: str, k: int) -> str | None:
    """Give a method a model that takes longer; return what was not kept."""
    model = _model(method, k)
    wall, work = time.monotonic(), time.process_time()
    found: Any = None
    try:
        memory = {"memory_limit": 2**36} if method == "treewidth" else {}
        found = getattr(infer, verb)(model, method, time_limit=LIMIT, **memory)
    except TimeLimitError:
        if method not in ("planar", "treewidth", "qpbo"):
            return f"{verb} {method}: no interval"
    # On a busy machine the time of the process says more than the wall clock.
    took = min(time.monotonic() - wall, time.process_time() - work)
    if took > LIMIT + 0.5:
        return f"{verb} {method}: took {took:.2f} s of {LIMIT}"
    if verb != "marginals" and found is not None and not found.lower <= found.upper < math.inf:
        return f"{verb} {method}: [{found.lower}, {found.upper}]"
    return None


def _model(method: str, k: int) -> IsingModel:
    kind = methods()[method].slow_on
    if kind == "plane":
        return lattice(400)
    if kind == "wide":
        return lattice(24, fields=True)
    if kind == "small cube":
        return cube(3)
    return cube(10 + k % 8) if k % 2 else lattice(60 + 30 * (k % 4), fields=True)
