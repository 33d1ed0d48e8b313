"""Bounds as results: both ends of the interval, pseudomarginals, what the search did."""

from __future__ import annotations

import math

import numpy as np

from planaris.bounds.bare import EPSILON, LOG2, MAX_TOTAL, Bare
from planaris.bounds.decomposition import Decomposition
from planaris.bounds.mean_field import mean_field
from planaris.models import IsingModel
from planaris.result import Bounds, LogPartition, Stats
from planaris.typing import FloatArray


def trivial(model: IsingModel, bare: Bare, method: str) -> LogPartition | None:
    """Return the result for a model without couplings, or one too large for arithmetic."""
    total = float(np.abs(bare.couplings).sum())
    if total <= 0.0:
        value = model.num_spins * LOG2 + model.offset
        slack = 4 * EPSILON * (abs(value) + abs(model.offset) + 1)
        return LogPartition(value, value - slack, value + slack, True, method)
    if total > MAX_TOTAL:
        upper = bare.crude_upper()
        return LogPartition(upper, -math.inf, upper, False, method, {"status": "too large"})
    return None


def bound_result(
    model: IsingModel, state: Decomposition, method: str, stats: Stats
) -> LogPartition:
    """Return the certified bound of a decomposition, with a quick lower bound."""
    upper = state.certified()
    below = mean_field(model, clusters="spins", max_sweeps=30, restarts=1)
    nodes, edges = shared_marginals(model, state)
    pieces = state.pieces
    weights = state.rho()
    details: Stats = {
        "nodes": nodes,
        "edges": edges,
        "rho": np.bincount(pieces.edge, weights[pieces.piece], state.bare.num_edges)[
            : model.num_edges
        ],
        "weights": weights,
        "subgraphs": pieces.subgraphs,
        "disagreement": state.disagreement,
        "iterations": state.steps,
        "evaluations": state.evaluations,
        "trace": state.trace,
    }
    proof = Bounds(below.certificate.lower, state.proof())
    stats = {**details, **stats}
    lower = min(below.lower, upper)
    return LogPartition(upper, lower, upper, False, method, stats, certificate=proof)


def shared_marginals(model: IsingModel, state: Decomposition) -> tuple[FloatArray, FloatArray]:
    """Return P(s = +1) and P(s_u = s_v), averaged over the subgraphs that know them."""
    moments = np.clip(state.moments, -1.0, 1.0)
    nodes = np.full(model.num_spins, 0.5)
    if model.has_fields:
        nodes = (1 + moments[model.num_edges :]) / 2
    return nodes, (1 + moments[: model.num_edges]) / 2
