"""Trivial bounds on the ground-state energy, for calls that time out before any work."""

from __future__ import annotations

import math

import numpy as np

from planaris.budget import Budget
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.base import exact_sum
from planaris.result import GroundState
from planaris.typing import LongArray


def trivial_ground_state(
    model: IsingModel | MarkovRandomField, method: str, budget: Budget
) -> GroundState:
    """Return a state and the sum of the least energies of all factors.

    Examples
    --------
    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0], [0.5, 0.0, 0.0])
    >>> found = trivial_ground_state(frustrated, "mplp", Budget())
    >>> found.lower <= -3.5, found.energy
    (True, -1.5)
    """
    if isinstance(model, IsingModel):
        labels = (model.fields >= 0).astype(np.int64)
        sizes = np.concatenate([np.abs(model.couplings), np.abs(model.fields), [model.offset]])
    else:
        labels = _best_alone(model)
        first = model.table_offsets[:-1]
        sizes = np.maximum.reduceat(model.log_values, first) if len(first) else np.zeros(0)
    total = exact_sum(sizes) if np.all(sizes > -np.inf) else -math.inf
    lower = math.nextafter(-total, -math.inf) if math.isfinite(total) else math.inf
    state = 2 * labels - 1 if isinstance(model, IsingModel) else labels
    return GroundState.of(
        model,
        state.astype(np.int8) if isinstance(model, IsingModel) else state,
        lower,
        method=method,
        seconds=budget.seconds(),
        stats={"status": "time_limit"},
    )


def _best_alone(mrf: MarkovRandomField) -> LongArray:
    """Return the best label of every variable by the factors of that variable alone."""
    first = np.cumsum(mrf.cardinalities) - mrf.cardinalities
    logs = np.zeros(int(mrf.cardinalities.sum()))
    for k in np.flatnonzero(np.diff(mrf.scope_offsets) == 1).tolist():
        start = first[mrf.scope(k)[0]]
        table = mrf.log_table(k)
        logs[start : start + len(table)] += table
    labels = np.zeros(mrf.num_variables, dtype=np.int64)
    best = np.maximum.reduceat(logs, first) if len(first) else np.zeros(0)
    at = np.flatnonzero(logs == np.repeat(best, mrf.cardinalities))[::-1]
    owner = np.repeat(np.arange(mrf.num_variables), mrf.cardinalities)
    labels[owner[at]] = at - first[owner[at]]
    return labels
