"""Marginals with ends that hold: intervals for log Z with spins clamped."""

from __future__ import annotations

from functools import partial

import numpy as np

from planaris import bounds
from planaris.budget import Budget
from planaris.methods.bounds import PATIENCE_SECONDS
from planaris.methods.registry import Method, Task
from planaris.models import IsingModel
from planaris.result import Marginals
from planaris.typing import FloatArray


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


METHODS = [
    Method(
        "clamped",
        "encloses marginals",
        {"marginals": Task(lambda asked: by_clamping(asked.model, asked.budget), "interval")},
    )
]
