"""Entropy, energy and specific heat along a temperature sweep; ground states at zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.planar.plan import Plan
from planaris.result import Thermodynamics
from planaris.typing import ArrayLike

STEP = 2.0**-8
"""Relative step in β of the differences that give the specific heat."""


def thermodynamics(
    plan: Plan, couplings: ArrayLike, betas: ArrayLike, **options: Any
) -> Thermodynamics:
    """Compute log Z, mean energy, entropy and specific heat at every β.

    The energy comes from exact marginals; the specific heat from central differences of it,
    with steps β/256 and β/128 combined to fourth order.

    Parameters
    ----------
    plan : Plan
        Of the model's graph.
    couplings : array_like of float, shape (m,)
        ``J``, without the factor β.
    betas : array_like of float
        Inverse temperatures, not negative.
    **options
        As for :meth:`Plan.marginals`.

    Examples
    --------
    >>> from planaris.planar import plan
    >>> pair = thermodynamics(plan((2, [(0, 1)])), [1.0], [0.0, 1.0])
    >>> pair.energy.round(6).tolist(), pair.entropy.round(6).tolist()
    ([0.0, -0.761594], [1.386294, 1.058481])
    >>> pair.specific_heat.round(6).tolist()
    [0.0, 0.419974]
    """
    _check_plan(plan)
    J = np.asarray(couplings, dtype=np.float64)
    beta = np.atleast_1d(np.asarray(betas, dtype=np.float64))
    if beta.size and not (np.isfinite(beta).all() and beta.min() >= 0):
        msg = f"`betas` must be finite and not negative, got {beta.tolist()}"
        raise ModelError(msg)

    # β and four neighbours, all of them in one batch.
    steps = np.array([0.0, STEP, -STEP, 2 * STEP, -2 * STEP])
    every = (beta[:, None] * (1.0 + steps)).ravel()
    found = plan.marginals(every[:, None] * J, **options)
    terms = J * (1.0 - 2.0 * found.edges)
    energies = np.array([math.fsum(row) for row in terms.tolist()]).reshape(len(beta), 5)
    log_z, mean = found.log_z.reshape(len(beta), 5)[:, 0], energies[:, 0]
    warm = beta > 0
    width = np.where(warm, 2 * STEP * beta, 1.0)
    narrow = (energies[:, 1] - energies[:, 2]) / width
    wide = (energies[:, 3] - energies[:, 4]) / (2 * width)
    heat = np.where(warm, -(beta**2) * (4 * narrow - wide) / 3, 0.0)
    error = np.where(warm, beta**2 * np.abs(narrow - wide) / 3, 0.0)
    return Thermodynamics(beta, log_z, mean, log_z + beta * mean, heat, error)


def ground_state_entropy(plan: Plan, couplings: ArrayLike, **options: Any) -> float:
    """Return the logarithm of the number of ground states of a model with integer couplings.

    f(β) = log Z + βE₀ falls to it as β grows. Levels are at least 2 apart, so that what excited
    states still contribute at 2β is below e^(-2β) of what they contribute at β.

    Examples
    --------
    >>> from planaris.planar import plan
    >>> triangle = plan((3, [(0, 1), (1, 2), (0, 2)]))
    >>> round(math.exp(ground_state_entropy(triangle, [1, 1, -1])), 9)
    6.0
    """
    _check_plan(plan)
    J = np.asarray(couplings, dtype=np.float64)
    if not np.array_equal(J, np.round(J)):
        msg = "`couplings` must be integers, so that energy levels are two apart"
        raise ModelError(msg)
    warm, cold = plan.log_partition(np.array([[20.0], [40.0]]) * J, **options)
    known = plan.genus == 0 and warm.exact and cold.exact
    if not known or warm.excess is None or cold.excess is None:
        msg = "the ground states of this model cannot be counted"
        raise MethodError(msg)
    rest = math.expm1(warm.excess - cold.excess) * math.exp(-40.0)
    return float(cold.excess - max(rest, 0.0))


def _check_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        msg = (
            f"`plan` must be a Plan, got {type(plan).__name__}; planaris.plan(model) makes one, "
            "and `couplings` are those of the model"
        )
        raise ModelError(msg)
