"""Exact samples of one vector of couplings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import PrecisionError
from planaris.kernels.pfaffian import sample_surface
from planaris.kernels.spins import spins_from_disagreements
from planaris.planar.attempts import assigned_entries
from planaris.planar.entries import Entries
from planaris.planar.evaluate import factorize
from planaris.typing import Array, FloatArray, Int8Array

if TYPE_CHECKING:
    from planaris.planar.plan import Plan

CutSampler = Callable[[FloatArray], tuple[Array, int]]
"""From one number in [0, 1) per edge to a cut, and how many edges no weight decided."""


def draw(
    plan: Plan, couplings: FloatArray, size: int, rng: np.random.Generator, **options: Any
) -> Int8Array:
    """Return ``size`` independent samples; see :meth:`planaris.planar.Plan.sample`."""
    entries = assigned_entries(plan, couplings, options["progress"])
    drawers: dict[bool, CutSampler | None] = {}
    result = np.empty((size, plan.num_spins), dtype=np.int8)
    component = plan.embedding.component_of
    for row in result:
        uniform = rng.random(plan._split.num_edges)
        flips = 1 - 2 * rng.integers(0, 2, plan.embedding.num_components, dtype=np.int8)
        for wide in (False, True):
            if not wide and not entries.in_double_range:
                continue
            if wide not in drawers:
                drawers[wide] = _cut_sampler(plan, entries, wide=wide, **options)
            drawer = drawers[wide]
            if drawer is None:
                continue
            cut, undecided = drawer(uniform)
            turned, contradiction = spins_from_disagreements(plan.num_spins, plan._split.edges, cut)
            # Edges around a face are cut an even number of times: a contradiction shows
            # that rounding has decided an edge.
            if contradiction < 0 and undecided == 0:
                break
        else:
            msg = (
                "at this temperature a sample would be decided by rounding, even in "
                "double-double; raise the temperature"
            )
            raise PrecisionError(msg)
        row[:] = turned * entries.spins * flips[component]
    return result


def _cut_sampler(plan: Plan, entries: Entries, *, wide: bool, **options: Any) -> CutSampler | None:
    """Return what turns one random number per edge into a cut; None out of range."""
    if plan.genus == 0:
        factors = factorize(plan, entries, wide=wide, for_samples=True, **options)
        return None if factors is None else lambda uniform: factors.sample(uniform, **options)
    draw_cut = _surface_sampler(plan, entries, wide=wide, **options)
    if draw_cut is None or not entries.is_cold:
        return draw_cut
    draw_again = _surface_sampler(plan, entries.shaken(), wide=wide, **options)
    return None if draw_again is None else _agreeing(draw_cut, draw_again)


def _surface_sampler(
    plan: Plan, entries: Entries, *, wide: bool, **options: Any
) -> CutSampler | None:
    structures = [
        plan._elimination.factorize(
            turned.face, turned.scale, turned.signs, wide=wide, for_samples=True, **options
        )
        for turned in map(entries.with_signs, plan._flips)
    ]
    if not wide and min(f.log_pfaffian.smallest_exponent for f in structures) < -900:
        return None
    return lambda uniform: sample_surface(structures, uniform, progress=options["progress"])


def _agreeing(first: CutSampler, second: CutSampler) -> CutSampler:
    """Count what two samplers decide differently among what is undecided."""

    def draw_cut(uniform: FloatArray) -> tuple[Array, int]:
        (cut, undecided), (again, more) = first(uniform), second(uniform)
        return cut, undecided + more + int(np.count_nonzero(cut != again))

    return draw_cut
