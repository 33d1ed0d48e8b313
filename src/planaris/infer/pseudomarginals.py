"""Marginals from bounds on log Z: estimates, and intervals that hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planaris import bounds
from planaris.infer.limits import Limits
from planaris.models import IsingModel
from planaris.progress import watch
from planaris.result import LogPartition, Marginals
from planaris.typing import FloatArray

Bound = Callable[[IsingModel, Limits], LogPartition]

LEAST_SECONDS = 0.02
"""Time for one of the two intervals that a clamped spin takes, at least."""


def from_bound(model: IsingModel, bound: Bound, limits: Limits) -> Marginals | None:
    """Return the marginals that a bound's optimum agrees on; None where it solved exactly.

    They are estimates: ``exact`` is False, and ``stats["log_partition"]`` has the bound.
    """
    found = bound(model, limits)
    if "nodes" not in found.stats or "edges" not in found.stats:
        return None
    nodes, edges = np.asarray(found.stats["nodes"]), np.asarray(found.stats["edges"])
    details = {k: v for k, v in found.stats.items() if k not in ("nodes", "edges")}
    stats = {**details, "nodes": nodes, "edges": edges, "log_partition": found}
    stats["seconds"] = limits.seconds()
    return Marginals(nodes, edges, exact=False, method=found.method, stats=stats)


def by_clamping(model: IsingModel, limits: Limits) -> Marginals:
    """Enclose P(s_v = +1) of every spin by intervals for log Z with it held (GJ06 section 6).

    ``stats["lower"]`` and ``stats["upper"]`` hold, and so do ``edges_lower`` and
    ``edges_upper``, which follow from them. ``edges`` are estimates inside these.
    """
    each = max(limits.patience() / max(2 * model.num_spins, 1), LEAST_SECONDS)
    first = bounds.interval(model, each)
    done = 0
    with watch("intervals of marginals", limits.progress) as bar:

        def enclose(held: IsingModel) -> LogPartition:
            nonlocal done
            done += 1
            if bar is not None:
                bar(done / (2 * model.num_spins + 1))
            return bounds.interval(held, each)

        found = bounds.clamped_marginals(model, bound=enclose)
    low, high = _edge_bounds(model, found.lower, found.upper)
    given: Any = first.stats.get("edges")
    edges = (low + high) / 2 if given is None else np.clip(np.asarray(given), low, high)
    nodes = np.clip(found.nodes, found.lower, found.upper)
    stats = {
        "lower": found.lower,
        "upper": found.upper,
        "edges_lower": low,
        "edges_upper": high,
        "log_partition": first,
        "seconds": limits.seconds(),
    }
    return Marginals(nodes, edges, exact=False, method="clamped", stats=stats)


def _edge_bounds(
    model: IsingModel, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what intervals of both ends say about P(s_u = s_v).

    With p, q the probabilities of +1: |p + q - 1| <= P(s_u = s_v) <= 1 - |p - q|.
    """
    u, v = model.edges.T
    least = np.maximum(lower[u] + lower[v] - 1, 1 - upper[u] - upper[v])
    apart = np.maximum(lower[u] - upper[v], lower[v] - upper[u])
    rounding = 4 * float(np.finfo(np.float64).eps)
    return (
        np.clip(least - rounding, 0.0, 1.0),
        np.clip(1 - np.maximum(apart, 0.0) + rounding, 0.0, 1.0),
    )
