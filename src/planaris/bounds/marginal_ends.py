"""Ends that hold for marginals: from neighbours, and from windows between extreme boundaries.

Without frustrated cycles, and after flips that make all couplings positive, P(s_v = +1) grows with
every field and with every spin that is held up (Fortuin, Kasteleyn and Ginibre 1971). In a window
of the graph it lies between its values with all spins around the window held down and held up.
Spins around it that are known to be up, or down, but for a small probability are held there in
both, at the price of that probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.kernels.cuts import balance_signs
from planaris.kernels.frontier import Ends, WindowSizes, narrow_by_windows
from planaris.models import IsingModel
from planaris.result import Marginals
from planaris.typing import Array, FloatArray

UNIT = float(np.finfo(np.float64).eps)
ROUNDING = 64 * UNIT

SECONDS = 60.0
"""Of the search where no limit is given."""

FIRST_BITS = 12
"""Spins in the table of the first windows."""

ACROSS = 0.34
"""Levels across a window that its core takes, for each spin in its table. A table holds every other
level of a lattice, so that margins are five times as wide."""

LENGTH = 4.0
"""Levels along a window that its core takes, for each spin in its table."""

SPINS = 5
"""Most spins of a window over its bits squared."""

SHARE = 0.5
"""Spins whose ends are closer than this share of the mean are left alone."""

WALL = 0.002
"""A spin may bound windows if it is known up to this share of what is aimed at."""

AGAIN = 0.5
"""Windows grow once a round leaves more than this share of the mean width."""

CLOSED = 1e-10
"""Ends that are this close are left alone."""

MOST_BITS = 20
"""Most spins in the table of a window: eight megabytes, and seconds of work."""

TABLES = 40
"""Tables that the elimination of a window may hold at a time."""


@dataclass(frozen=True, eq=False)
class MarginalEnds:
    """Ends of P(s_v = +1) of every spin and of P(s_u = s_v) of every edge."""

    nodes_lower: FloatArray
    nodes_upper: FloatArray
    edges_lower: FloatArray
    edges_upper: FloatArray

    @classmethod
    def of_nodes(cls, model: IsingModel, lower: FloatArray, upper: FloatArray) -> MarginalEnds:
        """Return ends of the spins and what they say about edges.

        With p, q the probabilities of +1: ``|p + q - 1| <= P(s_u = s_v) <= 1 - |p - q|``.
        """
        u, v = model.edges.T
        least = np.maximum(lower[u] + lower[v] - 1, 1 - upper[u] - upper[v])
        apart = np.maximum(lower[u] - upper[v], lower[v] - upper[u])
        return cls(
            lower,
            upper,
            np.clip(least - ROUNDING, 0.0, 1.0),
            np.clip(1 - np.maximum(apart, 0.0) + ROUNDING, 0.0, 1.0),
        )

    def meet(self, other: MarginalEnds) -> MarginalEnds:
        """Return the tighter ends of two."""
        return MarginalEnds(
            np.maximum(self.nodes_lower, other.nodes_lower),
            np.minimum(self.nodes_upper, other.nodes_upper),
            np.maximum(self.edges_lower, other.edges_lower),
            np.minimum(self.edges_upper, other.edges_upper),
        )

    def around(self, found: Marginals) -> Marginals:
        """Return an estimate moved into the ends, with them."""
        nodes = np.clip(np.asarray(found.nodes), self.nodes_lower, self.nodes_upper)
        edges = np.clip(np.asarray(found.edges), self.edges_lower, self.edges_upper)
        off = (
            nodes - self.nodes_lower,
            self.nodes_upper - nodes,
            edges - self.edges_lower,
            self.edges_upper - edges,
        )
        return replace(
            found,
            nodes=nodes,
            edges=edges,
            error=max(float(part.max(initial=0.0)) for part in off),
            nodes_lower=self.nodes_lower,
            nodes_upper=self.nodes_upper,
            edges_lower=self.edges_lower,
            edges_upper=self.edges_upper,
        )


def marginal_ends(model: IsingModel, *, time_limit: TimeLimit = None) -> MarginalEnds:
    """Bound all marginals of a model; the ends narrow with time where no cycle is frustrated.

    Parameters
    ----------
    model : IsingModel
        Any model. Without fields every spin is up half of the time.
    time_limit : float, optional
        Seconds; default a minute. Windows grow until it is up, or until they are too wide.

    Returns
    -------
    MarginalEnds
        What neighbours can do at most, in models with frustration.

    Examples
    --------
    >>> chain = IsingModel([(0, 1), (1, 2)], [0.5, 0.5], fields=[0.3, 0.0, 0.0])
    >>> ends = marginal_ends(chain)
    >>> bool(np.all(ends.nodes_upper - ends.nodes_lower < 1e-12))
    True
    """
    budget = Budget.of(time_limit).or_within(SECONDS)
    if model.has_fields:
        ends = MarginalEnds.of_nodes(model, *_neighbour_bounds(model))
    else:
        half = np.full(model.num_spins, 0.5)
        ends = MarginalEnds.of_nodes(model, half, half)
    signs, cycle = balance_signs(model.num_spins, model.edges, model.couplings)
    if len(cycle) or model.num_spins == 0:
        return ends
    same = signs[model.edges[:, 0]] == signs[model.edges[:, 1]]
    positive = IsingModel(model.edges, np.abs(model.couplings), model.fields * signs)
    return ends.meet(_turned(_narrowed(positive, budget), signs, same))


def _narrowed(model: IsingModel, budget: Budget) -> MarginalEnds:
    """Return ends of a model without negative couplings, by windows that grow while time lasts."""
    ends = MarginalEnds.of_nodes(model, *_neighbour_bounds(model))
    bits, most_bits = FIRST_BITS, _most_bits(budget)
    while bits <= most_bits and not budget.expired():
        mean = _mean_width(ends)
        goal = max(SHARE * mean, CLOSED)
        sizes = WindowSizes(
            core=int(LENGTH * ACROSS * bits**2 / 2),
            across=int(ACROSS * bits),
            spins=SPINS * bits**2,
            max_bits=bits,
            goal=goal,
            wall=min(WALL * goal, 1e-3),
        )
        known = Ends(ends.nodes_lower, ends.nodes_upper, ends.edges_lower, ends.edges_upper)
        found, in_time = narrow_by_windows(
            model.edges, model.couplings, model.fields, known, sizes, budget=budget
        )
        ends = MarginalEnds(*found)
        ends = ends.meet(MarginalEnds.of_nodes(model, ends.nodes_lower, ends.nodes_upper))
        if not in_time or mean <= CLOSED:
            break
        if _mean_width(ends) > AGAIN * mean:
            bits += 2
    return ends


def _mean_width(ends: MarginalEnds) -> float:
    return float((ends.nodes_upper - ends.nodes_lower).mean())


def _most_bits(budget: Budget) -> int:
    """Return how many spins the tables of windows may hold at once."""
    each = budget.bytes() / (TABLES * 8 * budget.workers())
    return int(np.clip(np.log2(max(each, 2.0)), 1, MOST_BITS))


def _turned(ends: MarginalEnds, signs: Array, same: Array) -> MarginalEnds:
    """Return ends for spins that were multiplied by signs."""
    up = signs > 0
    return MarginalEnds(
        np.where(up, ends.nodes_lower, 1 - ends.nodes_upper),
        np.where(up, ends.nodes_upper, 1 - ends.nodes_lower),
        np.where(same, ends.edges_lower, 1 - ends.edges_upper),
        np.where(same, ends.edges_upper, 1 - ends.edges_lower),
    )


def _neighbour_bounds(model: IsingModel) -> tuple[FloatArray, FloatArray]:
    """Return what holds for P(s_v = +1) in any state of the neighbours: fields h ± Σ|J|."""
    size = np.bincount(model.edges.ravel(), np.repeat(np.abs(model.couplings), 2), model.num_spins)
    rounding = ROUNDING * (1 + size + np.abs(model.fields))
    # (1 + tanh x) / 2 neither overflows nor leaves [0, 1].
    low = (1 + np.tanh(model.fields - size - rounding)) / 2
    high = (1 + np.tanh(model.fields + size + rounding)) / 2
    return np.maximum(low - 1e-15, 0.0), np.minimum(high + 1e-15, 1.0)
