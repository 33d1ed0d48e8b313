"""Many models on one graph, one after the other: the sweep is planned once, bonds start warm."""

from __future__ import annotations

from planaris.budget import Budget
from planaris.result import Marginals
from planaris.tensor.convergence import Value, moved
from planaris.tensor.network import Model, to_network
from planaris.tensor.run import MARGINAL_TOLERANCE, MAX_BOND, Run
from planaris.tensor.sweeps import Sweep, plan_sweep

FAR_BELOW = 1e-3
"""Where the last change is so many times below the tolerance, the next model begins earlier."""


class WarmStart:
    """Estimates of models that differ in their numbers only.

    The first contraction of a model is as accurate as the last but one of the model before it.

    Parameters
    ----------
    sweep : Sweep, optional
        The sweep of the graph, if it has been planned before; default: that of the first model.
    tolerance : float
        Bonds grow until no probability changes by more.
    max_bond : int
        Largest bond dimension.

    Examples
    --------
    >>> import numpy as np
    >>> import planaris as pl
    >>> warm = WarmStart(tolerance=1e-6)
    >>> for h in (0.1, 0.2):
    ...     model = pl.IsingModel.from_image(np.full((5, 5), h), 0.4, 0.4)
    ...     found = warm.marginals(model)
    ...     exact = pl.marginals(model, "treewidth")
    ...     assert np.abs(found.nodes - exact.nodes).max() <= found.error
    """

    def __init__(
        self,
        sweep: Sweep | None = None,
        *,
        tolerance: float = MARGINAL_TOLERANCE,
        max_bond: int = MAX_BOND,
    ) -> None:
        self.sweep, self.tolerance, self.max_bond = sweep, tolerance, max_bond
        self.first_level = 0

    def marginals(self, model: Model, budget: Budget | None = None) -> Marginals:
        """Estimate all marginals of a model, and log Z."""
        run, values = self.contract(model, budget)
        return run.marginals(values)

    def contract(self, model: Model, budget: Budget | None = None) -> tuple[Run, list[Value]]:
        """Contract until the marginals change no more."""
        budget = Budget.of(None) if budget is None else budget
        run = self.run_of(model, budget)
        run.first_level = self.first_level
        values = run.converge_marginals(budget)
        run.require_weight(values, "marginals")
        if not run.in_pairs:
            more = 2 if moved(values) > FAR_BELOW * run.tolerance else 3
            self.first_level = max(run.first_level + len(values) - more, 0)
        return run, values

    def run_of(self, model: Model, budget: Budget) -> Run:
        """Return a model with the sweep that all models share."""
        if self.sweep is None:
            self.sweep = plan_sweep(model, to_network(model))
        run = Run(model, None, self.max_bond, budget, self.sweep)
        run.tolerance = self.tolerance
        return run
