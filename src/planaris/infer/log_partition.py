"""``log_partition``: log Z of any model, exact or with an interval around it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from planaris import planar, relax, treewidth
from planaris.embed import Embedding
from planaris.errors import MethodError, TooLargeError
from planaris.infer.elimination import cheap_elimination, fitting_elimination
from planaris.infer.limits import Limits
from planaris.infer.parts import Part, Split, all_planar, num_components, split_model
from planaris.infer.reduce import Model, as_ising
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition
from planaris.progress import ProgressOption
from planaris.reference import enumerate_states
from planaris.result import LogPartition

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
        ``"auto"`` picks by structure, part by part. ``"planar"``, ``"treewidth"``,
        ``"brute-force"`` force one, which refuses with the reason when it does not fit.
    embedding : Embedding, optional
        Rotation system of the graph, of low genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds; what is proved by then is returned.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

    Examples
    --------
    >>> import planaris as pl
    >>> frustrated = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> result = pl.log_partition(frustrated)
    >>> round(result.value, 6), result.exact
    (2.797846, True)
    """
    limits = Limits(time_limit, memory_limit, progress)
    if not isinstance(model, IsingModel):
        return _of_field(model, method, limits)
    if method == "auto":
        plan = None if embedding is not None else cheap_elimination(model, "log_partition", limits)
        if plan is not None:
            return treewidth.log_partition(model, plan=plan, progress=progress)
        return _by_parts(split_model(model, embedding), _cheapest, limits)
    if method == "planar":
        return _by_parts(all_planar(model, embedding), _planar, limits)
    try:
        solve = _FORCED[method]
    except KeyError:
        known = ", ".join(map(repr, ("auto", "planar", *_FORCED)))
        msg = f"`method` must be one of {known}, got {method!r}"
        raise MethodError(msg) from None
    return solve(model, limits)


def _of_field(field: MarkovRandomField, method: str, limits: Limits) -> LogPartition:
    """Solve as an Ising model where the field is one, by elimination elsewhere."""
    converted = None if method == "treewidth" else as_ising(field, method)
    if converted is None:
        try:
            return _treewidth(field, limits)
        except TooLargeError:
            if method == "treewidth":
                raise
            return _crude_field_bounds(field)
    ising, inverse = converted
    found = log_partition(
        ising,
        method,
        time_limit=limits.remaining(),
        memory_limit=limits.memory_limit,
        progress=limits.progress,
    )
    return lift_log_partition(found, inverse)


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
    return LogPartition(
        value,
        lower - slack,
        upper + slack,
        exact=all(result.exact for result in results),
        method="+".join(sorted({result.method for result in results})) or "planar",
        stats={
            "seconds": limits.seconds(),
            "parts": [
                {**part.describe(), "method": r.method, "exact": r.exact, **r.stats}
                for part, r in zip(split.parts, results, strict=True)
            ],
        },
    )


def _planar(part: Part, limits: Limits) -> LogPartition:
    assert part.embedding is not None, "only parts with an embedding come here"
    prepared = planar.Plan(part.embedding, positions=part.model.positions)
    found: LogPartition = prepared.log_partition(part.model.couplings, progress=limits.progress)
    return found


def _cheapest(part: Part, limits: Limits) -> LogPartition:
    """Solve a part by the cheapest exact method that fits, else bound it."""
    if part.embedding is not None:
        return _planar(part, limits)
    plan = fitting_elimination(part.model, "log_partition", limits)
    if plan is not None:
        return treewidth.log_partition(part.model, plan=plan, progress=limits.progress)
    return _crude_bounds(part.model, limits)


def _crude_bounds(model: IsingModel, limits: Limits) -> LogPartition:
    """Bound log Z by the ground state: max <= log Z - c log 2 <= max + (n - c) log 2."""
    found = relax.cycle_lp(model, time_limit=limits.patience(0.5))
    free = num_components(model) * LOG2
    slack = 8 * EPSILON * (abs(found.lower) + abs(found.energy) + model.num_spins)
    lower, upper = free - found.energy - slack, model.num_spins * LOG2 - found.lower + slack
    return LogPartition(
        (lower + upper) / 2, lower, upper, exact=False, method="cycle-lp", stats=found.stats
    )


def _crude_field_bounds(field: MarkovRandomField) -> LogPartition:
    """Bound log Z by largest and smallest table entries."""
    tops, bottoms = [], []
    for k in range(field.num_factors):
        table = field.log_table(k)
        tops.append(float(table.max()))
        bottoms.append(float(table.min()))
    states = float(np.log(field.cardinalities.astype(np.float64)).sum())
    slack = 8 * EPSILON * (sum(map(abs, tops)) + states)
    upper = math.fsum([*tops, states]) + slack
    lower = math.fsum([*bottoms, states]) - slack if all(np.isfinite(bottoms)) else -math.inf
    value = (lower + upper) / 2 if math.isfinite(lower) else upper
    return LogPartition(value, lower, upper, exact=False, method="table-bounds")


def _treewidth(model: Model, limits: Limits) -> LogPartition:
    return treewidth.log_partition(
        model,
        memory_limit=limits.memory_limit,
        time_limit=limits.remaining(),
        progress=limits.progress,
    )


def _brute_force(model: IsingModel, limits: Limits) -> LogPartition:
    value = enumerate_states(model).log_partition
    slack = 4 * EPSILON * (abs(value) + float(np.abs(model.couplings).sum()) + 1.0)
    return LogPartition(
        value,
        value - slack,
        value + slack,
        exact=True,
        method="brute-force",
        stats={"seconds": limits.seconds()},
    )


_FORCED: dict[str, Callable[[IsingModel, Limits], LogPartition]] = {
    "treewidth": _treewidth,
    "brute-force": _brute_force,
}
