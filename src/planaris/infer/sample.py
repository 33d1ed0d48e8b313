"""``sample``: independent exact samples of any model that allows them."""

from __future__ import annotations

import numpy as np

from planaris import treewidth
from planaris.budget import Budget, TimeLimit
from planaris.embed import Embedding
from planaris.errors import PrecisionError
from planaris.infer.elimination import (
    cheap_elimination,
    fitting_elimination,
    sharper_elimination,
)
from planaris.infer.enumerated import draw_states
from planaris.infer.marginals import marginals
from planaris.infer.parts import Part, Split, all_planar, split_model
from planaris.infer.reduce import Model, as_ising, check_method, check_model, verb_budget
from planaris.infer.strong import stands_for, weakened
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.arrays import as_count, as_rng
from planaris.progress import ProgressOption
from planaris.typing import Array, Int8Array, Rng

METHODS = ("auto", "planar", "treewidth", "brute-force")


def sample(
    model: Model,
    num_samples: int,
    rng: Rng = None,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> Array:
    """Draw independent exact samples.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        A model that is planar, low in treewidth, or made of such parts.
    num_samples : int
        How many.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.
    method : str
        ``"auto"`` picks by structure, part by part; ``"planar"``, ``"treewidth"``,
        ``"brute-force"`` force one.
    embedding : Embedding, optional
        Rotation system of the graph (with the bias spin as last vertex when there are fields).
    time_limit : float, optional
        Seconds, after which :class:`~planaris.errors.TimeLimitError` is raised.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

    Returns
    -------
    numpy.ndarray
        One state per row: int8 spins of an Ising model, int32 labels of a Markov random field.

    Examples
    --------
    >>> import planaris as pl
    >>> pl.sample(pl.IsingModel([(0, 1)], [50.0], fields=[50.0, 0.0]), 2, 7).tolist()
    [[1, 1], [1, 1]]
    """
    check_method(method, METHODS)
    check_model(model)
    num_samples = as_count("num_samples", num_samples)
    budget = verb_budget(time_limit, memory_limit, threads, progress)
    generator = as_rng(rng)
    if not isinstance(model, IsingModel):
        return _of_field(model, num_samples, generator, method, budget)
    weaker = weakened(model)
    if weaker is not None:
        known = marginals(weaker, method, embedding=embedding, time_limit=budget)
        model = weaker if stands_for(model, known) else model
    if method == "brute-force":
        return draw_states(model, num_samples, generator)
    if method == "treewidth":
        return _treewidth(model, num_samples, generator, budget)
    if method == "planar":
        return _by_parts(all_planar(model, embedding), num_samples, generator, budget)
    plan = None if embedding is not None else cheap_elimination(model, "sample", budget)
    if plan is not None:
        return treewidth.sample(
            model,
            num_samples,
            generator,
            plan=plan,
            time_limit=budget,
        )
    return _by_parts(split_model(model, embedding), num_samples, generator, budget)


def _of_field(
    field: MarkovRandomField, size: int, rng: np.random.Generator, method: str, budget: Budget
) -> Array:
    """Sample as an Ising model where the field is one, by elimination elsewhere."""
    if method == "brute-force":
        return draw_states(field, size, rng)
    blurred = method == "auto" and sharper_elimination(field, "sample", budget) is not None
    converted = None if method == "treewidth" or blurred else as_ising(field, method)
    if converted is None:
        return _treewidth(field, size, rng, budget)
    ising, inverse = converted
    spins = sample(ising, size, rng, method, time_limit=budget)
    return inverse.lift_states(spins).astype(np.int32)


def _by_parts(split: Split, size: int, rng: np.random.Generator, budget: Budget) -> Int8Array:
    """Sample which edges differ in every part, and a sign for every component."""
    differ = np.zeros((size, split.bare.num_edges), dtype=bool)
    for part in split.parts:
        states = _sample_part(part, size, rng, budget)
        u, v = part.model.edges.T
        differ[:, part.edges] = states[:, u] != states[:, v]
    spins = np.empty((size, split.original.num_spins), dtype=np.int8)
    component = split.components()
    for row, marks in zip(spins, differ, strict=True):
        row[:] = split.join_spins(marks)
    signs = 1 - 2 * rng.integers(0, 2, (size, int(component.max(initial=-1)) + 1), dtype=np.int8)
    if split.inverse is not None:
        signs[:, component[-1]] = 1  # held by the bias spin
        component = component[:-1]
    return spins * signs[:, component]


def _sample_part(part: Part, size: int, rng: np.random.Generator, budget: Budget) -> Array:
    if part.embedding is not None:
        try:
            return part.plan.sample(part.model.couplings, size, rng, time_limit=budget)
        except PrecisionError:  # too cold for Pfaffians
            if fitting_elimination(part.model, "sample", budget) is None:
                raise
    model, inverse = part.with_fields()
    states = _treewidth(model, size, rng, budget)
    return states if inverse is None else inverse.lift_states(states)


def _treewidth(model: Model, size: int, rng: np.random.Generator, budget: Budget) -> Array:
    return treewidth.sample(model, size, rng, time_limit=budget)
