"""Checks results and certificates; shares no code with the solvers."""
