"""Bounds on log Z of any model: trees, planar subgraphs, both at once, mean field, intervals."""

from planaris.bounds.intervals import interval, logdet
from planaris.bounds.mean_field import mean_field
from planaris.bounds.pdc import pdc, planar_and_trees
from planaris.bounds.trw import trw

__all__ = ["interval", "logdet", "mean_field", "pdc", "planar_and_trees", "trw"]
