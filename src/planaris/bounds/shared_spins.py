"""Both ends of an interval around log Z from pieces that share spins.

From above: Σ_s Π_r f_r(s) <= Π_r (Σ_s f_r(s)^(1/w_r))^w_r for weights that add up to one, spin by
spin in one order (Hölder; weighted mini-buckets of Liu and Ihler 2011). From below: shared spins
have probabilities q of their own, and spins of one piece are free given them (Jensen).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.kernels.piece_bounds import sweep_above, sweep_below
from planaris.result import ConditionalPieces, HolderPieces
from planaris.subgraphs.bias_model import EPSILON, LOG2
from planaris.subgraphs.covers import Cover
from planaris.typing import BoolArray, FloatArray, LongArray

LEAST_WEIGHT = 1e-4
"""Smallest weight of a copy of a shared spin."""

LARGEST_LOGIT = 30.0

LEAST_LENGTH, LONGER = 0.1, 1.3
"""Smallest step of the probabilities, and the factor by which steps grow after a gain."""

CONVERGED = 1e-7
"""Gain of a step, per spin, below which a search stops."""


class _Converged(Exception):
    """Raised inside the optimiser when nothing is gained any more."""


class HolderSearch:
    """An upper bound on log Z that shares out fields, couplings and weights of shared spins.

    Parameters
    ----------
    cover : Cover
        Pieces whose orders agree with one order of all spins.
    start : HolderSearch, optional
        One with the same pieces in other orders, to start from.
    """

    def __init__(self, cover: Cover, start: HolderSearch | None = None) -> None:
        self.cover = cover
        sizes = np.diff(cover.spin_offsets)
        piece = np.repeat(np.arange(len(sizes)), sizes)
        self._places = np.lexsort((cover.spins, piece))
        self.free = _weights_matter(cover, piece)
        count = len(cover.spins) + len(cover.edges)
        self.upper = math.inf
        self.best: FloatArray
        if start is not None:
            self.best = self._as_ordered(start._by_spin(start.best))
        else:
            self.best = np.concatenate([np.zeros(count), self._first_logits(piece)])
        self.evaluations = 0
        self._proof: HolderPieces | None = None

    def _first_logits(self, piece: LongArray) -> FloatArray:
        """Return small weights for copies in pieces of weak edges that the main ones leave out."""
        cover, count = self.cover, len(self.cover.spin_offsets) - 1
        owner = np.repeat(np.arange(count), np.diff(cover.edge_offsets))
        size = np.tanh(cover.model.couplings[cover.edges]) ** 2
        ends = cover.model.edges[cover.edges]
        place = owner[:, None] * cover.model.num_spins + ends
        own = piece * cover.model.num_spins + cover.spins
        order = np.argsort(own)
        at = order[np.searchsorted(own[order], place.ravel())]
        near = np.bincount(at, np.repeat(size, 2), len(own))
        logits = np.where(piece < cover.num_main, 0.0, np.log(np.maximum(near, LEAST_WEIGHT)))
        return np.asarray(np.where(self.free, logits, 0.0))

    def _by_spin(self, x: FloatArray) -> FloatArray:
        n = len(self._places)
        y, couplings, logits = x[:n], x[n:-n], x[-n:]
        return np.concatenate([y[self._places], couplings, logits[self._places]])

    def _as_ordered(self, x: FloatArray) -> FloatArray:
        n = len(self._places)
        back = np.argsort(self._places)
        return np.concatenate([x[:n][back], x[n:-n], x[-n:][back]])

    def numbers(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the couplings, fields and weights of all pieces."""
        cover, n = self.cover, len(self.cover.spins)
        y, z, logits = x[:n], x[n:-n], x[-n:]
        weights = self.weights(logits)
        share = cover.model.fields + 0.0
        mean = np.bincount(cover.spins, weights * y, cover.model.num_spins)
        fields = weights * (share[cover.spins] + y - mean[cover.spins])
        held = np.maximum(cover.holders, 1)
        rest = (cover.model.couplings - np.bincount(cover.edges, z, len(held))) / held
        return z + rest[cover.edges], fields, weights

    def weights(self, logits: FloatArray) -> FloatArray:
        """Return weights of copies that add up to one for every spin."""
        cover = self.cover
        spins, count = cover.spins, cover.model.num_spins
        largest = np.full(count, -math.inf)
        np.maximum.at(largest, spins, logits)
        size = np.maximum(np.exp(logits - largest[spins]), LEAST_WEIGHT)
        total = np.bincount(spins, size, count)
        return np.asarray(np.where(self.free, size / total[spins], 1.0 / cover.copies[spins]))

    def value(self, x: FloatArray, budget: Budget) -> tuple[float, FloatArray]:
        """Return the bound, less the offset, and its gradient; keep the best point."""
        cover, n = self.cover, len(self.cover.spins)
        couplings, fields, weights = self.numbers(x)
        found = sweep_above(cover.sweep, couplings, fields, weights, budget=budget)
        self.evaluations += 1
        total = float(found.logs.sum())
        safe = total + float(found.errors.sum())
        safe += _miss(cover, couplings, fields, weights) + 8 * EPSILON * abs(total)
        if safe < self.upper:
            self.upper, self.best, self._proof = safe, x.copy(), None
        spins, count = cover.spins, cover.model.num_spins
        mean = np.bincount(spins, weights * found.by_field, count)[spins]
        by_y = weights * (found.by_field - mean)
        held = np.maximum(cover.holders, 1)
        pairs = np.bincount(cover.edges, found.by_coupling, len(held)) / held
        by_z = found.by_coupling - pairs[cover.edges]
        y = x[:n]
        by_weight = found.by_weight + found.by_field * fields / weights - mean * y
        average = np.bincount(spins, weights * by_weight, count)[spins]
        by_logits = np.where(self.free, weights * (by_weight - average), 0.0)
        return total, np.concatenate([by_y, by_z, by_logits])

    def minimise(self, max_evaluations: int, budget: Budget) -> bool:
        """Run L-BFGS from the best point; return True unless time ran out."""
        from scipy import optimize
        from threadpoolctl import threadpool_limits

        least = CONVERGED * self.cover.model.num_spins
        last: list[float] = []

        def after(_: Any) -> None:
            last.append(self.upper)
            if len(last) > 1 and last[-2] - last[-1] < least:
                raise _Converged

        options: Any = {"maxfun": max_evaluations, "maxcor": 10, "ftol": 1e-14, "gtol": 1e-9}
        solve: Any = optimize.minimize
        try:
            with threadpool_limits(1):
                solve(
                    lambda x: self.value(x, budget),
                    self.best,
                    jac=True,
                    method="L-BFGS-B",
                    callback=after,
                    options=options,
                )
        except _Converged:
            return True
        except TimeoutError:
            return False
        return True

    def bound(self) -> float:
        """Return the proved upper bound on log Z of the model, infinite if there is none yet."""
        offset = self.cover.model.offset
        return self.upper + offset + 4 * EPSILON * (abs(self.upper) + abs(offset))

    def proof(self) -> HolderPieces:
        """Return the best point as plain arrays."""
        return _as_proof(self.cover, *self.numbers(self.best))


class ConditionalSearch:
    """A lower bound on log Z: probabilities of shared spins, improved in turn.

    Parameters
    ----------
    cover : Cover
        Its pieces, each in an order of its own; every piece that holds a spin holds its context.
    up : numpy.ndarray, optional
        Probabilities of +1 of every spin, for either value of its context, to start from.
    """

    def __init__(self, cover: Cover, up: FloatArray | None = None) -> None:
        self.cover = cover
        count = cover.model.num_spins
        self.up = np.full((count, 2), 0.5) if up is None else up
        self.lower = -math.inf
        self.best = self.up
        self.next: FloatArray | None = None
        self.length = 1.0
        weights = 1.0 / cover.copies[cover.spins]
        fields = cover.model.fields[cover.spins] * weights
        couplings = cover.model.couplings[cover.edges] / cover.holders[cover.edges]
        self.arrays = couplings, fields, weights

    def step(self, budget: Budget) -> float:
        """Evaluate the present probabilities and move to better ones; return what is gained.

        Given the probabilities of all others, those of one shared spin are best when they are
        proportional to the exponential of the mean logarithm that follows. All move at once,
        and halfway back towards the best ones where that has lost; later steps are shorter then.
        """
        cover = self.cover
        up = np.ascontiguousarray(self.up[cover.spins].ravel())
        found = sweep_below(cover.sweep, *self.arrays, up, budget=budget)
        total = float(found.logs.sum())
        safe = total - float(found.errors.sum())
        safe -= _miss(cover, *self.arrays) + 8 * EPSILON * abs(total)
        before = self.lower
        if safe <= before:
            assert self.next is not None, "a first step always gains"
            self.length = max(self.length / 2, LEAST_LENGTH)
            self.next = (self.next + _logit(self.best)) / 2
            self.up = _probability(self.next)
            return 0.0
        self.lower, self.best = safe, self.up
        count = cover.model.num_spins
        gain = np.stack([np.bincount(cover.spins, found.gain[:, c], count) for c in (0, 1)], 1)
        # The gain holds minus the logit of q, once.
        there = _logit(self.up) + self.length * gain
        self.next = np.clip(there, -LARGEST_LOGIT, LARGEST_LOGIT)
        self.length = min(LONGER * self.length, 1.0)
        self.up = _probability(self.next)
        return safe - before

    def bound(self) -> float:
        """Return the proved lower bound on log Z of the model, minus infinity at first."""
        offset = self.cover.model.offset
        return self.lower + offset - 4 * EPSILON * (abs(self.lower) + abs(offset))

    def proof(self) -> ConditionalPieces:
        """Return the best distribution as plain arrays."""
        pieces = _as_proof(self.cover, *self.arrays)
        return ConditionalPieces(pieces, self.cover.context, self.best.ravel())


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(np.log(p) - np.log1p(-p))


def _probability(logit: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _weights_matter(cover: Cover, piece: LongArray) -> BoolArray:
    """Return True for copies of spins that main pieces share with others."""
    other = np.zeros(cover.model.num_spins, dtype=bool)
    other[cover.spins[piece >= cover.num_main]] = True
    return np.asarray(other[cover.spins] & (cover.copies[cover.spins] > 1))


def _miss(cover: Cover, couplings: FloatArray, fields: FloatArray, weights: FloatArray) -> float:
    """Return what rounding leaves between the pieces and the model, at its most."""
    model = cover.model
    away = np.abs(np.bincount(cover.edges, couplings, model.num_edges) - model.couplings).sum()
    away += np.abs(np.bincount(cover.spins, fields, model.num_spins) - model.fields).sum()
    size = np.abs(couplings).sum() + np.abs(fields).sum()
    rest = np.abs(np.bincount(cover.spins, weights, model.num_spins) - 1.0).sum()
    most = int(cover.copies.max(initial=1)) + int(cover.holders.max(initial=1)) + 4
    rounding = EPSILON * most * (float(size) + model.num_spins)
    return float(away) + 2 * LOG2 * float(rest) + rounding


def _as_proof(
    cover: Cover, couplings: FloatArray, fields: FloatArray, weights: FloatArray
) -> HolderPieces:
    return HolderPieces(
        cover.spin_offsets,
        cover.spins,
        fields,
        weights,
        cover.edge_offsets,
        cover.edges,
        couplings,
    )
