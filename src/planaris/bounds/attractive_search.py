"""Ends of marginals of ferromagnets, by windows that grow, open parts and whole domains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planaris.bounds.attractive_domains import STEP, Holding, narrow_by_domains, search_levels
from planaris.bounds.attractive_parts import PartsSearch
from planaris.bounds.window_record import WindowRecord
from planaris.budget import Budget
from planaris.kernels.cuts import minimum_cut
from planaris.kernels.frontier import Ends, WindowSizes, narrow_by_windows
from planaris.kernels.sampling import heat_bath_means
from planaris.models import IsingModel
from planaris.typing import FloatArray

FIRST_BITS = 12
"""Bits of the first windows: spins in the table of a window."""

ACROSS = 0.68
"""Levels across the core of a window, per bit. A table holds every other level of a lattice, and
windows for one end leave out about half of the spins."""

CORE = 1.36
"""Most spins in the core of a window, divided by its bits squared."""

SPINS = 10
"""Most spins of a window, divided by its bits squared."""

SHARE = 0.1
"""Spins whose ends are closer than this share of the mean width have no window."""

CHAINS, SWEEPS = 4, 500
"""Heat-bath chains that guess the marginals, and sweeps of each."""

SAMPLING = 0.1
"""Largest share of the time that these chains take."""

SAMPLED = 0.1
"""Mean width below which the guess of the chains is replaced by the middle of the ends, once
domains gain little. What is open by then was guessed wrongly: chains rarely flip a domain."""

HELD = 2.0
"""For upper ends a spin may be clamped up if its guess of P(s = -1) is at most this share of the
mean width; for lower ends likewise with P(s = +1)."""

LIKELY = 0.4
"""Upper limit of `HELD` times the mean width."""

WALL = 0.005
"""A spin may be a wall, which bounds windows, if it is known up to this share of the mean width."""

FIRST_WALLS = 1e-7
"""Second limit: it must also be known up to this number divided by the mean width cubed. Errors of
walls are passed on, so while much is open only the best spins may be walls."""

AGAIN = 0.8
"""A round gains little if it leaves more than this share of the mean width. The largest windows are
then not tried again."""

ELSEWHERE = 0.9
"""Parts and domains are tried again unless they leave more than this share of the mean width."""

SLOW = 0.25
"""Parts and domains are skipped in one round after they narrowed ends at less than this share of
the pace of windows, as happens for warm models."""

SPENT = 0.95
"""Windows stop clamping spins after a round that left more than this share of the mean width."""

FEW_OPEN = 0.18
"""Mean width below which open parts and domains are small enough to be eliminated. Windows that
clamp spins gain nothing from there on."""

CLOSED = 1e-10
"""Ends closer than this are not narrowed any further."""

MOST_BITS = 20
"""Most spins in the table of a window: eight megabytes, and seconds of work."""

PROVED_BITS = 16
"""The same where a proof is asked for: the checker is slower, and keeps all tables."""

TABLES = 40
"""Tables that the elimination of a window may hold at a time."""


Enough = Callable[[float], bool]
"""Returns whether a search may end at a given mean width."""


class AttractiveSearch:
    """Rounds of windows, open parts and domains of a model without negative couplings.

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
        self._hold = True  # whether the next windows clamp spins
        self._left = {True: 0.0, False: 0.0}  # share of the mean width that the last ones left
        self._pace, self._pass_over = 0.0, False  # pace of windows; whether to skip domains
        self._levels = search_levels(model)
        self._sampled: FloatArray | None = None
        self._parts = PartsSearch(model)

    @property
    def mean_width(self) -> float:
        """Mean distance between the two ends of a spin."""
        return float((self.known.nodes_upper - self.known.nodes_lower).mean())

    def run(self, budget: Budget, enough: Enough = lambda _: False) -> None:
        """Go on until time is up, windows are too wide, or the mean width is ``enough``."""
        most_bits = _most_bits(budget)
        if not self._rounds and self._sampled is None:
            self._sampled = sampled_means(self.model, budget.share(SAMPLING))
        while self._bits <= most_bits and not budget.expired():
            mean = self.mean_width
            if not self._round(budget, mean, enough) or mean <= CLOSED:
                break
            self._choose_windows(most_bits)
            if enough(self.mean_width):
                break

    def _round(self, budget: Budget, mean: float, enough: Enough) -> bool:
        """Lay windows over all spins; return False if time was up before all were seen."""
        model, begun = self.model, budget.clock()
        self.known, in_time = narrow_by_windows(
            model.edges,
            model.couplings,
            model.fields,
            self.known,
            self._guess(),
            _window_sizes(self._bits, mean, self._hold),
            trace=self._trace,
            budget=budget,
        )
        if not in_time:
            return False
        self._left[self._hold] = self.mean_width / max(mean, CLOSED)
        self._pace = _pace(mean, self.mean_width, budget.clock() - begun)
        if not self._pass_over:
            self._through_open_spins(budget, enough)
        else:
            self._pass_over = False
        self._rounds += 1
        return True

    def _choose_windows(self, most_bits: int) -> None:
        """Choose windows that clamp spins, then windows that do not, then larger ones."""
        if not self._hold and (self._bits + 2 <= most_bits or self._left[False] > AGAIN):
            self._bits += 2
        may_hold = self._left[True] <= SPENT and self.mean_width >= FEW_OPEN
        self._hold = may_hold and not self._hold

    def _through_open_spins(self, budget: Budget, enough: Enough) -> None:
        """Narrow ends by open parts or whole domains, whichever was faster, while that helps."""
        steps, pace = (self._by_parts, self._by_domains), [np.inf, np.inf]
        mean, stalled = self.mean_width, 0
        while CLOSED < mean < FEW_OPEN and stalled < len(steps):
            if budget.expired() or enough(mean):
                return
            begun, k = budget.clock(), int(np.argmax(pace))
            steps[k](budget)
            before, mean = mean, self.mean_width
            pace[k] = _pace(before, mean, budget.clock() - begun)
            stalled = stalled + 1 if mean > ELSEWHERE * before else 0
            if mean <= AGAIN * before:
                continue
            if self._sampled is not None and mean < SAMPLED:
                self._sampled, pace, stalled = None, [np.inf, np.inf], 0
                self._parts.forget()
            elif k == 0:
                self._parts.allow_more()
        self._pass_over = max(pace) < SLOW * self._pace

    def _by_parts(self, budget: Budget) -> None:
        self.known = self._parts.narrow(self.known, self._guess(), budget, self._trace)

    def _by_domains(self, budget: Budget) -> None:
        # Domains that are too wide are cut elsewhere in the next round.
        self._levels = self._levels + STEP
        self.known = narrow_by_domains(
            self.model,
            self.known,
            self._guess(),
            _holding(self.mean_width),
            budget,
            self._levels,
            self._trace,
        )

    def _guess(self) -> FloatArray:
        """Return a guess of every P(s_v = +1), between its ends."""
        low, high = self.known.nodes_lower, self.known.nodes_upper
        if self._sampled is not None:
            return np.clip(self._sampled, low, high)
        middle: FloatArray = (low + high) / 2
        return middle


def sampled_means(model: IsingModel, budget: Budget) -> FloatArray | None:
    """Estimate every P(s_v = +1) of a model without negative couplings.

    By heat-bath chains from a ground state; None without fields, or where time is up.

    >>> model = IsingModel([(0, 1)], 0.5, fields=[0.3, -0.2])
    >>> sampled_means(model, Budget.of(None)).round(1).tolist()
    [0.6, 0.5]
    """
    if not model.has_fields:
        return None
    arrays = (model.edges, model.couplings, model.fields)
    try:
        up, *_ = minimum_cut(*arrays, budget=budget)
        start = np.where(up, 1, -1).astype(np.int8)
        return heat_bath_means(*arrays, start, chains=CHAINS, sweeps=SWEEPS, seed=0, budget=budget)
    except TimeoutError:
        return None


def _pace(before: float, after: float, seconds: float) -> float:
    """Return the rate at which the logarithm of the mean width fell, per second."""
    return float(np.log(max(before, CLOSED) / max(after, CLOSED))) / max(seconds, 1e-9)


def _holding(mean: float) -> Holding:
    """Return which spins may be clamped at a mean width."""
    wall = min(WALL * mean, FIRST_WALLS / max(mean, CLOSED) ** 3)
    return Holding(wall, min(HELD * mean, LIKELY))


def _window_sizes(bits: int, mean: float, hold: bool) -> WindowSizes:
    """Return the sizes of the windows of a round that begins at a mean width."""
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
