"""Surfaces of low genus: T-joins of the dual, with multipliers of cycles around the handles."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.embed import (
    Embedding,
    embedding_by_short_faces,
    embedding_on_torus,
    embedding_with_handles,
)
from planaris.errors import MethodError, PrecisionError, TooLargeError
from planaris.methods.registry import Method, Question, Task
from planaris.models import IsingModel
from planaris.models.base import once_per_model
from planaris.reductions.parts import Part, join_ground_states, split_model
from planaris.relax import surface_ground_state
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, LogPartition
from planaris.typing import Array, FloatArray

MAX_HANDLES = 16
"""Edges that may be taken out of a graph to make it planar; each takes a planarity test."""

MAX_EDGES = 40_000
"""Largest graphs for which this is tried."""

MAX_FIELDS = 64
"""External fields above which a bias spin would need too many handles."""

LARGEST_COUPLINGS = (2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 14.0)
"""Largest couplings of the warmer models that are tried."""

GOOD_WIDTH = 1e-10
"""Width per spin of an interval that is not narrowed any further."""

LEAST_KEPT = 0.02
"""Rejection sampling from a warmer model is given up when a smaller share is accepted."""

EPSILON = float(np.finfo(np.float64).eps)


@once_per_model
def _with_handles(model: IsingModel, max_handles: int) -> Embedding | None:
    # Euler's formula: a simple graph of genus g has at most 3n - 6 + 6g edges.
    if model.num_edges > min(3 * model.num_spins - 6 + 6 * max_handles, MAX_EDGES):
        return None
    by_faces = embedding_by_short_faces(model.edges, model.num_spins, max_handles=max_handles)
    if by_faces is not None and by_faces.genus <= max_handles:
        return by_faces
    drawn = embedding_on_torus(model.edges, model.num_spins, max_handles=max_handles - 1)
    if drawn is not None:
        return drawn
    try:
        return embedding_with_handles(
            model.edges, num_vertices=model.num_spins, max_handles=max_handles
        )
    except MethodError:
        return None


def surface_of_part(part: Part, budget: Budget = UNLIMITED) -> Embedding | None:
    """Return an embedding of a part of low genus, or None where none was found.

    ``TimeoutError`` is raised once the time is over.

    >>> model = IsingModel([(u, v) for u in range(5) for v in range(u)], 1.0)
    >>> found = surface_of_part(split_model(model).parts[0])
    >>> found is not None and found.genus
    1
    """
    if part.embedding is not None:
        return part.embedding
    if part.bias >= 0 and np.count_nonzero(part.model.edges == part.bias) > MAX_FIELDS:
        return None
    with budget.for_structure():
        return _with_handles(part.model, MAX_HANDLES)


def _ground_state(asked: Question) -> GroundState:
    budget = asked.budget
    try:
        split = split_model(asked.model, asked.embedding, budget=budget)
        surfaces = [(part, surface_of_part(part, budget)) for part in split.parts]
    except TimeoutError:
        return trivial_ground_state(asked.model, "surface", budget)
    refused = next((part for part, surface in surfaces if surface is None), None)
    if refused is not None:
        msg = (
            f"no embedding of low genus was found: more than {MAX_HANDLES} of "
            f"{refused.model.num_edges} edges must be taken out to make the graph planar. Pass an "
            "`embedding`, or use 'branch-and-cut'"
        )
        raise TooLargeError(msg)
    found = [
        surface_ground_state(part.model, surface, time_limit=budget)
        for part, surface in surfaces
        if surface is not None
    ]
    return join_ground_states(split, found, budget)


def _refusal(model: IsingModel, budget: Budget) -> str | None:
    if all(surface_of_part(part) is not None for part in split_model(model).parts):
        return None
    return f"no embedding with at most {MAX_HANDLES} handles was found"


METHODS = [
    Method(
        "surface",
        "finds ground states on surfaces of low genus",
        {"ground_state": Task(_ground_state, "interval")},
        refusal=_refusal,
        slow_on="plane",
    )
]


# -- surfaces too cold for their Pfaffians -----------------------------------------------------


def enclose_from_warmer(part: Part, lowest: GroundState, budget: Budget) -> LogPartition | None:
    """Enclose log Z of a part by values at higher temperatures; None if there are none.

    They fall while time lasts and Pfaffians are accurate.

    log Z(β) is convex in β, and no slope is steeper than minus the lowest energy E₀. So with exact
    values at β'' < β' < β

        (β - β') (log Z(β') - log Z(β'')) / (β' - β'') <= log Z(β) - log Z(β') <= (β - β') (-E₀).

    The ends are as far apart as the mean energy at β'' is above E₀: very little where levels
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
