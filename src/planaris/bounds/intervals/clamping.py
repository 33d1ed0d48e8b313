"""Marginals from bounds on log Z with one spin clamped (GJ06 section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planaris.bounds.decomposition.planar import pdc
from planaris.models import IsingModel, require_ising
from planaris.notebook import Shown
from planaris.result import LogPartition
from planaris.typing import ArrayLike, FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ClampedMarginals(Shown):
    """Estimates of P(s = +1) and intervals that contain it.

    Attributes
    ----------
    nodes : numpy.ndarray
        Estimates: the two upper bounds, normalised (GJ06).
    lower, upper : numpy.ndarray
        What the two intervals for log Z prove.
    """

    nodes: FloatArray
    lower: FloatArray
    upper: FloatArray


def clamped_marginals(
    model: IsingModel,
    spins: ArrayLike | None = None,
    *,
    bound: Callable[[IsingModel], LogPartition] = pdc,
) -> ClampedMarginals:
    """Estimate and enclose P(s_v = +1) by bounds on log Z with s_v = +1 and s_v = -1.

    Parameters
    ----------
    model : IsingModel
        Any model.
    spins : array_like of int, optional
        Which; default all. Each costs two bounds.
    bound : callable
        Gives a :class:`planaris.result.LogPartition` for a model, e.g. :func:`pdc`, or
        :func:`interval` for tight lower bounds too.

    Examples
    --------
    >>> pair = IsingModel([(0, 1)], [0.5], [1.0, 0.0])
    >>> found = clamped_marginals(pair)
    >>> found.nodes.round(4).tolist()
    [0.8808, 0.676]
    """
    require_ising(model)
    chosen = np.arange(model.num_spins) if spins is None else np.atleast_1d(np.asarray(spins))
    nodes, lower, upper = (np.empty(len(chosen)) for _ in range(3))
    for k, v in enumerate(chosen.tolist()):
        plus, minus = (bound(clamp(model, v, s)) for s in (1, -1))
        nodes[k] = _logistic(plus.upper - minus.upper)
        lower[k] = _logistic(plus.lower - minus.upper)
        upper[k] = _logistic(plus.upper - minus.lower)
    return ClampedMarginals(nodes, lower, upper)


def clamp(model: IsingModel, spin: int, value: int) -> IsingModel:
    """Fix a spin: its couplings become fields of its neighbours.

    The spin stays, without couplings, so that numbers do not change; the log 2 of its two
    states is taken off the offset.

    >>> clamp(IsingModel([(0, 1)], [0.5], [1.0, 0.0]), 0, -1).fields.tolist()
    [0.0, -0.5]
    """
    touching = (model.edges == spin).any(1)
    other = model.edges[touching].sum(1) - spin
    fields = np.array(model.fields)
    fields[spin] = 0.0
    np.add.at(fields, other, value * model.couplings[touching])
    return IsingModel(
        model.edges,
        np.where(touching, 0.0, model.couplings),
        fields,
        num_spins=model.num_spins,
        positions=model.positions,
        offset=model.offset + value * float(model.fields[spin]) - math.log(2.0),
        labels=model.labels,
    )


def _logistic(difference: float) -> float:
    if difference >= 0:
        return 1.0 / (1.0 + math.exp(-difference)) if difference < 700 else 1.0
    return math.exp(difference) / (1.0 + math.exp(difference)) if difference > -700 else 0.0
