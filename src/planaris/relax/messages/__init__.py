"""Dual message passing, tightened by frustrated cycles, then by branching."""
