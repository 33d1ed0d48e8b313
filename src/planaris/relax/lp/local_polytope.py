"""MAP over the local polytope."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.kernels.relaxations import improve_spins
from planaris.models import IsingModel, MarkovRandomField, lift_ground_state, mrf2ising
from planaris.models.base import exact_sum
from planaris.relax.cut_form import UNIT, with_bias_spin
from planaris.relax.lp.cycle_polytope import INTEGRAL
from planaris.relax.lp.growing_lp import GrowingLP
from planaris.relax.lp.label_polytope import label_relaxation
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import Flow, GroundState, Pseudomarginals
from planaris.typing import FloatArray, Int8Array

EDGE_SECONDS = 3e-6
"""Estimated time per edge to set up the linear program."""

ANSWER_SECONDS = 6e-7
"""Per edge, to read and prove what HiGHS found: time reserved while it solves."""


def local_lp(
    model: IsingModel | MarkovRandomField,
    *,
    time_limit: TimeLimit = None,
    prove: bool = False,
) -> GroundState:
    """Bound the minimum energy by the local polytope (pairwise consistency).

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any graph, any fields, any labels; zero potentials are hard constraints.
    time_limit : float, optional
        Seconds for the linear program.
    prove : bool
        Keep a certificate of models with more than two labels too, see
        :func:`planaris.relax.cycle_lp`; Ising models have one in any case.

    Returns
    -------
    GroundState
        ``lower`` is a safe bound, see :func:`planaris.relax.cycle_lp`; ``spins`` is the rounded
        solution improved by single flips. ``stats`` holds the pseudomarginals ``nodes`` and
        ``edges`` and ``integrality``, the share of integral spins.

    Notes
    -----
    In the variables ``a_v = P(s_v = -1)`` and ``x_e = P(s_u != s_v)`` the local polytope is
    ``|a_u - a_v| <= x_e <= min(a_u + a_v, 2 - a_u - a_v)``; a coupling's sign says which two of
    the four sides can bind, so there are two rows per edge. The same bound as roof duality.

    Examples
    --------
    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0], [0.5, 0.0, 0.0])
    >>> found = local_lp(frustrated)
    >>> round(found.lower, 6), found.energy
    (-3.0, -1.5)
    """
    budget = Budget.of(time_limit, prove=prove)
    if isinstance(model, MarkovRandomField):
        if model.is_ising:
            ising, inverse = mrf2ising(model)
            return lift_ground_state(local_lp(ising, time_limit=budget), inverse, model)
        return label_relaxation(model, projection="none", budget=budget)
    started = time.monotonic()
    n, cost = model.num_spins, np.concatenate([2.0 * model.fields, 2.0 * model.couplings])
    found: _Solution | None = None
    with suppress(TimeoutError):
        found = _solve(model, cost, budget)
        found.finish.check()  # HiGHS's memory was freed, but for what lies below this array
        found = replace(found, x=found.x.copy())
    if found is None or found.finish.expired():
        return trivial_ground_state(model, "local-lp", budget)
    base = exact_sum(np.concatenate([[-model.offset], -0.5 * cost]))
    lower = base + found.bound - 4 * UNIT * abs(base)
    away, apart = found.x[:n], found.x[n:]
    integral = np.minimum(away, 1 - away) <= INTEGRAL
    pseudomarginals = Pseudomarginals(1.0 - away, 1.0 - apart, float(integral.mean()) if n else 1.0)
    spins = _improve(model, np.where(away > 0.5, -1, 1).astype(np.int8), found.finish)
    return GroundState.of(
        model,
        spins,
        lower,
        method="local-lp",
        status=found.status,
        pseudomarginals=pseudomarginals,
        seconds=time.monotonic() - started,
        certificate=found.flow,
        stats={"iterations": found.iterations},
    )


@dataclass(frozen=True, eq=False)
class _Solution:
    """Columns, a safe bound and its proof; ``finish`` is the budget for the rest of the call."""

    status: str
    x: FloatArray
    bound: float
    flow: Flow
    iterations: int
    finish: Budget


def _solve(model: IsingModel, cost: FloatArray, budget: Budget) -> _Solution:
    """Solve the linear program; ``TimeoutError`` when the time is over before there is a bound."""
    m, started = model.num_edges, budget.seconds()
    budget.reserve(EDGE_SECONDS * m).check()
    lp = _program(model, cost, budget)
    # Reading and proving take about as long as the set-up; longer on a machine that is busy.
    answer = max(ANSWER_SECONDS * m, budget.seconds() - started)
    status = lp.solve(budget=budget, answer_seconds=answer)
    bound = lp.safe_bound()
    lp.finish.check()
    flow = _flow(model, lp)
    lp.finish.check()  # HiGHS's memory is freed after this
    return _Solution(status, lp.x, bound, flow, lp.iterations, lp.finish)


def _program(model: IsingModel, cost: FloatArray, budget: Budget) -> GrowingLP:
    """Return the linear program; ``TimeoutError`` when the time is over before."""
    n, m = model.num_spins, model.num_edges
    lp = GrowingLP(cost, np.zeros(n + m), np.ones(n + m))
    if not m:
        return lp
    budget.check()
    # J > 0: x >= ±(a_u - a_v).  J <= 0: x <= a_u + a_v and x <= 2 - a_u - a_v.
    columns, values, sides = np.empty((m, 6), np.int32), np.empty((m, 6)), np.zeros((m, 2))
    columns[:, 0] = columns[:, 3] = np.arange(n, n + m)
    columns[:, 1:3] = columns[:, 4:6] = model.edges
    budget.check()
    attract = model.couplings > 0
    sign = np.where(attract, 1.0, -1.0)
    values[:, 0] = values[:, 3] = values[:, 4] = sign
    values[:, 1], values[:, 2], values[:, 5] = -sign, 1.0, -1.0
    sides[:, 1] = np.where(attract, 0.0, -2.0)
    offsets = np.arange(0, 6 * m + 1, 3)
    budget.check()
    lp.add_rows(offsets, columns.ravel(), values.ravel(), sides.ravel(), budget=budget)
    return lp


def _flow(model: IsingModel, lp: GrowingLP) -> Flow:
    """Return the bound as a flow: half the difference of the multipliers of an edge's rows."""
    first, second = np.maximum(lp.row_dual.reshape(-1, 2), 0.0).T
    flow = np.where(model.couplings > 0, second - first, first - second) / 2
    strength = np.abs(model.couplings)
    return Flow(np.clip(flow, -strength, strength))


def _improve(model: IsingModel, spins: Int8Array, budget: Budget) -> Int8Array:
    """Improve a state by single flips."""
    edges, couplings = with_bias_spin(model)
    start = np.append(spins, np.int8(1))
    better = improve_spins(model.num_spins + 1, edges, couplings, start, budget=budget)
    return np.asarray(better[:-1] * better[-1])
