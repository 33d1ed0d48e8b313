"""Bounds as results: both ends of the interval, pseudomarginals, what the search did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.bounds.best_interval import independent_lower, independent_proof, out_of_time
from planaris.bounds.structured_mean_field import mean_field
from planaris.models import IsingModel
from planaris.result import Bounds, LogPartition, Mixture, Pseudomarginals, Stats
from planaris.subgraphs.convex_combination import Decomposition

MEAN_FIELD_SECONDS = 2e-5
"""Per spin, to prepare mean field over single spins."""


def bound_result(
    model: IsingModel, state: Decomposition, method: str, **details: Any
) -> LogPartition:
    """Return the certified bound of a decomposition, with a quick lower bound."""
    if state.upper == math.inf:
        return out_of_time(model, method, 0.0)
    try:
        upper = state.certified(state.budget.to_finish())
    except TimeoutError:
        return out_of_time(model, method, state.budget.seconds())
    below: Any = None
    left = max(state.budget.remaining(), 0.1)
    if MEAN_FIELD_SECONDS * model.num_spins <= left:
        last = state.budget.unlimited().within(left)
        below = mean_field(model, clusters="spins", max_sweeps=30, restarts=1, time_limit=last)
    nodes, edges = state.marginals()
    pieces = state.pieces
    weights = state.rho()
    stats: Stats = {
        "rho": np.bincount(pieces.edge, weights[pieces.piece], state.bare.num_edges)[
            : model.num_edges
        ],
        "disagreement": state.disagreement,
        "iterations": state.steps,
        "evaluations": state.evaluations,
        "trace": state.trace,
    }
    least = independent_proof(model) if below is None else below.certificate.lower
    proof = Bounds(least, state.proof())
    lower = min(independent_lower(model) if below is None else below.lower, upper)
    return LogPartition.between(
        lower,
        upper,
        value=upper,
        num_variables=model.num_spins,
        method=method,
        pseudomarginals=Pseudomarginals(nodes, edges),
        mixture=Mixture(weights, pieces.subgraphs),
        certificate=proof,
        stats=stats,
        **details,
    )
