"""``ground_state``: the most probable state of any model, with an interval around its energy."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from planaris import bounds, cuts, planar, relax, treewidth
from planaris.budget import Budget, TimeLimit
from planaris.embed import Embedding
from planaris.errors import TimeLimitError
from planaris.infer.elimination import fitting_elimination, sharper_elimination
from planaris.infer.enumerated import least_state
from planaris.infer.parts import Part, Split, all_planar, split_model
from planaris.infer.reduce import (
    PATIENCE_SECONDS,
    Model,
    as_ising,
    check_method,
    check_model,
    verb_budget,
)
from planaris.models import IsingModel, MarkovRandomField, lift_ground_state
from planaris.progress import ProgressOption
from planaris.relax.cut_form import energy_quantum
from planaris.result import GroundState, PartProof

QUICK_SECONDS = 0.5
"""Eliminations up to this are done at once; before longer ones branch and cut has a try."""

ELIMINATION_SECONDS = 10.0
"""Longest elimination that is preferred to a long branch and cut."""


def ground_state(
    model: Model,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    memory_limit: int | None = None,
    prove: bool = False,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> GroundState:
    """Return a state of lowest energy and an interval that contains the minimum.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model; ``energy`` is minus its log weight. Read the most probable state of a
        Markov random field from ``assignment``.
    method : str
        ``"auto"`` picks by structure, part by part. ``"planar"``, ``"graph-cut"``, ``"qpbo"``,
        ``"treewidth"``, ``"local-lp"``, ``"cycle-lp"``, ``"mplp"``, ``"branch-and-cut"``,
        ``"pdc"``, ``"brute-force"`` force one, which refuses with the reason when it does not fit.
    embedding : Embedding, optional
        Rotation system of the graph, of any genus (with the bias spin as last vertex when
        there are fields).
    time_limit : float, optional
        Seconds; what is proved by then is returned. Default: as long as an exact method takes,
        and 60 seconds for branch and cut.
    memory_limit : int, optional
        Bytes for tables; default half of the machine's memory.
    threads : int, optional
        Threads of kernels; default: the processors that this process may use.
    prove : bool
        Have every method leave a certificate that :mod:`planaris.verify` can check, where it is
        able to; relaxations and branch and cut then take longer.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

    Returns
    -------
    planaris.result.GroundState
        ``spins`` (or ``assignment``), ``energy``, the interval ``lower`` to ``upper`` around the
        minimum, ``exact``, ``method`` and the ``certificate``.

    Examples
    --------
    >>> import planaris as pl
    >>> model = pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0], fields=[0, 0.5, 0])
    >>> result = pl.ground_state(model)
    >>> result.energy, result.exact, result.method
    (-4.5, True, 'planar')
    """
    check_model(model)
    check_method(method, ("auto", "planar", *_FORCED))
    budget = verb_budget(time_limit, memory_limit, threads, progress, prove=prove)
    if not isinstance(model, IsingModel):
        return _of_field(model, method, budget)
    if method == "auto":
        return _by_parts(split_model(model, embedding), _cheapest, budget)
    if method == "planar":
        return _by_parts(all_planar(model, embedding), _planar, budget)
    return _FORCED[method](model, budget)


def _of_field(field: MarkovRandomField, method: str, budget: Budget) -> GroundState:
    """Solve as an Ising model where the field is one, by elimination elsewhere."""
    if method in ANY_LABELS:
        return ANY_LABELS[method](field, budget)
    plan = sharper_elimination(field, "ground_state", budget) if method == "auto" else None
    converted = as_ising(field, method) if plan is None else None
    if converted is None:
        plan = plan or fitting_elimination(field, "ground_state", budget)
        if plan is not None:
            with suppress(TimeLimitError):
                return treewidth.ground_state(field, plan=plan, time_limit=budget)
        return relax.branch_and_cut(field, time_limit=budget.or_within(PATIENCE_SECONDS))
    ising, inverse = converted
    found = ground_state(ising, method, time_limit=budget)
    return lift_ground_state(found, inverse, field)


def _by_parts(
    split: Split, solve: Callable[[Part, Budget], GroundState], budget: Budget
) -> GroundState:
    """Solve every part and put the states together."""
    results = [solve(part, budget) for part in split.parts]
    differ = np.zeros(split.bare.num_edges, dtype=bool)
    for part, result in zip(split.parts, results, strict=True):
        u, v = part.model.edges.T
        differ[part.edges] = result.spins[u] != result.spins[v]
    spins = split.join_spins(differ)
    energy = float(split.original.energy(spins))
    return GroundState.of(
        split.original,
        spins,
        _total_lower(split, results, energy),
        method="+".join(sorted({result.method for result in results})) or "planar",
        proved=all(result.proved for result in results),
        seconds=budget.seconds(),
        stats={
            "parts": [
                {**part.describe(), "method": r.method, "exact": r.exact, **r.stats}
                for part, r in zip(split.parts, results, strict=True)
            ],
        },
        certificate=[
            PartProof(part.edges, r.lower, r.certificate)
            for part, r in zip(split.parts, results, strict=True)
        ],
    )


def _total_lower(split: Split, results: list[GroundState], energy: float) -> float:
    """Add up the lower bounds of the parts, rounded down; no gap where no other energy fits in."""
    if all(result.lower == result.energy for result in results):
        return energy
    total = math.fsum([*(result.lower for result in results), -split.original.offset])
    lower = min(energy, float(np.nextafter(total, -np.inf)))
    return energy if energy - lower < energy_quantum(split.original) / 2 else lower


def _planar(part: Part, budget: Budget) -> GroundState:
    return planar.ground_state(
        part.model,
        embedding=part.embedding,
        time_limit=budget,
    )


def _cheapest(part: Part, budget: Budget) -> GroundState:
    """Solve a part by the cheapest exact method that fits, else bound it."""
    if part.embedding is not None:
        found = _planar(part, budget)
        if found.exact or part.embedding.genus == 0:  # the time was over
            return found
    model, inverse = part.with_fields()
    if cuts.is_submodular(model):  # of the couplings alone: a field may have either sign
        found = cuts.graph_cut(model, time_limit=budget)
        if inverse is None:
            return found
        lifted = lift_ground_state(found, inverse, part.model)
        # The flow is along the other edges: what it leaves over is held against the fields.
        return replace(lifted, certificate=found.certificate)
    plan = fitting_elimination(model, "ground_state", budget)
    if plan is None or plan.seconds > ELIMINATION_SECONDS:
        return _branch_and_cut(part, budget)
    bounded = None
    if plan.seconds > QUICK_SECONDS:
        # Weakly frustrated models are cut in no time; no longer than the elimination would take.
        bounded = _branch_and_cut(part, budget.share(0.5).within(plan.seconds))
        if bounded.exact:
            return bounded
    try:
        found = treewidth.ground_state(model, plan=plan, time_limit=budget)
    except TimeLimitError:
        return bounded or _branch_and_cut(part, budget)
    return found if inverse is None else lift_ground_state(found, inverse, part.model)


def _branch_and_cut(part: Part, budget: Budget) -> GroundState:
    return relax.branch_and_cut(part.model, time_limit=budget.or_within(PATIENCE_SECONDS))


ANY_LABELS: dict[str, Callable[[Model, Budget], GroundState]] = {
    "treewidth": lambda model, budget: treewidth.ground_state(model, time_limit=budget),
    "local-lp": lambda model, budget: relax.local_lp(model, time_limit=budget),
    "cycle-lp": lambda model, budget: relax.cycle_lp(model, time_limit=budget),
    "mplp": lambda model, budget: relax.mplp(model, time_limit=budget),
    "branch-and-cut": lambda model, budget: relax.branch_and_cut(model, time_limit=budget),
    "brute-force": least_state,
}
"""Methods that take a Markov random field as it is."""

_FORCED: dict[str, Callable[[IsingModel, Budget], GroundState]] = {
    "graph-cut": lambda model, budget: cuts.graph_cut(model, time_limit=budget),
    "qpbo": lambda model, budget: cuts.qpbo(model, time_limit=budget),
    "pdc": lambda model, budget: bounds.map_bound(model, time_limit=budget),
    **ANY_LABELS,
}
