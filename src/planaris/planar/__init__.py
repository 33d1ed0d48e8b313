"""Exact inference on plane (and low-genus) graphs: matching and Pfaffians."""

from planaris.planar.plan import Plan, plan

__all__ = ["Plan", "plan"]
