"""What holds of log Z before any work: for calls whose time is over at once."""

from __future__ import annotations

import math

import numpy as np

from planaris.models import IsingModel
from planaris.models.base import exact_sum
from planaris.result import Bounds, LogPartition, MeanField, Pseudomarginals
from planaris.subgraphs.bias_model import EPSILON, LOG2


def out_of_time(model: IsingModel, method: str, seconds: float) -> LogPartition:
    """Return the sizes of all tables above, and spins that follow their own fields below.

    Examples
    --------
    >>> found = out_of_time(IsingModel([(0, 1)], [1.0], [0.5, 0.0]), "trw", 0.0)
    >>> round(found.lower, 4), round(found.upper, 4)  # log Z = 1.9401
    (1.5064, 2.8863)
    """
    upper = crude_upper(model)
    return LogPartition.between(
        min(independent_lower(model), upper),
        upper,
        value=upper,
        num_variables=model.num_spins,
        method=method,
        status="time_limit",
        pseudomarginals=Pseudomarginals(
            np.full(model.num_spins, 0.5), np.full(model.num_edges, 0.5)
        ),
        seconds=seconds,
        certificate=Bounds(independent_proof(model), None),
    )


def crude_upper(model: IsingModel) -> float:
    """Return what no state's weight can exceed, times the number of states, rounded up.

    >>> round(crude_upper(IsingModel([(0, 1)], [1.0])), 4)
    2.3863
    """
    total = float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
    upper = total + model.num_spins * LOG2
    upper += 4 * EPSILON * (model.num_edges + model.num_spins + 1) * (upper + 1)
    return math.nextafter(upper + model.offset, math.inf)


def independent_lower(model: IsingModel) -> float:
    """Return the mean-field bound of spins that follow their own fields, rounded down.

    >>> round(independent_lower(IsingModel([(0, 1)], [1.0])), 4)
    1.3863
    """
    size = np.abs(model.fields)
    means = np.tanh(model.fields)
    logs = size + np.log1p(np.exp(-2.0 * size))
    pairs = model.couplings * means[model.edges[:, 0]] * means[model.edges[:, 1]]
    bound = exact_sum(np.concatenate([logs, pairs, [model.offset]]))
    total = float(logs.sum() + np.abs(pairs).sum() + np.abs(model.couplings).sum())
    return bound - 8 * EPSILON * (total + abs(model.offset) + 1)


def independent_proof(model: IsingModel) -> MeanField:
    """Return the proof of :func:`independent_lower`: no couplings are kept, fields are as given."""
    return MeanField(np.zeros(0, dtype=np.int64), model.fields)
