"""Bounds on marginals from intervals around log Z with one spin clamped."""

from __future__ import annotations

from functools import partial

import numpy as np

from planaris import bounds
from planaris.budget import Budget
from planaris.methods.bounds import PATIENCE_SECONDS
from planaris.methods.registry import Method, Task
from planaris.models import IsingModel
from planaris.result import Marginals


def by_clamping(model: IsingModel, budget: Budget) -> Marginals:
    """Bound P(s_v = +1) of every spin by intervals around log Z with it clamped (GJ06 section 6).

    ``edges_lower`` and ``edges_upper`` follow from ``nodes_lower`` and ``nodes_upper``; ``edges``
    are estimates between them. Spins that there is no time for are bounded by the effect that
    their neighbours can have at most. Without fields P(s_v = +1) is one half.
    """
    n, patient = model.num_spins, budget.or_within(PATIENCE_SECONDS)
    started = budget.seconds()
    first = bounds.interval(model, patient.share(1.0 / (n + 1)))
    slowest = 2 * (budget.seconds() - started)
    known = bounds.marginal_ends(model, time_limit=patient.share(0.2))
    lower, upper = known.nodes_lower, known.nodes_upper
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
    ends = known.meet(bounds.MarginalEnds.of_nodes(model, lower, upper))
    edges = (ends.edges_lower + ends.edges_upper) / 2
    if guess is not None and guess.edges is not None:
        edges = np.asarray(guess.edges)
    return ends.around(
        Marginals(
            nodes=nodes,
            edges=edges,
            log_partition=first,
            method="clamped",
            seconds=budget.seconds(),
        )
    )


METHODS = [
    Method(
        "clamped",
        "encloses marginals",
        {"marginals": Task(lambda asked: by_clamping(asked.model, asked.budget), "interval")},
    )
]
