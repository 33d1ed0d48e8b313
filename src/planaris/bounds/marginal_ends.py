"""Ends that hold for marginals: from neighbours, and from windows between extreme boundaries.

Without frustrated cycles, and after flips that make all couplings positive, P(s_v = +1) grows with
every field and with every spin that is held up (Fortuin, Kasteleyn and Ginibre 1971). So it is at
most what it is in a window of the graph with all spins around the window held up, and at least what
it is with all of them held down. Spins that are likely to be up cost little where they are held
up: windows for upper ends leave them out and reach further, through domains of the others. Spins
around a window that are known to be down but for a small probability may be held down there, at the
price of that probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from planaris.bounds.attractive_domains import STEP, Holding, narrow_by_domains, search_levels
from planaris.bounds.window_record import WindowRecord
from planaris.budget import Budget, TimeLimit
from planaris.kernels.cuts import balance_signs
from planaris.kernels.frontier import Ends, WindowSizes, WindowTrace, narrow_by_windows
from planaris.models import IsingModel
from planaris.result import Marginals, MarginalWindows
from planaris.typing import Array, FloatArray

UNIT = float(np.finfo(np.float64).eps)
ROUNDING = 64 * UNIT

SECONDS = 60.0
"""Of the search where no limit is given."""

FIRST_BITS = 12
"""Spins in the table of the first windows."""

ACROSS = 0.68
"""Levels across a window that its core takes, for each spin in its table. A table holds every other
level of a lattice, and windows for one end leave out about half of the spins."""

CORE = 1.36
"""Most spins of the core of a window, over its bits squared."""

SPINS = 10
"""Most spins of a window, over its bits squared."""

SHARE = 0.1
"""Spins whose ends are closer than this share of the mean are left alone."""

HELD = 2.0
"""A spin may be held up for upper ends if the middle of its ends is this close to 1, over the mean
width; down, for lower ends, if it is this close to 0."""

LIKELY = 0.4
"""The most that this may be."""

WALL = 0.005
"""A spin may bound windows if it is known up to this share of the mean width,"""

FIRST_WALLS = 1e-7
"""and up to this, over the third power of the mean width: what walls may be wrong is passed on, so
that poor walls, while much is open, would keep others from becoming better ones."""

AGAIN = 0.8
"""Windows grow once a round leaves more than this share of the mean width."""

AHEAD = 0.07
"""Rounds without holding are taken where they left less of the mean width, by this much of it:
those with holding make domains smaller, which are then eliminated whole."""

UNTRIED = 0.83
"""What they are expected to leave."""

FEW_OPEN = 0.2
"""Mean width from which on domains are small enough to be eliminated whole."""

CLOSED = 1e-10
"""Ends that are this close are left alone."""

MOST_BITS = 20
"""Most spins in the table of a window: eight megabytes, and seconds of work."""

PROOF_ROOM = 1e-9
"""Ends with a proof are stated this much further out, and times the largest coupling or field:
whoever checks it rounds in other places."""

PROVED_BITS = 16
"""Most of them where a proof is asked for: whoever checks it is slower, and keeps all tables."""

TABLES = 40
"""Tables that the elimination of a window may hold at a time."""


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
    if not budget.prove:
        return ends.meet(_turned(_narrowed(positive, budget), signs, same))
    record = WindowRecord.empty(model.num_spins, model.num_edges)
    found = _turned(_narrowed(positive, budget, record), signs, same)
    ends = replace(ends.meet(found), certificate=record.proof(signs))
    largest = np.abs(np.concatenate([model.couplings, model.fields])).max(initial=0.0)
    return ends.widened(PROOF_ROOM * (1 + float(largest)))


def _narrowed(
    model: IsingModel, budget: Budget, record: WindowRecord | None = None
) -> MarginalEnds:
    """Return ends of a model without negative couplings, by windows that grow while time lasts."""
    trace = None if record is None else record.add
    zeros, ones = np.zeros(model.num_edges), np.ones(model.num_edges)
    known = Ends(*_neighbour_bounds(model), zeros, ones, zeros, ones)
    bits, most_bits = FIRST_BITS, _most_bits(budget)
    left = {False: 0.0, True: UNTRIED}  # of the mean width, by the last round without and with it
    fresh = True  # no round without holding had as many bits
    levels = search_levels(model)
    for rounds in count():
        if bits > most_bits or budget.expired():
            break
        mean = _mean_width(known)
        hold = rounds == 0 or left[True] <= left[False] + AHEAD or not fresh
        known, in_time = narrow_by_windows(
            model.edges,
            model.couplings,
            model.fields,
            known,
            _middle(known),
            _window_sizes(bits, mean, hold),
            trace=trace,
            budget=budget,
        )
        if not in_time or mean <= CLOSED:
            break
        if hold:
            known = _through_domains(model, known, levels + STEP * rounds, budget, trace)
        if rounds:  # the ends before the first were those of neighbours
            left[hold] = _mean_width(known) / mean
        fresh = fresh and hold
        if min(left[True], left[False] if fresh else 1.0) > AGAIN:
            bits, fresh = bits + 2, True
    return _with_edges(model, known)


def _through_domains(
    model: IsingModel,
    known: Ends,
    levels: Array,
    budget: Budget,
    trace: Callable[[WindowTrace], None] | None,
) -> Ends:
    """Return ends from whole domains, again while they narrow."""
    mean = _mean_width(known)
    while CLOSED < mean < FEW_OPEN and not budget.expired():
        levels = levels + STEP  # domains that are too wide are cut elsewhere in the next round
        holding = _holding(mean)
        known = narrow_by_domains(model, known, _middle(known), holding, budget, levels, trace)
        before, mean = mean, _mean_width(known)
        if mean > AGAIN * before:
            break
    return known


def _holding(mean: float) -> Holding:
    """Return which spins may be held where ends are ``mean`` apart."""
    wall = min(WALL * mean, FIRST_WALLS / max(mean, CLOSED) ** 3)
    return Holding(wall, min(HELD * mean, LIKELY))


def _window_sizes(bits: int, mean: float, hold: bool) -> WindowSizes:
    """Return the windows of a round that finds ends ``mean`` apart."""
    holding = _holding(mean)
    return WindowSizes(
        core=int(CORE * bits**2),
        across=int(ACROSS * bits),
        spins=SPINS * bits**2,
        max_bits=bits,
        goal=max(SHARE * mean, CLOSED),
        wall=holding.wall,
        held=holding.likely if hold else 0.0,
    )


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


def _middle(ends: Ends) -> FloatArray:
    middle: FloatArray = (ends.nodes_lower + ends.nodes_upper) / 2
    return middle


def _mean_width(ends: Ends) -> float:
    return float((ends.nodes_upper - ends.nodes_lower).mean())


def _most_bits(budget: Budget) -> int:
    """Return how many spins the tables of windows may hold at once."""
    each = budget.bytes() / (TABLES * 8 * budget.workers())
    most = PROVED_BITS if budget.prove else MOST_BITS
    return int(np.clip(np.log2(max(each, 2.0)), 1, most))


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
