"""Slow, correct by inspection: what the solvers are tested against."""

from planaris.reference.brute_force import enumerate_states

__all__ = ["enumerate_states"]
