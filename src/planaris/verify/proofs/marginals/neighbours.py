"""Ends of marginals that hold whatever the neighbours do: no proof is needed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from planaris.models import IsingModel
from planaris.typing import BoolArray, FloatArray
from planaris.verify.proof_arrays import components

_UNIT = 2.0**-53

FAR = 300.0
"""Fields beyond decide a spin: P(s = -1) is below 1e-260."""


class SpinEnds(NamedTuple):
    """Lower and upper ends of P(s_v = +1) of spins, and of P(s_u = s_v) of edges."""

    nodes: tuple[FloatArray, FloatArray]
    edges: tuple[FloatArray, FloatArray]


def outward(low: FloatArray, high: FloatArray, units: float) -> tuple[FloatArray, FloatArray]:
    """Return ends moved out by so many roundings of numbers up to one, but not out of [0, 1]."""
    off = units * _UNIT
    return np.maximum(low - off, 0.0), np.minimum(high + off, 1.0)


def neighbour_ends(model: IsingModel) -> tuple[FloatArray, FloatArray]:
    """Return ends of P(s_v = +1): fields h ± Σ|J|, and 1/2 where no field acts.

    Examples
    --------
    >>> low, high = neighbour_ends(IsingModel([(0, 1)], [1.0], fields=[0.5, 0.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.269, 0.119], [0.953, 0.881])
    """
    pulls: list[list[float]] = [[] for _ in range(model.num_spins)]
    sizes = np.abs(model.couplings).tolist()
    for (u, v), size in zip(model.edges.tolist(), sizes, strict=True):
        pulls[u].append(size)
        pulls[v].append(size)
    fields = model.fields.tolist()
    down = [math.fsum([h, *(-p for p in some)]) for h, some in zip(fields, pulls, strict=True)]
    up = [math.fsum([h, *some]) for h, some in zip(fields, pulls, strict=True)]
    least = np.array([_chance(x - 4 * _UNIT * abs(x)) if x > -FAR else 0.0 for x in down])
    most = np.array([_chance(x + 4 * _UNIT * abs(x)) if x < FAR else 1.0 for x in up])
    low, high = outward(least, most, 4)
    alone = without_field(model)
    return np.where(alone, 0.5, low), np.where(alone, 0.5, high)


def _chance(field: float) -> float:
    """Return P(s = +1) = 1 / (1 + exp(-2 h)), to a few units in the last place."""
    odds = math.exp(-2.0 * min(abs(field), FAR))
    return (1.0 if field >= 0 else odds) / (1.0 + odds)


def without_field(model: IsingModel) -> BoolArray:
    """Return which spins no field acts on: turning all of them over changes no weight."""
    count, label = components(model.num_spins, *model.edges.astype(np.int64).T)
    acts = np.bincount(label, model.fields != 0, max(count, 1)) > 0
    found: BoolArray = ~acts[label]
    return found


def edge_ends(
    model: IsingModel, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ends of P(s_u = s_v): with p, q of +1, from |p + q - 1| to 1 - |p - q|."""
    u, v = model.edges.T
    least = np.maximum(low[u] + low[v] - 1, 1 - high[u] - high[v])
    most = 1 - np.maximum(0.0, np.maximum(low[u] - high[v], low[v] - high[u]))
    return outward(least, most, 4)


def spin_ends(model: IsingModel) -> SpinEnds:
    """Return the ends of all spins and edges.

    >>> ends = spin_ends(IsingModel([(0, 1)], [1.0]))
    >>> ends.nodes[0].tolist(), ends.edges[1].tolist()
    ([0.5, 0.5], [1.0])
    """
    low, high = neighbour_ends(model)
    return SpinEnds((low, high), edge_ends(model, low, high))
