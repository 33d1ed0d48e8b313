"""Ways to eliminate one vector of couplings, from the fastest to the safest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError
from planaris.kernels.cuts import CutPacking
from planaris.kernels.pfaffian import any_order
from planaris.kernels.plane_models import PlaneModels
from planaris.matching.tjoins import TJoin
from planaris.models.base import exact_sum
from planaris.planar.ground_state import gauge_spins
from planaris.planar.pfaffian.capped_moats import (
    CLUSTERED_CAP,
    MOST_REJECTED,
    SAMPLE_CAPS,
    capped,
)
from planaris.planar.pfaffian.entries import CALM_COUPLING, LARGEST_WIDE, Entries
from planaris.typing import BoolArray, FloatArray, Int8Array

if TYPE_CHECKING:
    from planaris.planar.pfaffian.evaluator import PfaffianEvaluator

WEAK_COUPLING = 3.0
"""Up to here no gauge is tried first: entries are of one size, more or less."""

UNSCALED_COUPLING = 1.0
"""Up to here neither gauge nor scaling is of use to signed sums and samples."""

MODERATE_COUPLING = 8.0
"""Up to here elimination is tried without scaling first."""

SHALLOW = 40.0
"""Sum of the values around a face up to which rounding hardly ever decides a sample."""

MOAT_SLACK = 1.0
"""Sets of faces are not waited for while entries grow by no more than e to this power."""


def attempts(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    budget: Budget,
    *,
    for_samples: bool = False,
    flips: bool = False,
) -> Iterator[tuple[Entries, bool]]:
    """Yield entries, and whether to calculate with them in double-double.

    The Pfaffian is the same in all of them, but for caps, which come with larger ones. On plane
    graphs the packing of cuts that proves the ground state tells how to scale and in which order to
    eliminate. Where doubles have too narrow a range, blocks of entries have exponents, and its
    values are capped: there are fewer exponents then. For samples smaller caps come first. With
    ``flips`` large models are tried first relative to a state found by flips, in the order of the
    dissection: what log Z loses there is seen, what an inverse loses is not. On other surfaces
    rows are scaled by an assignment and pivots are searched for. There are none for couplings past
    the range of double-double.
    """
    largest = np.abs(couplings).max(initial=0.0)
    if largest >= LARGEST_WIDE:
        return
    by_flips = flips and CALM_COUPLING < largest <= MODERATE_COUPLING and not evaluator.in_batches
    if by_flips and (models := evaluator.models) is not None:
        # A low state will do, and no pivot is below its join; without a gauge the elimination
        # that checks the first one would refuse most pivots.
        yield flipped_entries(evaluator, models, couplings, budget), False
    elif largest <= WEAK_COUPLING:
        yield _entries(evaluator, couplings, np.ones(evaluator.num_spins, dtype=np.int8)), False
    if not evaluator.genus:
        yield from _plane_attempts(evaluator, couplings, budget, for_samples)
        return
    spins, _ = gauge_spins(evaluator.embedding, couplings, budget=budget)
    entries = _entries(evaluator, couplings, spins)
    if WEAK_COUPLING < largest <= MODERATE_COUPLING:
        yield entries, False
    entries = _assigned(evaluator, entries, budget)
    if entries.in_double_range:
        yield entries, False
    if entries.in_wide_range:
        yield entries, True


def _plane_attempts(
    evaluator: PfaffianEvaluator,
    couplings: FloatArray,
    budget: Budget,
    for_samples: bool,
) -> Iterator[tuple[Entries, bool]]:
    """Yield the attempts relative to low states of a plane model."""
    spins, unsatisfied = gauge_spins(evaluator.embedding, couplings, budget=budget)
    faces, packing = evaluator.embedding.dual_edges, unsatisfied.certificate
    bare = replace(_entries(evaluator, couplings, spins), packing=packing)
    budget.check()
    if WEAK_COUPLING < np.abs(couplings).max(initial=0.0) <= MODERATE_COUPLING:
        yield bare, False
    by_moats = _by_moats(evaluator, unsatisfied)
    entries = by_moats(bare, packing.values)
    budget.check()

    def with_cap(cap: float) -> Entries:
        return by_moats(*capped(bare, packing, faces, cap, with_cap))

    def clustered(cap: float) -> Entries:
        return by_moats(*capped(bare, packing, faces, cap, clustered), clustered=True)

    if for_samples:
        shorter = (capped(bare, packing, faces, cap, with_cap) for cap in SAMPLE_CAPS)
        warmest = next((x for x in shorter if x[0].rejected <= MOST_REJECTED), None)
        found = entries if warmest is None else by_moats(*warmest)
        at_once = entries.in_double_range or found.deepest <= SHALLOW
        if at_once:
            yield found, False
    if entries.in_double_range:
        yield entries, False
    else:
        yield clustered(CLUSTERED_CAP), False
    if for_samples:
        if found.in_double_range and not at_once:
            yield found, False
        yield found, True
    elif not entries.in_double_range and (short := with_cap(CLUSTERED_CAP)).in_double_range:
        yield short, True  # in the range of the fast kernels for double-doubles
    if entries.in_wide_range:
        yield entries, True


def assigned_entries(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget
) -> Entries:
    """Return entries whose joins may change their signs: scaled by an assignment, no order."""
    largest = np.abs(couplings).max(initial=0.0)
    if largest <= UNSCALED_COUPLING:
        return _entries(evaluator, couplings, np.ones(evaluator.num_spins, dtype=np.int8))
    if largest < LARGEST_WIDE:
        spins, _ = gauge_spins(evaluator.embedding, couplings, budget=budget)
        entries = _assigned(evaluator, _entries(evaluator, couplings, spins), budget)
        if entries.in_wide_range:
            return entries
    msg = (
        f"`couplings` must stay below {LARGEST_WIDE:g} in size, got {largest:g}: "
        "rounding would decide; `ground_state` has no such limit"
    )
    raise PrecisionError(msg)


def _entries(evaluator: PfaffianEvaluator, couplings: FloatArray, spins: Int8Array) -> Entries:
    """Return the entries relative to a gauge state, rows not scaled."""
    relative = np.where(agreements(evaluator, spins), couplings, -couplings)
    gauged = np.concatenate([relative, np.zeros(evaluator.split.num_edges - evaluator.num_edges)])
    return Entries(spins, gauged, np.zeros(2 * len(gauged)), evaluator.elimination.signs)


def flipped_entries(
    evaluator: PfaffianEvaluator, models: PlaneModels, couplings: FloatArray, budget: Budget
) -> Entries:
    """Return the entries of a plane model relative to a low state, in the dissection's order."""
    entries = _entries(evaluator, couplings, models.flipped_state(couplings, budget=budget))
    order = any_order(evaluator.split.num_edges)
    return replace(entries, order=order, threads=budget.workers())


def ordered_entries(
    evaluator: PfaffianEvaluator, couplings: FloatArray, budget: Budget, *, slack: float
) -> Entries:
    """Return the entries of a plane model relative to a ground state, scaled and ordered."""
    spins, unsatisfied = gauge_spins(evaluator.embedding, couplings, budget=budget)
    packing = unsatisfied.certificate
    entries = replace(_entries(evaluator, couplings, spins), packing=packing)
    return _by_moats(evaluator, unsatisfied, slack)(entries, packing.values)


def _by_moats(
    evaluator: PfaffianEvaluator, unsatisfied: TJoin, slack: float = MOAT_SLACK
) -> Callable[..., Entries]:
    """Return what scales and orders entries by the sets of a packing with given values."""
    packing = _of_pieces(evaluator, unsatisfied.certificate)

    def by_moats(entries: Entries, values: FloatArray, *, clustered: bool = False) -> Entries:
        # Chords are satisfied where their ends agree; no set of the packing parts a face.
        u, v = evaluator.split.edges[evaluator.num_edges :].T
        chords = evaluator.num_edges + np.flatnonzero(entries.spins[u] != entries.spins[v])
        join = np.concatenate([unsatisfied.join, chords]).astype(np.int32)
        scale, order, deepest = evaluator.elimination.order_by_moats(
            packing, values, entries.gauged, join, slack, clustered=clustered
        )
        found = replace(entries, scale=scale, order=order, deepest=deepest)
        return replace(found, order=replace(order, underflow=found.in_double_range))

    return by_moats


def _of_pieces(evaluator: PfaffianEvaluator, packing: CutPacking) -> CutPacking:
    """Return a packing of faces as one of the pieces that chords split them into."""
    whole = evaluator.face_of_piece
    pieces = np.argsort(whole, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(whole, minlength=evaluator.embedding.num_faces))
    begin = np.concatenate([[0], ends[:-1]])[packing.order]
    sizes = ends[packing.order] - begin
    place = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    shift = np.repeat(begin - place[:-1], sizes)
    return replace(
        packing,
        order=pieces[np.arange(len(shift)) + shift],
        start=place[packing.start],
        stop=place[packing.stop],
    )


def _assigned(evaluator: PfaffianEvaluator, entries: Entries, budget: Budget) -> Entries:
    return replace(entries, scale=evaluator.elimination.scaling(entries.gauged, budget=budget))


def agreements(evaluator: PfaffianEvaluator, spins: Int8Array) -> BoolArray:
    """Return which edges join equal spins."""
    u, v = evaluator.embedding.edges[:, 0], evaluator.embedding.edges[:, 1]
    return np.asarray(spins[u] == spins[v])


def log_constant(evaluator: PfaffianEvaluator, entries: Entries) -> float:
    """Return log Z - log Pf: the gauge state and the flips of every component."""
    removed = [] if entries.caps is None else [entries.caps.removed]
    parts = np.concatenate([entries.gauged, *removed])
    return evaluator.embedding.num_components * math.log(2.0) + exact_sum(parts)
