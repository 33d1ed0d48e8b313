"""Methods for ground states alone: minimum cuts, relaxations, and searches that close their gap."""

from __future__ import annotations

from collections.abc import Callable

from planaris import cuts, relax
from planaris.budget import Budget
from planaris.errors import MethodError
from planaris.methods.registry import Method, Model, Task
from planaris.models import MarkovRandomField
from planaris.models.convert import IsingForm
from planaris.result import GroundState


def _fits(model: Model, budget: Budget) -> str | None:
    try:
        ising = IsingForm.apply(model).model if isinstance(model, MarkovRandomField) else model
    except MethodError as reason:
        return str(reason)
    return None if cuts.is_submodular(ising) else "it has a frustrated cycle"


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
        fits=_fits,
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
