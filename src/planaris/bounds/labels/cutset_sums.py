"""Lower bounds on log Z by sums over some assignments of a cutset: each term is exact."""

from __future__ import annotations

import math

import numpy as np

from planaris import treewidth
from planaris.budget import UNLIMITED, Budget
from planaris.errors import MethodError, TooLargeError
from planaris.models import MarkovRandomField
from planaris.result import CutsetSum
from planaris.subgraphs.bias_model import EPSILON
from planaris.treewidth import plan_elimination
from planaris.typing import LongArray

SEARCH_SECONDS = 0.02
"""Time to look for an order with which a cutset is judged."""

MAX_TERM_SECONDS = 0.05
"""Estimated time of one term above which more variables are fixed."""


class ConditionedSum:
    """Σ over visited assignments x_C of Z(x_C), for a cutset C that leaves little treewidth.

    A Metropolis walk over x_C, with exact Z(x_C), visits the heaviest terms first and most
    often; every new one adds to the bound.

    Parameters
    ----------
    mrf : MarkovRandomField
        Any discrete model, zeros included.
    state : numpy.ndarray
        Assignment to start from, the heaviest one known.
    budget : Budget
        Time for finding a cutset and the first term; ``TimeoutError`` if it is not enough.
    """

    def __init__(
        self, mrf: MarkovRandomField, state: LongArray, *, budget: Budget = UNLIMITED
    ) -> None:
        self.mrf = mrf
        self.cutset = find_cutset(mrf, budget)
        self.x = np.asarray(state, dtype=np.int64).copy()
        self.seen: dict[bytes, float] = {}
        self.lower = -math.inf
        self.order: treewidth.EliminationPlan | None = None
        self.current = self.term(budget)

    def term(self, budget: Budget) -> float:
        """Return log Z with the cutset fixed as now, from below; a new one joins the sum."""
        key = self.x[self.cutset].tobytes()
        if key in self.seen:
            return self.seen[key]
        evidence = dict(zip(self.cutset.tolist(), self.x[self.cutset].tolist(), strict=True))
        smaller, _ = self.mrf.condition(evidence)
        if self.order is None:
            self.order = plan_elimination(
                smaller, task="log_partition", search_seconds=SEARCH_SECONDS, time_limit=budget
            )
        found = treewidth.log_partition(smaller, plan=self.order, time_limit=budget).lower
        self.seen[key] = found
        total = float(np.logaddexp(self.lower, found))
        # logaddexp rounds once per term.
        self.lower = total - 4 * EPSILON * (abs(total) + 1) if total > -math.inf else total
        return found

    def proof(self) -> CutsetSum:
        """Return the assignments that are summed."""
        labels = np.array([np.frombuffer(key, dtype=np.int64) for key in self.seen])
        return CutsetSum(self.cutset, labels.reshape(len(self.seen), len(self.cutset)))

    def walk(self, budget: Budget, max_terms: int, rng: np.random.Generator) -> None:
        """Add terms until ``max_terms`` are in the sum; ``TimeoutError`` inside one if late."""
        if not len(self.cutset):
            return
        cards = self.mrf.cardinalities[self.cutset]
        stale = 0
        while not budget.expired() and len(self.seen) < max_terms and stale < 2000:
            k = int(rng.integers(len(self.cutset)))
            if cards[k] < 2:
                stale += 1
                continue
            v = self.cutset[k]
            old, before = int(self.x[v]), len(self.seen)
            self.x[v] = (old + 1 + rng.integers(cards[k] - 1)) % cards[k]
            proposed = self.term(budget)
            stale = 0 if len(self.seen) > before else stale + 1
            if math.log(max(rng.random(), 1e-300)) < proposed - self.current or (
                self.current == -math.inf
            ):
                self.current = proposed
            else:
                self.x[v] = old


def find_cutset(mrf: MarkovRandomField, budget: Budget = UNLIMITED) -> LongArray:
    """Return variables whose removal leaves a model that elimination solves quickly.

    The variables of most neighbours go first, a twentieth of the rest at a time; all of them
    when time is over.
    """
    cutset = np.zeros(0, dtype=np.int64)
    while True:
        evidence = dict.fromkeys(cutset.tolist(), 0)
        smaller, way = mrf.condition(evidence)
        if budget.expired():
            return np.arange(mrf.num_variables)
        try:
            plan = plan_elimination(
                smaller, task="log_partition", search_seconds=SEARCH_SECONDS, time_limit=budget
            )
        except TimeoutError:
            return np.arange(mrf.num_variables)
        if plan.complete and plan.seconds <= MAX_TERM_SECONDS:
            return cutset
        degree = _num_neighbours(smaller)
        count = max(1, smaller.num_variables // 20)
        worst = np.argsort(-degree, kind="stable")[:count]
        cutset = np.sort(np.concatenate([cutset, way.kept[worst]]))


def _num_neighbours(mrf: MarkovRandomField) -> LongArray:
    """Return, for every variable, how many other variables it shares factors with (at most)."""
    arity = np.diff(mrf.scope_offsets)
    return np.bincount(
        mrf.scopes, np.repeat(np.maximum(arity - 1, 0), arity), mrf.num_variables
    ).astype(np.int64)


def heavy_state(mrf: MarkovRandomField, budget: Budget, rng: np.random.Generator) -> LongArray:
    """Return an assignment of large weight: message passing, then single changes."""
    from planaris.relax.messages.message_passing import mplp

    try:
        state = np.asarray(mplp(mrf, time_limit=budget).assignment, dtype=np.int64)
    except (MethodError, TooLargeError):
        state = np.asarray(rng.integers(0, mrf.cardinalities), dtype=np.int64)
    return state
