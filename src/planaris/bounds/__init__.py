"""Bounds on log Z of any model: trees, planar subgraphs, both at once, mean field."""

from planaris.bounds.mean_field import mean_field
from planaris.bounds.pdc import pdc, planar_and_trees
from planaris.bounds.trw import trw

__all__ = ["mean_field", "pdc", "planar_and_trees", "trw"]
