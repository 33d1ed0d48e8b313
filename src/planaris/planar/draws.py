"""Exact samples of one vector of couplings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError
from planaris.kernels.pfaffian import sample_surface
from planaris.kernels.spins import spins_from_disagreements
from planaris.planar.attempts import assigned_entries, attempts
from planaris.planar.entries import Entries
from planaris.planar.evaluate import factorize, sum_pfaffians
from planaris.typing import Array, FloatArray, Int8Array

if TYPE_CHECKING:
    from planaris.planar.plan import Plan

CutSampler = Callable[[FloatArray], tuple[Array, int, float]]
"""From one number in [0, 1) per edge to a cut, how many edges no weight decided, and by how much
the logarithm of the probability it was drawn with is off: the decisions on the way multiply to the
weight of the cut over the sum of all weights, but for rounding."""

DOUBT = 1e-6
"""Error of the logarithm of a probability that is let pass."""


def draw(
    plan: Plan, couplings: FloatArray, size: int, rng: np.random.Generator, budget: Budget
) -> Int8Array:
    """Return ``size`` independent samples; see :meth:`planaris.planar.Plan.sample`."""
    drawers = _Kept(_drawers(plan, couplings, budget=budget))
    result = np.empty((size, plan.num_spins), dtype=np.int8)
    component = plan.embedding.component_of
    for row in result:
        uniform = rng.random(plan._split.num_edges)
        flips = 1 - 2 * rng.integers(0, 2, plan.embedding.num_components, dtype=np.int8)
        for spins, drawer in drawers:
            cut, undecided, error = drawer(uniform)
            turned, contradiction = spins_from_disagreements(plan.num_spins, plan._split.edges, cut)
            row[:] = turned * spins
            # Edges around a face are cut an even number of times: a contradiction shows that
            # rounding has decided an edge; so does a probability that is not the cut's.
            if contradiction < 0 and undecided == 0 and error <= DOUBT:
                break
        else:
            msg = (
                "at this temperature a sample would be decided by rounding, even in "
                "double-double; raise the temperature"
            )
            raise PrecisionError(msg)
        row *= flips[component]
    return result


class _Kept:
    """What an iterator gives, again and again; it is asked for more when that is needed."""

    def __init__(self, source: Iterator[tuple[Int8Array, CutSampler]]) -> None:
        self.source = source
        self.found: list[tuple[Int8Array, CutSampler]] = []

    def __iter__(self) -> Iterator[tuple[Int8Array, CutSampler]]:
        yield from self.found
        for more in self.source:
            self.found.append(more)
            yield more


def _drawers(
    plan: Plan, couplings: FloatArray, budget: Budget
) -> Iterator[tuple[Int8Array, CutSampler]]:
    """Yield gauge states and what samples cuts relative to them, the quickest first.

    All decide edge by edge in the order of one dissection: but for rounding, they turn the same
    numbers into the same cut.
    """
    for entries, wide in _ways(plan, couplings, budget):
        drawer = _cut_sampler(plan, entries, wide=wide, budget=budget)
        if drawer is not None:
            yield entries.spins, drawer


def _ways(plan: Plan, couplings: FloatArray, budget: Budget) -> Iterator[tuple[Entries, bool]]:
    """Yield entries, and whether to calculate with them in double-double.

    On planes the order of the ground state is right for almost all; where a sample shows that it
    has lost a front, other scalings and a search for pivots do.
    """
    if plan.genus == 0:
        last: Entries | None = None
        for last, wide in attempts(plan, couplings, budget):
            yield last, wide
        if last is not None:
            free = last.searched()
            for other in (free, free.unscaled(), last.shaken()):
                yield other, True
    entries = assigned_entries(plan, couplings, budget)
    if entries.in_double_range and plan.genus:
        yield entries, False
    yield entries, True


def _cut_sampler(plan: Plan, entries: Entries, *, wide: bool, budget: Budget) -> CutSampler | None:
    """Return what turns one random number per edge into a cut; None out of range."""
    if plan.genus == 0:
        factors = factorize(plan, entries, wide=wide, for_samples=True, budget=budget)
        if factors is None:
            return None
        total = factors.log_pfaffian.log_magnitude
        return _checked(lambda uniform: factors.sample(uniform, budget=budget), entries, total)
    draw_cut = _surface_sampler(plan, entries, wide=wide, budget=budget)
    if draw_cut is not None and entries.is_cold:
        draw_again = _surface_sampler(plan, entries.shaken(), wide=wide, budget=budget)
        draw_cut = None if draw_again is None else _agreeing(draw_cut, draw_again)
    if draw_cut is None or not entries.is_strong:
        return None if draw_cut is None else _checked(draw_cut, entries, None)
    signed, _ = sum_pfaffians(plan, entries, wide=wide, budget=budget)
    known = signed.log_value if signed.error <= DOUBT / 4 else None
    return _checked(draw_cut, entries, known)


def _checked(draw_cut: CutSampler, entries: Entries, total: float | None) -> CutSampler:
    """Compare what cuts are drawn with to their weights; ``total`` is the log of the sum of all.

    Weights are relative to the gauge state, whose cut is empty.
    """

    def checked(uniform: FloatArray) -> tuple[Array, int, float]:
        cut, undecided, drawn = draw_cut(uniform)
        if total is None:
            return cut, undecided, 0.0
        weight = -2.0 * float(entries.gauged[cut.astype(bool)].sum())
        return cut, undecided, abs(drawn - (weight - total))

    return checked


def _surface_sampler(
    plan: Plan, entries: Entries, *, wide: bool, budget: Budget
) -> CutSampler | None:
    structures = [
        plan._elimination.factorize(
            turned.face, turned.scale, turned.signs, wide=wide, for_samples=True, budget=budget
        )
        for turned in map(entries.with_signs, plan._flips)
    ]
    if not wide and min(f.log_pfaffian.smallest_exponent for f in structures) < -900:
        return None
    return lambda uniform: sample_surface(structures, uniform, budget=budget)


def _agreeing(first: CutSampler, second: CutSampler) -> CutSampler:
    """Count what two samplers decide differently among what is undecided."""

    def draw_cut(uniform: FloatArray) -> tuple[Array, int, float]:
        (cut, undecided, drawn), (again, more, _) = first(uniform), second(uniform)
        return cut, undecided + more + int(np.count_nonzero(cut != again)), drawn

    return draw_cut
