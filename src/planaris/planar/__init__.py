"""Exact inference on plane (and low-genus) graphs."""

from planaris.planar.ground_state import PlanarCertificate, ground_state
from planaris.planar.margin import MarginViolator, margin_violator

__all__ = ["MarginViolator", "PlanarCertificate", "ground_state", "margin_violator"]
