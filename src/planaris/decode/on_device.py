"""Class weights of syndromes on a device, by one elimination; lightest errors from the CPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planaris.budget import Budget
from planaris.decode.coupling_rows import erasures_between
from planaris.decode.graph import DecodingGraph
from planaris.decode.planar_form import PlanarForm
from planaris.kernels.decoding import Erasures, ImpossibleSyndromeError, ShotMatcher
from planaris.typing import Array, BoolArray, FloatArray

if TYPE_CHECKING:
    from planaris.gpu.cosets import CosetRows, DeviceCosets, PendingRows

MOST = 16384
"""Shots that are sent to a device at a time; their successors are matched meanwhile."""


@dataclass(frozen=True, eq=False)
class DeviceWeights:
    """What a device says of every shot.

    Attributes
    ----------
    flips : numpy.ndarray
        bool: the observable of the lightest error.
    other : numpy.ndarray
        P(other class).
    log_probability : numpy.ndarray
        log P(syndrome).
    sound : numpy.ndarray
        bool: False where pivots say that digits were lost.
    """

    flips: BoolArray
    other: FloatArray
    log_probability: FloatArray
    sound: BoolArray


def weigh_on_device(
    there: DeviceCosets,
    matcher: ShotMatcher,
    graph: DecodingGraph,
    form: PlanarForm,
    shots: Array,
    erasures: Erasures,
    budget: Budget,
) -> DeviceWeights:
    """Return the weights of both classes of every syndrome.

    Raises
    ------
    TooLargeError
        The device has too little memory.
    """
    size = there.fit(len(shots))
    step = min(size.models, MOST)
    flips, log_factor = np.empty(len(shots), dtype=np.bool_), np.empty(len(shots))
    waiting: list[PendingRows] = []
    found: list[CosetRows] = []
    for first in range(0, len(shots), step):
        rows = slice(first, min(first + step, len(shots)))
        erased = erasures_between(erasures, rows)
        try:
            match = matcher.match(shots[rows], erasures=erased, keep_edges=True, budget=budget)
        except ImpossibleSyndromeError as error:
            raise ImpossibleSyndromeError(first + error.shot, error.vertex) from None
        flips[rows] = (np.asarray(match.flips) & 1).astype(np.bool_)
        absent, of = _listed(erased.offsets, erased.edges)
        log_factor[rows] = -match.weight
        # Of Π (1 - p), 1 - p became one half.
        halves = np.log1p(np.exp(-graph.weights[absent])) - math.log(2.0)
        np.add.at(log_factor, first + of, halves)
        flipped = _on_the_dual(form, *_listed(match.offsets, match.edges))
        halved = _on_the_dual(form, absent, of)
        waiting.append(there.weigh(rows.stop - first, flipped, halved, size.blocks))
        found += [each.wait() for each in waiting[:-1]]
        waiting = waiting[-1:]
        budget.poll()
    found += [each.wait() for each in waiting]
    log_sum = np.concatenate([each.log_sum for each in found])
    return DeviceWeights(
        flips,
        np.concatenate([each.other for each in found]),
        graph.log_absent + log_factor + log_sum,
        np.concatenate([each.sound for each in found]),
    )


def _listed(offsets: Array, items: Array) -> tuple[Array, Array]:
    """Return items of a ragged list, and the row that each belongs to."""
    if not len(offsets):
        return items, np.zeros(0, dtype=np.int64)
    return items, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _on_the_dual(form: PlanarForm, edges: Array, rows: Array) -> tuple[Array, Array]:
    """Return edges of the dual and their rows, without bridges."""
    place = form.place[edges]
    return place[place >= 0], rows[place >= 0]
