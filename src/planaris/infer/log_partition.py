"""``log_partition``: log Z of any model, exact or with an interval around it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planaris import bounds, treewidth
from planaris.embed import Embedding
from planaris.errors import TimeLimitError
from planaris.infer.elimination import (
    cheap_elimination,
    fitting_elimination,
    sharper_elimination,
)
from planaris.infer.enumerated import sum_states
from planaris.infer.limits import Limits
from planaris.infer.parts import Part, Split, all_planar, num_components, split_model
from planaris.infer.reduce import Model, as_ising, check_method, check_model
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition
from planaris.progress import ProgressOption, watch
from planaris.result import AsIsing, LogPartition

LOG2 = math.log(2.0)
EPSILON = float(np.finfo(np.float64).eps)


def log_partition(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
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
    limits = Limits(time_limit, memory_limit, progress)
    if not isinstance(model, IsingModel):
        return _of_field(model, method, limits)
    if method == "auto":
        plan = None if embedding is not None else cheap_elimination(model, "log_partition", limits)
        if plan is not None:
            return _eliminate(model, plan, limits)
        split = split_model(model, embedding)
        if len(split.parts) == 1 and split.parts[0].embedding is None:
            return _eliminate_or_enclose(model, limits)
        return _by_parts(split, _cheapest, limits)
    if method == "planar":
        return _by_parts(all_planar(model, embedding), _planar, limits)
    return _FORCED[method](model, limits)


def _of_field(field: MarkovRandomField, method: str, limits: Limits) -> LogPartition:
    """Solve as an Ising model where the field is one, by elimination elsewhere."""
    if method == "brute-force":
        return sum_states(field, limits)
    plan = sharper_elimination(field, "log_partition", limits) if method == "auto" else None
    if plan is not None:
        return _eliminate(field, plan, limits)
    known = "auto" if method in ANY_LABELS else method
    converted = None if method == "treewidth" else as_ising(field, known)
    if converted is None and method in ANY_LABELS:
        return ANY_LABELS[method](field, limits)
    if converted is None and method == "treewidth":
        return _treewidth(field, limits)
    if converted is None:
        return _eliminate_or_enclose(field, limits)
    ising, inverse = converted
    found = log_partition(ising, method, **limits.left())
    lifted = lift_log_partition(found, inverse)
    proof = None if found.certificate is None else AsIsing(found.certificate)
    return replace(lifted, certificate=proof)


def _by_parts(
    split: Split, solve: Callable[[Part, Limits], LogPartition], limits: Limits
) -> LogPartition:
    """Solve every part and add up.

    Σ over states = 2^(components) × Σ over which edges differ, and the latter factorises over
    parts: log Z = c log 2 + Σ (log Z_part - c_part log 2), a bias spin taking off log 2.
    """
    results = [solve(part, limits) for part in split.parts]
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
        seconds=limits.seconds(),
        stats={
            "parts": [
                {**part.describe(), "method": r.method, "exact": r.exact, **r.stats}
                for part, r in zip(split.parts, results, strict=True)
            ],
        },
        certificate=split.certificate([result.certificate for result in results]),
    )


def _planar(part: Part, limits: Limits) -> LogPartition:
    found: LogPartition = part.plan.log_partition(part.model.couplings, **limits.left())
    return found


def _cheapest(part: Part, limits: Limits) -> LogPartition:
    """Solve a part by the cheapest exact method that fits, else bound it."""
    if part.embedding is not None:
        return _planar(part, limits)
    model, inverse = part.with_fields()
    found = _eliminate_or_enclose(model, limits)
    return found if inverse is None else lift_log_partition(found, inverse)


def _eliminate_or_enclose(model: Model, limits: Limits) -> LogPartition:
    plan = fitting_elimination(model, "log_partition", limits)
    return _interval(model, limits) if plan is None else _eliminate(model, plan, limits)


def _eliminate(model: Model, plan: treewidth.EliminationPlan, limits: Limits) -> LogPartition:
    """Eliminate where that was estimated to fit; if it does not end in time, say what is known."""
    try:
        return treewidth.log_partition(
            model, plan=plan, time_limit=limits.remaining(), progress=limits.progress
        )
    except TimeLimitError:
        return _interval(model, limits)


def _interval(model: Model, limits: Limits) -> LogPartition:
    seconds = limits.patience()
    before = limits.seconds()
    with watch("bounds on log Z", limits.progress) as bar:

        def tell(_: float) -> None:
            if bar is not None:
                bar(min((limits.seconds() - before) / seconds, 1.0))

        return bounds.interval(model, seconds, callback=tell)


def _treewidth(model: Model, limits: Limits) -> LogPartition:
    return treewidth.log_partition(model, **limits.left())


ANY_LABELS: dict[str, Callable[[MarkovRandomField, Limits], LogPartition]] = {
    "interval": _interval,
    "trw": lambda field, limits: bounds.trw(field, time_limit=limits.remaining()),
    "mean-field": lambda field, limits: bounds.mean_field(field, time_limit=limits.remaining()),
}
"""Bounds that take Markov random fields with any number of labels."""

BOUNDS: dict[str, Callable[[IsingModel, Limits], LogPartition]] = {
    "interval": _interval,
    "trw": lambda model, limits: bounds.trw(model, time_limit=limits.remaining()),
    "pdc": lambda model, limits: bounds.pdc(model, time_limit=limits.remaining()),
    "planar+tree": lambda model, limits: bounds.planar_and_trees(
        model, time_limit=limits.remaining()
    ),
    "trw+cycle": lambda model, limits: bounds.trw_over_cycles(model, time_limit=limits.remaining()),
    "logdet": lambda model, limits: bounds.logdet(model, time_limit=limits.remaining()),
    "mean-field": lambda model, limits: bounds.mean_field(model, time_limit=limits.remaining()),
}
"""Methods that bound log Z; their optima estimate marginals too."""

_FORCED: dict[str, Callable[[IsingModel, Limits], LogPartition]] = {
    "treewidth": _treewidth,
    "brute-force": sum_states,
    **BOUNDS,
}
