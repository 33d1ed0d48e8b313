"""Ends that hold for marginals: from neighbours, and from windows between extreme boundaries.

Without frustrated cycles, and after flips that make all couplings positive, P(s_v = +1) grows with
every field and with every spin that is held up (Fortuin, Kasteleyn and Ginibre 1971). In a window
of the graph it lies between its values with all spins around the window held down and held up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from planaris import treewidth
from planaris.budget import Budget, TimeLimit
from planaris.errors import TimeLimitError, TooLargeError
from planaris.kernels.cuts import balance_signs
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel
from planaris.result import Marginals
from planaris.result.answers import MARGINAL_TOLERANCE
from planaris.typing import Array, FloatArray, IntArray

UNIT = float(np.finfo(np.float64).eps)
ROUNDING = 64 * UNIT

CORE = 3
"""Levels between the margins of a window. Work grows with 2 to half the number of all levels of a
lattice, so that three serve best, whatever the margins."""


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
    """Return ends for all marginals of a model: narrower with time where nothing is frustrated.

    Parameters
    ----------
    model : IsingModel
        Any model. Without fields every spin is up half of the time.
    time_limit : float, optional
        Seconds. Windows grow until it is up, or until they are too wide to eliminate.

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
    budget = Budget.of(time_limit)
    if model.has_fields:
        ends = MarginalEnds.of_nodes(model, *_neighbour_bounds(model))
    else:
        half = np.full(model.num_spins, 0.5)
        ends = MarginalEnds.of_nodes(model, half, half)
    signs, cycle = balance_signs(model.num_spins, model.edges, model.couplings)
    if len(cycle) or model.num_spins == 0:
        return ends
    same = signs[model.edges[:, 0]] == signs[model.edges[:, 1]]
    windows = _Windows(model, signs)
    try:
        for margin in (1, *range(2, windows.depth + 2, 2)):
            inside, whole = windows.ends(margin, budget)
            ends = ends.meet(_turned(inside, signs, same))
            if whole:
                break
    except (TimeoutError, TooLargeError, TimeLimitError):
        pass
    return ends


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


class _Windows:
    """Bands of a graph, by the distance from its rim, of a model with positive couplings."""

    def __init__(self, model: IsingModel, signs: Array) -> None:
        self.edges, self.couplings = model.edges, np.abs(model.couplings)
        self.fields = model.fields * signs
        self.level = _levels(model.num_spins, model.edges)
        self.depth = int(self.level.max(initial=-1)) + 1

    def ends(self, margin: int, budget: Budget) -> tuple[MarginalEnds, bool]:
        """Return ends from bands with a margin on either side, and whether one held the graph."""
        n, m = len(self.fields), len(self.edges)
        best = MarginalEnds(np.zeros(n), np.ones(n), np.zeros(m), np.ones(m))
        whole = False
        for first in range(0, self.depth, CORE):
            budget.check()
            start, stop = first - margin, first + CORE + margin
            whole |= start <= 0 and stop >= self.depth
            self._narrow(best, (self.level >= start) & (self.level < stop), budget)
            if whole:
                break
        return best, whole

    def _narrow(self, best: MarginalEnds, inside: Array, budget: Budget) -> None:
        """Narrow the ends of all spins and edges of one window."""
        spins = np.flatnonzero(inside)
        place = np.full(len(inside), -1, dtype=np.int32)
        place[spins] = np.arange(len(spins), dtype=np.int32)
        ends_in = inside[self.edges]
        edges = np.flatnonzero(ends_in.all(axis=1))
        rim = np.flatnonzero(ends_in.any(axis=1) & ~ends_in.all(axis=1))
        nearest = place[self.edges[rim]].max(axis=1)
        pull = np.bincount(nearest, self.couplings[rim], minlength=len(spins)).astype(np.float64)
        pull *= 1 + UNIT * (len(rim) + 4)  # the sum is rounded
        window = IsingModel(place[self.edges[edges]], self.couplings[edges], num_spins=len(spins))
        plan = treewidth.plan_elimination(window, task="marginals", time_limit=budget)
        if not plan.complete or plan.bytes > budget.bytes():
            msg = "a window is too wide to eliminate"
            raise TooLargeError(msg)
        if 2 * plan.seconds > budget.remaining():
            raise TimeoutError
        low, high = (
            _solve(
                window, np.nextafter(self.fields[spins] + side * pull, side * np.inf), plan, budget
            )
            for side in (-1, 1)
        )
        _take_nodes(best, spins, low, high)
        _take_edges(best, edges, window.edges, low, high)


def _solve(
    window: IsingModel, fields: FloatArray, plan: treewidth.EliminationPlan, budget: Budget
) -> Marginals:
    held = IsingModel(window.edges, window.couplings, fields)
    found = treewidth.marginals(held, plan=plan, time_limit=budget)
    if not (found.proved and found.error <= MARGINAL_TOLERANCE):
        msg = "rounding blurs the marginals of a window"
        raise TooLargeError(msg)
    return found


def _take_nodes(best: MarginalEnds, spins: Array, low: Marginals, high: Marginals) -> None:
    below, above = (np.asarray(found.nodes) for found in (low, high))
    np.maximum.at(best.nodes_lower, spins, below - low.error - ROUNDING)
    np.minimum.at(best.nodes_upper, spins, above + high.error + ROUNDING)


def _take_edges(
    best: MarginalEnds, edges: Array, ends: IntArray, low: Marginals, high: Marginals
) -> None:
    """P(++) is least with the boundary down, P(--) with the boundary up."""
    both_up, both_down = [], []
    for found in (low, high):
        nodes, equal = np.asarray(found.nodes), np.asarray(found.edges)
        up = (nodes[ends[:, 0]] + nodes[ends[:, 1]] + equal - 1) / 2
        both_up.append(up)
        both_down.append(equal - up)
    error = 4 * (low.error + high.error) + ROUNDING
    np.maximum.at(best.edges_lower, edges, both_up[0] + both_down[1] - error)
    np.minimum.at(best.edges_upper, edges, both_up[1] + both_down[0] + error)


def _levels(num_spins: int, edges: IntArray) -> IntArray:
    """Return how far every spin is from one on the rim of its component."""
    component = connected_components(num_spins, edges)
    near = _distances(num_spins, edges, np.unique(component, return_index=True)[1])
    order = np.lexsort((near, component))
    last = np.flatnonzero(np.diff(component[order], append=-1))  # the farthest of each component
    return _distances(num_spins, edges, order[last])


def _distances(num_spins: int, edges: IntArray, roots: Array) -> IntArray:
    """Return the number of edges to the nearest root."""
    u = np.concatenate([edges[:, 0], np.full(len(roots), num_spins)])
    v = np.concatenate([edges[:, 1], roots])
    graph = coo_array((np.ones(len(u)), (u, v)), shape=(num_spins + 1, num_spins + 1)).tocsr()
    found = np.asarray(dijkstra(graph, False, [num_spins], unweighted=True))
    return found[0, :-1].astype(np.int32) - 1
