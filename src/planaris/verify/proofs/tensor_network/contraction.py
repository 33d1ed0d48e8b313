"""Check a proved contraction: log Z of an Ising grid, row by row, and how far it may be off.

The rows are applied, cut back and bounded again (docs/theory/tensor-network.md has the theorem).
What the proof holds, bond dimensions and the trees of words by which vectors are enclosed, says
how to come by a narrow interval. Nothing of it has to be believed: others give wider ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np

from planaris.models import IsingModel
from planaris.result import Contraction
from planaris.typing import FloatArray, LongArray
from planaris.verify.proof_arrays import indices, require, runs, whole_row
from planaris.verify.proofs.tensor_network.boundary_boxes import Boxes, Chain
from planaris.verify.proofs.tensor_network.boundary_rows import (
    TAU,
    Grid,
    Row,
    State,
    apply_row,
    compress,
    even_flat,
)
from planaris.verify.proofs.tensor_network.rounding import (
    TINY,
    UNIT,
    Lost,
    difference,
    gamma,
    logarithm,
    raised,
)

MOST_BOND = 256
"""Largest dimension of a bond."""

_EXTENDED_WORK = 2**21
_PAIRS = 2**21
_SAFE = 0.5
_DIGITS = Context(prec=40)


def contraction_interval(model: IsingModel, proof: Contraction) -> tuple[float, float]:
    """Return ends that hold for log Z; infinite where nothing is proved.

    Raises
    ------
    VerificationError
        When the proof is not one about this model.
    """
    witness = Witness.of(model, proof)
    grid = grid_of(model, witness.columns, other_way=bool(proof.other_way))
    try:
        value, width = _contract(grid, witness)
    except Lost:
        return -math.inf, math.inf
    value = _DIGITS.add(value, Decimal(model.offset))
    ends = [_DIGITS.add(value, Decimal(sign * width)) for sign in (-1, 1)]
    if not all(end.is_finite() for end in ends):
        return -math.inf, math.inf
    low, high = map(float, ends)
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


@dataclass(frozen=True, eq=False)
class Witness:
    """The arrays of a proof, checked."""

    columns: int
    wide: int  # columns of the grid that is swept
    bonds: LongArray
    words: LongArray
    word_offsets: LongArray
    hulls: LongArray
    hull_offsets: LongArray
    refined: LongArray
    refined_offsets: LongArray

    @classmethod
    def of(cls, model: IsingModel, proof: Contraction) -> Witness:
        """Read the arrays of a proof about a model, or refuse them."""
        n, columns = model.num_spins, proof.columns
        require(0 < columns <= n and n % columns == 0, "the model is a grid of so many columns")
        require(proof.other_way in (0, 1), "`other_way` is 0 or 1")
        wide, high = sorted((n // columns, columns), reverse=bool(proof.other_way))
        bonds = indices(proof.bonds, "bonds", MOST_BOND + 1)
        require(len(bonds) == (high - 1) * (wide + 1), "every bond has a dimension")
        words, hulls = whole_row(proof.words, "words"), whole_row(proof.hulls, "hulls")
        refined = whole_row(proof.refined, "refined")
        trees = 3 * wide * (high - 1)
        return cls(
            columns,
            wide,
            bonds.reshape(high - 1, wide + 1),
            words,
            runs(proof.word_offsets, "word_offsets", trees, len(words)),
            hulls,
            runs(proof.hull_offsets, "hull_offsets", trees, len(hulls)),
            refined,
            runs(proof.refined_offsets, "refined_offsets", trees, len(refined)),
        )

    def shape(self, row: int, side: int, position: int) -> tuple[Any, ...]:
        """Return words, boxes per hull and words of another tree, as :class:`Chain` takes them."""
        k = (3 * row + side) * self.wide + position - 1
        words = self.words[self.word_offsets[k] : self.word_offsets[k + 1]]
        again = self.refined[self.refined_offsets[k] : self.refined_offsets[k + 1]]
        hulls = self.hulls[self.hull_offsets[k] : self.hull_offsets[k + 1]]
        return tuple(words.tolist()), hulls, tuple(again.tolist())


def grid_of(model: IsingModel, columns: int, *, other_way: bool = False) -> Grid:
    """Return the model as a grid no wider than high, or the other way round.

    Couplings that are missing are zero.
    """
    rows = model.num_spins // columns
    low, high = model.edges.min(1).astype(np.int64), model.edges.max(1).astype(np.int64)
    beside = (high - low == 1) & (low % columns < columns - 1)
    below = high - low == columns
    require(bool(np.all(beside | below)), "every edge joins neighbours of the grid")
    right, down = np.zeros((rows, columns)), np.zeros((rows, columns))
    np.add.at(right.reshape(-1), low[beside], model.couplings[beside])
    np.add.at(down.reshape(-1), low[~beside], model.couplings[~beside])
    once = np.concatenate([2 * low[beside], 2 * low[~beside] + 1])
    require(len(np.unique(once)) == len(once), "no edge stands twice")
    fields = model.fields.reshape(rows, columns)
    if (rows < columns) != other_way:
        fields, right, down = fields.T, down.T, right.T
    return Grid(fields.copy(), right[:, :-1].copy(), down[:-1].copy())


class Swept(NamedTuple):
    """The state after a row: its power of two, how far the row is off, boxes of its vectors."""

    state: State
    exponent: int
    width: float
    seen: list[Boxes]


_EITHER = Boxes(np.ones((2, 1)), np.zeros((2, 1)), np.arange(2))


def sweep(grid: Grid, witness: Witness) -> Iterator[Swept]:
    """Apply all rows but the last, one after the other."""
    n = grid.columns
    state, exponent, seen = State.one(n), 0, [_EITHER] * (n + 1)
    for r in range(len(grid.fields) - 1):
        flat = even_flat(apply_row(grid, r, state, np.zeros(n)))
        row = apply_row(grid, r, state, flat)
        compress(row, witness.bonds[r].tolist())
        width, seen = _RowCheck(row, seen, witness, r).bound()
        exponent += row.exponent
        state = State(row.cores, flat)
        yield Swept(state, exponent, width, seen)


def _contract(grid: Grid, witness: Witness) -> tuple[Decimal, float]:
    """Return log Z of a contraction and how far it may be off."""
    n, last = grid.columns, len(grid.fields) - 1
    swept = Swept(State.one(n), 0, 0.0, [_EITHER] * (n + 1))
    widths = []
    for swept in sweep(grid, witness):
        widths.append(swept.width)
    exponent, seen = swept.exponent, swept.seen
    row = apply_row(grid, last, swept.state, None)
    x, width = np.ones(1), 0.0
    for i in range(n):
        b, size = row.applied[i][:, 0], row.sizes[i][:, 0]
        image = x @ b
        off = raised(np.abs(x) @ size, len(x) + 2) * (gamma(len(x) + 2) + TAU) + TINY
        if i + 1 < n:
            reach = _raw_bound(image, seen[i + 1], row.beside[:, i])
        else:
            reach = np.array([1.0 / image[0]]) if image[0] > 0 else np.array([np.inf])
        width += _logs(float(raised(off @ reach, len(off) + 4)))
        scale = int(np.frexp(np.abs(image).max())[1])
        if not -64 <= scale <= 900:
            raise Lost
        exponent += scale
        x = np.ldexp(image, -scale)
    widths.append(width)
    total = math.fsum(widths) * (1.0 + 2.0 * gamma(4 * n + 8))
    if not (math.isfinite(total) and x[0] > 0 and math.isfinite(x[0])):
        raise Lost
    return logarithm(float(x[0]), exponent), total + 1e-20 * abs(exponent) + 1e-20


def _logs(delta: float) -> float:
    """Bound -log(1 - δ)."""
    if not delta < _SAFE:
        raise Lost
    return delta / (1.0 - delta) * (1.0 + 8.0 * UNIT)


def _raw_bound(w: FloatArray, boxes: Boxes, weights: FloatArray) -> FloatArray:
    """Bound |y| / (w · y) for positive combinations y of e^{J t s} ⊗ box, s the box's letter.

    ``weights`` are e^J and e^-J; the index of y is (component, t).
    """
    pairs = w.reshape(-1, 2)
    factor = np.where(boxes.letters[:, None] == np.arange(2), weights[0], weights[1])  # (v, t)
    size = np.abs(boxes.centre) + boxes.radius
    a = factor @ pairs.T  # (v, component)
    value = (boxes.centre * a).sum(1)
    sizes = (size * (factor @ np.abs(pairs).T)).sum(1)
    depth = len(pairs)
    off = (boxes.radius * np.abs(a)).sum(1) + 2.0 * gamma(depth + 16) * sizes
    least = (value - raised(off, depth + 8)) * (1.0 - 8.0 * UNIT)
    if not np.all(least > 0):
        raise Lost
    found = (raised(size, 2) / least[:, None])[:, :, None] * factor[:, None, :]
    top: FloatArray = raised(found.max(0).reshape(-1), 8)
    return top


class _RowCheck:
    """How far a row that was cut back may be from the exact one, in every component."""

    def __init__(self, row: Row, before: list[Boxes], witness: Witness, r: int) -> None:
        self.row, self.witness, self.r = row, witness, r
        self.n = len(row.applied)
        self.added = [self._residual(i, before) for i in range(self.n)]

    def _residual(self, i: int, before: list[Boxes]) -> FloatArray:
        """Bound |W B - T W'| |y|, (2 × dim), relative to the first component of W' y."""
        row = self.row
        w, b, t, after = row.gauge[i], row.applied[i], row.turned[i], row.gauge[i + 1]
        reach = np.ones(1)
        if i + 1 < self.n:
            reach = _raw_bound(after[0], before[i + 1], row.beside[:, i])
        d, raw = len(w), b.shape[2]
        gap, charge = difference(
            w,
            b.reshape(len(b), -1),
            t.reshape(2 * d, -1),
            after,
            work=_EXTENDED_WORK,
        )
        seen = np.abs(w) @ (row.sizes[i] @ reach), np.abs(t) @ (np.abs(after) @ reach)
        terms = w.shape[1] + t.shape[2] + raw + 4
        total = gap.reshape(d, 2, raw) @ reach + (charge + TAU) * seen[0] + charge * seen[1]
        return raised(total.T, terms)

    def bound(self) -> tuple[float, list[Boxes]]:
        """Return Σ -log(1 - δ), and boxes of the new state, per bond, for the next row."""
        n, row = self.n, self.row
        left, right, state = Chain(), Chain(), Chain()
        for p in range(1, n + 1):
            i = n - p
            core = row.cores[p - 1].transpose(1, 0, 2)
            left.advance(core, np.zeros((2, core.shape[2])), *self._shape(0, p))
            full = row.turned[i].transpose(1, 2, 0)
            right.advance(full, self.added[i], *self._shape(1, p))
            core = row.cores[i].transpose(1, 2, 0)
            state.advance(core, np.zeros((2, core.shape[2])), *self._shape(2, p))
        width = 0.0
        for i in range(n):
            width += _logs(self._site(i, left.boxes[i], right.boxes[n - 1 - i]))
        return width, state.boxes[::-1]

    def _shape(self, side: int, position: int) -> tuple[Any, ...]:
        return self.witness.shape(self.r, side, position)

    def _site(self, i: int, x: Boxes, y: Boxes) -> float:
        """Return the largest relative error at a site, over all letters and boxes."""
        rows, kept = self.row.kept[i], self.row.kept[i + 1]
        worst = 0.0
        step = max(1, _PAIRS // len(y.centre))
        for s in range(2):
            block = self.row.turned[i][:rows, s]
            both = _Products(block[:, :kept], y.centre[:, :kept], y.radius[:, :kept])
            rest = _Products(block[:, kept:], y.centre[:, kept:], y.radius[:, kept:])
            for k in range(0, len(x.centre), step):
                centre, radius = x.centre[k : k + step], x.radius[k : k + step]
                value, off = both.products(centre, radius)
                least = value - off
                if not np.all(least > 0):
                    raise Lost
                cut, around = rest.products(centre, radius)
                floor = (np.abs(centre) + radius) @ self.added[i][s, :rows]
                most = np.abs(cut) + around + raised(floor, rows + 4)[:, None]
                worst = max(worst, float(raised((most / least).max(), 6)))
        return worst


class _Products:
    """x M y for y in boxes."""

    def __init__(self, matrix: FloatArray, centre: FloatArray, radius: FloatArray) -> None:
        self.matrix, self.centre, self.radius = matrix, centre, radius
        self.size = np.abs(matrix)
        self.beside = np.abs(centre @ matrix.T) + radius @ self.size.T  # |M y| + |M| r
        self.sizes = (np.abs(centre) + radius) @ self.size.T

    def products(self, centre: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return x M y at the centres of all pairs of boxes, and how far it may be off."""
        seen = centre @ self.matrix
        value = seen @ self.centre.T
        off = radius @ self.beside.T + np.abs(seen) @ self.radius.T
        terms = sum(self.matrix.shape)
        rounding = 2.0 * gamma(terms + 8) * ((np.abs(centre) + radius) @ self.sizes.T)
        return value, raised(off + rounding, terms + 8)
