"""Intervals from strips of a lattice that share lines of spins, narrow ones first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planaris.bounds.best_interval import BestInterval
from planaris.bounds.shared_spins import CONVERGED, ConditionalSearch, HolderSearch
from planaris.budget import Budget
from planaris.models import IsingModel
from planaris.result import Proof
from planaris.subgraphs.covers import Cover, LatticePlaces, StripShape, strip_cover
from planaris.subgraphs.split_edges import SplitModel
from planaris.subgraphs.split_strips import SplitStrips

WIDTH = 7
"""Lines inside a strip of a plane lattice."""

WIDTH_WITH_EXTRA_EDGES = 5
"""Lines inside a strip of a lattice with edges between distant spins: narrow strips hold both ends
of few of them."""

FIRST_BITS = 10
"""Spins in a table of the first such strips."""

MOST_BITS = 22
"""Most spins in a table."""

ENTRY_SECONDS = 1.2e-8
"""Estimated time per table entry of one evaluation with derivatives, on one thread."""

FEW_EVALUATIONS = 6
"""Evaluations of the upper end before the end to improve next is chosen again."""

MOST_TRIES = 3
"""Consecutive steps without gain after which the lower end counts as converged."""

MOST_TURNS = 40
"""Most turns of both ends with strips of one shape."""


def strip_shapes(places: LatticePlaces, width: int | None = None) -> list[StripShape]:
    """Return shapes of growing cost.

    >>> from planaris import generate
    >>> from planaris.subgraphs.covers import lattice_places
    >>> places = lattice_places(IsingModel(generate.square_lattice(30).edges, 1.0))
    >>> [shape.bits(1) for shape in strip_shapes(places)]
    [9, 11, 13, 15, 17, 19, 21]
    """
    across, lanes = places.sides[2], places.sides[1]
    if across > 1:
        return [StripShape(0, 0)] if 2 * across <= MOST_BITS else []
    width = min(WIDTH if width is None else width, max(lanes - 2, 1))
    shapes = [StripShape(width, lag) for lag in range(MOST_BITS)]
    return [shape for shape in shapes if shape.bits(1) <= MOST_BITS]


def tighten_by_strips(
    model: IsingModel,
    places: LatticePlaces,
    clock: BestInterval,
    budget: Budget,
    *,
    slowness: float = 1.0,
    width: int | None = None,
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
        Lines inside a strip; chosen by default.
    """
    rate = slowness * ENTRY_SECONDS / budget.workers()
    if places.extra.any() and places.sides[2] == 1:
        width = WIDTH_WITH_EXTRA_EDGES if width is None else width
        strips = SplitStrips(model, places, min(width, max(places.sides[1] - 2, 1)))
        search = _StripSearch(clock, budget, rate, strips.split)
        steps = _split_covers(strips, budget)
    else:
        search = _StripSearch(clock, budget, rate)
        steps = _strip_covers(model, places, width)
    try:
        for covers in steps:
            if budget.expired() or not search.fits(covers):
                break
            search.improve(*covers)
    except TimeoutError:
        pass
    except FloatingPointError:  # entries differ by more than doubles can say
        return False
    return True


def _strip_covers(
    model: IsingModel, places: LatticePlaces, width: int | None
) -> Iterator[list[Cover]]:
    """Yield covers of growing cost: from above, and from below unless rods are better."""
    for shape in strip_shapes(places, width):
        cover = strip_cover(model, places, shape)
        yield [cover] if places.sides[2] > 1 else [cover, cover]


def _split_covers(strips: SplitStrips, budget: Budget) -> Iterator[list[Cover]]:
    """Yield covers of growing cost by strips and split edges, for both ends."""
    for bits in range(FIRST_BITS, MOST_BITS + 1, 2):
        yield [strips.cover(bits, budget)] * 2


class _StripSearch:
    """Both ends so far, and the time that an entry of a table takes."""

    def __init__(
        self,
        clock: BestInterval,
        budget: Budget,
        entry_seconds: float,
        split: SplitModel | None = None,
    ) -> None:
        self.clock, self.budget, self.entry_seconds = clock, budget, entry_seconds
        self.split = split
        self.above: HolderSearch | None = None
        self.below: ConditionalSearch | None = None

    def fits(self, covers: list[Cover]) -> bool:
        """Return whether a few evaluations fit the time and the memory left."""
        entries, kept = 0.0, 0.0
        for cover in covers:
            if self.budget.expired():
                return False
            try:
                entries += cover.sweep.entries
                kept = max(kept, cover.sweep.kept_bytes)
            except OverflowError:  # a table would be too large
                return False
        seconds, memory = self.entry_seconds * entries, kept * self.budget.workers()
        return 3 * seconds <= self.budget.remaining() and memory <= self.budget.bytes() / 4

    def improve(self, held: Cover, given: Cover | None = None) -> None:
        """Improve the two ends alternately; the one that gains more per second goes first."""
        above = self.above = HolderSearch(held, self.above)
        if given is not None:
            self.below = ConditionalSearch(given, None if self.below is None else self.below.best)
        rates = [-math.inf if given is None else math.inf, math.inf]
        least = CONVERGED * held.model.num_spins
        begun, entries = self.budget.seconds(), 0.0
        for _ in range(MOST_TURNS):
            if self.budget.expired() or max(rates) <= 0.0:
                break
            turn, started = rates.index(max(rates)), self.budget.seconds()
            try:
                gain, work = self._lower(self.below) if turn == 0 else self._upper(above)
            except TimeoutError:
                break
            entries += work
            spent = max(self.budget.seconds() - started, 1e-6)
            rates[turn] = 0.0 if not gain >= least else gain / spent
        if entries:
            self.entry_seconds = (self.budget.seconds() - begun) / entries

    def _lower(self, below: ConditionalSearch | None) -> tuple[float, float]:
        assert below is not None, "its turn comes only then"
        gain, work = 0.0, 0.0
        for _ in range(MOST_TRIES):
            gain = below.step(self.budget)
            work += below.cover.sweep.entries
            if gain > 0.0:
                break
        lower = below.bound() if self.split is None else self.split.below(below.bound())
        by = "conditional strips"
        self.clock.offer(by, lower=lower, proof=lambda: self._lifted(below.proof()))
        return gain, work

    def _upper(self, above: HolderSearch) -> tuple[float, float]:
        before, evaluations = above.upper, above.evaluations
        above.minimise(FEW_EVALUATIONS, self.budget)
        upper = above.bound() if self.split is None else self.split.above(above.bound())
        self.clock.offer("strips", upper=upper, proof=lambda: self._lifted(above.proof()))
        work = (above.evaluations - evaluations) * above.cover.sweep.entries
        return before - above.upper, work

    def _lifted(self, proof: Proof) -> Proof:
        """Return the proof as one about the model whose edges were split, if any."""
        return proof if self.split is None else self.split.proof(proof)
