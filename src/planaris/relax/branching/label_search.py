"""Branch and bound over labels: reductions and messages at every node, best bound first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from planaris.budget import Budget, control
from planaris.errors import InfeasibleError
from planaris.kernels.relaxations import LabelSearch
from planaris.models import MarkovRandomField
from planaris.models.base import sum_below
from planaris.relax.messages.message_passing import mplp
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, LabelSteps
from planaris.typing import LongArray

MEMORY_SHARE = 0.5
"""Share of the memory of a call for open nodes of the tree."""

SEARCH_SHARE = 0.5
"""Share of the time before triplets are tried."""

TRIPLETS_SHARE = 0.6
"""Share of the time left then for triplets."""

PATIENCE_SECONDS = 60.0
"""Longest time for each of the two, when no time limit is given."""

NO_STATE = "no state has positive weight: the hard constraints contradict each other"


class LabelSearcher:
    """A search of one model; :meth:`run` may be called again to go on.

    Parameters
    ----------
    model : MarkovRandomField
        Any model; factors of three or more variables become variables of their own.
    gap : float
        Stop when ``upper - lower`` is at most this.
    budget : Budget
        With ``prove`` the steps of the search are kept as a certificate. ``TimeoutError`` if
        the time is over before the tables are read.
    """

    def __init__(self, model: MarkovRandomField, *, gap: float = 0.0, budget: Budget) -> None:
        self.model, self.budget, self.status = model, budget, "time_limit"
        self.tightened: GroundState | None = None
        self.constants = _constants(model)
        self.constant = math.fsum(self.constants)
        if self.constant == math.inf:
            raise InfeasibleError(NO_STATE)
        self.search = LabelSearch(
            model.cardinalities,
            model.scopes,
            model.scope_offsets,
            model.log_values,
            model.table_offsets,
            model.energy_tolerance,
            self.constant,
            gap,
            budget.prove,
            int(MEMORY_SHARE * budget.bytes()),
            *control(budget),
        )

    def run(self, budget: Budget) -> bool:
        """Search until the time is over; return whether there is nothing left to do."""
        self.status = self.search.run(*control(budget))
        return self.status in ("optimal", "gap")

    def finish(self, budget: Budget) -> None:
        """Use all the time: where the search gets stuck, bound by triplets as well.

        Strongly frustrated models have many nodes whose bounds hardly rise; cycles tighten them
        all at once, so a share of the time is theirs.
        """
        if self.run(budget.share(SEARCH_SHARE).within(PATIENCE_SECONDS)) or budget.expired():
            return
        limited = budget.share(TRIPLETS_SHARE).within(PATIENCE_SECONDS)
        self.tightened = found = mplp(self.model, time_limit=limited.quiet())
        self.search.offer(found.assignment.astype(np.int32), found.energy - self.constant)
        if not found.exact:
            self.run(budget)

    @property
    def assignment(self) -> LongArray:
        """The best labels found; where there are none yet, the first ones."""
        count, state = self.model.num_variables, self.search.state()
        return np.array(state[:count] if len(state) else np.zeros(count), dtype=np.int64)

    def result(self) -> GroundState:
        """Return the best state and the bound, as they are now.

        Raises
        ------
        InfeasibleError
            When no state has positive weight.
        """
        search, state = self.search, self.assignment
        if search.lower == math.inf:
            raise InfeasibleError(NO_STATE)
        proof: Any = self._proof() if self.budget.prove else None
        lower: float | Callable[[float], float] = self._lower_end
        if self.tightened is not None:
            reached = self._lower_end(float(self.model.energy(state)))
            if self.tightened.lower > reached:
                lower, proof = self.tightened.lower, self.tightened.certificate
        return GroundState.of(
            self.model,
            state,
            lower,
            method="branch-and-cut",
            status=self.status,
            rounds=search.sweeps,
            seconds=self.budget.seconds(),
            trace=self._trace(),
            certificate=proof,
            stats={
                "bound": "messages",
                "nodes": search.nodes,
                "open": search.open,
                "reduced_variables": search.reduced_variables,
                "reduced_edges": search.reduced_edges,
            },
        )

    def _lower_end(self, energy: float) -> float:
        """Return the lower end; where energies are coarser than a gap that counts, it is open."""
        lower = sum_below(*self.constants, self.search.lower)
        if math.isfinite(energy) and math.ulp(energy) > self.model.energy_tolerance:
            return min(lower, math.nextafter(energy, -math.inf))
        return lower

    def _trace(self) -> list[dict[str, float]]:
        return [
            {
                "round": k,
                "seconds": seconds,
                "lower": lower + self.constant,
                "upper": upper + self.constant,
            }
            for k, (seconds, lower, upper) in enumerate(self.search.trace().tolist())
        ]

    def _proof(self) -> LabelSteps:
        kept = self.search.records()
        arrays: Any = {name: np.array(getattr(kept, name)) for name in LabelSteps.ARRAYS}
        return LabelSteps(**arrays)


def _constants(model: MarkovRandomField) -> list[float]:
    """Return the energies of the factors without variables."""
    alone = model.table_offsets[:-1][np.diff(model.scope_offsets) == 0]
    energies: list[float] = (0.0 - model.log_values[alone]).tolist()
    return energies


def label_search(model: MarkovRandomField, *, gap: float = 0.0, budget: Budget) -> GroundState:
    """Find labels of least energy, with proof, or an interval once the time is over.

    Every node of the tree is a problem of its own. Labels that are dominated (Goldstein's
    criterion) or cost more than the gap are dropped from it, variables of degree two and less
    eliminated. Messages (TRW-S) bound what is left and are handed on to the children.

    Examples
    --------
    >>> model = MarkovRandomField([2, 3], [((0, 1), [[1, 2, 3], [4, 9, 1]])])
    >>> found = label_search(model, budget=Budget())
    >>> found.exact, found.assignment.tolist()
    (True, [1, 1])
    """
    with budget.watch("branch and bound") as watched:
        try:
            searcher = LabelSearcher(model, gap=gap, budget=watched)
        except TimeoutError:
            return trivial_ground_state(model, "branch-and-cut", budget)
        searcher.finish(watched)
    return searcher.result()
