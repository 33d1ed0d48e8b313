"""Bounds on log Z of any model: trees, planar subgraphs, both at once, mean field, intervals."""

from planaris.bounds.decomposition.planar import pdc
from planaris.bounds.decomposition.planar_and_trees import planar_and_trees
from planaris.bounds.decomposition.trees import trw
from planaris.bounds.entropy.bounds import logdet, trw_over_cycles
from planaris.bounds.entropy.program import entropy_bound
from planaris.bounds.intervals.clamping import ClampedMarginals, clamped_marginals
from planaris.bounds.intervals.nearly_planar import leave_out
from planaris.bounds.intervals.search import interval
from planaris.bounds.marginal_ends import MarginalEnds, marginal_ends
from planaris.bounds.structured_mean_field import mean_field
from planaris.relax.planar_map_bound import map_bound

__all__ = [
    "ClampedMarginals",
    "MarginalEnds",
    "clamped_marginals",
    "entropy_bound",
    "interval",
    "leave_out",
    "logdet",
    "map_bound",
    "marginal_ends",
    "mean_field",
    "pdc",
    "planar_and_trees",
    "trw",
    "trw_over_cycles",
]
