"""Outer bounds on the marginal polytope: linear programs, cuts, messages, branch and cut."""

from planaris.relax.branching import branch_and_cut
from planaris.relax.convex import entropy_bound
from planaris.relax.cycles import cycle_lp
from planaris.relax.local import local_lp
from planaris.relax.messages import mplp

__all__ = ["branch_and_cut", "cycle_lp", "entropy_bound", "local_lp", "mplp"]
