"""Probabilities of spins and edges of an Ising grid, with ends, from states above and below.

A state from above row r and one from below row r + 1 are within factors e^{±w} of what the rest of
the grid sums to, for every configuration of the two rows. So the odds of every event in these
rows are within e^{±2w} of those that both states and the weights of the two rows give. These are
summed column by column. Every term of such a sum is a product of some numbers and takes part in
some additions. What rounding does to the sum is at most that many units times the sum of the
sizes of its terms, which is computed beside it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from planaris.models import IsingModel
from planaris.result import BoundaryStates, Contraction
from planaris.typing import BoolArray, FloatArray
from planaris.verify.proof_arrays import require
from planaris.verify.proofs.tensor_network.boundary_rows import Grid, State
from planaris.verify.proofs.tensor_network.contraction import Witness, grid_of, sweep
from planaris.verify.proofs.tensor_network.rounding import TINY, UNIT, Lost, exponentials

_EXTENDED = np.finfo(np.longdouble).eps == 2.0**-63
_KIND: type[np.floating[Any]] = np.longdouble if _EXTENDED else np.float64
_UNIT = 2.0**-64 if _EXTENDED else UNIT

_WORST = 0.01
"""Largest share of a sum that rounding may have."""

_MOST_GROWTH = 10_000.0 if _EXTENDED else 100.0
"""Powers of two by which underflows may grow and stay far below TINY."""

_ALIKE = np.array([[0, 1], [1, 0]])  # which of e^J, e^-J


class Ends(NamedTuple):
    """Lower and upper ends of P(s = +1) per spin, and of P(s_u = s_v) per edge."""

    nodes: tuple[FloatArray, FloatArray]
    edges: tuple[FloatArray, FloatArray]


def marginal_ends(model: IsingModel, proof: BoundaryStates) -> Ends | None:
    """Return ends that hold for all marginals; None where nothing is proved.

    Raises
    ------
    VerificationError
        When the proof is not one about this model.
    """
    above, below = proof.above, proof.below
    require(isinstance(above, Contraction), "there is a contraction from above")
    require(isinstance(below, Contraction), "there is a contraction from below")
    assert isinstance(above, Contraction), "checked"
    assert isinstance(below, Contraction), "checked"
    require(above.columns == below.columns, "both contractions are of one grid")
    require(above.other_way == below.other_way == 0, "rows are along the shorter side")
    grid = grid_of(model, above.columns)
    require(len(grid.fields) > 1, "the grid has two rows")
    turned = Grid(grid.fields[::-1].copy(), grid.right[::-1].copy(), grid.down[::-1].copy())
    try:
        down = _states(grid, Witness.of(model, above))
        up = _states(turned, Witness.of(model, below))[::-1]
        found = [_Pair(grid, r, down[r], up[r + 1]).events() for r in range(len(down) - 1)]
    except Lost:
        return None
    return _arranged(model, above.columns, found)


class _Entered(NamedTuple):
    """A state that enters a row, and how far its logarithm may be off."""

    state: State
    width: float


def _states(grid: Grid, witness: Witness) -> list[_Entered]:
    """Return the states that enter the rows, from the first on."""
    found, width = [_Entered(State.one(grid.columns), 0.0)], 0.0
    for swept in sweep(grid, witness):
        width = (width + swept.width) * (1.0 + 4.0 * UNIT)
        found.append(_Entered(swept.state, width))
    return found


class _Events(NamedTuple):
    """Lower and upper ends (2 × columns, or one column less) of events of two rows."""

    nodes: tuple[FloatArray, FloatArray]  # spins up, of the first row and of the second
    right: tuple[FloatArray, FloatArray]  # neighbours in these rows alike
    down: FloatArray  # neighbours across alike


class _Pair:
    """Two rows between states.

    Weights are arrays (letters × bond above × bond below); a letter is a pair of spins, one of
    either row: both up, the first up, the second up, none.
    """

    def __init__(self, grid: Grid, r: int, above: _Entered, below: _Entered) -> None:
        n = self.n = grid.columns
        first = exponentials(grid.fields[r].tolist(), above.state.flat.tolist())
        second = exponentials(grid.fields[r + 1].tolist(), below.state.flat.tolist())
        down = exponentials(grid.down[r].tolist())
        self.local = (first[:, None] * second[None] * down[_ALIKE]).reshape(4, n)
        sides = [exponentials(grid.right[k].tolist())[_ALIKE] for k in (r, r + 1)]
        self.beside = np.einsum("suc,tvc->cstuv", *sides).reshape(n - 1, 4, 4)
        cores = above.state.cores, below.state.cores
        self.first, self.second = (
            [core.transpose(1, 0, 2)[letters].astype(_KIND) for core in part]
            for part, letters in zip(cores, ([0, 0, 1, 1], [0, 1, 0, 1]), strict=True)
        )
        # Per column, five exponentials of 1.001 units and three products; sums of tables.
        self.width = (above.width + below.width + (12.0 * n + 40.0) * UNIT) * (1.0 + 8.0 * UNIT)
        depth = sum(core.shape[0] + core.shape[2] for part in cores for core in part)
        largest = max(a.shape[2] * b.shape[2] for a, b in zip(*cores, strict=True))
        # Roundings of a term: products and sums of every column, and of the last sum.
        self.share = 1.01 * _UNIT * (depth + 16.0 * n + largest + 128.0)
        self.growth = 0.0  # of underflows, as a power of two
        self.strongest = float(self.beside.max(initial=1.0))

    def events(self) -> _Events:
        """Return the ends of all events of the two rows."""
        tables, offs = self._tables()  # (columns - 1 or 1) × letters × letters of the next column
        up, alike = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], bool), np.array([1, 0, 0, 1], bool)
        whole = np.ones(tables.shape[2], bool)
        columns = [(k, False) for k in range(len(tables))]
        columns += [(len(tables) - 1, True)] if self.n > 1 else []

        def of_column(event: BoolArray) -> FloatArray:
            ends = [
                self._ends(tables[k], offs[k], _both(whole, event) if last else _both(event, whole))
                for k, last in columns
            ]
            return np.array(ends).T

        def of_row(spin: BoolArray) -> FloatArray:
            same = spin[:, None] == spin
            ends = [
                self._ends(t, off, same) for t, off in zip(tables, offs, strict=True) if self.n > 1
            ]
            return np.array(ends).reshape(-1, 2).T

        return _Events(
            (of_column(up[0]), of_column(up[1])), (of_row(up[0]), of_row(up[1])), of_column(alike)
        )

    def _ends(self, table: Any, off: FloatArray, event: BoolArray) -> tuple[float, float]:
        """Return the ends of the probability of an event."""
        below = []
        for chosen in (event, ~event):
            least = float(table[chosen].sum() - off[chosen].sum() * (1.0 + 64.0 * UNIT))
            most = float(table[~chosen].sum() + off[~chosen].sum() * (1.0 + 64.0 * UNIT))
            odds = math.exp(2.0 * self.width) * max(most, 0.0) / least if least > 0 else math.inf
            below.append((1.0 - 16.0 * UNIT) / (1.0 + odds * (1.0 + 64.0 * UNIT)))
        return below[0], min(math.nextafter(1.0 - below[1], 2.0), 1.0)

    def _tables(self) -> tuple[Any, FloatArray]:
        """Return joint weights of the letters of neighbouring columns, and how far they are off."""
        n = self.n
        one = np.ones((1, 1, 1), _KIND)
        edge = _Sums(one, np.ones((1, 1, 1)))
        rest = [edge] * n
        for c in range(n - 1, -1, -1):
            rest[c] = self._step(c, edge if c == n - 1 else rest[c + 1].mixed(self.beside[c]), 1)
        found, left = [], edge
        for c in range(n):
            left = self._step(c, edge if c == 0 else left.mixed(self.beside[c - 1].T), 0)
            if c + 1 < n:
                weights = self.beside[c]
                found.append(left.joint(rest[c + 1], weights))
        if n == 1:
            found = [left.joint(_Sums(one, np.ones((1, 1, 1))), np.ones((4, 1)))]
        if not self.growth < _MOST_GROWTH:
            raise Lost
        tables, sizes = (np.array(part) for part in zip(*found, strict=True))
        offs: FloatArray = self.share * (1.0 + 1e-6) * sizes + TINY
        total = tables.sum((1, 2))
        if not np.all(offs.sum((1, 2)) <= _WORST * total):
            raise Lost
        return tables, offs

    def _step(self, c: int, before: _Sums, side: int) -> _Sums:
        """Pass column c, from the left (0) or from the right (1)."""
        a, b = self.first[c], self.second[c]
        if side == 0:
            a = a.transpose(0, 2, 1)
        else:
            b = b.transpose(0, 2, 1)
        local = self.local[:, c, None, None]
        value = (a @ before.value @ b) * local
        size = (_sizes(a) @ before.size @ _sizes(b)) * local
        top = float(size.max())
        if not (0 < top < math.inf):
            raise Lost
        exponent = math.frexp(top)[1]
        norms = _sizes(a).sum(2).max(), _sizes(b).sum(1).max(), local.max(), self.strongest
        self.growth += max(0.0, sum(math.log2(float(x)) for x in norms) + 4.0 - exponent)
        return _Sums(np.ldexp(value, -exponent), np.ldexp(size, -exponent))


def _both(first: BoolArray, second: BoolArray) -> BoolArray:
    both: BoolArray = np.logical_and.outer(first, second)
    return both


def _sizes(values: Any) -> FloatArray:
    found: FloatArray = np.abs(values).astype(np.float64)
    return found


class _Sums(NamedTuple):
    """Sums of products, and of the sizes of the products."""

    value: Any  # of the kind that sums are in
    size: FloatArray

    def mixed(self, weights: FloatArray) -> _Sums:
        """Return, per letter of the next column, the sum over the letters of this one."""
        parts = (
            (weights.astype(x.dtype) @ x.reshape(len(x), -1)).reshape(-1, *x.shape[1:])
            for x in (self.value, self.size)
        )
        return _Sums(*parts)

    def joint(self, other: _Sums, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Return the inner products of all letters with all of the next column, times weights."""
        value = (self.value.reshape(4, -1) @ other.value.reshape(len(other.value), -1).T) * weights
        size = (self.size.reshape(4, -1) @ other.size.reshape(len(other.size), -1).T) * weights
        return value, size


def _arranged(model: IsingModel, columns: int, found: list[_Events]) -> Ends:
    """Return the ends in the order of the model's spins and edges."""
    rows = model.num_spins // columns
    nodes = np.stack([pair.nodes[0] for pair in found] + [found[-1].nodes[1]], 1)
    right = np.stack([pair.right[0] for pair in found] + [found[-1].right[1]], 1)
    down = np.stack([pair.down for pair in found], 1)
    if rows < columns:
        nodes, right, down = (x.transpose(0, 2, 1) for x in (nodes, down, right))
    low, high = model.edges.min(1).astype(np.int64), model.edges.max(1).astype(np.int64)
    beside = (high - low == 1) & (low % columns < columns - 1)
    edges = np.zeros((2, model.num_edges))
    at, across = np.divmod(low, columns)
    edges[:, beside] = right[:, at[beside], across[beside]]
    edges[:, ~beside] = down[:, at[~beside], across[~beside]]
    spins = nodes.reshape(2, -1)
    return Ends((spins[0], spins[1]), (edges[0], edges[1]))
