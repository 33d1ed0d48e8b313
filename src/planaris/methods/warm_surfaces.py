"""Surfaces too cold for their Pfaffians, from a warmer temperature and the ground state."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError
from planaris.reductions.parts import Part
from planaris.result import GroundState, LogPartition
from planaris.typing import Array, FloatArray

LARGEST_COUPLINGS = (2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 14.0)
"""The temperature is raised to where the largest coupling is one of these."""

GOOD_WIDTH = 1e-10
"""Width per spin of an interval that is not narrowed any further."""

LEAST_KEPT = 0.02
"""Samples of a warmer model are drawn while this part of them is kept, at least."""

EPSILON = float(np.finfo(np.float64).eps)


def enclose_from_warmer(part: Part, lowest: GroundState, budget: Budget) -> LogPartition | None:
    """Enclose log Z of a part by values at higher temperatures; None if there are none.

    They fall while time lasts and Pfaffians are accurate.

    log Z(β) is convex in β, and no slope is steeper than minus the lowest energy E₀. So with exact
    values at β'' < β' < β

        (β - β') (log Z(β') - log Z(β'')) / (β' - β'') <= log Z(β) - log Z(β') <= (β - β') (-E₀).

    The ends are as far apart as the mean energy at β'' is above E₀: next to nothing where levels
    have a gap.

    Parameters
    ----------
    part : Part
        With an embedding.
    lowest : GroundState
        Of the part; its lower bound counts.
    budget : Budget
        For all of it.
    """
    size = float(np.abs(part.model.couplings).sum()) + part.model.num_spins
    slack = 16 * EPSILON * size
    lower, upper, spins = -math.inf, math.inf, part.model.num_spins
    before: tuple[float, LogPartition] | None = None
    for factor in _factors(part):
        if budget.expired() or upper - lower <= GOOD_WIDTH * spins:
            break
        warm = part.at(factor).log_partition(budget)
        if not warm.exact:
            break
        upper = min(upper, warm.upper - (1.0 - factor) * lowest.lower + slack)
        if before is not None:
            slope = (warm.lower - before[1].upper) / (factor - before[0])
            lower = max(lower, warm.lower + (1.0 - factor) * slope - slack)
        before = factor, warm
    if lower == -math.inf:
        return None
    return LogPartition.between(
        lower,
        max(lower, upper),
        num_variables=spins,
        method="planar",
        proved=False,
        stats={"from_warmer": True},
    )


def _factors(part: Part) -> list[float]:
    largest = float(np.abs(part.model.couplings).max(initial=0.0))
    return [warm / largest for warm in LARGEST_COUPLINGS if warm < largest]


def samples_from_warmer(
    part: Part, lowest: GroundState, size: int, rng: np.random.Generator, budget: Budget
) -> Array:
    """Return exact samples of a part, by rejection from a higher temperature.

    A state of energy E, drawn at β', is kept with probability exp(-(β - β')(E - E₀)): no larger
    than one whatever bound on the energies E₀ is.
    """
    for factor in reversed(_factors(part)):
        try:
            return _kept(
                _batches(part.at(factor), size, rng, budget), part, lowest, factor, size, rng
            )
        except PrecisionError:
            continue
    msg = (
        "at this temperature a sample would be decided by rounding, even in "
        "double-double; raise the temperature"
    )
    raise PrecisionError(msg)


def _batches(part: Part, size: int, rng: np.random.Generator, budget: Budget) -> Iterator[Array]:
    """Yield samples, in batches that keep their size."""
    while True:
        yield part.sample(size, rng, budget)


def _kept(
    batches: Iterator[Array],
    part: Part,
    lowest: GroundState,
    factor: float,
    size: int,
    rng: np.random.Generator,
) -> Array:
    kept: list[Array] = []
    count = drawn = 0
    for states in batches:
        energies: FloatArray = np.asarray(part.model.energy(states))
        excess = np.maximum(energies - lowest.lower, 0.0)
        chosen = states[rng.exponential(size=len(states)) >= (1.0 - factor) * excess]
        kept.append(chosen)
        count, drawn = count + len(chosen), drawn + len(states)
        if count >= size:
            break
        if drawn * LEAST_KEPT > count + 8:
            msg = "samples of a warmer model are hardly ever kept; raise the temperature"
            raise PrecisionError(msg)
    return np.concatenate(kept)[:size]
