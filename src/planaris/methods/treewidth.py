"""Elimination: exact on models of small treewidth."""

from __future__ import annotations

import math
from typing import Any

from planaris import treewidth
from planaris.budget import Budget
from planaris.methods.registry import Method, Model, Question, Task, Verb
from planaris.models import IsingModel, MarkovRandomField
from planaris.reductions.parts import num_components
from planaris.treewidth.plan import EliminationPlan
from planaris.treewidth.plan import Task as Purpose

FIRM_SECONDS = 600.0
"""Eliminations estimated to take longer are not begun unless a time limit allows them."""

NARROW_SECONDS = 2e-3
"""Models of labels with a quicker elimination than this are eliminated at once, without a
search."""

PLAN_SHARE = 0.3
"""Share of the time left that the search for an elimination order may take."""


def _refusal(model: Model, budget: Budget) -> str | None:
    if fitting_elimination(model, "log_partition", budget) is not None:
        return None
    return "its tables take more memory or time than there is"


def _exact(verb: Verb) -> Task:
    def run(asked: Question) -> Any:
        solve = getattr(treewidth, verb)
        return solve(asked.model, time_limit=asked.budget, device=asked.device)

    return Task(run, "exact", "labels", devices=True)


METHODS = [
    Method(
        "treewidth",
        "is exact on models of small treewidth",
        {
            "ground_state": _exact("ground_state"),
            "log_partition": _exact("log_partition"),
            "marginals": _exact("marginals"),
            "sample": Task(
                lambda asked: treewidth.sample(
                    asked.model, asked.num_samples, asked.rng, time_limit=asked.budget
                ),
                "exact",
                "labels",
            ),
        },
        refusal=_refusal,
        slow_on="wide",
    )
]


# -- where elimination fits memory and time, and where it beats other exact methods ------------


def cheap_elimination(model: IsingModel, task: Purpose, budget: Budget) -> EliminationPlan | None:
    """Return a plan where elimination is expected to beat the planar route.

    Looking for an order of a large graph takes longer than solving it, so only small ones and
    those that are nearly trees are looked at.
    """
    n, m = model.num_spins, model.num_edges
    extra = m - n + num_components(model)
    plan = _first_plan(model, task, n, extra, budget)
    if plan is None:
        return None
    planar_seconds = 2e-4 + 1e-7 * n**1.5
    cheap = plan.seconds <= planar_seconds or extra == 0
    return plan if cheap and _affordable(plan, budget) else None


def narrow_elimination(mrf: MarkovRandomField, budget: Budget) -> EliminationPlan | None:
    """Return a plan for the ground state of an MRF if elimination is very quick, or None."""
    n = mrf.num_variables
    extra = len(mrf.scopes) - mrf.num_factors - n + 1
    plan = _first_plan(mrf, "ground_state", n, extra, budget)
    if plan is None or plan.seconds > NARROW_SECONDS:
        return None
    return plan if _affordable(plan, budget) else None


def _first_plan(
    model: Model, task: Purpose, n: int, extra: int, budget: Budget
) -> EliminationPlan | None:
    """Return the first plan found for a model that may be narrow, without a search.

    ``n`` is the number of variables, ``extra`` that of edges beyond a spanning tree.
    """
    if (n > 2000 and extra > n // 20) or (n > 100 and extra > 0.9 * n):
        return None  # a strip of w rows has (1 - 1 / w) n edges too many for a tree
    try:
        return treewidth.plan_elimination(
            model,
            task=task,
            kind="clusters",
            search_seconds=0.0,
            time_limit=budget.share(PLAN_SHARE),
        )
    except TimeoutError:
        return None


def fitting_elimination(model: Model, task: Purpose, budget: Budget) -> EliminationPlan | None:
    """Return a plan that fits memory and time, or None."""
    try:
        plan = treewidth.plan_elimination(model, task=task, time_limit=budget.share(PLAN_SHARE))
    except TimeoutError:
        return None
    return plan if _affordable(plan, budget) else None


def _affordable(plan: EliminationPlan, budget: Budget) -> bool:
    seconds = FIRM_SECONDS if budget.deadline == math.inf else budget.remaining()
    return plan.complete and plan.bytes <= budget.bytes() and plan.seconds <= seconds
