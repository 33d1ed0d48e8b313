"""Cold plane models as warmer ones: values of moats are cut off where no heavy state sees it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planaris.kernels.cuts import CutPacking
from planaris.planar.pfaffian.entries import Caps, Entries
from planaris.typing import FloatArray, IntArray

CLUSTERED_CAP = 12.0
"""Values of sets are cut off here first where entries need exponents to be in the range of doubles.
A state whose weight this changes has exp(-4 · cap) of the weight of the ground state at most. There
may be very many of them, so what they add is bounded (:func:`cap_loss`) and caps are larger where
that is felt."""

FEW_REJECTED = 1e-12
"""With caps that are expected to reject more, a model does not tell which spins are locked."""

SAMPLE_CAPS = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 10.0)
"""Samples are exact with any: those that are too likely in the capped model are rejected. The
smaller the cap, the less rounding matters."""

MOST_REJECTED = 0.1
"""Samples of a capped model are drawn first where fewer than these are rejected, as expected. Where
many states gain weight more are: then caps are larger."""


def capped(
    entries: Entries,
    packing: CutPacking,
    dual_edges: IntArray,
    cap: float,
    capped_at: Callable[[float], Entries],
) -> tuple[Entries, FloatArray]:
    """Return the entries of the capped model, and the values of its sets.

    Let z be the values of the sets S of a packing that proves a ground state, and
    ``slack = g - Σ z`` of a satisfied edge of gauged coupling g, summed over the sets that the edge
    leaves. A state whose unsatisfied edges are J' lies above the ground state by

        2 Σ_S z_S (#(J' ∩ δS) - 1) + 2 Σ_{e in J'} slack_e,

    where no term is negative. Smaller z and slacks therefore keep the ground states, and lower no
    weight relative to theirs. States of one unsatisfied edge in each capped set, and none of capped
    slack, keep their weights.

    Where nothing is larger than the cap the entries come back as they are.

    Parameters
    ----------
    entries : Entries
        Relative to the ground state; rows not scaled.
    packing : CutPacking
        Its proof.
    dual_edges : numpy.ndarray
        The two faces of every edge; chords, which come after them, lie inside faces.
    cap : float
        Largest value of a set, and half the largest slack.
    capped_at : callable
        Returns the entries to calculate with, with another cap.
    """
    values = packing.values
    shorter = np.minimum(values, cap)
    columns = np.column_stack([values, values - shorter, values > cap])
    sums, lost, leaving = _across(packing, columns, dual_edges)
    gauged = entries.gauged.copy()
    own = gauged[: len(dual_edges)]
    too_long = np.maximum(own - sums[:, 0] - 2 * cap, 0.0)
    # What sets lose is summed up nearly exactly, so that no weight changes that need not.
    sign = np.where(own < 0, -1.0, 1.0)
    own -= sign * sums[:, 1]
    own -= sign * lost[:, 1] + too_long
    slope = np.zeros_like(gauged)
    slope[: len(dual_edges)] = sign * sums[:, 2] + 2.0 * (too_long > 0)
    # To leave a set twice more takes two of its edges and costs exp(-4 cap); so does one edge of
    # capped slack.
    ways = np.count_nonzero(too_long) + float((leaving[values > cap] ** 2).sum())
    if not (values > cap).any() and not too_long.any():
        return entries, values
    caps = Caps(cap, entries.gauged - gauged, slope, math.exp(-4 * cap) * ways, capped_at)
    return replace(entries, gauged=gauged, caps=caps), shorter


def cap_loss(log_ratio: float, step: float) -> float:
    """Return a bound on how probable the states are whose weights caps have raised.

    ``log_ratio`` is how much larger log Z is with caps that are lower by ``step``: that raises the
    weights of those states by another factor of exp(4 step) at least, and lowers none.

    >>> cap_loss(0.0, 1.0)
    0.0
    >>> round(cap_loss(0.01, 1.0), 6)
    0.000188
    """
    return min(math.expm1(min(max(log_ratio, 0.0), 700.0)) / math.expm1(4 * step), 1.0)


def _across(
    packing: CutPacking, values: FloatArray, dual_edges: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums of values over the sets that an edge leaves, and how many leave a set.

    Sums come with what they lost to rounding.
    """
    innermost = np.full(int(dual_edges.max(initial=-1)) + 1, -1, dtype=np.int64)
    sizes = packing.stop - packing.start
    # Parents come first, so the innermost set of a face is written last.
    begin = np.repeat(packing.start - np.cumsum(sizes) + sizes, sizes)
    members = packing.order[begin + np.arange(len(begin))]
    innermost[members] = np.repeat(np.arange(packing.num_sets), sizes)
    total, leaving = np.zeros((len(dual_edges), values.shape[1])), np.zeros(packing.num_sets)
    lost = np.zeros_like(total)
    edge = np.arange(len(dual_edges))
    here, there = innermost[dual_edges[:, 0]], innermost[dual_edges[:, 1]]
    while True:
        # Around a set lie sets of smaller numbers: the larger number is not around the other.
        apart = here != there
        if not apart.any():
            return total, lost, leaving
        edge, here, there = edge[apart], here[apart], there[apart]
        inner = np.maximum(here, there)
        before, term = total[edge], values[inner]
        total[edge] = after = before + term
        added = after - before
        lost[edge] += (before - (after - added)) + (term - added)
        leaving += np.bincount(inner, minlength=packing.num_sets)
        here, there = np.minimum(here, there), packing.parent[inner].astype(np.int64)
