"""Bounds on log Z of any model: trees, planar subgraphs, both at once, mean field, intervals."""

from planaris.bounds.clamped import ClampedMarginals, clamped_marginals
from planaris.bounds.entropies import logdet, trw_over_cycles
from planaris.bounds.intervals import interval
from planaris.bounds.left_out import leave_out
from planaris.bounds.map_bound import map_bound
from planaris.bounds.mean_field import mean_field
from planaris.bounds.mixed import planar_and_trees
from planaris.bounds.pdc import pdc
from planaris.bounds.trw import trw

__all__ = [
    "ClampedMarginals",
    "clamped_marginals",
    "interval",
    "leave_out",
    "logdet",
    "map_bound",
    "mean_field",
    "pdc",
    "planar_and_trees",
    "trw",
    "trw_over_cycles",
]
