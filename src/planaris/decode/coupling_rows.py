"""Syndromes as rows of couplings of the dual, for sparse elimination."""

from __future__ import annotations

import itertools
import math

import numpy as np

from planaris.decode.graph import DecodingGraph
from planaris.decode.planar_form import PlanarForm
from planaris.kernels.decoding import Erasures
from planaris.typing import Array, BoolArray, FloatArray


def coupling_rows(
    g: DecodingGraph, form: PlanarForm, references: BoolArray, erased: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return couplings of the dual, a row per syndrome, and what log Z lacks of log P."""
    live = form.place >= 0
    weights = np.where(erased, 0.0, g.weights)
    absent = (erased * (-math.log(2.0) - np.log1p(-g.probability))).sum(1) + g.log_absent
    couplings = np.where(references, -weights, weights)[:, live] / 2
    bridges = np.where(references, weights, 0.0)[:, ~live].sum(1)
    if form.logical >= 0:  # closed chains through the logical edge weigh what they weigh
        couplings = np.insert(couplings, form.logical, 0.0, axis=1)
    # The sum of all weights is many times larger than log P: it must not be rounded.
    whole = math.fsum(g.weights[live]) - np.where(erased[:, live], g.weights[live], 0.0).sum(1)
    return couplings, absent - whole / 2 - bridges


def marked_rows(offsets: Array, edges: Array, rows: slice, width: int) -> BoolArray:
    """Return a row of bools per syndrome, True at its edges; all False without offsets."""
    marked = np.zeros((rows.stop - rows.start, width), dtype=np.bool_)
    if len(offsets):
        sizes = np.diff(offsets[rows.start : rows.stop + 1])
        listed = edges[offsets[rows.start] : offsets[rows.stop]]
        marked[np.repeat(np.arange(len(marked)), sizes), listed] = True
    return marked


def even_slices(first: int, last: int, most: int) -> list[slice]:
    """Return slices of about one size, ``most`` or a few: of several rows, none is alone.

    NumPy adds up the terms of a single row in another order than those of many.

    >>> even_slices(0, 7, 1)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    count = last - first
    parts = -(-count // max(most, 3))
    ends = [first + count * k // parts for k in range(parts + 1)] if parts else []
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def erasures_of(erasures: Erasures, chosen: BoolArray) -> Erasures:
    """Return the erasures of the chosen shots."""
    if not len(erasures.offsets):
        return erasures
    sizes = np.diff(erasures.offsets)
    kept = np.repeat(chosen, sizes)
    return Erasures(
        np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64), erasures.edges[kept]
    )


def erasures_between(erasures: Erasures, rows: slice) -> Erasures:
    """Return the erasures of successive shots."""
    if not len(erasures.offsets):
        return erasures
    offsets = erasures.offsets[rows.start : rows.stop + 1]
    return Erasures(offsets - offsets[0], erasures.edges[offsets[0] : offsets[-1]])
