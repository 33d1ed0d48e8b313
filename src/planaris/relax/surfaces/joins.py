"""Lightest T-joins of the dual of a model on a surface, under any weights and fixed edges.

The unsatisfied edges of a state form a T-join of the dual graph, T the frustrated faces. On a
sphere every T-join is such a set. On a surface of genus g it is one only if it also meets 2g cycles
around the handles in the right parity; without that condition its least weight is a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.embed import Embedding
from planaris.kernels.cuts import CutPacking, TJoin, minimum_tjoin, spins_from_disagreements
from planaris.models import IsingModel
from planaris.models.base import exact_sum
from planaris.planar.ground_state import frustrated_faces
from planaris.relax.cut_form import implied_disagreements
from planaris.typing import BoolArray, Int8Array, IntArray, LongArray

BITS = 48
"""Most bits of the largest coupling, when couplings are rounded to integers."""

SUM_BITS = 58
"""Most bits of the sum of all couplings."""

LEAST_EXPONENT = -1074
"""Smallest exponent of a unit: every float is a multiple of it. Proofs count halves of twice a
unit, which are floats."""

Fixings = tuple[tuple[int, bool], ...]
"""Edges that are held satisfied (False) or unsatisfied (True)."""


@dataclass(frozen=True, eq=False)
class Held:
    """Edges whose value is given: ``mask`` says which, ``value`` whether they are unsatisfied."""

    mask: BoolArray
    value: BoolArray


@dataclass(frozen=True, eq=False)
class Join:
    """A T-join and the packing of T-cuts that proves it lightest.

    Attributes
    ----------
    unsatisfied : bool array
        The edges of the T-join.
    bound : int
        No T-join that agrees with the held edges weighs less.
    flipped : bool array
        Edges that the packing sees complemented: those of negative weight, and held ones that
        are unsatisfied.
    packing : CutPacking
        Of the complemented weights.
    """

    unsatisfied: BoolArray
    bound: int
    flipped: BoolArray
    packing: CutPacking


class SurfaceJoins:
    """T-joins of the dual of one model on one surface.

    Attributes
    ----------
    weights : int array
        ``|J|`` in units of ``2**exponent``.
    rounding : float
        What Σ ``|J|`` over any edges may lose by becoming integers.
    negative : bool array
        Edges that are unsatisfied where both spins are equal.
    """

    def __init__(self, model: IsingModel, embedding: Embedding, budget: Budget) -> None:
        self.model, self.embedding, self.budget = model, embedding, budget
        sizes = np.abs(model.couplings)
        bits = min(BITS, SUM_BITS - len(sizes).bit_length())
        self.exponent = max(math.frexp(float(sizes.max(initial=0.0)))[1] - bits, LEAST_EXPONENT)
        self.weights: LongArray = np.rint(np.ldexp(sizes, -self.exponent)).astype(np.int64)
        rounded = np.ldexp(self.weights.astype(np.float64), self.exponent)
        self.rounding = exact_sum(np.abs(sizes - rounded))
        self.negative: BoolArray = np.asarray(model.couplings < 0)
        self.parity = np.zeros(embedding.num_faces, dtype=np.int64)
        self.parity[frustrated_faces(embedding, model.couplings)] = 1
        outer = embedding.outer_faces
        self.free: IntArray = outer[outer >= 0]
        self.nothing = Held(np.zeros(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool))
        self._last: TJoin | None = None
        self.count = 0

    def solve(self, weights: LongArray, held: Held) -> Join:
        """Return a T-join of least weight that agrees with the held edges.

        Negative weights are those of complemented edges: the parity of their ends changes. Once
        the time is over it is that of some state, and the bound that of complemented edges.
        """
        self.count += 1
        flipped = np.where(held.mask, held.value, weights < 0)
        parity = self.parity + np.bincount(
            self.embedding.dual_edges[flipped].ravel(), minlength=self.embedding.num_faces
        )
        parity[self.free] = 0
        whole = not held.mask.any()
        loose = slice(None) if whole else np.flatnonzero(~held.mask)
        least = int(weights[flipped].sum())
        try:
            found = minimum_tjoin(
                self.embedding.num_faces,
                np.ascontiguousarray(self.embedding.dual_edges[loose]),
                np.abs(weights[loose]),
                np.flatnonzero(parity % 2).astype(np.int32),
                self.free,
                start=self._last if whole else None,
                budget=replace(self.budget.quiet(), threads=1),
                give_up=True,
            )
        except TimeoutError:
            return Join(self.negative, least, flipped, CutPacking.empty())
        if whole:
            self._last = found
        unsatisfied = flipped.copy()
        chosen = found.join if whole else np.asarray(loose)[found.join]
        unsatisfied[chosen] ^= True
        return Join(unsatisfied, int(found.lower) + least, flipped, found.certificate)

    def state_of(self, unsatisfied: BoolArray) -> Int8Array | None:
        """Return spins that leave exactly these edges unsatisfied; None if there are none."""
        spins, conflict = spins_from_disagreements(
            self.model.num_spins, self.model.edges, unsatisfied ^ self.negative
        )
        return spins if conflict < 0 else None

    def unsatisfied_by(self, spins: Int8Array) -> BoolArray:
        """Return the edges that a state leaves unsatisfied."""
        u, v = self.model.edges.T
        return np.asarray((spins[u] != spins[v]) ^ self.negative)

    def implied(self, fixings: Fixings) -> Held | None:
        """Return all edges that the given ones decide; None if these contradict each other."""
        if not fixings:
            return self.nothing
        which = np.array([edge for edge, _ in fixings])
        differ = np.array([value for _, value in fixings]) ^ self.negative[which]
        found = implied_disagreements(self.model.num_spins, self.model.edges, which, differ)
        if found is None:
            return None
        same, apart = found
        return Held(same | apart, apart ^ self.negative)

    def weigh(self, unsatisfied: Any) -> int:
        """Return the weight of some edges, in units."""
        return int(self.weights[unsatisfied].sum())
