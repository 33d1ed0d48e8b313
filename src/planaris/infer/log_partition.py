"""``log_partition``: log Z of any model, exact or with an interval around it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planaris import bounds, treewidth
from planaris.budget import Budget, TimeLimit
from planaris.embed import Embedding
from planaris.errors import TimeLimitError
from planaris.infer.elimination import (
    cheap_elimination,
    fitting_elimination,
    sharper_elimination,
)
from planaris.infer.enumerated import sum_states
from planaris.infer.parts import Part, Split, all_planar, num_components, split_model
from planaris.infer.reduce import (
    PATIENCE_SECONDS,
    Model,
    as_ising,
    check_method,
    check_model,
    verb_budget,
)
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition
from planaris.progress import ProgressOption
from planaris.result import AsIsing, LogPartition

LOG2 = math.log(2.0)
EPSILON = float(np.finfo(np.float64).eps)


def log_partition(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> LogPartition:
    """Return the natural logarithm of the partition function, and an interval around it.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model.
    method : str
        ``"auto"`` picks by structure, part by part. ``"planar"``, ``"treewidth"`` and
        ``"brute-force"`` are exact and refuse with the reason when they do not fit;
        ``"interval"``, ``"trw"``, ``"pdc"``, ``"planar+tree"``, ``"trw+cycle"``,
        ``"logdet"`` and ``"mean-field"`` give bounds; the first two and mean field take pairwise
        Markov random fields with any number of labels too, ``"interval"`` any model.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds; what is proved by then is returned. Default: as long as an exact method takes,
        and 60 seconds for bounds.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

    Returns
    -------
    planaris.result.LogPartition
        ``value``, the interval ``lower`` to ``upper`` around log Z, ``exact`` and ``method``.

    Examples
    --------
    >>> import planaris as pl
    >>> frustrated = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> result = pl.log_partition(frustrated)
    >>> round(result.value, 6), result.exact
    (2.797846, True)
    """
    check_model(model)
    check_method(method, ("auto", "planar", *_FORCED))
    budget = verb_budget(time_limit, memory_limit, threads, progress)
    if not isinstance(model, IsingModel):
        return _of_field(model, method, budget)
    if method == "auto":
        plan = None if embedding is not None else cheap_elimination(model, "log_partition", budget)
        if plan is not None:
            return _eliminate(model, plan, budget)
        split = split_model(model, embedding)
        if len(split.parts) == 1 and split.parts[0].embedding is None:
            return _eliminate_or_enclose(model, budget)
        return _by_parts(split, _cheapest, budget)
    if method == "planar":
        return _by_parts(all_planar(model, embedding), _planar, budget)
    return _FORCED[method](model, budget)


def _of_field(field: MarkovRandomField, method: str, budget: Budget) -> LogPartition:
    """Solve as an Ising model where the field is one, by elimination elsewhere."""
    if method == "brute-force":
        return sum_states(field, budget)
    plan = sharper_elimination(field, "log_partition", budget) if method == "auto" else None
    if plan is not None:
        return _eliminate(field, plan, budget)
    known = "auto" if method in ANY_LABELS else method
    converted = None if method == "treewidth" else as_ising(field, known)
    if converted is None and method in ANY_LABELS:
        return ANY_LABELS[method](field, budget)
    if converted is None and method == "treewidth":
        return _treewidth(field, budget)
    if converted is None:
        return _eliminate_or_enclose(field, budget)
    ising, inverse = converted
    found = log_partition(ising, method, time_limit=budget)
    lifted = lift_log_partition(found, inverse)
    proof = None if found.certificate is None else AsIsing(found.certificate)
    return replace(lifted, certificate=proof)


def _by_parts(
    split: Split, solve: Callable[[Part, Budget], LogPartition], budget: Budget
) -> LogPartition:
    """Solve every part and add up.

    Σ over states = 2^(components) × Σ over which edges differ, and the latter factorises over
    parts: log Z = c log 2 + Σ (log Z_part - c_part log 2), a bias spin taking off log 2.
    """
    results = [solve(part, budget) for part in split.parts]
    twos = num_components(split.bare) - sum(num_components(part.model) for part in split.parts)
    fixed = 0 if split.inverse is None else 1
    terms = [(twos - fixed) * LOG2, split.original.offset]
    value, lower, upper = (
        math.fsum([*terms, *(getattr(result, end) for result in results)])
        for end in ("value", "lower", "upper")
    )
    slack = 2 * EPSILON * (abs(value) + abs(terms[0]))
    return LogPartition.between(
        lower - slack,
        upper + slack,
        value=value,
        num_variables=split.original.num_spins,
        method="+".join(sorted({result.method for result in results})) or "planar",
        proved=all(result.proved for result in results),
        seconds=budget.seconds(),
        stats={
            "parts": [
                {**part.describe(), "method": r.method, "exact": r.exact, **r.stats}
                for part, r in zip(split.parts, results, strict=True)
            ],
        },
        certificate=split.certificate([result.certificate for result in results]),
    )


def _planar(part: Part, budget: Budget) -> LogPartition:
    found: LogPartition = part.plan.log_partition(part.model.couplings, time_limit=budget)
    return found


def _cheapest(part: Part, budget: Budget) -> LogPartition:
    """Solve a part by the cheapest exact method that fits, else bound it."""
    if part.embedding is not None:
        return _planar(part, budget)
    model, inverse = part.with_fields()
    found = _eliminate_or_enclose(model, budget)
    return found if inverse is None else lift_log_partition(found, inverse)


def _eliminate_or_enclose(model: Model, budget: Budget) -> LogPartition:
    plan = fitting_elimination(model, "log_partition", budget)
    return _interval(model, budget) if plan is None else _eliminate(model, plan, budget)


def _eliminate(model: Model, plan: treewidth.EliminationPlan, budget: Budget) -> LogPartition:
    """Eliminate where that was estimated to fit; if it does not end in time, say what is known."""
    try:
        return treewidth.log_partition(model, plan=plan, time_limit=budget)
    except TimeLimitError:
        return _interval(model, budget)


def _interval(model: Model, budget: Budget) -> LogPartition:
    patient = budget.or_within(PATIENCE_SECONDS)
    whole = patient.remaining()
    with patient.watch("bounds on log Z") as watched:

        def tell(_: float) -> None:
            if callable(watched.progress):
                watched.progress(1.0 - watched.remaining() / whole)

        return bounds.interval(model, watched, callback=tell)


def _treewidth(model: Model, budget: Budget) -> LogPartition:
    return treewidth.log_partition(model, time_limit=budget)


ANY_LABELS: dict[str, Callable[[MarkovRandomField, Budget], LogPartition]] = {
    "interval": _interval,
    "trw": lambda field, budget: bounds.trw(field, time_limit=budget),
    "mean-field": lambda field, budget: bounds.mean_field(field, time_limit=budget),
}
"""Bounds that take Markov random fields with any number of labels."""

BOUNDS: dict[str, Callable[[IsingModel, Budget], LogPartition]] = {
    "interval": _interval,
    "trw": lambda model, budget: bounds.trw(model, time_limit=budget),
    "pdc": lambda model, budget: bounds.pdc(model, time_limit=budget),
    "planar+tree": lambda model, budget: bounds.planar_and_trees(model, time_limit=budget),
    "trw+cycle": lambda model, budget: bounds.trw_over_cycles(model, time_limit=budget),
    "logdet": lambda model, budget: bounds.logdet(model, time_limit=budget),
    "mean-field": lambda model, budget: bounds.mean_field(model, time_limit=budget),
}
"""Methods that bound log Z; their optima estimate marginals too."""

_FORCED: dict[str, Callable[[IsingModel, Budget], LogPartition]] = {
    "treewidth": _treewidth,
    "brute-force": sum_states,
    **BOUNDS,
}
