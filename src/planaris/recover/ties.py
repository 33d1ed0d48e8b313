"""Ground states drawn at random: what an estimator could as well have answered.

The edges alone leave many labellings equally good, so the error of "the" solution depends on
which one a solver happens to return. Its mean over all of them is a property of the data.
"""

from __future__ import annotations

import numpy as np

from planaris import treewidth
from planaris.embed import embed
from planaris.errors import MethodError, NotPlanarError, TooLargeError
from planaris.infer import ground_state
from planaris.models import IsingModel
from planaris.planar import plan
from planaris.typing import FloatArray, Int8Array

COLD = 20.0
"""Inverse temperature of models with levels two apart: excited states weigh e^-40 each."""

FROZEN = 3e4
"""Inverse temperature where levels may lie close: states worse by 1e-3 weigh e^-30."""

EXACT_SPINS = 100_000
"""Up to here planar ground states are sampled exactly, beyond by perturbation."""


def sample_ground_states(
    model: IsingModel, size: int, rng: np.random.Generator
) -> tuple[Int8Array, str]:
    """Draw ground states of a model, uniformly where that can be done.

    Parameters
    ----------
    model : IsingModel
        In a zero field: couplings must be integers, so that levels are two apart.
    size : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    states : numpy.ndarray
        int8, shape (size, n).
    how : str
        ``"planar"`` and ``"treewidth"``: exact samples at a temperature so low that only
        ground states have weight, uniform over them. ``"perturbation"``: ground states of
        slightly perturbed couplings; all of them can come, isolated twofold ties evenly, but
        larger families not uniformly.

    Examples
    --------
    >>> ring = IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], [1, 1, 1, -1])
    >>> states, how = sample_ground_states(ring, 200, np.random.default_rng(0))
    >>> how, sorted(set(ring.energy(states).tolist())), len(np.unique(states, axis=0))
    ('planar', [-2.0], 8)
    """
    if model.has_fields:
        return _by_elimination(model, size, rng)
    if model.num_spins <= EXACT_SPINS:
        try:
            drawn = plan(embed(model), positions=model.positions)
            return drawn.sample(COLD * model.couplings, size, rng), "planar"
        except NotPlanarError:
            return _by_elimination(model, size, rng)
        except MethodError:  # too frustrated for double-double at this temperature
            pass
    return _perturbed(model, size, rng), "perturbation"


def _by_elimination(
    model: IsingModel, size: int, rng: np.random.Generator
) -> tuple[Int8Array, str]:
    cold = COLD if not model.has_fields else FROZEN
    try:
        states = treewidth.sample(
            model.with_couplings(cold * model.couplings, cold * model.fields), size, rng
        )
    except TooLargeError:
        return _perturbed(model, size, rng), "perturbation"
    return states, "treewidth"


def _perturbed(model: IsingModel, size: int, rng: np.random.Generator) -> Int8Array:
    """Return ground states of couplings moved by less than could change the order of levels."""
    states = np.empty((size, model.num_spins), dtype=np.int8)
    step = 0.25 / max(model.num_edges + model.num_spins, 1)

    def moved(values: FloatArray) -> FloatArray:
        noise = rng.uniform(-step, step, len(values))
        return np.where(values == 0, 0.0, values + noise)

    for row in states:
        fields = moved(model.fields) if model.has_fields else None
        row[:] = ground_state(model.with_couplings(moved(model.couplings), fields)).spins
    return states
