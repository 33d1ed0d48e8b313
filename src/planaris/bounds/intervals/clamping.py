"""Marginals from bounds on log Z with one spin clamped (GJ06 section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planaris.bounds.decomposition.planar import pdc
from planaris.models import IsingModel, require_ising
from planaris.models.base import EPS, sum_below
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
        up, down = (clamp(model, v, s) for s in (1, -1))
        plus, minus = bound(up), bound(down)
        lost = _rounded(model, up, v, 1) + _rounded(model, down, v, -1)
        nodes[k] = _logistic(plus.upper - minus.upper)
        lower[k] = _logistic_below(sum_below(plus.lower, -minus.upper, -lost))
        upper[k] = _logistic_above(-sum_below(minus.lower, -plus.upper, -lost))
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


def _rounded(model: IsingModel, clamped: IsingModel, spin: int, value: int) -> float:
    """Return how much the numbers of a clamped model were rounded, in all.

    >>> strong = IsingModel([(0, 1)], [1.0], fields=[0.0, 2.0**54])
    >>> round(_rounded(strong, clamp(strong, 0, 1), 0, 1), 12)
    1.0
    """
    touching = (model.edges == spin).any(1)
    other = (model.edges[touching].sum(1) - spin).tolist()
    held, old = clamped.fields.tolist(), model.fields.tolist()
    missed = [
        math.fsum([old[u], value * coupling, -held[u]])
        for u, coupling in zip(other, model.couplings[touching].tolist(), strict=True)
    ]
    missed.append(math.fsum([model.offset, value * old[spin], -math.log(2.0), -clamped.offset]))
    return math.fsum(map(abs, missed)) * (1.0 + 4 * EPS)


def _logistic_below(difference: float) -> float:
    """Return a number below the logistic function, which is never one."""
    if difference < -700:
        return 0.0
    return min(_logistic(difference) * (1.0 - 8 * EPS), math.nextafter(1.0, 0.0))


def _logistic_above(difference: float) -> float:
    """Return a number above the logistic function, which is never zero."""
    return min(_logistic(max(difference, -699.0)) * (1.0 + 8 * EPS), 1.0)


def _logistic(difference: float) -> float:
    if difference >= 0:
        return 1.0 / (1.0 + math.exp(-difference)) if difference < 700 else 1.0
    return math.exp(difference) / (1.0 + math.exp(difference)) if difference > -700 else 0.0
