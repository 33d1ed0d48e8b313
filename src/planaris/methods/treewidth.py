"""Elimination: exact on models of small treewidth."""

from __future__ import annotations

from planaris import treewidth
from planaris.budget import Budget
from planaris.methods.elimination import fitting_elimination
from planaris.methods.registry import Method, Model, Task


def _fits(model: Model, budget: Budget) -> str | None:
    if fitting_elimination(model, "log_partition", budget) is not None:
        return None
    return "its tables take more memory or time than there is"


METHODS = [
    Method(
        "treewidth",
        "is exact on models of small treewidth",
        {
            "ground_state": Task(
                lambda asked: treewidth.ground_state(
                    asked.model, time_limit=asked.budget, device=asked.device
                ),
                "exact",
                "labels",
                devices=True,
            ),
            "log_partition": Task(
                lambda asked: treewidth.log_partition(
                    asked.model, time_limit=asked.budget, device=asked.device
                ),
                "exact",
                "labels",
                devices=True,
            ),
            "marginals": Task(
                lambda asked: treewidth.marginals(
                    asked.model, time_limit=asked.budget, device=asked.device
                ),
                "exact",
                "labels",
                devices=True,
            ),
            "sample": Task(
                lambda asked: treewidth.sample(
                    asked.model, asked.num_samples, asked.rng, time_limit=asked.budget
                ),
                "exact",
                "labels",
            ),
        },
        fits=_fits,
        slow_on="wide",
    )
]
