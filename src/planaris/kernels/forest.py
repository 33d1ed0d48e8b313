"""Ising models with fields on forests, compiled."""

from __future__ import annotations

from planaris import _core

Forest = _core.Forest
"""``Forest(num_vertices, edges).evaluate(couplings, fields)`` returns (logs by vertex, which add
up to log Z tree by tree; E s_v; E s_u s_v)."""
