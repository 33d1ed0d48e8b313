"""Loopy belief propagation: the Bethe estimate of log Z and marginals.

Messages are passed in parallel, damped, until they settle or the time is over. The estimate is
the Bethe free energy at the beliefs, made consistent: a point of the local polytope. Without
frustrated cycles no such point exceeds log Z (Ruozzi 2012), so the estimate is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planaris.bounds.best_interval import crude_upper, out_of_time
from planaris.budget import UNLIMITED, Budget
from planaris.cuts import is_submodular
from planaris.methods.registry import Method, Question, Task
from planaris.models import IsingModel
from planaris.models.base import exact_sum
from planaris.result import LogPartition, Marginals, Pseudomarginals
from planaris.typing import FloatArray

NAME = "bp"
MAX_ROUNDS = 1000
SETTLED = 1e-12
"""Messages that change by less are taken for a fixed point."""

ANSWER_SECONDS = 2e-7
"""Per edge, for the value and the marginals of messages: time reserved while they are passed."""

BLOCK = 2**14
"""Edges between two checks of the deadline."""

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The beliefs after the last round of messages.

    Attributes
    ----------
    nodes : numpy.ndarray
        P(s_v = +1).
    both : numpy.ndarray
        P(s_u = s_v = +1) of every edge, consistent with ``nodes``.
    rounds : int
        Rounds of messages.
    change : float
        The largest change of a message in the last round.
    finish : Budget
        For the rest of the call.
    """

    nodes: FloatArray
    both: FloatArray
    rounds: int
    change: float
    finish: Budget


def pass_messages(model: IsingModel, budget: Budget, max_rounds: int = MAX_ROUNDS) -> Beliefs:
    """Run damped parallel belief propagation.

    The message of edge (u, v) to v is the field that u exerts there:
    ``atanh(tanh(J) tanh(field of u without v))``. A round that the deadline cuts
    short is dropped. ``TimeoutError`` if the beliefs are not there long after the deadline.
    """
    m, n = model.num_edges, model.num_spins
    target = np.concatenate([model.edges[:, 1], model.edges[:, 0]])
    message, change, rounds = np.zeros(2 * m), math.inf if m else 0.0, 0
    damping = 0.0
    kept = budget.reserve(ANSWER_SECONDS * m)
    while change > SETTLED and rounds < max_rounds:
        total = model.fields + np.bincount(target, message, n)
        fresh = np.empty(2 * m)
        try:
            for part in _blocks(m):
                kept.check()
                at_u, at_v = _cavities(model, message, total, part)
                fresh[:m][part] = _field_across(model.couplings[part], at_u)
                fresh[m:][part] = _field_across(model.couplings[part], at_v)
        except TimeoutError:
            break
        step = float(np.abs(fresh - message).max())
        if step >= change:  # it does not contract: damp
            damping = min(0.9, damping + 0.1)
        message = damping * message + (1.0 - damping) * fresh
        change, rounds = step, rounds + 1
    finish = budget.to_finish()
    total = model.fields + np.bincount(target, message, n)
    nodes, both = _logistic(2.0 * total), np.empty(m)
    for part in _blocks(m):
        finish.check()
        both[part] = _both_up(model, part, _cavities(model, message, total, part), nodes)
    return Beliefs(nodes, both, rounds, change, finish)


def _blocks(num_edges: int) -> Iterator[slice]:
    """Yield parts of all edges whose numbers stay in the processor's cache."""
    for begin in range(0, num_edges, BLOCK):
        yield slice(begin, min(begin + BLOCK, num_edges))


def _cavities(
    model: IsingModel, message: FloatArray, total: FloatArray, part: slice
) -> tuple[FloatArray, FloatArray]:
    """Return the fields at both ends of some edges, each without the other end's message."""
    there, back = message[: model.num_edges], message[model.num_edges :]
    u, v = model.edges[part].T
    return total[u] - back[part], total[v] - there[part]


def _field_across(coupling: FloatArray, field: FloatArray) -> FloatArray:
    """Return ½ log(cosh(J + h) / cosh(J - h)), without overflow."""
    a, b = np.abs(coupling + field), np.abs(coupling - field)
    return 0.5 * (a - b + np.log1p(np.exp(-2.0 * a)) - np.log1p(np.exp(-2.0 * b)))


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _both_up(
    model: IsingModel, part: slice, fields: tuple[FloatArray, FloatArray], nodes: FloatArray
) -> FloatArray:
    """Return P(s_u = s_v = +1) of edges from the fields at both ends, as the nodes allow."""
    J, (a, b) = model.couplings[part], fields
    logs = np.stack([J + a + b, -J + a - b, -J - a + b, J - a - b])
    weights = np.exp(logs - logs.max(axis=0))
    both = weights[0] / weights.sum(axis=0)
    u, v = model.edges[part].T
    p, q = nodes[u], nodes[v]
    return np.asarray(np.clip(both, np.maximum(p + q - 1.0, 0.0), np.minimum(p, q)))


def bethe_value(
    model: IsingModel, nodes: FloatArray, both: FloatArray, budget: Budget = UNLIMITED
) -> tuple[float, float]:
    """Return the Bethe free energy of consistent beliefs, and a bound on its rounding.

    It is the mean log weight, plus the entropies of edges, minus those of nodes counted twice.
    """
    weighted, entropies = np.empty(model.num_edges), np.empty(model.num_edges)
    for part in _blocks(model.num_edges):
        budget.check()
        u, v = model.edges[part].T
        p, q, up = nodes[u], nodes[v], both[part]
        tables = np.stack([up, p - up, q - up, 1.0 - p - q + up])
        weighted[part] = model.couplings[part] * (2.0 * (tables[0] + tables[3]) - 1.0)
        entropies[part] = _entropy(tables)
    degree = np.bincount(model.edges.ravel(), minlength=model.num_spins)
    single = _entropy(np.stack([nodes, 1.0 - nodes]))
    budget.check()
    terms = [
        weighted,
        model.fields * (2.0 * nodes - 1.0),
        entropies,
        (1.0 - degree) * single,
    ]
    size = math.fsum(float(np.abs(x).sum()) for x in terms)
    size += float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
    slack = 32 * EPSILON * (size + 4.0 * model.num_edges + model.num_spins + abs(model.offset))
    # An entropy is steep at zero: a probability off by ε moves it by at most ε (1 - log ε).
    slack += 64 * EPSILON * 40.0 * (4 * model.num_edges + float(degree.sum()) + model.num_spins)
    value = exact_sum(np.concatenate(terms)) + model.offset
    return value, slack


def _entropy(tables: FloatArray) -> FloatArray:
    safe = np.maximum(tables, 1e-300)
    return np.asarray(-(np.maximum(tables, 0.0) * np.log(safe)).sum(axis=0))


def _log_partition(asked: Question) -> LogPartition:
    model: IsingModel = asked.model
    try:
        with asked.budget.watch("belief propagation") as budget:
            beliefs = pass_messages(model, budget)
        value, slack = bethe_value(model, beliefs.nodes, beliefs.both, beliefs.finish)
        beliefs.finish.check()
    except TimeoutError:
        return out_of_time(model, NAME, asked.budget.seconds())
    upper = crude_upper(model)
    proved = bool(is_submodular(model))
    # One state, all spins by the sign of their belief, is a lower bound for any model.
    state = np.where(beliefs.nodes >= 0.5, 1, -1).astype(np.int8)
    heavy = math.nextafter(float(model.log_weight(state)), -math.inf)
    lower = max(heavy, value - slack) if proved else heavy
    agree = _agreement(model, beliefs)
    return LogPartition.between(
        min(lower, upper),
        upper,
        value=min(max(value, lower), upper),
        num_variables=model.num_spins,
        method=NAME,
        status="settled" if beliefs.change <= SETTLED else "not settled",
        pseudomarginals=Pseudomarginals(beliefs.nodes, agree),
        rounds=beliefs.rounds,
        seconds=asked.budget.seconds(),
        stats={"bethe": value, "lower_bound": proved, "change": beliefs.change},
    )


def _agreement(model: IsingModel, beliefs: Beliefs) -> FloatArray:
    p, q = beliefs.nodes[model.edges[:, 0]], beliefs.nodes[model.edges[:, 1]]
    return np.asarray(np.clip(1.0 - p - q + 2.0 * beliefs.both, 0.0, 1.0))


def _marginals(asked: Question) -> Marginals:
    found = _log_partition(asked)
    guess = found.pseudomarginals
    assert guess is not None
    assert guess.edges is not None, "belief propagation has both"
    return Marginals(
        nodes=guess.nodes,
        edges=guess.edges,
        log_partition=found,
        proved=False,
        estimate=True,
        method=NAME,
        status=found.status,
        rounds=found.rounds,
        seconds=found.seconds,
    )


METHODS = [
    Method(
        NAME,
        "estimates log Z and marginals by loopy belief propagation",
        {
            "log_partition": Task(_log_partition, "estimate"),
            "marginals": Task(_marginals, "estimate"),
        },
        slow_on="none",
    )
]
