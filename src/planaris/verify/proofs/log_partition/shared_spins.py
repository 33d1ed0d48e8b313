"""Bounds on log Z from pieces that share spins: logarithms of sums, computed again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from planaris.models import IsingModel
from planaris.result import ConditionalPieces, HolderPieces
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import indices, real_row, require, runs
from planaris.verify.recompute.elimination import Recomputed

_UNIT = 2.0**-53

LEAST_WEIGHT = 1e-50
"""Smaller ones would take logarithms, which are divided by them, past the range of doubles."""

LARGEST = 1e200
"""Logarithms of larger size are not followed."""

MAX_AXES = 24
"""Spins in the table of a piece, at most; wider ones are not recomputed."""


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The arrays of a proof, checked."""

    model: IsingModel
    spin_begins: Array
    spins: Array
    fields: FloatArray
    weights: FloatArray
    edge_begins: Array
    edges: Array
    couplings: FloatArray

    @classmethod
    def of(cls, model: IsingModel, proof: HolderPieces) -> _Pieces:
        """Read the pieces of a proof, or refuse it."""
        spins = indices(proof.spins, "spins", model.num_spins)
        edges = indices(proof.edges, "edges", model.num_edges)
        fields, weights = real_row(proof.fields, "fields"), real_row(proof.weights, "weights")
        couplings = real_row(proof.couplings, "couplings")
        require(fields.shape == weights.shape == spins.shape, "spins have fields and weights")
        require(couplings.shape == edges.shape, "edges have couplings")
        count = np.size(proof.spin_offsets) - 1
        spin_begins = runs(proof.spin_offsets, "spin_offsets", count, len(spins))
        edge_begins = runs(proof.edge_offsets, "edge_offsets", count, len(edges))
        inside = (weights >= LEAST_WEIGHT) & (weights <= 1)
        require(bool(np.all(inside)), f"weights are at least {LEAST_WEIGHT}, at most one")
        finite = np.isfinite(fields).all() and np.isfinite(couplings).all()
        require(bool(finite), "fields and couplings are numbers")
        owner = np.repeat(np.arange(count), np.diff(spin_begins))
        require(_once(owner, spins, model.num_spins), "a piece has a spin once")
        holder = np.repeat(np.arange(count), np.diff(edge_begins))
        require(_once(holder, edges, model.num_edges), "a piece has an edge once")
        require(bool(np.all(np.bincount(spins, minlength=model.num_spins))), "no spin is left out")
        return cls(model, spin_begins, spins, fields, weights, edge_begins, edges, couplings)

    @property
    def copies(self) -> Array:
        """The number of pieces that hold each spin."""
        return np.bincount(self.spins, minlength=self.model.num_spins)

    def missed(self) -> tuple[float, float]:
        """Return how far the pieces are from the model, and what rounding may add to it.

        A weight too much or too little moves a power sum, or an entropy, by log 2 times that.
        """
        model = self.model
        away = np.bincount(self.edges, self.couplings, model.num_edges) - model.couplings
        off = np.bincount(self.spins, self.fields, model.num_spins) - model.fields
        rest = np.abs(np.bincount(self.spins, self.weights, model.num_spins) - 1.0)
        require(bool(np.all(rest <= 1e-9)), "the weights of a spin add up to one")
        size = float(np.abs(self.couplings).sum() + np.abs(self.fields).sum())
        size += float(np.abs(model.couplings).sum() + np.abs(model.fields).sum())
        most = int(self.copies.max(initial=1)) + 4
        miss = math.fsum([*np.abs(away).tolist(), *np.abs(off).tolist(), *(2 * rest).tolist()])
        return miss, 8 * _UNIT * most * (size + model.num_spins)

    def ordered(self) -> bool:
        """Return True if one order of all spins agrees with the orders of all pieces."""
        follow = np.ones(len(self.spins), dtype=bool)
        follow[self.spin_begins[1:-1][self.spin_begins[1:-1] < len(follow)]] = False
        follow[:1] = False
        after = np.flatnonzero(follow)
        links = (np.ones(len(after)), (self.spins[after - 1], self.spins[after]))
        shape = (self.model.num_spins,) * 2
        count, _ = connected_components(coo_array(links, shape), connection="strong")
        return int(count) == self.model.num_spins

    def equal_weights(self) -> bool:
        """Return True if the shared spins of every piece have the same weight w there.

        Their power sums then commute, so Hölder's inequality holds in any order after all other
        spins. To go before one of those can only make them larger: ‖Σ f‖ <= Σ ‖f‖ for the norm
        with exponent 1 / w >= 1 (Minkowski). So pieces may have different orders.
        """
        shared = self.copies[self.spins] > 1
        piece = np.repeat(np.arange(len(self.spin_begins) - 1), np.diff(self.spin_begins))
        least = np.full(len(self.spin_begins) - 1, np.inf)
        np.minimum.at(least, piece[shared], self.weights[shared])
        return bool(np.all(self.weights[shared] == least[piece[shared]]))


def _once(owner: Array, items: Array, count: int) -> bool:
    own = owner * max(count, 1) + items
    return len(np.unique(own)) == len(own)


@dataclass(eq=False)
class _Table:
    """Logarithms over the values of some spins, -1 before +1 along each axis."""

    logs: FloatArray = field(default_factory=lambda: np.zeros(()))
    axes: list[int] = field(default_factory=list)
    value: float = 0.0
    slack: float = 0.0
    terms: int = 0  # added to every entry since the last spin was removed
    added: float = 0.0  # and their sizes

    def shaped(self, *spins: int) -> tuple[int, ...]:
        return tuple(2 if spin in spins else 1 for spin in self.axes)

    def need(self, spin: int) -> None:
        if spin not in self.axes:
            self.logs = np.repeat(self.logs[..., None], 2, axis=-1)
            self.axes.append(spin)

    def couple(self, u: int, v: int, coupling: float) -> None:
        self.need(u)
        self.need(v)
        self._add(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]), u, v)

    def bias(self, spin: int, minus: float, plus: float) -> None:
        self.need(spin)
        self._add(np.array([minus, plus]), spin)

    def _add(self, logs: FloatArray, *spins: int) -> None:
        self.logs = self.logs + logs.reshape(self.shaped(*spins))
        self.terms += 1
        self.added += float(np.abs(logs).max())

    def remove(self, spin: int, join: Callable[[FloatArray, FloatArray], FloatArray]) -> None:
        """Replace the two halves of a spin by what ``join`` makes of them."""
        axis = self.axes.index(spin)
        minus, plus = (np.take(self.logs, k, axis) for k in (0, 1))
        # No sum on the way was larger than what came of it and all that was added.
        size = float(np.abs(self.logs).max()) + self.added
        joined = join(minus, plus)
        self.axes.remove(spin)
        top = float(joined.max())
        self.logs, self.value = joined - top, self.value + top
        # Sums, products and logarithms of numbers of this size, rounded a few times each.
        self.slack += _UNIT * ((32 + 2 * self.terms) * (size + 2) + 2 * abs(self.value))
        self.terms, self.added = 0, 0.0
        if not size < LARGEST:  # divided by a weight it might be infinite
            self.slack = math.inf


def holder_bound(model: IsingModel, proof: HolderPieces) -> Recomputed | None:
    """Return the sum of the pieces' power sums; None where a piece is too wide."""
    pieces = _Pieces.of(model, proof)
    orders = pieces.ordered() or pieces.equal_weights()
    require(orders, "the orders of the pieces agree, or the weights of shared spins do")

    def power(_: _Table, spin: int, weight: float) -> Callable[..., FloatArray]:
        if pieces.copies[spin] == 1:
            require(weight == 1.0, "a spin of one piece has weight one")
        return lambda a, b: weight * np.logaddexp(a / weight, b / weight)

    return _summed(pieces, power, 1.0)


def conditional_bound(model: IsingModel, proof: ConditionalPieces) -> Recomputed | None:
    """Return mean log weight + entropy, spins of one piece being summed over."""
    require(isinstance(proof.pieces, HolderPieces), "there are pieces")
    assert isinstance(proof.pieces, HolderPieces), "checked"
    pieces = _Pieces.of(model, proof.pieces)
    up = real_row(proof.up, "up")
    require(up.shape == (2 * model.num_spins,), "every spin has two probabilities")
    up = up.reshape(-1, 2)
    context = _contexts(pieces, proof)
    shared = pieces.copies > 1
    inside = np.all((up[shared] > 1e-14) & (up[shared] < 1 - 1e-14))
    require(bool(inside), "probabilities of shared spins are inside (0, 1)")

    def mean(table: _Table, spin: int, weight: float) -> Callable[..., FloatArray]:
        if not shared[spin]:
            require(weight == 1.0, "a spin of one piece has weight one")
            return np.logaddexp
        given = int(context[spin])
        if given >= 0:
            table.need(given)
        shape = tuple(2 if axis == given else 1 for axis in table.axes if axis != spin)
        plus = up[spin] if given >= 0 else up[spin, :1]
        p = plus.reshape(shape)
        q = 1.0 - p
        return lambda a, b: q * (a - weight * np.log(q)) + p * (b - weight * np.log(p))

    return _summed(pieces, mean, -1.0)


def _contexts(pieces: _Pieces, proof: ConditionalPieces) -> Array:
    """Return the context of every spin: shared, later, and in every piece that holds the spin."""
    model = pieces.model
    context = np.asarray(proof.context)
    require(
        context.shape == (model.num_spins,) and context.dtype.kind in "iu", "contexts are spins"
    )
    require(
        bool(np.all((context >= -1) & (context < model.num_spins))), "contexts are spins or none"
    )
    shared = pieces.copies > 1
    context = np.where(shared, context, -1)
    require(bool(np.all(shared[context[context >= 0]])), "contexts are shared spins")
    place = np.empty(model.num_spins, dtype=np.int64)
    for first, last in zip(pieces.spin_begins[:-1], pieces.spin_begins[1:], strict=True):
        spins = pieces.spins[first:last]
        place[:] = -1
        place[spins] = np.arange(len(spins))
        given = context[spins]
        later = (given < 0) | (place[given] > place[spins])
        require(bool(np.all(later)), "the context of a spin comes later in its pieces")
    return context


def _summed(
    pieces: _Pieces, join_of: Callable[[_Table, int, float], Callable[..., FloatArray]], sign: float
) -> Recomputed | None:
    """Return the logarithms of all pieces, added up, and what they miss on the side of ``sign``."""
    model = pieces.model
    values: list[float] = []
    miss, slack = pieces.missed()
    for k in range(len(pieces.spin_begins) - 1):
        with np.errstate(all="ignore"):  # what overflows is not finite in the end
            table = _piece(pieces, k, join_of)
        if table is None or not math.isfinite(table.value + table.slack):
            return None
        values.append(table.value)
        slack += table.slack
    value = math.fsum([*values, sign * miss, model.offset])
    return Recomputed(value, slack + 8 * _UNIT * (abs(value) + abs(model.offset) + len(values)))


def _piece(
    pieces: _Pieces, k: int, join_of: Callable[[_Table, int, float], Callable[..., FloatArray]]
) -> _Table | None:
    """Return the table of a piece after all of its spins are gone; None if it is too wide."""
    first, last = (int(pieces.spin_begins[k + j]) for j in (0, 1))
    spins = pieces.spins[first:last].tolist()
    place = {spin: i for i, spin in enumerate(spins)}
    coming: list[list[tuple[int, float]]] = [[] for _ in spins]
    some = slice(int(pieces.edge_begins[k]), int(pieces.edge_begins[k + 1]))
    ends = pieces.model.edges[pieces.edges[some]].tolist()
    for (u, v), coupling in zip(ends, pieces.couplings[some].tolist(), strict=True):
        require(u in place and v in place, "a piece holds both ends of its edges")
        early, late = (u, v) if place[u] < place[v] else (v, u)
        coming[place[early]].append((late, coupling))
    table = _Table()
    for i, spin in enumerate(spins):
        value = float(pieces.fields[first + i])
        table.bias(spin, -value, value)
        for other, coupling in coming[i]:
            table.couple(spin, other, coupling)
        if len(table.axes) > MAX_AXES:
            return None
        table.remove(spin, join_of(table, spin, float(pieces.weights[first + i])))
    return table
