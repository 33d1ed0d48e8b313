"""Estimates along a sweep of temperatures: log Z, marginals and specific heat at every β."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, NamedTuple

from planaris.budget import Budget
from planaris.errors import PrecisionError
from planaris.result import LogPartition, Marginals
from planaris.tensor.network import Model
from planaris.tensor.sweeps import Sweep
from planaris.tensor.warm_start import WarmStart

STEP = 2.0**-6
"""Relative step in β of the second differences of log Z that give the specific heat."""


class Estimate(NamedTuple):
    """What a model does at one β, estimated.

    Attributes
    ----------
    log_partition : LogPartition
        log Z of ``model.at(beta)``.
    marginals : Marginals
        Of ``model.at(beta)``.
    specific_heat : float
        β² d² log Z / dβ².
    specific_heat_error : float
        Its stated error: the difference between two step widths, and what the stated error of
        log Z amounts to in second differences.
    """

    log_partition: LogPartition
    marginals: Marginals
    specific_heat: float
    specific_heat_error: float


class TemperatureSweep:
    """One model at one β after the other: the sweep is planned once.

    The first contraction at a β is as accurate as the last but one of the β before it.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        A pairwise model.
    sweep : Sweep, optional
        The sweep of this model, if it has been planned before.

    Examples
    --------
    >>> import numpy as np
    >>> import planaris as pl
    >>> model = pl.IsingModel.from_image(np.full((6, 6), 0.1), 1.0, 1.0)
    >>> found = TemperatureSweep(model).at(0.4)
    >>> exact = pl.thermodynamics(model, [0.4], "treewidth")
    >>> bool(abs(found.log_partition.value - exact.log_partition[0]) < 1e-10)
    True
    >>> error = abs(found.specific_heat - exact.specific_heat[0])
    >>> bool(error <= found.specific_heat_error + 1e-6)
    True
    """

    def __init__(self, model: Model, sweep: Sweep | None = None) -> None:
        self.model = model
        self.warm = WarmStart(sweep)

    def at(self, beta: float, budget: Budget | None = None) -> Estimate:
        """Estimate log Z, marginals and specific heat at one β.

        ``TimeLimitError`` when the time is over before; a specific heat that is late is NaN.
        """
        budget = Budget.of(None) if budget is None else budget
        with budget.required("the tensor network was not contracted"):
            run, values = self.warm.contract(self.model.at(beta), budget)
            log_z, marginals = run.log_partition(values), run.marginals(values)
        heat, error = (math.nan, math.nan) if beta > 0 else (0.0, 0.0)
        with suppress(TimeoutError):  # the specific heat is left out
            if beta > 0:
                heat, error = self._specific_heat(beta, values, log_z, budget)
        return Estimate(log_z, marginals, heat, error)

    def _specific_heat(
        self, beta: float, values: Any, log_z: LogPartition, budget: Budget
    ) -> tuple[float, float]:
        """Return the specific heat and its error; ``TimeoutError`` when the time is over before."""
        logs = [values[-1].found.log_partition]
        for step in (STEP, -STEP, 2 * STEP, -2 * STEP):
            near = self.warm.run_of(self.model.at(beta * (1.0 + step)), budget)
            found = near.contract(values[-1].accuracy, budget, values[-1].program)
            logs.append(found.log_partition)
        return _second_difference(logs, log_z.upper - log_z.value)


def _second_difference(logs: list[float], error: float) -> tuple[float, float]:
    """Return β² f″ from f at β, β ± step and β ± 2 step, and its error."""
    if not all(math.isfinite(x) for x in logs):
        msg = "the tensor network lost all digits next to this temperature"
        raise PrecisionError(msg)
    at, above, below, far_above, far_below = logs
    narrow = ((above - at) + (below - at)) / STEP**2
    wide = ((far_above - at) + (far_below - at)) / (2 * STEP) ** 2
    off = abs(narrow - wide) / 3
    return (4 * narrow - wide) / 3, off + 16 * error / (3 * STEP**2)
