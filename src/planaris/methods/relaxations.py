"""Relaxations of the minimum energy, and the searches that close their gap."""

from __future__ import annotations

from collections.abc import Callable

from planaris import relax
from planaris.methods.registry import Method, Promise, Task
from planaris.result import GroundState


def _relaxation(
    name: str, purpose: str, solve: Callable[..., GroundState], promise: Promise = "interval"
) -> Method:
    task = Task(lambda asked: solve(asked.model, time_limit=asked.budget), promise, "labels")
    return Method(name, purpose, {"ground_state": task})


METHODS = [
    _relaxation("local-lp", "bounds the energy of ground states", relax.local_lp),
    _relaxation("cycle-lp", "bounds the energy of ground states", relax.cycle_lp),
    _relaxation("mplp", "bounds the energy of ground states", relax.mplp),
    _relaxation("branch-and-cut", "finds ground states", relax.branch_and_cut),
]
