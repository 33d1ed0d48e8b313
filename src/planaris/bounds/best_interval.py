"""The best interval around log Z so far, and those that are known before any search.

Every bound holds, so the intersection of all intervals does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from planaris import treewidth
from planaris.budget import UNLIMITED, Budget
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.base import exact_sum
from planaris.planar.plan import Plan
from planaris.result import (
    Bounds,
    GroundState,
    HeavyState,
    LogPartition,
    LowestEnergy,
    MeanField,
    Pseudomarginals,
)
from planaris.subgraphs.bias_model import EPSILON, LOG2, MAX_TOTAL, BiasModel, plane_embedding
from planaris.subgraphs.convex_combination import Callback
from planaris.treewidth import plan_elimination

EXACT_SHARE = 0.2
"""Elimination is used where it is estimated to take this part of the time limit."""

COLD = 8.0
"""Where log weights are so many times the logarithm of the number of states, the ground state
decides most of log Z."""


class BestInterval:
    """An interval around log Z that only shrinks.

    Parameters
    ----------
    budget : Budget
        Of the whole work.
    callback : callable, optional
        Receives every new upper bound.
    """

    def __init__(self, budget: Budget, callback: Callback | None = None) -> None:
        self.budget, self.callback = budget, callback
        self.limit = budget.remaining()
        self.lower, self.upper = -math.inf, math.inf
        self.trace: list[dict[str, Any]] = []
        self.proof = Bounds(None, None)

    def left(self) -> float:
        """Return the seconds left."""
        return self.budget.remaining()

    def share(self, part: float) -> Budget:
        """Return a budget that leaves ``1 - part`` of the time."""
        return self.budget.share(part)

    def by_elimination(self, model: IsingModel | MarkovRandomField) -> LogPartition | None:
        """Return log Z by elimination where it is estimated to take little of the time."""
        with suppress(TimeoutError):
            plan = plan_elimination(
                model, task="log_partition", search_seconds=0.05, time_limit=self.share(EXACT_SHARE)
            )
            fits = plan.bytes <= min(2**31, self.budget.bytes())
            if plan.complete and fits and plan.seconds <= EXACT_SHARE * self.limit:
                return treewidth.log_partition(model, plan=plan, time_limit=self.share(0.6))
        return None

    def offer(
        self,
        by: str,
        *,
        lower: float = -math.inf,
        upper: float = math.inf,
        proof: Callable[[], Any] | None = None,
    ) -> None:
        """Intersect with another interval; ``proof`` is called where an end moves."""
        if lower <= self.lower and upper >= self.upper:
            return
        found = None if proof is None else proof()
        if lower > self.lower:
            self.proof = replace(self.proof, lower=found)
        if upper < self.upper:
            self.proof = replace(self.proof, upper=found)
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)
        seconds = self.budget.seconds()
        self.trace.append({"by": by, "lower": self.lower, "upper": self.upper, "seconds": seconds})
        if self.callback is not None:
            self.callback(self.upper)

    def take(self, by: str, found: LogPartition) -> None:
        """Intersect with the interval of a result, proofs included."""
        proof = found.certificate if isinstance(found.certificate, Bounds) else Bounds(None, None)
        self.offer(by, lower=found.lower, proof=lambda: proof.lower)
        self.offer(by, upper=found.upper, proof=lambda: proof.upper)

    def result(self, method: str, num_variables: int, **details: Any) -> LogPartition:
        """Return the interval."""
        lower, upper = self.lower, self.upper
        value = (lower + upper) / 2 if math.isfinite(lower) else upper
        seconds = self.budget.seconds()
        return LogPartition.between(
            lower,
            upper,
            value=value,
            num_variables=num_variables,
            method=method,
            seconds=seconds,
            trace=self.trace,
            certificate=self.proof,
            **details,
        )


def intersect(
    found: LogPartition,
    lower: float,
    upper: float,
    *,
    proof: Bounds | None = None,
    by: str | None = None,
) -> LogPartition:
    """Return the interval cut down to another one, with its value moved inside.

    Parameters
    ----------
    found : LogPartition
        What is known.
    lower, upper : float
        Another interval around log Z.
    proof : Bounds, optional
        Of the other interval.
    by : str, optional
        The method behind the other interval, named in the result if it moves an end.

    Examples
    --------
    >>> import planaris as pl
    >>> wide = pl.bounds.mean_field(IsingModel([(0, 1)], [1.0]))
    >>> cut = intersect(wide, 1.5, 1.9)
    >>> cut.lower == wide.lower, cut.upper
    (True, 1.9)
    """
    if lower <= found.lower and upper >= found.upper:
        return found
    known = found.certificate if isinstance(found.certificate, Bounds) else Bounds(None, None)
    proof = Bounds(None, None) if proof is None else proof
    if lower > found.lower:
        known = replace(known, lower=proof.lower)
    if upper < found.upper:
        known = replace(known, upper=proof.upper)
    low, high = max(found.lower, lower), min(found.upper, upper)
    if low > high:
        msg = (
            f"two intervals for log Z do not meet, [{found.lower}, {found.upper}] by "
            f"{found.method!r} and [{lower}, {upper}] by {by!r}: one of them is wrong"
        )
        raise AssertionError(msg)
    both = {found.method} | ({by} if by is not None else set())
    return replace(
        found,
        value=found.value if low <= found.value <= high else (low + high) / 2,
        lower=low,
        upper=high,
        method="+".join(sorted(both)),
        certificate=known,
    )


# -- known before any search: sizes of the terms, single spins, a ground state, planar models ------


def log_num_states(model: IsingModel | MarkovRandomField) -> float:
    """Return the logarithm of the number of states, rounded up.

    >>> round(log_num_states(MarkovRandomField([2, 3], [])), 6)
    1.791759
    """
    if isinstance(model, IsingModel):
        return model.num_spins * LOG2 * (1.0 + 2 * EPSILON)
    logs = np.log(model.cardinalities.astype(np.float64))
    return exact_sum(logs) * (1.0 + 4 * EPSILON)


def is_cold(model: IsingModel | MarkovRandomField) -> bool:
    """Return whether a bound on the least energy is likely to be a good one on log Z.

    >>> is_cold(IsingModel([(0, 1)], [100.0])), is_cold(IsingModel([(0, 1)], [1.0]))
    (True, False)
    """
    return model.log_weight_size > COLD * log_num_states(model)


def from_ground_state(
    model: IsingModel | MarkovRandomField, found: GroundState
) -> tuple[float, float, Bounds]:
    """Return both ends of an interval for log Z that a ground state gives, and their proofs.

    With ``c`` components without fields, 2^c states have the energy E found, and no state has
    less than ``lower``: ``c log 2 - E <= log Z <= n log 2 - lower``.

    Examples
    --------
    >>> import planaris as pl
    >>> model = IsingModel([(0, 1)], [3.0])
    >>> lower, upper, _ = from_ground_state(model, pl.ground_state(model))
    >>> round(lower, 4), round(upper, 4)  # log Z = 3.6956
    (3.6931, 4.3863)
    """
    free = free_components(model) if isinstance(model, IsingModel) else 0
    # Energies are rounded to nearest: the exact ones lie within half a step.
    lowest = math.nextafter(found.lower, -math.inf)
    best = math.nextafter(found.energy, math.inf)
    lower = math.nextafter(free * LOG2 * (1.0 - EPSILON) - best, -math.inf)
    upper = math.nextafter(log_num_states(model) - lowest, math.inf)
    proof = Bounds(None, None)
    if isinstance(model, IsingModel):
        above = None if found.certificate is None else LowestEnergy(found.certificate)
        proof = Bounds(HeavyState(found.spins), above)
    return lower, upper, proof


def free_components(model: IsingModel) -> int:
    """Return the number of components whose spins can all be flipped: those without fields.

    >>> free_components(IsingModel([(0, 1)], [1.0], [0.0, 0.0, 2.0, 0.0]))
    2
    """
    if model.num_spins == 0:
        return 0
    component = connected_components(model.num_spins, np.ascontiguousarray(model.edges))
    held = np.zeros(int(component.max()) + 1, dtype=bool)
    held[component[model.fields != 0]] = True
    return int(np.count_nonzero(~held))


def out_of_time(model: IsingModel, method: str, seconds: float) -> LogPartition:
    """Return trivial bounds: the sum of all sizes, and independent spins in their own fields.

    Examples
    --------
    >>> found = out_of_time(IsingModel([(0, 1)], [1.0], [0.5, 0.0]), "trw", 0.0)
    >>> round(found.lower, 4), round(found.upper, 4)  # log Z = 1.9401
    (1.5064, 2.8863)
    """
    upper = crude_upper(model)
    return LogPartition.between(
        min(independent_lower(model), upper),
        upper,
        value=upper,
        num_variables=model.num_spins,
        method=method,
        status="time_limit",
        pseudomarginals=Pseudomarginals(
            np.full(model.num_spins, 0.5), np.full(model.num_edges, 0.5)
        ),
        seconds=seconds,
        certificate=Bounds(independent_proof(model), None),
    )


def crude_upper(model: IsingModel) -> float:
    """Return what no state's weight can exceed, times the number of states, rounded up.

    >>> round(crude_upper(IsingModel([(0, 1)], [1.0])), 4)
    2.3863
    """
    total = float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
    upper = total + model.num_spins * LOG2
    upper += 4 * EPSILON * (model.num_edges + model.num_spins + 1) * (upper + 1)
    return math.nextafter(upper + model.offset, math.inf)


def independent_lower(model: IsingModel) -> float:
    """Return the mean-field bound of spins that follow their own fields, rounded down.

    >>> round(independent_lower(IsingModel([(0, 1)], [1.0])), 4)
    1.3863
    """
    size = np.abs(model.fields)
    means = np.tanh(model.fields)
    logs = size + np.log1p(np.exp(-2.0 * size))
    pairs = model.couplings * means[model.edges[:, 0]] * means[model.edges[:, 1]]
    bound = exact_sum(np.concatenate([logs, pairs, [model.offset]]))
    total = float(logs.sum() + np.abs(pairs).sum() + np.abs(model.couplings).sum())
    return bound - 8 * EPSILON * (total + abs(model.offset) + 1)


def independent_proof(model: IsingModel) -> MeanField:
    """Return the proof of :func:`independent_lower`: no couplings are kept, fields are as given."""
    return MeanField(np.zeros(0, dtype=np.int64), model.fields)


def trivial(model: IsingModel, bare: BiasModel, method: str) -> LogPartition | None:
    """Return the result for a model without couplings, or one too large for arithmetic."""
    total = float(np.abs(bare.couplings).sum())
    if total <= 0.0:
        value = model.num_spins * LOG2 + model.offset
        slack = 4 * EPSILON * (abs(value) + abs(model.offset) + 1)
        return LogPartition.around(value, slack, num_variables=model.num_spins, method=method)
    if total > MAX_TOTAL:
        upper = crude_upper(model)
        n = model.num_spins
        return LogPartition.between(
            -math.inf, upper, num_variables=n, method=method, status="too large"
        )
    return None


def solve_easy(
    model: IsingModel, bare: BiasModel, method: str, *, budget: Budget = UNLIMITED
) -> LogPartition | None:
    """Return the result for trivial models, and the exact one for planar models.

    An interval where the exact one is not there in time.
    """
    if (found := trivial(model, bare, method)) is not None:
        return found
    try:
        with budget.for_structure():
            surface = plane_embedding(model)
            if surface is None:
                return None
            prepared = Plan(surface)
    except TimeoutError:
        return out_of_time(model, method, 0.0)
    couplings = bare.couplings[np.flatnonzero(bare.couplings)]
    exact: LogPartition = prepared.log_partition(couplings, time_limit=budget)
    if exact.status == "time_limit":
        return out_of_time(model, method, 0.0)
    return replace(without_bias(exact, bare), method=method, status="planar")


def without_bias(found: LogPartition, bare: BiasModel) -> LogPartition:
    """Return log Z of a model, given that of its couplings and those to its bias spin.

    A certificate is about the order of these couplings, and is left out.
    """
    slack = 2 * EPSILON * (abs(found.value) + abs(bare.constant))
    excess = found.excess
    if excess is not None and len(bare.edges) > bare.num_model_edges:
        excess -= LOG2  # with a bias spin every state counts twice
    return replace(
        found,
        value=found.value + bare.constant,
        lower=found.lower + bare.constant - slack,
        upper=found.upper + bare.constant + slack,
        excess=excess,
        certificate=None,
    )
