"""When elimination is the way to go."""

from __future__ import annotations

from planaris import treewidth
from planaris.infer.limits import Limits
from planaris.infer.parts import num_components
from planaris.infer.reduce import Model
from planaris.models import IsingModel
from planaris.treewidth.plan import EliminationPlan, Task

FIRM_SECONDS = 600.0
"""Eliminations estimated to take longer are not begun unless a time limit allows them."""


def cheap_elimination(model: IsingModel, task: Task, limits: Limits) -> EliminationPlan | None:
    """Return a plan where elimination is expected to beat the planar route.

    Looking for an order of a large graph takes longer than solving it, so only small ones and
    those that are nearly trees are looked at.
    """
    n, m = model.num_spins, model.num_edges
    extra = m - n + num_components(model)
    if n > 2000 and extra > n // 20:
        return None
    plan = fitting_elimination(model, task, limits)
    planar_seconds = 2e-4 + 1e-7 * n**1.5
    return plan if plan is not None and (plan.seconds <= planar_seconds or extra == 0) else None


def fitting_elimination(model: Model, task: Task, limits: Limits) -> EliminationPlan | None:
    """Return a plan that fits memory and time, or None."""
    plan = treewidth.plan_elimination(model, task=task, memory_limit=limits.memory_limit)
    memory = limits.memory_limit or treewidth.default_memory_limit()
    seconds = limits.remaining() or FIRM_SECONDS
    fits = plan.complete and plan.bytes <= memory and plan.seconds <= seconds
    return plan if fits else None
