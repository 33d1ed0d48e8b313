"""Exact inference on plane (and low-genus) graphs."""

from planaris.planar.ground_state import PlanarCertificate, ground_state
from planaris.planar.margin import MarginViolator, margin_violator
from planaris.planar.pfaffian.batch_results import GroundStates, LogPartitions, MarginalsBatch
from planaris.planar.plan import Plan, plan

__all__ = [
    "GroundStates",
    "LogPartitions",
    "MarginViolator",
    "MarginalsBatch",
    "Plan",
    "PlanarCertificate",
    "ground_state",
    "margin_violator",
    "plan",
]
