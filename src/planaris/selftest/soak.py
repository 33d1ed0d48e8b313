"""One random model through every method that takes it, against plain elimination.

The oracle is :func:`planaris.verify.elimination.recompute`, which shares no code with the
solvers and states its own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from planaris.errors import (
    InfeasibleError,
    MethodError,
    NotPlanarError,
    TimeLimitError,
    TooLargeError,
    VerificationError,
)
from planaris.infer import ground_state, log_partition, marginals, sample
from planaris.models import IsingModel
from planaris.selftest.models import Case, make_case
from planaris.verify import check_result
from planaris.verify.elimination import Recomputed, recompute

REFUSALS = (MethodError, NotPlanarError, TooLargeError, TimeLimitError)
"""What a method may say to a model that it is not for."""

STATES = (
    "auto",
    "planar",
    "graph-cut",
    "qpbo",
    "treewidth",
    "local-lp",
    "cycle-lp",
    "mplp",
    "branch-and-cut",
    "brute-force",
)
SUMS = (
    "auto",
    "planar",
    "treewidth",
    "trw",
    "pdc",
    "planar+tree",
    "logdet",
    "mean-field",
    "interval",
    "brute-force",
)
BOUNDS = ("trw", "pdc", "planar+tree", "logdet", "mean-field", "interval")
PROBABILITIES = ("auto", "planar", "treewidth")
SECONDS = 10.0
"""Limit for every single call; bounds stop far earlier."""
BOUND_SECONDS = 0.1


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
        (_check_samples, best),
    ):
        try:
            task(case, verdict, truth)
        except Exception as error:
            verdict.contradictions.append(f"{task.__name__}: {type(error).__name__}: {error}")
    return verdict


def _ask(
    verdict: Verdict, name: str, call: Callable[[], Any], judge: Callable[[Any], str | None]
) -> None:
    """Make one call; note its answer, its refusal, or what is wrong with it."""
    try:
        found = call()
    except REFUSALS:
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

    def judge_proof(found: Any) -> str | None:
        wrong = judge(found)
        if wrong is None:
            try:
                check_result(case.model, found)
            except VerificationError as error:
                return f"its certificate is refused: {error}"
        return wrong

    for method in STATES:
        options = _embedding(case, method)
        _ask(
            verdict,
            f"ground_state {method}",
            partial(ground_state, case.model, method, time_limit=SECONDS, **options),
            judge_proof if method in ("auto", "planar") else judge,
        )
    _ask(
        verdict,
        "ground_state branch-and-cut with proof",
        lambda: ground_state(case.model, "branch-and-cut", time_limit=SECONDS, prove=True),
        judge_proof,
    )


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
    def judge(found: Any) -> str | None:
        if not found.lower <= found.value <= found.upper:
            return f"value {found.value!r} outside [{found.lower!r}, {found.upper!r}]"
        if truth.value == -math.inf:
            return None if found.lower == -math.inf else f"lower {found.lower!r} of nothing"
        if not found.lower <= truth.value + truth.slack:
            return f"lower {found.lower!r}, but log Z is {truth.value!r}"
        if not found.upper >= truth.value - truth.slack:
            return f"upper {found.upper!r}, but log Z is {truth.value!r}"
        if found.exact and abs(found.value - truth.value) > 1e-6 * (1 + abs(truth.value)):
            return f"exact {found.value!r}, but log Z is {truth.value!r}"
        return None

    for method in SUMS:
        options = _embedding(case, method)
        limit = BOUND_SECONDS if method in BOUNDS else SECONDS
        _ask(
            verdict,
            f"log_partition {method}",
            partial(log_partition, case.model, method, time_limit=limit, **options),
            judge,
        )


def _check_marginals(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    if truth.value == -math.inf or truth.slack > 1e-6:
        return
    slack = 1e-8 + 100 * truth.slack
    nodes = truth.marginals or []

    def judge(found: Any) -> str | None:
        for v, (claimed, table) in enumerate(zip(found.nodes, nodes, strict=True)):
            got = np.asarray(claimed)
            got = np.array([1 - got, got]) if got.ndim == 0 else got
            if found.exact and not np.abs(got - table).max() <= slack:
                return f"P(x_{v}) = {got.tolist()}, but it is {table.tolist()}"
        return None

    for method in PROBABILITIES:
        options = _embedding(case, method)
        _ask(
            verdict,
            f"marginals {method}",
            partial(marginals, case.model, method, time_limit=SECONDS, **options),
            judge,
        )


def _check_samples(case: Case, verdict: Verdict, truth: Recomputed) -> None:
    """Draw a few states: of the right shape, possible, and the same for the same generator."""
    if truth.value == -math.inf:
        return

    def judge(found: Any) -> str | None:
        again = sample(case.model, 3, np.random.default_rng(1))
        if not np.array_equal(found, again):
            return "the same generator gave other states"
        if isinstance(case.model, IsingModel):
            return None if np.all(np.abs(found) == 1) else "a spin is not ±1"
        weights = np.asarray(case.model.log_weight(found))
        return None if np.all(weights > -math.inf) else "an impossible state was drawn"

    _ask(verdict, "sample", lambda: sample(case.model, 3, np.random.default_rng(1)), judge)


def _embedding(case: Case, method: str) -> dict[str, Any]:
    fits = case.embedding is not None and method in ("auto", "planar")
    return {"embedding": case.embedding} if fits else {}


def _scale(case: Case) -> float:
    if isinstance(case.model, IsingModel):
        return float(np.abs(case.model.couplings).sum() + np.abs(case.model.fields).sum())
    logs = case.model.log_values
    return float(np.abs(logs[np.isfinite(logs)]).sum())
