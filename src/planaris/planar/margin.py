"""The worst margin violator: the state that learning must push away next (SK08 eq. 8–10)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planaris.models import IsingModel, require_ising
from planaris.models.arrays import as_finite
from planaris.models.base import energy_tolerance, exact_sum
from planaris.notebook import Shown
from planaris.planar.ground_state import ground_state
from planaris.result import GroundState
from planaris.typing import ArrayLike, FloatArray, Int8Array


@dataclass(frozen=True, eq=False, repr=False)
class MarginViolator(Shown):
    """A state of least margin energy.

    Attributes
    ----------
    spins : numpy.ndarray
        The state.
    margin_energy : float
        ``energy - distance``, the minimum of SK08 eq. 8, rounded once.
    energy : float
        Energy of ``spins`` in the given model.
    distance : float
        Weighted number of edges whose agreement differs from the reference (eq. 9).
    exact : bool
        True when no state has a lower margin energy.
    """

    spins: Int8Array
    margin_energy: float
    energy: float
    distance: float
    exact: bool


def margin_violator(
    model: IsingModel,
    reference: ArrayLike,
    weights: ArrayLike = 1.0,
    *,
    solve: Callable[[IsingModel], GroundState] = ground_state,
) -> MarginViolator:
    """Return the state that minimises energy minus distance from a reference state.

    Parameters
    ----------
    model : IsingModel
        A model that ``solve`` takes (by default: planar, without fields).
    reference : array_like of int, shape (n,)
        The wanted state ``y*``, -1 and +1.
    weights : array_like of float, shape (m,)
        ``v_ij`` of SK08 eq. 9; a number stands for all edges.
    solve : callable
        Finds the ground state.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2)], [1.0, -0.25])
    >>> worst = margin_violator(model, [1, 1, -1], 1.0)
    >>> worst.spins.tolist(), worst.margin_energy
    ([1, 1, 1], -1.75)
    """
    require_ising(model)
    target = np.asarray(reference, dtype=np.int8)
    model.log_weight(target)  # refuses anything that is not a state
    v = as_finite("weights", weights, model.num_edges)
    differs = target[model.edges[:, 0]] != target[model.edges[:, 1]]
    # Eq. 10 in couplings J = E / 2: an edge gains v / 2 where the reference cuts it.
    half = np.where(differs, v, -v) / 2
    tilted = model.couplings + half
    found = solve(model.with_couplings(tilted))
    s = found.spins
    changed = (s[model.edges[:, 0]] != s[model.edges[:, 1]]) != differs
    lost = _lost(model.couplings, half, tilted)
    sizes = np.abs(np.concatenate([model.couplings, half]))
    return MarginViolator(
        s,
        exact_sum(np.concatenate([model.energy_terms(s), -v[changed]])),
        float(model.energy(s)),
        exact_sum(v[changed]),
        found.exact and (lost == 0 or found.gap + 2 * lost <= energy_tolerance(sizes)),
    )


def _lost(first: FloatArray, second: FloatArray, total: FloatArray) -> float:
    """Return by how much sums of two numbers each are off for rounding, added up.

    Beside couplings of 1e17 a weight of one is lost.
    """
    taken = total - first
    parts = (first - (total - taken)) + (second - taken)  # exact (Knuth)
    return math.fsum(np.abs(parts).tolist())
