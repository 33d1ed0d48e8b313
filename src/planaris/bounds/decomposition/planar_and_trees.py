"""Planar subgraphs and trees in one decomposition."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from planaris.bounds.best_interval import out_of_time, solve_easy
from planaris.bounds.decomposition.planar import PLANAR_STEPS
from planaris.bounds.decomposition.results import bound_result
from planaris.bounds.decomposition.trees import (
    MAX_GROWN,
    MAX_ROUNDS,
    TREE_STEPS,
    tree_decomposition,
)
from planaris.budget import Budget, TimeLimit
from planaris.models import IsingModel
from planaris.result import Decomposition as Proof
from planaris.result import LogPartition
from planaris.subgraphs.bias_model import BiasModel, as_bias_model
from planaris.subgraphs.convex_combination import Callback, Decomposition, joined, restored
from planaris.subgraphs.families import planar_subgraphs
from planaris.typing import ArrayLike


def planar_and_trees(
    model: IsingModel,
    *,
    subgraphs: str | list[ArrayLike] = "auto",
    max_iterations: int | None = None,
    tolerance: float = 2e-7,
    time_limit: TimeLimit = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    starts: Sequence[LogPartition] = (),
) -> LogPartition:
    """Bound log Z from above by planar subgraphs and trees in one decomposition.

    Parameters
    ----------
    model, subgraphs, tolerance, time_limit, rng, callback
        As for :func:`pdc`.
    max_iterations : int, optional
        Most steps of each of the three searches (trees, planar, both); default those of
        :func:`trw` and :func:`pdc`.
    starts : sequence of LogPartition
        What :func:`trw` and :func:`pdc` found for this model before; the search of a kind that
        is among them is not done again.

    Returns
    -------
    LogPartition
        Never looser than either bound with the same settings, both being computed first as far
        as ``time_limit`` allows, nor than any of ``starts``.

    Examples
    --------
    >>> from planaris.bounds import pdc
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> model = IsingModel(k5, 0.5, [1.0, -1.0, 0.5, 0.0, 0.0])
    >>> planar = pdc(model)
    >>> bool(planar_and_trees(model, starts=[planar]).upper <= planar.upper)
    True
    """
    started = time.monotonic()
    bare = as_bias_model(model)
    budget = Budget.of(time_limit)
    if (found := solve_easy(model, bare, "pdc+trw", budget=budget)) is not None:
        return found
    search = _Mixture(bare, budget, tolerance, callback)
    try:
        search.restore(starts)
        search.find_trees(max_iterations)
        search.find_planar(subgraphs, rng, max_iterations)
        status = search.mix(max_iterations)
    except TimeoutError:
        status = "time_limit"
    best = search.best()
    if best is None:
        return out_of_time(model, "pdc+trw", time.monotonic() - started)
    best.budget = budget
    seconds = time.monotonic() - started
    return bound_result(model, best, "pdc+trw", status=status, seconds=seconds)


class _Mixture:
    """Decompositions into trees, into planar subgraphs, and into both."""

    def __init__(
        self, bare: BiasModel, budget: Budget, tolerance: float, callback: Callback | None
    ) -> None:
        self.bare = bare
        # Of the whole time, each up to a point of it.
        self.by = {share: budget.share(share) for share in (0.2, 0.5, 0.6, 0.65, 1.0)}
        self.tolerance, self.callback = tolerance, callback
        self.trees: list[Decomposition] = []
        self.planar: list[Decomposition] = []
        self.both: list[Decomposition] = []

    def restore(self, starts: Sequence[LogPartition]) -> None:
        """Take what was found before; results without a decomposition are passed over."""
        for found in starts:
            proof = getattr(found.certificate, "upper", None)
            if isinstance(proof, Proof):
                kind = self.trees if found.method == "trw" else self.planar
                kind.append(restored(self.bare, proof, callback=self.callback))

    def _grow(self, max_rounds: int, share: float, max_iterations: int | None) -> Decomposition:
        return tree_decomposition(
            self.bare,
            max_iterations=TREE_STEPS if max_iterations is None else max_iterations,
            max_rounds=max_rounds,
            tolerance=self.tolerance,
            budget=self.by[share],
            callback=self.callback,
        )[0]

    def find_trees(self, max_iterations: int | None) -> None:
        """Search over trees, unless that was done before."""
        if not self.trees:
            self.trees.append(self._grow(MAX_ROUNDS, 0.2, max_iterations))

    def find_planar(
        self,
        subgraphs: str | list[ArrayLike],
        rng: np.random.Generator | None,
        max_iterations: int | None,
    ) -> None:
        """Search over planar subgraphs, unless that was done before."""
        if self.planar:
            return
        family = planar_subgraphs(self.bare, subgraphs, rng, budget=self.by[0.5])
        state = Decomposition(self.bare, family, budget=self.by[0.6], callback=self.callback)
        self.planar.append(state)
        state.minimise(PLANAR_STEPS if max_iterations is None else max_iterations, self.tolerance)

    def mix(self, max_iterations: int | None) -> str:
        """Search from the optima of both kinds; return why that ended."""
        planar, trees = (min(kind, key=_upper) for kind in (self.planar, self.trees))
        if planar.upper == math.inf:
            return "time_limit"
        # A few trees: all of them would take longer and gain little beside planar subgraphs.
        few = self._grow(MAX_GROWN, 0.65, max_iterations)
        # Weight on the tighter of the two, as the other one would only be diluted.
        state = joined(planar, few, 0.8 if planar.upper < trees.upper else 0.2, self.by[1.0])
        self.both = [state]
        steps = PLANAR_STEPS if max_iterations is None else max_iterations
        return state.minimise(steps, self.tolerance)

    def best(self) -> Decomposition | None:
        """Return the decomposition of the least proved bound."""
        states = [s for s in (*self.trees, *self.planar, *self.both) if s.upper < math.inf]
        least = min((s.upper for s in states), default=math.inf)
        # A proof takes as long as a step or two: only where rounding may decide.
        near = [s for s in states if s.upper <= least + 1e-8 * (1 + abs(least))]
        return near[0] if len(near) == 1 else min(near, key=Decomposition.certified, default=None)


def _upper(state: Decomposition) -> float:
    return state.upper
