"""Message passing: dual messages for MAP, forests, tree-reweighted messages, compiled.

``message[h]`` travels along half-edge ``h``: ``2e`` from ``edges[e, 0]`` to ``edges[e, 1]``,
``2e + 1`` back. Messages may be stopped anywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from planaris import _core
from planaris.budget import Budget, control
from planaris.typing import FloatArray, IntArray, LongArray

MessagePassing = _core.MessagePassing
"""Messages of a pairwise energy: sweeps, safe bounds, states, triplets."""


Forest = _core.Forest
"""``Forest(num_vertices, edges).evaluate(couplings, fields)`` returns (logs by vertex, which add
up to log Z tree by tree; E s_v; E s_u s_v)."""


class LabelTables(NamedTuple):
    """Log potentials of vertices and edges, flat; the first end of an edge is the slow axis."""

    node_offsets: LongArray
    node_logs: FloatArray
    edge_offsets: LongArray
    edge_logs: FloatArray


def sweep_spins(
    num_vertices: int,
    edges: IntArray,
    couplings: FloatArray,
    rho: FloatArray,
    fields: FloatArray,
    messages: FloatArray,
    *,
    max_sweeps: int,
    tolerance: float,
    damping: float = 0.0,
    budget: Budget | None = None,
) -> tuple[FloatArray, int, float]:
    """Return (messages: fields, sweeps, largest change in the last one).

    ``couplings`` are those of the model divided by ``rho``.
    """
    return _core.reweighted_spins(
        num_vertices,
        edges,
        couplings,
        rho,
        fields,
        messages,
        max_sweeps,
        tolerance,
        damping,
        *control(budget),
    )


def sweep_labels(
    edges: IntArray,
    tables: LabelTables,
    rho: FloatArray,
    messages: FloatArray,
    *,
    max_sweeps: int,
    tolerance: float,
    damping: float = 0.0,
    budget: Budget | None = None,
) -> tuple[FloatArray, int, float]:
    """Return (messages: an entry per label of the vertex they go to, sweeps, largest change).

    ``tables.edge_logs`` are those of the model divided by ``rho``.
    """
    return _core.reweighted_labels(
        edges, *tables, rho, messages, max_sweeps, tolerance, damping, *control(budget)
    )


def forest_log_partition(edges: IntArray, tables: LabelTables) -> float:
    """Return log Z of a forest."""
    return _core.forest_labels(edges, *tables)
