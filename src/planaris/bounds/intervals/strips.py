"""Intervals from strips of a lattice that share lines of spins, narrow ones first."""

from __future__ import annotations

import math

from planaris.bounds.best_interval import BestInterval
from planaris.bounds.shared_spins import CONVERGED, ConditionalSearch, HolderSearch
from planaris.budget import Budget
from planaris.models import IsingModel
from planaris.subgraphs.covers import Cover, LatticePlaces, StripShape, strip_cover
from planaris.subgraphs.guest_spins import conditional_cover

WIDTH = 7
"""Lines inside a strip of a plane lattice."""

MOST_BITS = 22
"""Spins in a table, at most."""

ENTRY_SECONDS = 1.2e-8
"""Of an entry of a table in one evaluation with derivatives, on one thread."""

FEW_EVALUATIONS = 6
"""Evaluations of the upper end before it is decided again which end to improve."""

MOST_TURNS = 40
"""Turns of both ends with strips of one shape, at most."""


def strip_shapes(places: LatticePlaces, width: int = WIDTH) -> list[StripShape]:
    """Return shapes of growing cost.

    >>> from planaris import generate
    >>> from planaris.subgraphs.covers import lattice_places
    >>> places = lattice_places(generate.grid(30, 30))
    >>> [shape.bits(1) for shape in strip_shapes(places)]
    [9, 11, 13, 15, 17, 19, 21]
    """
    across, lanes = places.sides[2], places.sides[1]
    if across > 1:
        return [StripShape(0, 0)] if 2 * across <= MOST_BITS else []
    width = min(width, max(lanes - 2, 1))
    shapes = [StripShape(width, lag) for lag in range(MOST_BITS)]
    return [shape for shape in shapes if shape.bits(1) <= MOST_BITS]


def tighten_by_strips(
    model: IsingModel,
    places: LatticePlaces,
    clock: BestInterval,
    budget: Budget,
    *,
    slowness: float = 1.0,
    width: int = WIDTH,
) -> bool:
    """Improve both ends by strips until time is up; return False if tables go out of range.

    Parameters
    ----------
    model : IsingModel
        The model.
    places : LatticePlaces
        Where its spins lie.
    clock : BestInterval
        Receives every bound.
    budget : Budget
        Of this search.
    slowness : float
        Seconds that a second of work takes.
    width : int
        Lines inside a strip.
    """
    above: HolderSearch | None = None
    below: ConditionalSearch | None = None
    for shape in strip_shapes(places, width):
        covers = [strip_cover(model, places, shape)]
        if places.sides[2] == 1:  # rods are better from below in three dimensions
            covers.append(conditional_cover(model, places, shape))
        if not _fits(covers, budget, slowness):
            break
        above = HolderSearch(covers[0], above)
        if len(covers) > 1:
            below = ConditionalSearch(covers[1], None if below is None else below.best)
        try:
            _improve(above, below, clock, budget)
        except ArithmeticError:  # entries differ by more than doubles can say
            return False
    return True


def _fits(covers: list[Cover], budget: Budget, slowness: float) -> bool:
    """Return whether a few evaluations fit the time and the memory left."""
    try:
        entries = sum(cover.sweep.entries for cover in covers)
        kept = max(cover.sweep.kept_bytes for cover in covers)
    except ValueError:  # a table would be too large
        return False
    workers = budget.workers()
    seconds = slowness * ENTRY_SECONDS * entries / workers
    return 4 * seconds <= budget.remaining() and kept * workers <= budget.bytes() / 4


def _improve(
    above: HolderSearch, below: ConditionalSearch | None, clock: BestInterval, budget: Budget
) -> None:
    """Take turns, the end first whose gap has fallen more per second."""
    rates = [-math.inf if below is None else math.inf, math.inf]
    least = CONVERGED * above.cover.model.num_spins
    for _ in range(MOST_TURNS):
        if budget.expired() or max(rates) <= 0.0:
            return
        turn, started = rates.index(max(rates)), budget.seconds()
        try:
            if turn == 0 and below is not None:
                gain = below.step(budget)
                clock.offer("conditional strips", lower=below.bound(), proof=below.proof)
            else:
                before = above.upper
                above.minimise(FEW_EVALUATIONS, budget)
                gain = before - above.upper
                clock.offer("strips", upper=above.bound(), proof=above.proof)
        except TimeoutError:
            return
        spent = max(budget.seconds() - started, 1e-6)
        rates[turn] = 0.0 if not gain >= least else gain / spent
