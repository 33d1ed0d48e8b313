"""Bounds on log Z, and the estimates of marginals at their optima."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from planaris import bounds, treewidth
from planaris.bounds.best_interval import from_ground_state, intersect, is_cold
from planaris.budget import Budget
from planaris.errors import InfeasibleError, MethodError
from planaris.methods.registry import Method, Model, Question, Takes, Task, methods
from planaris.models import MarkovRandomField
from planaris.models.tables import PairwiseView, alike
from planaris.result import LogPartition, Marginals
from planaris.typing import FloatArray

SHARE = 0.4
"""Share of the time of an interval for the ground state of a cold model."""

LEAST_SECONDS = 0.25
"""With less time than this, no ground state is computed."""


def with_ground_state(
    model: Model, budget: Budget, enclose: Callable[[], LogPartition]
) -> LogPartition:
    """Return the interval that ``enclose`` gives, cut down by bounds on the least energy.

    Where numbers are large beside log 2 per spin, log Z is the least energy and little else.
    """
    mine = budget.share(SHARE).quiet()
    if mine.remaining() < LEAST_SECONDS or not is_cold(model):
        return enclose()
    try:
        best = methods()["auto"].tasks["ground_state"].run(Question(model, mine))
    except InfeasibleError:
        return enclose()
    lower, upper, proof = from_ground_state(model, best)
    return intersect(enclose(), lower, upper, proof=proof, by="ground-state")


PATIENCE_SECONDS = 60.0
"""Time for relaxations of models that no exact method fits, when no time limit is given."""

Bound = Callable[[Model, Budget], LogPartition]


def interval(model: Model, budget: Budget) -> LogPartition:
    """Enclose log Z by everything that helps, as tightly as the time allows."""
    # The limit is for tables of elimination: a bound takes what its small pieces need.
    limited = replace(budget.or_within(PATIENCE_SECONDS), memory_limit=None)
    before, whole = limited.seconds(), max(limited.remaining(), 1e-9)
    with limited.watch("bounds on log Z") as watched:

        def tell(_: float) -> None:
            watched.report(min((watched.seconds() - before) / whole, 1.0))

        quiet = watched.quiet()
        return with_ground_state(model, quiet, lambda: bounds.interval(model, quiet, callback=tell))


def estimate_marginals(model: Model, bound: Bound, budget: Budget) -> Marginals:
    """Return the marginals at the optimum of a bound; exact ones where it solved exactly.

    They are estimates: ``exact`` is False, and ``log_partition`` has the bound.
    """
    found = bound(model, budget)
    if found.upper == -math.inf:
        msg = "the model has no marginals: every state violates a hard constraint (has weight zero)"
        raise InfeasibleError(msg)
    guess = found.pseudomarginals
    if isinstance(model, MarkovRandomField):
        if guess is None:
            return treewidth.marginals(model, time_limit=budget)
        edges: Any = _factor_tables(model, guess.nodes, guess.edges)
    elif guess is None or guess.edges is None:
        from planaris.methods.auto import exact_marginals

        return exact_marginals(Question(model, budget))
    else:
        edges = guess.edges
    return Marginals(
        nodes=guess.nodes,
        edges=edges,
        log_partition=found,
        proved=False,
        estimate=True,
        method=found.method,
        seconds=budget.seconds(),
        stats=found.stats,
    )


def _factor_tables(mrf: MarkovRandomField, nodes: Any, pairs: Any) -> list[Any]:
    """Return a table per factor; independent variables have no tables of pairs."""
    view = mrf.pairwise_view()
    return view.factor_tables(nodes, _products(view, nodes) if pairs is None else pairs)


def _products(view: PairwiseView, nodes: Any) -> list[FloatArray]:
    """Return a table per edge, the product of those of its variables."""
    tables: list[FloatArray] = [np.ones(())] * len(view.edges)
    if not len(tables):
        return tables
    flat, start = np.concatenate([np.asarray(table) for table in nodes]), view.node_offsets
    for a, b, at in alike(view.cardinalities[view.edges].astype(np.int64)):
        left = flat[start[view.edges[at, 0]][:, None] + np.arange(a)]
        right = flat[start[view.edges[at, 1]][:, None] + np.arange(b)]
        products = left[:, :, None] * right[:, None, :]
        for edge, table in zip(at.tolist(), products, strict=True):
            tables[edge] = table
    return tables


def _needs_pairs(model: Model, budget: Budget) -> str | None:
    if isinstance(model, MarkovRandomField) and not model.is_pairwise:
        return "it has factors of more than two variables"
    return None


def _needs_weights(model: Model, budget: Budget) -> str | None:
    if isinstance(model, MarkovRandomField) and model.has_zeros:
        return "it has zeros"
    return _needs_pairs(model, budget)


def _bound(
    name: str,
    solve: Bound,
    takes: Takes = "spins",
    *,
    refusal: Callable[[Model, Budget], str | None] = lambda model, budget: None,
    slow_on: str = "any",
    energies: Callable[..., Any] | None = None,
) -> Method:
    def estimate(asked: Question) -> Marginals:
        reason = refusal(asked.model, asked.budget)
        if reason is not None:
            msg = f"`method={name!r}` does not fit this model: {reason}"
            raise MethodError(msg)
        return estimate_marginals(asked.model, solve, asked.budget)

    # The interval of a model with more labels than two comes without pseudomarginals.
    guess: Takes = "spins" if name == "interval" else takes
    tasks: dict[Any, Task] = {
        "log_partition": Task(lambda asked: solve(asked.model, asked.budget), "interval", takes),
        "marginals": Task(estimate, "estimate", guess),
    }
    purpose = "bounds log Z and estimates marginals"
    if energies is not None:
        tasks["ground_state"] = Task(
            lambda asked: energies(asked.model, time_limit=asked.budget), "interval"
        )
        purpose = "bounds log Z and the energy of ground states, and estimates marginals"
    return Method(name, purpose, tasks, refusal=refusal, slow_on=slow_on)


def _limited(solve: Callable[..., LogPartition]) -> Bound:
    return lambda model, budget: solve(model, time_limit=budget)


METHODS = [
    _bound("interval", interval, "spins first"),
    _bound("trw", _limited(bounds.trw), "spins first", refusal=_needs_pairs),
    _bound("mean-field", _limited(bounds.mean_field), "spins first", refusal=_needs_weights),
    _bound(
        "pdc",
        _limited(bounds.pdc),
        "spins first",
        refusal=_needs_pairs,
        energies=bounds.map_bound,
    ),
    _bound("planar+tree", _limited(bounds.planar_and_trees)),
    _bound("trw+cycle", _limited(bounds.trw_over_cycles), "spins first", refusal=_needs_pairs),
    _bound(
        "logdet", _limited(bounds.logdet), "spins first", refusal=_needs_pairs, slow_on="small cube"
    ),
]
