"""Slow, correct by inspection: what the solvers are tested against."""

from planaris.reference.brute_force import enumerate_states
from planaris.reference.brute_force_mrf import enumerate_assignments

__all__ = ["enumerate_assignments", "enumerate_states"]
