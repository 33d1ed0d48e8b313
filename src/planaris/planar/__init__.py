"""Exact inference on plane (and low-genus) graphs."""

from planaris.planar.ground_state import PlanarCertificate, ground_state
from planaris.planar.margin import MarginViolator, margin_violator
from planaris.planar.plan import Plan, plan

__all__ = [
    "MarginViolator",
    "Plan",
    "PlanarCertificate",
    "ground_state",
    "margin_violator",
    "plan",
]
