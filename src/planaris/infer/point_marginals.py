"""Marginals by the fastest method: exact, or estimated by a tensor network."""

from __future__ import annotations

from planaris.budget import ProgressOption, TimeLimit
from planaris.embed import Embedding
from planaris.errors import PrecisionError, TimeLimitError, TooLargeError
from planaris.infer.verbs import check_model, marginals, named, verb_budget
from planaris.methods.auto import only_exact_marginals
from planaris.methods.registry import Model, Question
from planaris.methods.tensor_network import estimate_marginals
from planaris.models import IsingModel
from planaris.reductions.clip_couplings import weakened
from planaris.result import Marginals

QUICK_SECONDS = 10.0
"""For exact marginals, when no time limit is given."""


def point_marginals(
    model: Model,
    *,
    tolerance: float | None = None,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> Marginals:
    """Return marginals without bounds on them, which saves time.

    Exact ones where a method is quick, else those of a tensor network, which are estimated with a
    stated ``error``; where that does not fit either, as :func:`marginals`.

    Parameters
    ----------
    model, embedding, time_limit, memory_limit, threads, progress
        As for :func:`marginals`.
    tolerance : float, optional
        Change of a probability at which the bonds of a tensor network have grown enough.

    Examples
    --------
    >>> import numpy as np
    >>> import planaris as pl
    >>> found = point_marginals(pl.IsingModel.from_image(np.full((40, 40), 0.1), 0.3, 0.3))
    >>> found.method, found.exact, found.error < 1e-8
    ('tensor-network', False, True)
    """
    check_model(model)
    budget = verb_budget(time_limit, memory_limit, threads, progress)
    if embedding is None and (not isinstance(model, IsingModel) or weakened(model) is None):
        try:
            quick = budget.share(0.5).or_within(QUICK_SECONDS)
            return named(only_exact_marginals(Question(model, quick)), model)
        except (PrecisionError, TooLargeError, TimeLimitError):
            guess = estimate_marginals(model, budget, tolerance)
        if guess is not None:
            return named(guess, model)
    return marginals(
        model,
        embedding=embedding,
        time_limit=budget,
        memory_limit=memory_limit,
        threads=threads,
        progress=progress,
    )
