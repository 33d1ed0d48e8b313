"""Surfaces of low genus: T-joins of the dual, with multipliers of cycles around the handles."""

from __future__ import annotations

import numpy as np

from planaris.budget import Budget
from planaris.embed import Embedding, embedding_with_handles
from planaris.errors import MethodError, TooLargeError
from planaris.methods.registry import Method, Model, Question, Task
from planaris.models import IsingModel
from planaris.models.base import once_per_model
from planaris.reductions.ising_form import IsingForm
from planaris.reductions.parts import Part, join_ground_states, split_model
from planaris.relax import surface_ground_state
from planaris.result import GroundState

MAX_HANDLES = 16
"""Edges that may be taken out of a graph to make it planar; each takes a planarity test."""

MAX_EDGES = 40_000
"""Of graphs that are tested that often."""

MAX_FIELDS = 64
"""External fields, beyond which a bias spin needs too many handles for a try to pay."""


@once_per_model
def _with_handles(model: IsingModel, max_handles: int) -> Embedding | None:
    # Euler's formula: a simple graph of genus g has at most 3n - 6 + 6g edges.
    if model.num_edges > min(3 * model.num_spins - 6 + 6 * max_handles, MAX_EDGES):
        return None
    try:
        return embedding_with_handles(
            model.edges, num_vertices=model.num_spins, max_handles=max_handles
        )
    except MethodError:
        return None


def surface_of_part(part: Part) -> Embedding | None:
    """Return an embedding of a part of low genus, or None where none was found.

    >>> model = IsingModel([(u, v) for u in range(5) for v in range(u)], 1.0)
    >>> found = surface_of_part(split_model(model).parts[0])
    >>> found is not None and found.genus
    1
    """
    if part.embedding is not None:
        return part.embedding
    if part.bias >= 0 and np.count_nonzero(part.model.edges == part.bias) > MAX_FIELDS:
        return None
    return _with_handles(part.model, MAX_HANDLES)


def _ground_state(asked: Question) -> GroundState:
    split = split_model(asked.model, asked.embedding)
    surfaces = [(part, surface_of_part(part)) for part in split.parts]
    refused = next((part for part, surface in surfaces if surface is None), None)
    if refused is not None:
        msg = (
            f"no embedding of low genus was found: more than {MAX_HANDLES} of "
            f"{refused.model.num_edges} edges must be taken out to make the graph planar. Pass an "
            "`embedding`, or use 'branch-and-cut'"
        )
        raise TooLargeError(msg)
    found = [
        surface_ground_state(part.model, surface, time_limit=asked.budget)
        for part, surface in surfaces
        if surface is not None
    ]
    return join_ground_states(split, found, asked.budget)


def _fits(model: Model, budget: Budget) -> str | None:
    try:
        ising = model if isinstance(model, IsingModel) else IsingForm.apply(model).model
    except MethodError as reason:
        return str(reason)
    if all(surface_of_part(part) is not None for part in split_model(ising).parts):
        return None
    return f"no embedding with at most {MAX_HANDLES} handles was found"


METHODS = [
    Method(
        "surface",
        "finds ground states on surfaces of low genus",
        {"ground_state": Task(_ground_state, "interval")},
        fits=_fits,
        slow_on="plane",
    )
]
