"""Ground states drawn at random: what an estimator could as well have answered.

The edges alone leave many labellings equally good, so the error of "the" solution depends on
which one a solver happens to return. Its mean over all of them is a property of the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planaris import treewidth
from planaris.embed import embed
from planaris.errors import MethodError, NotPlanarError, TooLargeError
from planaris.infer import ground_state
from planaris.models import IsingModel, require_ising
from planaris.planar import plan
from planaris.result import GroundState
from planaris.typing import FloatArray, Int8Array

COLD = (20.0, 2e3, 2e5)
"""Inverse temperatures to try until only ground states come, for a weakest coupling of one. The
first does where all couplings are multiples of it: excited states weigh e^-40 each."""

NEGLIGIBLE = 1e-6
"""Couplings and fields below this share of the strongest do not count as the weakest."""

EXACT_SPINS = 100_000
"""Up to here planar ground states are sampled exactly, beyond by perturbation."""

TIE = 1e-12
"""Energies this close are equal, relative to the size of all couplings and fields together."""

Draw = Callable[[IsingModel, int, np.random.Generator], Int8Array]


def sample_ground_states(
    model: IsingModel, size: int, rng: np.random.Generator
) -> tuple[Int8Array, str]:
    """Draw ground states of a model, uniformly where that can be done.

    Parameters
    ----------
    model : IsingModel
        Any model.
    size : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    states : numpy.ndarray
        int8, shape (size, n); each has the least energy, but for ``model.energy_tolerance``.
    how : str
        ``"planar"`` and ``"treewidth"``: exact samples at a temperature so low that only
        ground states came, uniform over them. ``"perturbation"``: ground states of
        slightly perturbed couplings; all of them can come, isolated twofold ties evenly, but
        larger families not uniformly. Beside couplings so large that no perturbation is small
        enough, always the same one.

    Examples
    --------
    >>> ring = IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], [1, 1, 1, -1])
    >>> states, how = sample_ground_states(ring, 200, np.random.default_rng(0))
    >>> how, sorted(set(ring.energy(states).tolist())), len(np.unique(states, axis=0))
    ('planar', [-2.0], 8)
    """
    require_ising(model)
    bare = model.without_offset()
    scaled, least = _in_units(bare), ground_state(bare)
    draw, how = _sampler(scaled)
    for beta in COLD:
        if draw is None:
            break
        cold = scaled.with_couplings(beta * scaled.couplings, beta * scaled.fields)
        try:
            states = draw(cold, size, rng)
        except (MethodError, TooLargeError):  # too frustrated for this temperature, or too wide
            break
        if _are_lowest(bare, states, least):
            return states, how
    return _perturbed(bare, scaled, least, size, rng), "perturbation"


def _in_units(model: IsingModel) -> IsingModel:
    """Return the model with its weakest coupling or field at one."""
    sizes = np.abs(np.concatenate([model.couplings, model.fields]))
    counted = sizes[sizes > NEGLIGIBLE * sizes.max(initial=0.0)]
    unit = float(counted.min()) if counted.size else 1.0
    return model.with_couplings(model.couplings / unit, model.fields / unit)


def _sampler(model: IsingModel) -> tuple[Draw | None, str]:
    """Return what draws exact samples of the model at any temperature, and its name."""
    if not model.has_fields and model.num_spins > EXACT_SPINS:
        return None, "perturbation"
    if not model.has_fields:
        try:
            drawn = plan(embed(model), positions=model.positions)
        except NotPlanarError:
            pass
        else:
            return lambda cold, size, rng: drawn.sample(cold.couplings, size, rng), "planar"
    return treewidth.sample, "treewidth"


def _are_lowest(model: IsingModel, states: Int8Array, least: GroundState) -> bool:
    size = float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
    if np.any(model.energy(states) > least.energy + TIE * size):
        return False
    if TIE * size <= model.energy_tolerance:
        return True
    level = model.energy_terms(least.spins)  # energies as such say too little
    return all(model.energy_above(state, level) <= model.energy_tolerance for state in states)


def _perturbed(
    bare: IsingModel,
    model: IsingModel,
    least: GroundState,
    size: int,
    rng: np.random.Generator,
) -> Int8Array:
    """Return ground states of couplings moved by too little to change the order of levels."""
    states = np.empty((size, model.num_spins), dtype=np.int8)
    # Levels of integers are two apart; where others are closer, the step is made shorter.
    step = 0.25 / max(model.num_edges + model.num_spins, 1)

    def moved(values: FloatArray) -> FloatArray:
        noise = rng.uniform(-step, step, len(values))
        return np.where(values == 0, 0.0, values + noise)

    for row in states:
        while True:
            fields = moved(model.fields) if model.has_fields else None
            row[:] = ground_state(model.with_couplings(moved(model.couplings), fields)).spins
            if _are_lowest(bare, row[None], least):
                break
            if step < TIE:
                row[:] = least.spins
                break
            step /= 16
    return states
