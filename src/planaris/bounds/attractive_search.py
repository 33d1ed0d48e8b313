"""Ends of marginals of ferromagnets, by windows that grow and whole domains, while time lasts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planaris.bounds.attractive_domains import STEP, Holding, narrow_by_domains, search_levels
from planaris.bounds.window_record import WindowRecord
from planaris.budget import Budget
from planaris.kernels.frontier import Ends, WindowSizes, narrow_by_windows
from planaris.models import IsingModel
from planaris.typing import FloatArray

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

PROVED_BITS = 16
"""Most of them where a proof is asked for: whoever checks it is slower, and keeps all tables."""

TABLES = 40
"""Tables that the elimination of a window may hold at a time."""


Enough = Callable[[float], bool]
"""Says of a mean width whether a search may end with it."""


class AttractiveSearch:
    """Rounds of windows and domains of a model without negative couplings.

    Parameters
    ----------
    model : IsingModel
        The model.
    lower, upper : numpy.ndarray
        First ends of P(s_v = +1).
    prove : bool
        Keep a record of windows.
    """

    def __init__(
        self, model: IsingModel, lower: FloatArray, upper: FloatArray, *, prove: bool = False
    ) -> None:
        zeros, ones = np.zeros(model.num_edges), np.ones(model.num_edges)
        self.model = model
        self.known = Ends(lower, upper, zeros, ones, zeros, ones)
        self.record = WindowRecord.empty(model.num_spins, model.num_edges) if prove else None
        self._trace = None if self.record is None else self.record.add
        self._bits, self._rounds = FIRST_BITS, 0
        # Of the mean width, by the last round without and with holding.
        self._left = {False: 0.0, True: UNTRIED}
        self._fresh = True  # no round without holding had as many bits
        self._levels = search_levels(model)

    @property
    def mean_width(self) -> float:
        """How far the ends of spins are apart, in the mean."""
        return float((self.known.nodes_upper - self.known.nodes_lower).mean())

    def run(self, budget: Budget, enough: Enough = lambda _: False) -> None:
        """Go on until time is up, windows are too wide, or the mean width is ``enough``."""
        most_bits = _most_bits(budget)
        while self._bits <= most_bits and not budget.expired():
            mean = self.mean_width
            if not self._round(budget, mean, enough) or mean <= CLOSED or enough(self.mean_width):
                break

    def _round(self, budget: Budget, mean: float, enough: Enough) -> bool:
        """Lay windows over all spins; return False if time was up before all were seen."""
        left, model = self._left, self.model
        hold = self._rounds == 0 or left[True] <= left[False] + AHEAD or not self._fresh
        self.known, in_time = narrow_by_windows(
            model.edges,
            model.couplings,
            model.fields,
            self.known,
            self._middle(),
            _window_sizes(self._bits, mean, hold),
            trace=self._trace,
            budget=budget,
        )
        if not in_time:
            return False
        if hold and mean > CLOSED:
            self._through_domains(budget, enough)
        if self._rounds:  # the ends before the first were those of neighbours
            left[hold] = self.mean_width / max(mean, CLOSED)
        self._fresh = self._fresh and hold
        if min(left[True], left[False] if self._fresh else 1.0) > AGAIN:
            self._bits, self._fresh = self._bits + 2, True
        self._rounds += 1
        return True

    def _through_domains(self, budget: Budget, enough: Enough) -> None:
        """Narrow ends by whole domains, again while that helps."""
        levels, mean = self._levels + STEP * self._rounds, self.mean_width
        while CLOSED < mean < FEW_OPEN and not budget.expired() and not enough(mean):
            levels = levels + STEP  # domains that are too wide are cut elsewhere in the next round
            self.known = narrow_by_domains(
                self.model,
                self.known,
                self._middle(),
                _holding(mean),
                budget,
                levels,
                self._trace,
            )
            before, mean = mean, self.mean_width
            if mean > AGAIN * before:
                break

    def _middle(self) -> FloatArray:
        middle: FloatArray = (self.known.nodes_lower + self.known.nodes_upper) / 2
        return middle


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


def _most_bits(budget: Budget) -> int:
    """Return how many spins the tables of windows may hold at once."""
    each = budget.bytes() / (TABLES * 8 * budget.workers())
    most = PROVED_BITS if budget.prove else MOST_BITS
    return int(np.clip(np.log2(max(each, 2.0)), 1, most))
