"""Intervals for marginals of ferromagnets: elimination of domains between clamped spins.

P(s_v = +1) is at most what it is with any other spins held up, and spins that are likely to be up
cost little when they are. What is left falls into connected parts, domains of the other phase,
whose treewidth is often small although a square that holds them is wide. Spins that are known to
be down but for a small probability (walls) are held down at the price of that probability.
"""

from __future__ import annotations

from threading import Event
from typing import NamedTuple

import numpy as np

from planaris import treewidth
from planaris.bounds.attractive_sides import (
    UNIT,
    Domain,
    Side,
    Trace,
    fits,
    narrow_both_sides,
    solve,
)
from planaris.budget import Budget
from planaris.kernels.frontier import Ends
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel
from planaris.typing import Array, FloatArray

SMALL = 100
"""Domains of at most this many spins are eliminated together."""

SECONDS = 1.0
"""Longest planned elimination of a domain. More spins are clamped where it would take longer."""

SHARE = 0.05
"""Share of the time left that an elimination may take, where that is longer."""

MOST_SECONDS = 3.0
"""Upper limit of that share."""

SEARCH_SECONDS = 0.2
"""Shortest time limit of the search for a better elimination order."""

SPIN_SECONDS = 4e-5
"""Time limit of that search per spin of a domain, where that is longer."""

PERIOD = 64
"""Domains that are too wide are cut along every so many levels of a breadth-first search."""

STEP = 23
"""Levels by which these lines move from one round to the next."""

HALVES = 0.5
"""Spins are not clamped where the guess of their value is less likely than this."""


class Holding(NamedTuple):
    """Which spins are clamped: up where guessed P(s = -1) is below ``likely``, or down (walls).

    ``wall`` is the largest P(s = +1) that spins clamped down may have.
    """

    wall: float
    likely: float


def narrow_by_domains(
    model: IsingModel,
    known: Ends,
    guess: FloatArray,
    holding: Holding,
    budget: Budget,
    levels: Array | None = None,
    trace: Trace | None = None,
) -> Ends:
    """Return narrower ends of a model without negative couplings.

    ``guess`` of every P(s_v = +1) decides which spins are clamped; the ends hold for any guess.
    Domains that are too wide are cut along every ``PERIOD``-th of the ``levels`` of the spins, if
    given. ``trace`` is called with the domains that narrowed ends.

    >>> from planaris.generate import square_lattice
    >>> fields = np.array([3.0, 3.0, -0.2, 0.1, 3.0, 3.0])
    >>> model = IsingModel(square_lattice(2, 3).edges, 0.3, fields)
    >>> zeros, ones = np.zeros(7), np.ones(7)
    >>> known = Ends(np.zeros(6), np.ones(6), zeros, ones, zeros, ones)
    >>> guess = (1 + np.tanh(fields)) / 2
    >>> ends = narrow_by_domains(model, known, guess, Holding(0.0, 0.1), Budget.of(None))
    >>> exact = treewidth.marginals(model).nodes
    >>> bool(np.all((ends.nodes_lower <= exact) & (exact <= ends.nodes_upper)))
    True
    """

    def narrow(side: Side, budget: Budget, stop: Event) -> None:
        _narrow(side, holding, budget, levels, stop)

    return narrow_both_sides(model, known, guess, narrow, budget, trace)


def search_levels(model: IsingModel) -> Array:
    """Return the distance of every spin from the first; zero where there is no path."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import dijkstra

    n, (u, v) = model.num_spins, model.edges.T
    graph = coo_matrix((np.ones(len(u)), (u, v)), shape=(n, n))
    root = np.zeros(1, dtype=np.int64)
    far = np.ravel(dijkstra(graph, directed=False, unweighted=True, indices=root))
    return np.where(np.isfinite(far), far, 0).astype(np.int64)


def _narrow(
    side: Side, holding: Holding, budget: Budget, levels: Array | None, stop: Event
) -> None:
    """Lower the upper ends of all spins that are not clamped."""
    state = np.zeros(side.model.num_spins, dtype=np.int8)
    likely = holding.likely
    state[side.guess > 1 - likely] = 1
    state[side.low >= 1 - holding.wall] = 1
    state[side.high <= holding.wall] = -1
    waiting = np.flatnonzero(state == 0)
    lines = np.zeros(len(state), dtype=bool) if levels is None else levels % PERIOD == 0
    while len(waiting) and not budget.expired():
        wide = []
        for domain in _Domains(side, state, waiting).each():
            if budget.expired() or stop.is_set():
                return
            seconds = _patience(budget)
            plan = treewidth.plan_elimination(
                domain.model,
                kind="clusters",
                search_seconds=max(SEARCH_SECONDS, SPIN_SECONDS * len(domain.spins)),
                good_enough=seconds / 2,
                time_limit=budget,
            )
            if fits(plan, seconds, budget):
                solve(side, domain, plan, budget)
            else:
                wide.append(domain.spins)
        waiting = np.concatenate(wide) if wide else np.zeros(0, dtype=np.int64)
        cut = lines[waiting]
        if not cut.any():  # all lines are cut: clamp less likely spins
            likely *= 2
            if likely > HALVES:
                return
            cut = side.guess[waiting] > 1 - likely
        state[waiting[cut]] = 1
        waiting = waiting[~cut]


def _patience(budget: Budget) -> float:
    return max(SECONDS, min(SHARE * budget.remaining(), MOST_SECONDS))


class _Domains:
    """The connected parts of the spins that are not held."""

    def __init__(self, side: Side, state: Array, spins: Array) -> None:
        model = side.model
        self.side, self.spins = side, spins
        self.place = np.full(model.num_spins, -1, dtype=np.int64)
        self.place[spins] = np.arange(len(spins))
        u, v = model.edges.T
        inside = self.place[model.edges] >= 0
        self.edges = np.flatnonzero(inside.all(axis=1))
        joined = np.ascontiguousarray(self.place[model.edges[self.edges]].astype(np.int32))
        self.label = np.asarray(connected_components(len(spins), joined)).astype(np.int64)
        # Spins around: held down if they are walls, else up.
        to = np.flatnonzero(inside[:, 0] & ~inside[:, 1])
        back = np.flatnonzero(inside[:, 1] & ~inside[:, 0])
        near = self.place[np.concatenate([u[to], v[back]])]
        far = np.concatenate([v[to], u[back]])
        size = model.couplings[np.concatenate([to, back])]
        pull = np.where(state[far] < 0, -size, size)
        own = model.fields[spins]
        self.fields = own + np.bincount(near, pull, len(spins))
        terms = 1 + np.bincount(near, minlength=len(spins))
        self.slack = 2 * UNIT * terms * (np.abs(own) + np.bincount(near, size, len(spins)))
        walls = state[far] < 0
        pairs = np.unique(np.stack([self.label[near[walls]], far[walls]], axis=1), axis=0)
        count = int(self.label.max(initial=-1)) + 1
        self.walls = pairs
        self.charge = np.bincount(pairs[:, 0], side.high[pairs[:, 1]], count) * (1 + 2.0**-30)

    def each(self) -> list[Domain]:
        """Return all small domains as one, and every other by itself."""
        sizes = np.bincount(self.label)
        group = np.cumsum(sizes > SMALL) * (sizes > SMALL)  # 0: the small ones
        of_spin = group[self.label]
        of_edge = of_spin[self.place[self.side.model.edges[self.edges, 0]]]
        spins, edges = np.argsort(of_spin, kind="stable"), np.argsort(of_edge, kind="stable")
        count = int(group.max()) + 1
        spin_ends = np.cumsum(np.bincount(of_spin, minlength=count))[:-1]
        edge_ends = np.cumsum(np.bincount(of_edge, minlength=count))[:-1]
        parts = zip(np.split(spins, spin_ends), np.split(edges, edge_ends), strict=True)
        return [
            self._domain(members, self.edges[names]) for members, names in parts if len(members)
        ]

    def _domain(self, members: Array, edges: Array) -> Domain:
        model, spins = self.side.model, self.spins[members]
        place = np.full(len(self.spins), -1, dtype=np.int64)
        place[members] = np.arange(len(members))
        part = IsingModel(
            place[self.place[model.edges[edges]]], model.couplings[edges], self.fields[members]
        )
        own = self.label[members]
        wrong = np.minimum(1.0, self.charge[own])
        walls = np.unique(self.walls[np.isin(self.walls[:, 0], own), 1])
        return Domain(spins, walls, edges, part, wrong, float(self.slack[members].sum()))
