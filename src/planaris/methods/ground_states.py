"""Methods for ground states alone: minimum cuts, relaxations, and searches that close their gap."""

from __future__ import annotations

from collections.abc import Callable

from planaris import cuts, relax
from planaris.budget import Budget
from planaris.methods.registry import Method, Task
from planaris.models import IsingModel
from planaris.result import GroundState


def _refusal(model: IsingModel, budget: Budget) -> str | None:
    return None if cuts.is_submodular(model) else "it has a frustrated cycle"


def _relaxation(name: str, purpose: str, solve: Callable[..., GroundState]) -> Method:
    task = Task(lambda asked: solve(asked.model, time_limit=asked.budget), "interval", "labels")
    return Method(name, purpose, {"ground_state": task})


METHODS = [
    Method(
        "graph-cut",
        "finds ground states of models without frustrated cycles",
        {
            "ground_state": Task(
                lambda asked: cuts.graph_cut(asked.model, time_limit=asked.budget), "exact"
            )
        },
        refusal=_refusal,
        slow_on="none",
    ),
    Method(
        "qpbo",
        "finds part of a ground state",
        {
            "ground_state": Task(
                lambda asked: cuts.qpbo(asked.model, time_limit=asked.budget), "interval"
            )
        },
    ),
    _relaxation("local-lp", "bounds the energy of ground states", relax.local_lp),
    _relaxation("cycle-lp", "bounds the energy of ground states", relax.cycle_lp),
    _relaxation("mplp", "bounds the energy of ground states", relax.mplp),
    _relaxation("branch-and-cut", "finds ground states", relax.branch_and_cut),
]
