"""Exact samples of one vector of couplings, or of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError, naming_row
from planaris.kernels.cuts import spins_of_cuts
from planaris.kernels.pfaffian import sample_surface
from planaris.planar.pfaffian import precision_ladder
from planaris.planar.pfaffian.capped_moats import FEW_REJECTED
from planaris.planar.pfaffian.entries import Entries
from planaris.planar.pfaffian.locked_spins import LockedSpins
from planaris.planar.pfaffian.precision_ladder import assigned_entries, attempts
from planaris.planar.pfaffian.single_model import factorize, locked_spins, sum_pfaffians
from planaris.typing import Array, BoolArray, FloatArray, Int8Array

if TYPE_CHECKING:
    from planaris.planar.pfaffian.evaluator import PfaffianEvaluator

CutSampler = Callable[[FloatArray], tuple[Array, BoolArray, FloatArray]]
"""From rows of one number in [0, 1) per edge to a cut per row, which of them rounding may have
decided, and the logarithms of the probabilities to keep them with. Rounding may have decided where
an edge had no weight, or the decisions on the way do not multiply to the weight of the cut over
the sum of all weights."""

RawSampler = Callable[[FloatArray], tuple[Array, Array, FloatArray]]
"""Likewise, with the number of edges of each cut that no weight decided, and the logarithms of the
probabilities that the cuts were drawn with."""

DOUBT = 1e-6
"""Error of the logarithm of a probability that is let pass."""

REJECTED_FROM = 1e-9
"""Probability of a rejection below which it is the rounding of a weight."""

MOST_ROUNDS = 8
"""How often one sample is rejected before it is drawn with larger caps."""

CHUNK = 1 << 20
"""Random numbers drawn at once, at most, but for one sample."""


def draw(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    size: int,
    rng: np.random.Generator,
    budget: Budget,
) -> Int8Array:
    """Return ``size`` independent samples of every row; see :meth:`planaris.planar.Plan.sample`."""
    result = np.empty((len(couplings), size, evaluator.num_spins), dtype=np.int8)
    at_once = CHUNK // max(size * _width(evaluator), 1)
    if at_once and size and evaluator.in_batches:
        for first in range(0, len(couplings), at_once):
            _draw_models(evaluator, couplings, first, result[first : first + at_once], rng, budget)
    else:
        for row, J in enumerate(couplings):
            with naming_row(row, len(couplings)):
                result[row] = _draw_model(evaluator, J, size, rng, budget)
    return result


def _width(evaluator: PfaffianEvaluator) -> int:
    """Return how many random numbers a sample takes: one per edge, chord and component."""
    return evaluator.split.num_edges + evaluator.embedding.num_components


def _turns(evaluator: PfaffianEvaluator, numbers: FloatArray) -> Int8Array:
    """Return ±1 for every spin: the last numbers of a row decide for whole components."""
    signs = np.where(numbers[:, evaluator.split.num_edges :] < 0.5, 1, -1).astype(np.int8)
    return signs[:, evaluator.embedding.component_of]


def _draw_models(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    first: int,
    result: Int8Array,
    rng: np.random.Generator,
    budget: Budget,
) -> None:
    """Draw rows from ``first`` on in one call of the core, and those in doubt again singly."""
    models, num_edges = evaluator.models, evaluator.split.num_edges
    assert models is not None
    count, size, _ = result.shape
    rows = couplings[first : first + count]
    numbers = rng.random((count * size, _width(evaluator)))
    uniform = np.ascontiguousarray(numbers[:, :num_edges])
    spins, doubtful = models.samples(
        rows,
        size,
        uniform,
        weak=precision_ladder.WEAK_COUPLING,
        moderate=precision_ladder.MODERATE_COUPLING,
        doubt=DOUBT,
        threads=budget.workers(bytes_each=evaluator.memory("samples")),  # each has its fronts
        budget=budget,
    )
    for k in np.flatnonzero(doubtful.reshape(count, size).any(axis=1)).tolist():
        again = k * size + np.flatnonzero(doubtful[k * size : (k + 1) * size])
        redrawn = spins[again]
        with naming_row(first + k, len(couplings)):
            drawers = _Kept(_drawers(evaluator, rows[k], budget=budget))
            _draw_chunk(evaluator, drawers, uniform[again], redrawn)
        spins[again] = redrawn
    spins = spins * _turns(evaluator, numbers)
    result[:] = spins.reshape(result.shape)


def _draw_model(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    size: int,
    rng: np.random.Generator,
    budget: Budget,
) -> Int8Array:
    """Return samples of one row: surfaces, large models, and samples too many for one call."""
    drawers = _Kept(_drawers(evaluator, couplings, budget=budget))
    result = np.empty((size, evaluator.num_spins), dtype=np.int8)
    num_edges, width = evaluator.split.num_edges, _width(evaluator)
    rows = max(1, CHUNK // max(width, 1))
    for first in range(0, size, rows):
        chunk = result[first : first + rows]
        uniform = rng.random((len(chunk), width))  # the first samples do not depend on `size`
        _draw_chunk(evaluator, drawers, np.ascontiguousarray(uniform[:, :num_edges]), chunk)
        chunk *= _turns(evaluator, uniform)
    return result


def _draw_chunk(
    evaluator: PfaffianEvaluator, drawers: _Kept, uniform: FloatArray, result: Int8Array
) -> None:
    """Turn rows of random numbers into spins, those in doubt by the next drawer again."""
    left = np.arange(len(uniform))
    for drawer in drawers:
        doubtful, rounds = [], 0
        while len(left):
            if rounds == MOST_ROUNDS:
                drawer.refuses = True
                doubtful.append(left)
                break
            rounds += 1
            cuts, rounded, log_keep = drawer.draw(uniform[left])
            # Edges around a face are cut an even number of times: a contradiction shows that
            # rounding has decided an edge.
            turned, contradicts = spins_of_cuts(evaluator.num_spins, evaluator.split.edges, cuts)
            result[left] = turned * drawer.spins
            again = contradicts | rounded
            doubtful.append(left[again])
            left = _rejected(uniform, left[~again], log_keep[~again])
        left = np.concatenate(doubtful) if doubtful else left
        if not len(left):
            return
    msg = (
        "at this temperature a sample would be decided by rounding, even in "
        "double-double; raise the temperature"
    )
    raise PrecisionError(msg)


def _rejected(uniform: FloatArray, rows: Array, log_keep: FloatArray) -> Array:
    """Return the rows that are not kept, with new random numbers, made of those of the row."""
    rejected = []
    for row, log_probability in zip(rows.tolist(), log_keep.tolist(), strict=True):
        if log_probability > -REJECTED_FROM:
            continue
        fresh = np.random.default_rng(uniform[row].view(np.uint64))
        if fresh.exponential() <= -log_probability:
            uniform[row] = fresh.random(uniform.shape[1])
            rejected.append(row)
    return np.array(rejected, dtype=np.int64)


@dataclass
class _Drawer:
    """A gauge state, what samples cuts relative to it, and whether that rejects too many."""

    spins: Int8Array
    draw: CutSampler
    refuses: bool = False


class _Kept:
    """What an iterator gives, again and again; it is asked for more when that is needed.

    Those that reject too many are left out from then on.
    """

    def __init__(self, source: Iterator[_Drawer]) -> None:
        self.source = source
        self.found: list[_Drawer] = []

    def __iter__(self) -> Iterator[_Drawer]:
        self.found = [drawer for drawer in self.found if not drawer.refuses]
        yield from self.found
        for more in self.source:
            self.found.append(more)
            yield more


def _drawers(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> Iterator[_Drawer]:
    """Yield gauge states and what samples cuts relative to them, the quickest first.

    All decide edge by edge in the order of one dissection: but for rounding, and for caps, they
    turn the same numbers into the same cut.
    """
    too_small = 0.0
    for attempt, wide in _ways(evaluator, couplings, budget):
        entries: Entries | None = attempt
        # A warmer model, of which samples are rejected, does not tell which spins are locked.
        if attempt.is_ordered and attempt.rejected <= FEW_REJECTED:
            locked = locked_spins(evaluator, attempt, budget, wide=wide)
            if locked is not None:
                yield _Drawer(attempt.spins, _cluster_sampler(evaluator, locked, budget))
        while entries is not None:
            refused = entries.caps is not None and entries.caps.cap <= too_small
            if not refused:
                draw = _cut_sampler(evaluator, entries, wide=wide, budget=budget)
                if draw is None:
                    break
                drawer = _Drawer(entries.spins, draw)
                yield drawer
                if not drawer.refuses:
                    break
            entries, too_small = _with_larger_caps(entries, too_small, wide=wide)


def _with_larger_caps(
    entries: Entries, too_small: float, *, wide: bool
) -> tuple[Entries | None, float]:
    """Return entries with larger caps, if doubles have the range, and the largest that refuses."""
    if entries.caps is None:
        return None, too_small
    larger = entries.caps.larger()
    in_range = wide or larger.in_double_range
    return larger if in_range else None, max(too_small, entries.caps.cap)


def _ways(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> Iterator[tuple[Entries, bool]]:
    """Yield entries, and whether to calculate with them in double-double.

    On planes the order of the ground state is right for almost all; where a sample shows that it
    has lost a front, other scalings and a search for pivots do.
    """
    if evaluator.genus == 0:
        last: Entries | None = None
        for last, wide in attempts(evaluator, couplings, budget, for_samples=True):
            yield last, wide
        if last is not None:
            free = last.searched()
            for other in (free, free.unscaled(), last.shaken()):
                yield other, True
    entries = assigned_entries(evaluator, couplings, budget)
    if entries.in_double_range and evaluator.genus:
        yield entries, False
    yield entries, True


def _cut_sampler(
    evaluator: PfaffianEvaluator, entries: Entries, *, wide: bool, budget: Budget
) -> CutSampler | None:
    """Return what turns one random number per edge into a cut; None out of range."""
    if evaluator.genus == 0:
        if entries.order.clusters is not None and not wide:
            return None
        factors = factorize(evaluator, entries, wide=wide, for_samples=True, budget=budget)
        if factors is None:
            return None
        total = factors.log_pfaffian.log_magnitude
        return _checked(lambda uniform: factors.sample(uniform, budget=budget), entries, total)
    draw_cut = _surface_sampler(evaluator, entries, wide=wide, budget=budget)
    if draw_cut is not None and entries.is_cold:
        draw_again = _surface_sampler(evaluator, entries.shaken(), wide=wide, budget=budget)
        draw_cut = None if draw_again is None else _agreeing(draw_cut, draw_again)
    if draw_cut is None or not entries.is_strong:
        return None if draw_cut is None else _checked(draw_cut, entries, None)
    signed, _ = sum_pfaffians(evaluator, entries, wide=wide, budget=budget)
    known = signed.log_value if signed.error <= DOUBT / 4 else None
    return _checked(draw_cut, entries, known)


def _checked(draw_cuts: RawSampler, entries: Entries, total: float | None) -> CutSampler:
    """Compare what cuts are drawn with to their weights; ``total`` is the log of the sum of all.

    Weights are relative to the gauge state, whose cut is empty.
    """

    def checked(uniform: FloatArray) -> tuple[Array, BoolArray, FloatArray]:
        cuts, undecided, drawn = draw_cuts(uniform)
        doubtful = undecided > 0
        if total is not None:
            weights = -2.0 * (cuts @ entries.gauged)
            doubtful |= ~(np.abs(drawn - (weights - total)) <= DOUBT)
        if entries.caps is None:
            return cuts, doubtful, np.zeros(len(cuts))
        return cuts, doubtful, -2.0 * (cuts @ entries.caps.removed)

    return checked


def _cluster_sampler(
    evaluator: PfaffianEvaluator, locked: LockedSpins, budget: Budget
) -> CutSampler:
    """Return what samples clusters of locked spins, relative to the ground state."""
    blocks = locked.blocks
    drawers = _Kept(_drawers(blocks.evaluator, blocks.couplings, budget))
    stay = 1.0 / (1.0 + np.exp(-2.0 * locked.couplings[locked.bridges]))
    needed = len(stay) + blocks.evaluator.split.num_edges

    def draw_cuts(uniform: FloatArray) -> tuple[Array, BoolArray, FloatArray]:
        uniform = _at_least(uniform, needed)
        cut = np.zeros((len(uniform), len(locked.couplings) + 1), dtype=np.uint8)
        cut[:, locked.bridges] = uniform[:, : len(stay)] >= stay
        doubtful, kept = np.zeros(len(uniform), dtype=bool), np.zeros(len(uniform))
        spins = np.ones((len(uniform), blocks.evaluator.num_spins), dtype=np.int8)
        try:
            _draw_chunk(blocks.evaluator, drawers, uniform[:, len(stay) : needed].copy(), spins)
        except PrecisionError:
            doubtful[:] = True
        u, v = blocks.evaluator.embedding.edges.T
        cut[:, blocks.links] = spins[:, u] != spins[:, v]
        turned, _ = spins_of_cuts(
            evaluator.num_spins,
            evaluator.embedding.edges,
            np.ascontiguousarray(cut[:, locked.link_of]),
        )
        u, v = evaluator.split.edges.T
        return np.ascontiguousarray(turned[:, u] != turned[:, v]).view(np.uint8), doubtful, kept

    return draw_cuts


def _at_least(uniform: FloatArray, columns: int) -> FloatArray:
    """Return rows of at least so many random numbers: chords may have become more."""
    missing = columns - uniform.shape[1]
    if missing <= 0:
        return uniform
    more = [np.random.default_rng(row.view(np.uint64)).random(missing) for row in uniform]
    return np.hstack([uniform, np.array(more).reshape(len(uniform), missing)])


def _surface_sampler(
    evaluator: PfaffianEvaluator, entries: Entries, *, wide: bool, budget: Budget
) -> RawSampler | None:
    structures = [
        evaluator.elimination.factorize(
            turned.face, turned.scale, turned.signs, wide=wide, for_samples=True, budget=budget
        )
        for turned in map(entries.with_signs, evaluator.flips)
    ]
    if not wide and min(f.log_pfaffian.smallest_exponent for f in structures) < -900:
        return None
    return lambda uniform: sample_surface(structures, uniform, budget=budget)


def _agreeing(first: RawSampler, second: RawSampler) -> RawSampler:
    """Count what two samplers decide differently among what is undecided."""

    def draw_cuts(uniform: FloatArray) -> tuple[Array, Array, FloatArray]:
        (cuts, undecided, drawn), (again, more, _) = first(uniform), second(uniform)
        return cuts, undecided + more + np.count_nonzero(cuts != again, axis=1), drawn

    return draw_cuts
