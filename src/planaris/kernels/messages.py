"""Dual message passing for pairwise energies, compiled."""

from __future__ import annotations

from planaris import _core

MessagePassing = _core.MessagePassing
"""Messages of a pairwise energy: sweeps, safe bounds, states, triplets."""
