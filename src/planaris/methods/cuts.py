"""Minimum cuts: whole ground states without frustration, parts of them with."""

from __future__ import annotations

from planaris import cuts
from planaris.budget import Budget
from planaris.errors import MethodError
from planaris.methods.registry import Method, Model, Task
from planaris.models import MarkovRandomField
from planaris.reductions.ising_form import IsingForm


def _fits(model: Model, budget: Budget) -> str | None:
    try:
        ising = IsingForm.apply(model).model if isinstance(model, MarkovRandomField) else model
    except MethodError as reason:
        return str(reason)
    return None if cuts.is_submodular(ising) else "it has a frustrated cycle"


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
]
