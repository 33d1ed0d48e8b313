"""Coupled Markov chains of models without frustration, compiled."""

from __future__ import annotations

from planaris import _core
from planaris.budget import Budget, team
from planaris.typing import FloatArray, Int8Array, IntArray


def sample_read_once(
    edges: IntArray,
    couplings: FloatArray,
    fields: FloatArray,
    count: int,
    seed: int,
    *,
    budget: Budget | None = None,
) -> tuple[Int8Array, int, int]:
    """Return samples, one per row, the sweeps per block and the number of blocks.

    No coupling is negative. Raises ``TimeoutError`` where time is up.
    """
    return _core.sample_read_once(edges, couplings, fields, count, seed, *team(budget))


def bound_from_the_past(
    edges: IntArray,
    couplings: FloatArray,
    fields: FloatArray,
    count: int,
    max_sweeps: int,
    seed: int,
    *,
    budget: Budget | None = None,
) -> tuple[IntArray, IntArray]:
    """Return in how many samples each spin is surely up, and possibly."""
    return _core.bound_from_the_past(
        edges, couplings, fields, count, max_sweeps, seed, *team(budget)
    )


def heat_bath_means(
    edges: IntArray,
    couplings: FloatArray,
    fields: FloatArray,
    start: Int8Array,
    *,
    chains: int,
    sweeps: int,
    seed: int,
    budget: Budget | None = None,
) -> FloatArray:
    """Return how often each spin is up in heat-bath chains that begin at ``start``.

    No coupling is negative. Raises ``TimeoutError`` where time is up.
    """
    return _core.heat_bath_means(
        edges, couplings, fields, start, chains, sweeps, seed, *team(budget)
    )
