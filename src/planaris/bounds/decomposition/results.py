"""Bounds as results: both ends of the interval, pseudomarginals, what the search did."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from planaris.bounds.out_of_time import independent_lower, independent_proof, out_of_time
from planaris.bounds.structured_mean_field import mean_field
from planaris.budget import UNLIMITED, Budget
from planaris.embed import Embedding
from planaris.models import IsingModel
from planaris.planar.plan import Plan
from planaris.result import Bounds, LogPartition, Mixture, Pseudomarginals, Stats
from planaris.subgraphs.bias_model import EPSILON, LOG2, MAX_TOTAL, BiasModel
from planaris.subgraphs.convex_combination import Decomposition
from planaris.typing import FloatArray

MEAN_FIELD_SECONDS = 2e-5
"""Per spin, to prepare mean field over single spins."""


def trivial(model: IsingModel, bare: BiasModel, method: str) -> LogPartition | None:
    """Return the result for a model without couplings, or one too large for arithmetic."""
    total = float(np.abs(bare.couplings).sum())
    if total <= 0.0:
        value = model.num_spins * LOG2 + model.offset
        slack = 4 * EPSILON * (abs(value) + abs(model.offset) + 1)
        return LogPartition.around(value, slack, num_variables=model.num_spins, method=method)
    if total > MAX_TOTAL:
        upper = bare.crude_upper()
        n = model.num_spins
        return LogPartition.between(
            -math.inf, upper, num_variables=n, method=method, status="too large"
        )
    return None


def solve_easy(
    model: IsingModel, bare: BiasModel, method: str, *, budget: Budget = UNLIMITED
) -> LogPartition | None:
    """Return the result for trivial models, and the exact one for planar models.

    An interval where the exact one is not there in time.
    """
    if (found := trivial(model, bare, method)) is not None:
        return found
    members = np.flatnonzero(bare.couplings)
    edges = np.ascontiguousarray(bare.edges[members])
    try:
        with budget.for_structure():
            surface = Embedding.if_planar(edges, num_vertices=bare.num_spins)
            if surface is None:
                return None
            prepared = Plan(surface)
    except TimeoutError:
        return out_of_time(model, method, 0.0)
    exact: LogPartition = prepared.log_partition(bare.couplings[members], time_limit=budget)
    if exact.status == "time_limit":
        return out_of_time(model, method, 0.0)
    slack = 2 * EPSILON * (abs(exact.value) + abs(bare.constant))
    return replace(
        exact,
        value=exact.value + bare.constant,
        lower=exact.lower + bare.constant - slack,
        upper=exact.upper + bare.constant + slack,
        method=method,
        status="planar",
        certificate=None,
    )


def bound_result(
    model: IsingModel, state: Decomposition, method: str, **details: Any
) -> LogPartition:
    """Return the certified bound of a decomposition, with a quick lower bound."""
    if state.upper == math.inf:
        return out_of_time(model, method, 0.0)
    upper = state.certified()
    below: Any = None
    left = max(state.budget.remaining(), 0.1)
    if MEAN_FIELD_SECONDS * model.num_spins <= left:
        last = state.budget.unlimited().within(left)
        below = mean_field(model, clusters="spins", max_sweeps=30, restarts=1, time_limit=last)
    nodes, edges = shared_marginals(model, state)
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


def shared_marginals(model: IsingModel, state: Decomposition) -> tuple[FloatArray, FloatArray]:
    """Return P(s = +1) and P(s_u = s_v), averaged over the subgraphs that know them."""
    moments = np.clip(state.moments, -1.0, 1.0)
    nodes = np.full(model.num_spins, 0.5)
    if model.has_fields:
        nodes = (1 + moments[model.num_edges :]) / 2
    return nodes, (1 + moments[: model.num_edges]) / 2
