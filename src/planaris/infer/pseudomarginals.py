"""Marginals from bounds on log Z: estimates, and intervals that hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from planaris import bounds
from planaris.budget import Budget
from planaris.infer.reduce import PATIENCE_SECONDS
from planaris.models import Inverse, IsingModel, MarkovRandomField
from planaris.result import LogPartition, Marginals
from planaris.typing import FloatArray

Bound = Callable[[IsingModel, Budget], LogPartition]
LabelBound = Callable[[MarkovRandomField, Budget], LogPartition]


def from_bound(model: IsingModel, bound: Bound, budget: Budget) -> Marginals | None:
    """Return the marginals that a bound's optimum agrees on; None where it solved exactly.

    They are estimates: ``exact`` is False, and ``log_partition`` has the bound.
    """
    found = bound(model, budget)
    guess = found.pseudomarginals
    if guess is None or guess.edges is None:
        return None
    return Marginals(
        nodes=guess.nodes,
        edges=guess.edges,
        log_partition=found,
        proved=False,
        method=found.method,
        seconds=budget.seconds(),
        stats=found.stats,
    )


def of_labels(field: MarkovRandomField, bound: LabelBound, budget: Budget) -> Marginals | None:
    """Return the estimates of a bound, a table per variable and per factor of a pairwise field.

    None where the bound has none, as for a field without states.
    """
    found = bound(field, budget)
    if found.pseudomarginals is None:
        return None
    nodes: Any = found.pseudomarginals.nodes
    pairs: Any = found.pseudomarginals.edges  # independent variables have none of their own
    view = field.pairwise_view()
    factors = []
    for k in range(field.num_factors):
        scope, edge = field.scope(k).tolist(), int(view.factor_edge[k])
        if edge < 0:
            table = np.asarray(nodes[scope[0]]) if scope else np.ones(())
        elif pairs is None:
            table = np.multiply.outer(nodes[scope[0]], nodes[scope[1]])
        else:
            table = pairs[edge].T if view.factor_swapped[k] else pairs[edge]
        factors.append(table)
    return Marginals(
        nodes=nodes,
        edges=factors,
        log_partition=found,
        proved=False,
        method=found.method,
        seconds=budget.seconds(),
    )


def by_clamping(model: IsingModel, budget: Budget) -> Marginals:
    """Enclose P(s_v = +1) of every spin by intervals for log Z with it held (GJ06 section 6).

    ``nodes_lower`` and ``nodes_upper`` hold, and so do ``edges_lower`` and ``edges_upper``,
    which follow from them. ``edges`` are estimates inside these. Spins that
    there is no time for are enclosed by what their neighbours can do at most; without fields
    all are up half of the time.
    """
    n, patient = model.num_spins, budget.or_within(PATIENCE_SECONDS)
    started = budget.seconds()
    first = bounds.interval(model, patient.share(1.0 / (n + 1)))
    slowest = 2 * (budget.seconds() - started)
    lower, upper = _neighbour_bounds(model) if model.has_fields else (np.full(n, 0.5),) * 2
    guess = first.pseudomarginals
    nodes = (lower + upper) / 2 if guess is None else np.array(guess.nodes)
    with patient.watch("intervals of marginals") as watched:
        for v in range(n) if model.has_fields else ():
            started = budget.seconds()
            if patient.remaining() < slowest / 2:
                break
            bound = partial(bounds.interval, time_limit=patient.share(0.5 / (n - v)))
            found = bounds.clamped_marginals(model, [v], bound=bound)
            nodes[v] = found.nodes[0]
            lower[v], upper[v] = max(lower[v], found.lower[0]), min(upper[v], found.upper[0])
            slowest = budget.seconds() - started
            if callable(watched.progress):
                watched.progress((v + 1) / n)
    low, high = _edge_bounds(model, lower, upper)
    edges = (low + high) / 2
    if guess is not None and guess.edges is not None:
        edges = np.clip(np.asarray(guess.edges), low, high)
    widths = (float((b - a).max(initial=0.0)) for a, b in ((lower, upper), (low, high)))
    return Marginals(
        nodes=np.clip(nodes, lower, upper),
        edges=edges,
        error=max(widths),
        nodes_lower=lower,
        nodes_upper=upper,
        edges_lower=low,
        edges_upper=high,
        log_partition=first,
        method="clamped",
        seconds=budget.seconds(),
    )


def lift_enclosures(found: Marginals, lifted: Marginals, inverse: Inverse) -> Marginals:
    """Return clamped marginals of a field with the ends of every table of a variable."""
    ends = [
        inverse.lift_marginals(replace(found, nodes=end)).nodes
        for end in (found.nodes_lower, found.nodes_upper)
        if end is not None
    ]
    pairs = list(zip(*ends, strict=True))
    return replace(
        lifted,
        nodes_lower=[np.minimum(a, b) for a, b in pairs],
        nodes_upper=[np.maximum(a, b) for a, b in pairs],
        edges_lower=None,
        edges_upper=None,
    )


def _neighbour_bounds(model: IsingModel) -> tuple[FloatArray, FloatArray]:
    """Return what holds for P(s_v = +1) in any state of the neighbours: fields h ± Σ|J|."""
    size = np.bincount(model.edges.ravel(), np.repeat(np.abs(model.couplings), 2), model.num_spins)
    rounding = 64 * float(np.finfo(np.float64).eps) * (1 + size + np.abs(model.fields))
    # (1 + tanh x) / 2 neither overflows nor leaves [0, 1].
    low = (1 + np.tanh(model.fields - size - rounding)) / 2
    high = (1 + np.tanh(model.fields + size + rounding)) / 2
    return np.maximum(low - 1e-15, 0.0), np.minimum(high + 1e-15, 1.0)


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
