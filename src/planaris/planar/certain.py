"""What is certain about ground states when the least unsatisfied edges are no state.

The packing of T-cuts y gives every edge a slack, its weight minus the cuts through it. A state
that leaves edge e unsatisfied leaves at least Σ y + slack_e unsatisfied in all. Where that is
more than a known state needs, e is satisfied in every ground state (reduced-cost fixing); spins
joined by such edges have known relative signs.
"""

from __future__ import annotations

import numpy as np

from planaris.kernels.graph import connected_components
from planaris.matching.tjoins import CutPacking, TJoin
from planaris.models import IsingModel
from planaris.typing import BoolArray, FloatArray, IntArray

_MARGIN = 1e-12
"""Of Σ |J|: what rounding may do to a slack."""


def certain_edges(
    model: IsingModel, dual_edges: IntArray, tjoin: TJoin, energy: float
) -> BoolArray:
    """Return the edges that every ground state satisfies, given a state of that energy."""
    weights = np.abs(model.couplings)
    total = float(weights.sum())
    needed = (energy + model.offset + total) / 2
    slack = weights - separating_value(tjoin.certificate, dual_edges)
    return np.asarray(slack > needed - float(tjoin.lower) + _MARGIN * total)


def certain_spins(model: IsingModel, certain: BoolArray) -> BoolArray:
    """Return the largest set of spins whose relative signs the certain edges fix."""
    joined = np.ascontiguousarray(model.edges[certain])
    cluster = connected_components(model.num_spins, joined)
    if not len(cluster):
        return np.zeros(0, dtype=bool)
    return np.asarray(cluster == np.bincount(cluster).argmax())


def separating_value(packing: CutPacking, edges: IntArray) -> FloatArray:
    """Return, for every edge, the total value of the sets that separate its ends."""
    places = int(edges.max(initial=-1)) + 1
    home = np.full(max(places, int(packing.order.max(initial=-1)) + 1), -1, dtype=np.int64)
    for k in range(packing.num_sets):  # parents come first, so the innermost set stays
        home[packing.members(k)] = k
    values = _as_floats(packing)
    level = np.zeros(packing.num_sets, dtype=np.int64)
    for k, parent in enumerate(packing.parent.tolist()):
        level[k] = level[parent] + 1 if parent >= 0 else 1
    a, b = home[edges[:, 0]], home[edges[:, 1]]
    total = np.zeros(len(edges))
    height = np.append(level, 0)  # index -1: outside all sets
    while True:
        apart = np.flatnonzero(a != b)
        if not apart.size:
            return total
        for side, other in ((a, b), (b, a)):
            climb = apart[(side[apart] != other[apart])]
            climb = climb[height[side[climb]] >= np.maximum(height[other[climb]], 1)]
            total[climb] += values[side[climb]]
            side[climb] = packing.parent[side[climb]]


def _as_floats(packing: CutPacking) -> FloatArray:
    digits = packing.digits.astype(np.float64)
    if digits.ndim == 2:
        digits = digits @ (2.0 ** (32 * np.arange(digits.shape[1])))
    return np.ldexp(digits, packing.exponent)
