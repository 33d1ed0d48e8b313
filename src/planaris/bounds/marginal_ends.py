"""Intervals for marginals: extreme states of neighbours, and of the boundaries of windows.

Without frustrated cycles, and after flips that make all couplings positive, P(s_v = +1) grows with
every field and with every spin that is held up (Fortuin, Kasteleyn and Ginibre 1971). So it is at
most what it is in a window of the graph with all spins around the window held up, and at least what
it is with all of them held down. Spins that are likely to be up cost little where they are held
up: windows for upper ends leave them out and reach further, through domains of the others. Spins
around a window that are known to be down but for a small probability may be held down there, at the
price of that probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planaris.bounds.attractive_search import AttractiveSearch, Enough
from planaris.budget import Budget, TimeLimit
from planaris.kernels.cuts import balance_signs
from planaris.kernels.frontier import Ends
from planaris.models import IsingModel, require_ising
from planaris.result import Marginals, MarginalWindows
from planaris.typing import Array, FloatArray

UNIT = float(np.finfo(np.float64).eps)
ROUNDING = 64 * UNIT

SECONDS = 60.0
"""Time for the search when no limit is given."""

PROOF_ROOM = 1e-9
"""Ends with a proof are moved outwards by this, times the largest coupling or field: the checker
rounds differently."""


@dataclass(frozen=True, eq=False)
class MarginalEnds:
    """Ends of P(s_v = +1) of every spin and of P(s_u = s_v) of every edge."""

    nodes_lower: FloatArray
    nodes_upper: FloatArray
    edges_lower: FloatArray
    edges_upper: FloatArray
    certificate: MarginalWindows | None = None

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
            self.certificate or other.certificate,
        )

    def widened(self, by: float) -> MarginalEnds:
        """Return ends that are ``by`` further out, but not out of [0, 1]."""
        lower, upper = (
            [np.clip(end + way * by, 0.0, 1.0) for end in ends]
            for way, ends in (
                (-1, (self.nodes_lower, self.edges_lower)),
                (1, (self.nodes_upper, self.edges_upper)),
            )
        )
        return MarginalEnds(lower[0], upper[0], lower[1], upper[1], self.certificate)

    @property
    def middles(self) -> tuple[FloatArray, FloatArray]:
        """The middles of the ends of spins and of edges."""
        nodes: FloatArray = (self.nodes_lower + self.nodes_upper) / 2
        edges: FloatArray = (self.edges_lower + self.edges_upper) / 2
        return nodes, edges

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
            error=max(float(part.max(initial=0.0)) for part in off) + 4 * UNIT,
            estimate=False,
            nodes_lower=self.nodes_lower,
            nodes_upper=self.nodes_upper,
            edges_lower=self.edges_lower,
            edges_upper=self.edges_upper,
            certificate=self.certificate,
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
    search = EndsSearch(model, prove=budget.prove)
    search.run(budget)
    return search.ends()


class EndsSearch:
    """A search for ends that may be stopped and taken up again.

    Parameters
    ----------
    model : IsingModel
        Any model.
    prove : bool
        Keep what a proof of the ends needs.

    Examples
    --------
    >>> search = EndsSearch(IsingModel([(0, 1)], 0.5, fields=[0.3, 0.1]))
    >>> search.run(Budget.of(1.0))
    >>> search.mean_width < 1e-9
    True
    """

    def __init__(self, model: IsingModel, *, prove: bool = False) -> None:
        require_ising(model)
        self.model = model
        if model.has_fields:
            self.first = MarginalEnds.of_nodes(model, *neighbour_bounds(model))
        else:
            half = np.full(model.num_spins, 0.5)
            self.first = MarginalEnds.of_nodes(model, half, half)
        self.signs, cycle = balance_signs(model.num_spins, model.edges, model.couplings)
        self.search: AttractiveSearch | None = None
        if not len(cycle) and model.num_spins:
            positive = IsingModel(model.edges, np.abs(model.couplings), model.fields * self.signs)
            self.search = AttractiveSearch(positive, *neighbour_bounds(positive), prove=prove)

    @property
    def narrows(self) -> bool:
        """Whether ends narrow with time: no cycle is frustrated, and fields act."""
        return self.search is not None and self.model.has_fields

    @property
    def mean_width(self) -> float:
        """How far the ends of spins are apart, in the mean."""
        if self.narrows and self.search is not None:
            return self.search.mean_width
        return float((self.first.nodes_upper - self.first.nodes_lower).mean())

    def run(self, budget: Budget, enough: Enough = lambda _: False) -> None:
        """Narrow the ends until time is up or their mean width is ``enough``."""
        if self.search is not None:
            self.search.run(budget, enough)

    def ends(self) -> MarginalEnds:
        """Return what is known."""
        if self.search is None:
            return self.first
        signs, (u, v) = self.signs, self.model.edges.T
        found = _with_edges(self.search.model, self.search.known)
        ends = self.first.meet(_turned(found, signs, signs[u] == signs[v]))
        if self.search.record is None:
            return ends
        model = self.model
        largest = np.abs(np.concatenate([model.couplings, model.fields])).max(initial=0.0)
        ends = replace(ends, certificate=self.search.record.proof(signs))
        return ends.widened(PROOF_ROOM * (1 + float(largest)))


def _with_edges(model: IsingModel, known: Ends) -> MarginalEnds:
    """Return ends of edges from those of their spins and of both being up, or down."""
    low, high = known.nodes_lower, known.nodes_upper
    u, v = model.edges.T
    # Two spins are up together at least as often as if they were independent.
    both_up = np.maximum(known.up_lower, low[u] * low[v])
    both_down = np.maximum(known.down_lower, (1 - high[u]) * (1 - high[v]))
    most_up = np.minimum(known.up_upper, np.minimum(high[u], high[v]))
    most_down = np.minimum(known.down_upper, 1 - np.maximum(low[u], low[v]))
    ends = MarginalEnds(
        low,
        high,
        np.clip(both_up + both_down - ROUNDING, 0.0, 1.0),
        np.clip(most_up + most_down + ROUNDING, 0.0, 1.0),
    )
    return ends.meet(MarginalEnds.of_nodes(model, low, high))


def _turned(ends: MarginalEnds, signs: Array, same: Array) -> MarginalEnds:
    """Return ends for spins that were multiplied by signs."""
    up = signs > 0
    return MarginalEnds(
        np.where(up, ends.nodes_lower, 1 - ends.nodes_upper),
        np.where(up, ends.nodes_upper, 1 - ends.nodes_lower),
        np.where(same, ends.edges_lower, 1 - ends.edges_upper),
        np.where(same, ends.edges_upper, 1 - ends.edges_lower),
    )


def neighbour_bounds(model: IsingModel) -> tuple[FloatArray, FloatArray]:
    """Return what holds for P(s_v = +1) in any state of the neighbours: fields h ± Σ|J|."""
    size = np.bincount(model.edges.ravel(), np.repeat(np.abs(model.couplings), 2), model.num_spins)
    rounding = ROUNDING * (1 + size + np.abs(model.fields))
    # (1 + tanh x) / 2 neither overflows nor leaves [0, 1].
    low = (1 + np.tanh(model.fields - size - rounding)) / 2
    high = (1 + np.tanh(model.fields + size + rounding)) / 2
    return np.maximum(low - 1e-15, 0.0), np.minimum(high + 1e-15, 1.0)
