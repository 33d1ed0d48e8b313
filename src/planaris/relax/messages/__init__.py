"""Dual message passing, tightened by frustrated cycles."""
