"""The four verbs by listing all states of a small model."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.errors import InfeasibleError
from planaris.methods.registry import Method, Model, Question, Run, Task
from planaris.models import IsingModel
from planaris.reference import enumerate_assignments, enumerate_states
from planaris.reference.brute_force import MAX_SPINS, all_states
from planaris.result import GroundState, LogPartition, Marginals
from planaris.treewidth.flatten import num_variables
from planaris.treewidth.rounding import EPS
from planaris.typing import Array

NAME = "brute-force"

STATE_SECONDS = 5e-8
"""Estimated time per state and factor or variable."""


def least_state(model: Model, budget: Budget) -> GroundState:
    """Return a state of least energy, and how many there are."""
    states: Array
    if isinstance(model, IsingModel):
        listed = enumerate_states(model)
        energy, states = listed.energy, listed.ground_states
    else:
        found = enumerate_assignments(model)
        _require_weight(found.map_log_weight)
        energy, states = 0.0 - found.map_log_weight, found.map_assignments
    return GroundState.of(
        model,
        states[0],
        energy,
        method=NAME,
        seconds=budget.seconds(),
        stats={"degeneracy": len(states)},
    )


def sum_states(model: Model, budget: Budget) -> LogPartition:
    """Return log Z."""
    if isinstance(model, IsingModel):
        listed = enumerate_states(model)
        return _around(model, listed.log_partition, listed.slack, budget)
    found = enumerate_assignments(model)
    return _around(model, found.log_partition, found.slack, budget)


def _around(model: Model, value: float, slack: float, budget: Budget) -> LogPartition:
    count, seconds = num_variables(model), budget.seconds()
    return LogPartition.around(value, slack, num_variables=count, method=NAME, seconds=seconds)


def all_marginals(model: Model, budget: Budget) -> Marginals:
    """Return the marginals of spins and edges, or of variables and factors."""
    nodes: Any
    edges: Any
    listed: Any
    if isinstance(model, IsingModel):
        listed = enumerate_states(model)
        nodes, edges = listed.nodes, listed.edges
    else:
        listed = enumerate_assignments(model)
        _require_weight(listed.map_log_weight)
        nodes, edges = listed.nodes, listed.factors
    error = 2 * listed.error + 64 * EPS  # of the sums of probabilities
    return Marginals(
        nodes=nodes,
        edges=edges,
        error=error,
        log_partition=_around(model, listed.log_partition, listed.slack, budget),
        method=NAME,
        seconds=budget.seconds(),
    )


def draw_states(asked: Question) -> Array:
    """Draw states by their probabilities."""
    model, size, rng = asked.model, asked.num_samples, asked.rng
    assert rng is not None, "the verb makes one"
    if isinstance(model, IsingModel):
        probabilities = enumerate_states(model).probabilities
        return all_states(model.num_spins)[rng.choice(len(probabilities), size, p=probabilities)]
    found = enumerate_assignments(model)
    _require_weight(found.map_log_weight)
    weights = found.probabilities.ravel()
    chosen = rng.choice(len(weights), size, p=weights / weights.sum())
    if not model.num_variables:
        return np.zeros((size, 0), dtype=np.int32)
    return np.stack(np.unravel_index(chosen, found.probabilities.shape), axis=1).astype(np.int32)


def _require_weight(best: float) -> None:
    if best == -np.inf:
        msg = "no state has positive weight: the hard constraints contradict each other"
        raise InfeasibleError(msg)


def _refusal(model: Model, budget: Budget) -> str | None:
    count = num_variables(model)
    return None if count <= MAX_SPINS else f"{count} variables have too many states to list"


def _listing(run: Run) -> Run:
    """Refuse models whose states take longer to list than there is time."""

    def answer(asked: Question) -> Any:
        model = asked.model
        factors = model.num_edges if isinstance(model, IsingModel) else model.num_factors
        cards = 2 if isinstance(model, IsingModel) else model.cardinalities.astype(np.float64)
        bits = float(np.broadcast_to(np.log2(cards), num_variables(model)).sum())
        seconds = STATE_SECONDS * 2.0 ** min(bits, 24.0) * (factors + num_variables(model))
        with asked.budget.required("not all states were listed"):
            asked.budget.reserve(seconds if bits <= 24 else 0.0).check()
        return run(asked)

    return answer


def _task(run: Run) -> Task:
    return Task(_listing(run), "exact", "labels")


METHODS = [
    Method(
        NAME,
        "lists all states",
        {
            "ground_state": _task(lambda a: least_state(a.model, a.budget)),
            "log_partition": _task(lambda a: sum_states(a.model, a.budget)),
            "marginals": _task(lambda a: all_marginals(a.model, a.budget)),
            "sample": _task(draw_states),
        },
        refusal=_refusal,
        slow_on="none",
    )
]
