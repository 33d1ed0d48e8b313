"""Exact inference by elimination, for models of small treewidth."""

from planaris.treewidth.inference import (
    ground_state,
    log_partition,
    marginals,
    sample,
)
from planaris.treewidth.plan import EliminationPlan, default_memory_limit, plan_elimination

__all__ = [
    "EliminationPlan",
    "default_memory_limit",
    "ground_state",
    "log_partition",
    "marginals",
    "plan_elimination",
    "sample",
]
