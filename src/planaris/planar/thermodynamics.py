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

    def energy(b: float) -> tuple[float, float]:
        found = plan.marginals(b * J, **options)
        terms = J * (1.0 - 2.0 * found.edges)
        return math.fsum(terms.tolist()), found.log_z

    result = np.zeros((5, len(beta)))
    for k, b in enumerate(beta.tolist()):
        mean, log_z = energy(b)
        slopes = []
        for step in (STEP * b, 2 * STEP * b):
            if step > 0:
                slopes.append((energy(b + step)[0] - energy(b - step)[0]) / (2 * step))
        heat = -b * b * (4 * slopes[0] - slopes[1]) / 3 if slopes else 0.0
        error = b * b * abs(slopes[0] - slopes[1]) / 3 if slopes else 0.0
        result[:, k] = log_z, mean, log_z + b * mean, heat, error
    return Thermodynamics(beta, *result)


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
    warm, cold = (plan.log_partition(b * J, **options) for b in (20.0, 40.0))
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
