"""One random model through every method that takes it, against plain elimination.

The oracle is :func:`planaris.verify.recompute.elimination.recompute`, which shares no code with the
solvers and states its own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from planaris.errors import (
    InfeasibleError,
    MethodError,
    NotPlanarError,
    PrecisionError,
    TimeLimitError,
    TooLargeError,
    VerificationError,
)
from planaris.infer import ground_state, log_partition, marginals, sample
from planaris.methods.registry import Task, Verb, methods
from planaris.models import IsingModel
from planaris.planar import plan
from planaris.selftest.models import Case, Model, make_case
from planaris.verify import check_result
from planaris.verify.recompute.elimination import Recomputed, recompute

REFUSALS = (MethodError, NotPlanarError, TooLargeError, TimeLimitError)
"""Errors by which a method may refuse a model; estimates may also lack digits."""

GROSS = 1e-6
"""An estimate must not be off by more than it states and this, relative to log Z."""
SECONDS = 10.0
"""Limit for every single call; searches without an end stop far earlier."""
BOUND_SECONDS = 0.1
ENUMERATED = 16
"""Spins up to which brute force is asked as well."""


@dataclass
class Verdict:
    """What came out for one model."""

    kind: str
    answers: int = 0
    refusals: int = 0
    contradictions: list[str] = field(default_factory=list)


def soak_seed(seed: int) -> Verdict:
    """Check the model of a seed.

    Examples
    --------
    >>> soak_seed(0).contradictions
    []
    """
    return check_model(make_case(seed))


def check_model(case: Case) -> Verdict:
    """Run every method on a model and compare; an unexpected error counts as a contradiction."""
    verdict = Verdict(case.kind)
    best = _truth(case, task="max")
    total = _truth(case, task="sum", marginals=True)
    for task, truth in (
        (_check_states, best),
        (_check_sums, total),
        (_check_marginals, total),
        (_check_correlations, total),
        (_check_samples, total),
    ):
        try:
            task(case, verdict, truth)
        except Exception as error:
            verdict.contradictions.append(f"{task.__name__}: {type(error).__name__}: {error}")
    return verdict


def _ask(
    verdict: Verdict,
    name: str,
    call: Callable[[], Any],
    judge: Callable[[Any], str | None],
    refusals: tuple[type[Exception], ...] = REFUSALS,
) -> None:
    """Make one call; note its answer, its refusal, or what is wrong with it."""
    try:
        found = call()
    except refusals:
        verdict.refusals += 1
        return
    except Exception as error:
        verdict.contradictions.append(f"{name}: {type(error).__name__}: {error}")
        return
    verdict.answers += 1
    wrong = judge(found)
    if wrong is not None:
        verdict.contradictions.append(f"{name}: {wrong}")


def _truth(case: Case, **options: Any) -> Recomputed:
    found = recompute(case.model, **options)
    if found is None:
        msg = "a soak model must be narrow enough for the oracle"
        raise AssertionError(msg)
    return found


def _check_states(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    if truth.value == -math.inf:
        _expect_infeasible(case, verdict)
        return
    minimum, slack = -truth.value, truth.slack + 3e-9 * _scale(case)

    def judge(found: Any) -> str | None:
        if not found.lower <= minimum + slack:
            return f"lower {found.lower!r}, but a state has {minimum!r}"
        if not found.upper >= minimum - slack:
            return f"upper {found.upper!r}, but the minimum is {minimum!r}"
        if found.exact and found.upper > minimum + slack:
            return f"exact {found.upper!r}, but the minimum is {minimum!r}"
        return None

    for method, _ in _tasks(case, "ground_state"):
        limit = BOUND_SECONDS if method == "pdc" else SECONDS
        options = _embedding(case, method) | {"time_limit": limit}
        for prove in (False, True):
            _ask(
                verdict,
                f"ground_state {method}" + (" with proof" if prove else ""),
                partial(ground_state, case.model, method, prove=prove, **options),
                partial(_judge_proof, case, judge),
            )


def _judge_proof(case: Case, judge: Callable[[Any], str | None], found: Any) -> str | None:
    """Judge by the truth, then by the proof."""
    wrong = judge(found)
    if wrong is not None:
        return wrong
    try:
        check_result(case.model, found)
    except VerificationError as error:
        return f"its certificate is refused: {error}"
    return None


def _expect_infeasible(case: Case, verdict: Verdict) -> None:
    try:
        found = ground_state(case.model, time_limit=SECONDS)
    except InfeasibleError:
        verdict.answers += 1
        return
    verdict.answers += 1
    if found.energy < math.inf:
        verdict.contradictions.append(f"ground_state: {found.energy!r} of an impossible model")


def _check_sums(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    def judge(task: Task, found: Any) -> str | None:
        if not found.lower <= found.value <= found.upper:
            return f"value {found.value!r} outside [{found.lower!r}, {found.upper!r}]"
        if truth.value == -math.inf:
            return None if found.lower == -math.inf else f"lower {found.lower!r} of nothing"
        slack = truth.slack
        if task.promise == "estimate" and not found.proved:
            slack += GROSS * (1 + abs(truth.value))
        if not found.lower <= truth.value + slack:
            return f"lower {found.lower!r}, but log Z is {truth.value!r}"
        if not found.upper >= truth.value - slack:
            return f"upper {found.upper!r}, but log Z is {truth.value!r}"
        if found.exact and abs(found.value - truth.value) > 1e-6 * (1 + abs(truth.value)):
            return f"exact {found.value!r}, but log Z is {truth.value!r}"
        return None

    for method, task in _tasks(case, "log_partition"):
        options = _embedding(case, method) | {"time_limit": _limit(method, task)}
        _ask(
            verdict,
            f"log_partition {method}",
            partial(log_partition, case.model, method, **options),
            partial(_judge_proof, case, partial(judge, task)),
            _refusals(task),
        )


def _check_marginals(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    if truth.value == -math.inf or truth.slack > 1e-6:
        return
    slack = 1e-8 + 100 * truth.slack
    nodes, edges = _true_marginals(case.model, truth)

    def judge(found: Any) -> str | None:
        for what, tables, claims, lower, upper in (
            ("variable", nodes, found.nodes, found.nodes_lower, found.nodes_upper),
            ("edge", edges, found.edges, found.edges_lower, found.edges_upper),
        ):
            for k, (table, got) in enumerate(zip(tables, claims, strict=True)):
                if not (np.all(got >= -1e-12) and np.all(got <= 1 + 1e-12)):
                    return f"marginal {got!r} of {what} {k} is not a probability"
                if found.exact and not np.abs(got - table).max() <= slack:
                    return f"marginal {got!r} of {what} {k}, but it is {table!r}"
                if lower is None:
                    continue
                if not (np.all(lower[k] <= table + slack) and np.all(table <= upper[k] + slack)):
                    return f"ends {lower[k]!r}, {upper[k]!r} of {what} {k}, but it is {table!r}"
        return None

    for method, task in _tasks(case, "marginals"):
        limit = _limit_of_marginals(case, method, task)
        options = _embedding(case, method) | {"time_limit": limit}
        _ask(
            verdict,
            f"marginals {method}",
            partial(marginals, case.model, method, **options),
            judge,
            _refusals(task),
        )


def _true_marginals(model: Model, truth: Recomputed) -> tuple[list[Any], list[Any]]:
    """Return the oracle's marginals in the shape that planaris gives them."""
    nodes, factors = truth.marginals or [], truth.factor_marginals or []
    if isinstance(model, IsingModel):
        equal = [np.trace(table) for table in factors[: model.num_edges]]
        return [table[1] for table in nodes], equal
    kept = iter(factors)
    sizes = [len(model.scope(k)) for k in range(model.num_factors)]
    return nodes, [next(kept) if size else np.ones(()) for size in sizes]


def _check_correlations(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    """Compare ⟨s_u s_v⟩ of pairs that no edge joins, where a plan gives them."""
    model = case.model
    if not isinstance(model, IsingModel) or model.has_fields or model.num_spins < 2:
        return
    graph = model if case.embedding is None else case.embedding
    rng = np.random.default_rng(model.num_edges)
    pairs = np.array([rng.choice(model.num_spins, 2, replace=False) for _ in range(3)])
    joined = IsingModel(
        np.vstack([model.edges, pairs]),
        np.append(model.couplings, np.zeros(len(pairs))),
        num_spins=model.num_spins,
    )
    again = recompute(joined, task="sum", marginals=True)
    if again is None or again.slack > 1e-6:
        return
    _, equal = _true_marginals(joined, again)
    place = {frozenset(edge): k for k, edge in enumerate(joined.edges.tolist())}
    expected = np.array([2 * equal[place[frozenset(pair)]] - 1 for pair in pairs.tolist()])

    def judge(found: Any) -> str | None:
        close = np.abs(found - expected).max() <= 1e-7 + 200 * again.slack
        return None if close else f"⟨ss⟩ = {found.tolist()}, but it is {expected.tolist()}"

    _ask(
        verdict,
        "correlations",
        lambda: plan(graph).correlations(model.couplings, pairs, time_limit=SECONDS),
        judge,
    )


def _check_samples(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    """Draw a few states: of the right shape, likely, and the same for the same generator."""
    if truth.value == -math.inf:
        return
    model = case.model
    ising = isinstance(model, IsingModel)
    cards = [2] * model.num_spins if isinstance(model, IsingModel) else model.cardinalities
    # All states below this weight together have less than exp(-40) of the probability.
    least = truth.value - truth.slack - 40.0 - float(np.log(cards).sum())

    def judge(draw: Callable[[], Any], found: Any) -> str | None:
        if not np.array_equal(found, draw()):
            return "the same generator gave other states"
        if ising and not np.all(np.abs(found) == 1):
            return "a spin is not ±1"
        weights = -model.energy(found) if ising else np.asarray(model.log_weight(found))
        if not np.all(weights >= least - 1e-12 * _scale(case)):
            return f"drew log weights {weights.tolist()} where log Z is {truth.value!r}"
        return None

    for method, task in _tasks(case, "sample"):
        draw = partial(_draw, case, method)
        _ask(verdict, f"sample {method}", draw, partial(judge, draw), _refusals(task))


def _draw(case: Case, method: str) -> Any:
    rng, options = np.random.default_rng(1), _embedding(case, method)
    return sample(case.model, 3, rng, method, time_limit=SECONDS, **options)


def _tasks(case: Case, verb: Verb) -> Iterator[tuple[str, Task]]:
    """Yield the methods of a verb, brute force only where it does not take most of the time."""
    few = not isinstance(case.model, IsingModel) or case.model.num_spins <= ENUMERATED
    for name, method in methods().items():
        if verb in method.tasks and (few or name != "brute-force"):
            yield name, method.tasks[verb]


def _limit(method: str, task: Task) -> float:
    return BOUND_SECONDS if task.promise == "interval" and method != "auto" else SECONDS


def _limit_of_marginals(case: Case, method: str, task: Task) -> float:
    """Return the limit; points that bounds on log Z are attained at take as long as these."""
    few = isinstance(case.model, IsingModel) and case.model.num_spins <= ENUMERATED
    return _limit(method, task if few else methods()[method].tasks.get("log_partition", task))


def _refusals(task: Task) -> tuple[type[Exception], ...]:
    return (*REFUSALS, PrecisionError) if task.promise == "estimate" else REFUSALS


def _embedding(case: Case, method: str) -> dict[str, Any]:
    fits = case.embedding is not None and method in ("auto", "planar")
    return {"embedding": case.embedding} if fits else {}


def _scale(case: Case) -> float:
    if isinstance(case.model, IsingModel):
        return float(np.abs(case.model.couplings).sum() + np.abs(case.model.fields).sum())
    logs = case.model.log_values
    return float(np.abs(logs[np.isfinite(logs)]).sum())
