"""Intervals for marginals of ferromagnets: elimination around the spins that are still open.

Most spins of a cold model in random fields are known soon; what is left are domains whose sign is
open. The ends of such a part need its surroundings up to some distance and no more: walls that are
further away would only be charged, and spins there make tables wider. So every part is eliminated
together with what is around it, as far as its share of the time allows.
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
from planaris.models import IsingModel
from planaris.treewidth import EliminationPlan
from planaris.typing import Array, FloatArray

PART = 1000
"""Most spins of a part at first. Parts for which no domain can be eliminated are halved."""

WHOLE = 60
"""Parts of this many spins or fewer are not halved any further."""

AROUND = 4000
"""Most spins of a domain: a part and its surroundings."""

RADII = (10, 12, 14, 17, 20, 24, 29, 35)
"""Distances up to which the surroundings of a part are eliminated with it."""

WALL = 0.002
"""A spin may be clamped down, as a wall, if P(s = +1) is at most this share of the part's mean
width."""

LIKELY = 0.02
"""A spin may be clamped up if its guess of P(s = -1) is below this share of the part's mean
width."""

SEARCH = 0.15
"""Share of the time for a part that the search for an elimination order may take."""

SEARCH_SPIN = 2e-5
"""Seconds per spin that this search may always take; min-fill takes about as long."""

SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Factors of `WALL` and `LIKELY`, tried in turn until a domain can be eliminated."""

MOST_LIKELY = 0.3
"""Upper limit of `LIKELY` times the mean width."""

CHARGE = 0.4
"""Upper limit of the probability that any wall of a domain is up, as a share of the part's mean
width."""

SPIN_SECONDS = 1e-4
"""Planned time of the first round, per spin of the model. It is shared among parts in proportion to
their widths."""

MORE = 2.5
"""Factor by which the time grows for the next round if a round gained little."""

MOST_SECONDS = 3.0
"""Longest planned elimination of one part."""

GAIN = 0.1
"""Share of its width that a part must lose in order to be tried again in the next round."""

PATIENCE = 2.0
"""Other parts are tried again once their time has grown by this factor."""


class PartsSearch:
    """Rounds over the open parts of a model without negative couplings.

    Parameters
    ----------
    model : IsingModel
        The model.

    Examples
    --------
    >>> from planaris.generate import square_lattice
    >>> fields = np.array([3.0, 3.0, -0.2, 0.1, 3.0, 3.0])
    >>> model = IsingModel(square_lattice(2, 3).edges, 0.3, fields)
    >>> zeros, ones = np.zeros(7), np.ones(7)
    >>> known = Ends(np.zeros(6), np.ones(6), zeros, ones, zeros, ones)
    >>> ends = PartsSearch(model).narrow(known, np.full(6, 0.5), Budget.of(None))
    >>> exact = treewidth.marginals(model).nodes
    >>> bool(np.abs(ends.nodes_upper - exact).max() < 1e-9)
    True
    """

    def __init__(self, model: IsingModel) -> None:
        self.model = model
        self.graph = _Graph(model)
        self.seconds = SPIN_SECONDS * model.num_spins
        self.forget()

    def forget(self) -> None:
        """Forget which parts gained little, so that all are tried again."""
        # Seconds spent on each spin without narrowing its upper (row 0) and lower end (row 1).
        self._tried = np.zeros((2, self.model.num_spins))

    def allow_more(self) -> None:
        """Give the next round more time."""
        self.seconds *= MORE

    def narrow(
        self, known: Ends, guess: FloatArray, budget: Budget, trace: Trace | None = None
    ) -> Ends:
        """Return narrower ends; ``guess`` of P(s_v = +1) says which spins are held.

        The ends hold for any guess. ``trace`` is called with the domains that narrowed them.
        """
        width = known.nodes_upper - known.nodes_lower
        rounds: list[_Round] = []

        def narrow(side: Side, budget: Budget, stop: Event) -> None:
            tried = self._tried[int(side.turned)]
            rounds.append(_Round(self.graph, side, width, tried, self.seconds))
            rounds[-1].run(budget, stop)
            for other in rounds:  # sides rarely take equally long
                other.run(budget, stop)

        return narrow_both_sides(self.model, known, guess, narrow, budget, trace)


class _Fit(NamedTuple):
    domain: Domain
    plan: EliminationPlan


class _Round:
    """One round over all parts, from one side; several threads may run it."""

    def __init__(
        self, graph: _Graph, side: Side, width: FloatArray, tried: FloatArray, seconds: float
    ) -> None:
        self.graph, self.side, self.width, self.tried = graph, side, width, tried
        self.seconds = seconds
        self.waiting = self._parts(np.flatnonzero(width >= width.mean()), PART)
        self.waiting.sort(key=lambda part: float(width[part].sum()))
        self.total = sum(float(width[part].sum()) for part in self.waiting)

    def run(self, budget: Budget, stop: Event) -> None:
        """Lower the upper ends of open parts, those with most to gain first."""
        while not (stop.is_set() or budget.expired()):
            with self.side.lock:
                part = self.waiting.pop() if self.waiting else None
            if part is None:
                return
            open_width = float(self.width[part].sum())
            if open_width <= 0:
                continue
            seconds = min(self.seconds * open_width / self.total, MOST_SECONDS)
            if seconds < PATIENCE * float(np.median(self.tried[part])):
                continue
            found = self._fit(part, seconds, budget)
            if found is not None:
                before = float(self.side.new_high[part].sum())
                solve(self.side, *found, budget)
                gained = before - float(self.side.new_high[part].sum())
                self.tried[part] = 0.0 if gained > GAIN * open_width else seconds
            elif len(part) > WHOLE:
                self.waiting += self._parts(part, len(part) // 2)
            else:
                self.tried[part] = seconds

    def _parts(self, spins: Array, most: int) -> list[Array]:
        """Split spins into connected parts of at most ``most`` spins, around the widest ends."""
        free = np.zeros(len(self.width), dtype=bool)
        free[spins] = True
        found = []
        for root in spins[np.argsort(-self.width[spins], kind="stable")].tolist():
            if free[root]:
                levels = self.graph.levels(np.array([root]), free, len(free), most)
                found.append(np.concatenate(levels))
                free[found[-1]] = False
        return found

    def _fit(self, part: Array, seconds: float, budget: Budget) -> _Fit | None:
        """Return the largest domain around a part that can be eliminated in time, if any."""
        side, mean = self.side, float(self.width[part].mean())
        for scale in SCALES:
            wall, likely = WALL * scale * mean, min(LIKELY * scale * mean, MOST_LIKELY)
            walls = side.high <= wall
            free = ~walls & (side.low < 1 - wall) & (side.guess <= 1 - likely)
            inner = part[free[part]]
            if not len(inner):
                return None
            levels = self.graph.levels(inner, free, RADII[-1], AROUND)
            last = len(levels) - 1
            radii = [radius for radius in RADII if radius < last] + [last]
            found, low, high, middle = None, -1, len(radii), 0
            while high - low > 1:
                spins = np.concatenate(levels[: radii[middle] + 1])
                fit = self._plan(spins, walls, seconds, budget)
                if fits(fit.plan, seconds, budget) and fit.domain.wrong[0] <= CHARGE * mean:
                    found, low = fit, middle
                else:
                    high = middle
                middle = (low + high) // 2
            if found is not None:
                return found
        return None

    def _plan(self, spins: Array, walls: Array, seconds: float, budget: Budget) -> _Fit:
        """Return spins as a domain: of the spins around them, walls are clamped down, others up."""
        model, count = self.side.model, len(spins)
        place = np.full(model.num_spins, -1, dtype=np.int64)
        place[spins] = np.arange(count)
        at, to, by = self.graph.around(spins)
        inside = place[to] >= 0
        names = by[inside & (at < to)]
        ends = place[model.edges[names]]
        near, far, size = place[at[~inside]], to[~inside], model.couplings[by[~inside]]
        own, pull = model.fields[spins], np.where(walls[far], -size, size)
        part = IsingModel(ends, model.couplings[names], own + np.bincount(near, pull, count))
        terms = 1 + np.bincount(near, minlength=count)
        slack = 2 * UNIT * terms * (np.abs(own) + np.bincount(near, size, count))
        held = np.unique(far[walls[far]])
        charge = min(1.0, float(self.side.high[held].sum()) * (1 + 2.0**-30))
        wrong = np.full(count, charge)
        domain = Domain(spins, held, names, part, wrong, float(slack.sum()))
        plan = treewidth.plan_elimination(
            part,
            kind="clusters",
            search_seconds=max(SEARCH * seconds, SEARCH_SPIN * count),
            good_enough=seconds,
            time_limit=budget,
        )
        return _Fit(domain, plan)


class _Graph:
    """The neighbours of every spin."""

    def __init__(self, model: IsingModel) -> None:
        edges = model.edges.astype(np.int64)
        near, far = np.concatenate([edges, edges[:, ::-1]]).T
        order = np.argsort(near, kind="stable")
        self.neighbours, self.edges = far[order], order % max(len(edges), 1)
        counts = np.bincount(near, minlength=model.num_spins)
        self.offsets = np.concatenate([[0], np.cumsum(counts)])

    def around(self, spins: Array) -> tuple[Array, Array, Array]:
        """Return every spin once for each of its edges, the spin at the other end, and the edge."""
        first = self.offsets[spins]
        counts = self.offsets[spins + 1] - first
        skipped = first - np.cumsum(counts) + counts
        at = np.repeat(skipped, counts) + np.arange(counts.sum())
        return np.repeat(spins, counts), self.neighbours[at], self.edges[at]

    def levels(self, roots: Array, free: Array, radius: int, most: int) -> list[Array]:
        """Return free spins by their distance from the roots, through free spins.

        The search ends with ``radius``, or where there would be more than ``most`` of them.
        """
        seen = ~free
        seen[roots] = True
        found, count = [roots], len(roots)
        for _ in range(radius):
            _, far, _ = self.around(found[-1])
            far = np.unique(far[~seen[far]])
            count += len(far)
            if not len(far) or count > most:
                break
            seen[far] = True
            found.append(far)
        return found
