"""Rows of an Ising grid applied to a matrix product state, and cut back to smaller matrices.

The weights of a row are exact up to a stated error. How the state is cut back needs no proof: any
matrices will do, and :mod:`~planaris.verify.proofs.tensor_network.boundary_boxes` bounds what they
miss.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from planaris.typing import FloatArray
from planaris.verify.proofs.tensor_network.rounding import UNIT, Lost, exponentials

TAU = 10.0 * UNIT
"""Relative error of the weights of a site: four exponentials, their products, one sum."""

LARGEST = 300.0
"""Largest sum of sizes of the parameters of a site, so that no weight leaves the doubles."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Fields, couplings to the right and down; no wider than high."""

    fields: FloatArray
    right: FloatArray
    down: FloatArray

    @property
    def columns(self) -> int:
        """Spins per row."""
        return int(self.fields.shape[1])


@dataclass(eq=False)
class State:
    """exp(Σ flat s) times a product of cores (left × 2 × right); spin +1 is index 0."""

    cores: list[FloatArray]
    flat: FloatArray

    @classmethod
    def one(cls, columns: int) -> State:
        """Return the state that is one everywhere."""
        return cls([np.ones((1, 2, 1)) for _ in range(columns)], np.zeros(columns))


@dataclass(eq=False)
class Row:
    """A row applied to a state, B, and cut back: W[i] B[i] ≈ T[i] W[i + 1].

    The cores of the new state are the blocks ``T[i][:kept[i], :, :kept[i + 1]]``.
    """

    applied: list[FloatArray]
    sizes: list[FloatArray]  # what TAU is relative to
    beside: FloatArray  # exp(±J) of the couplings of the row
    flat: FloatArray
    turned: list[FloatArray] = field(default_factory=list)
    gauge: list[FloatArray] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    exponent: int = 0

    @property
    def cores(self) -> list[FloatArray]:
        """Cores of the new state."""
        k = self.kept
        return [t[: k[i], :, : k[i + 1]] for i, t in enumerate(self.turned)]


def apply_row(grid: Grid, r: int, before: State, flat: FloatArray | None) -> Row:
    """Return row r applied to a state, divided by exp(Σ flat s); None: the last row, summed."""
    n = grid.columns
    last = r + 1 == len(grid.fields)
    down = np.zeros(n) if last else grid.down[r]
    new = np.zeros(n) if flat is None else flat
    side = np.concatenate([[0.0], grid.right[r]])
    sums = np.abs(grid.fields[r]) + np.abs(before.flat) + np.abs(down) + np.abs(new) + np.abs(side)
    if not np.all(sums < LARGEST):
        raise Lost
    w = exponentials(grid.fields[r].tolist(), before.flat.tolist())
    v = exponentials(down.tolist())
    e = exponentials(side.tolist())
    g = exponentials((-new).tolist())
    same = np.eye(2, dtype=np.int64) ^ 1  # 0: alike
    applied = []
    for i, core in enumerate(before.cores):
        weight = e[same, i][:, :, None] * w[:, i][:, None] * v[same, i] * g[:, i]  # t, s, s'
        full = core[:, None, None] * weight.transpose(0, 2, 1)[None, :, :, :, None]  # a t s' s b
        if i == 0:
            full = full[:, :1]
        left, right = full.shape[0] * full.shape[1], 2 * full.shape[4]
        applied.append(full.transpose(0, 1, 2, 4, 3).reshape(left, 2, right))
    sizes = [np.abs(b) for b in applied]
    end = applied[-1].shape[2]
    if end != 2:
        raise Lost
    applied[-1] = applied[-1].sum(2, keepdims=True)
    sizes[-1] = sizes[-1].sum(2, keepdims=True) * (1.0 + 4.0 * UNIT)
    return Row(applied, sizes, e[:, 1:], new)


def even_flat(row: Row) -> FloatArray:
    """Return the g that evens out the marginals of a state that has been divided by none."""
    b, n = row.applied, len(row.applied)
    g = np.zeros(n)
    spins = np.array([1.0, -1.0])
    for _ in range(2):
        y = [np.ones(1)] * (n + 1)
        for i in range(n - 1, -1, -1):
            weights = np.exp(-g[i] * spins)
            y[i] = (b[i] @ y[i + 1]) @ weights
            y[i] = y[i] / np.abs(y[i]).max()
        x = np.ones(1)
        for i in range(n):
            both = np.tensordot(x, b[i], 1)
            m = both @ y[i + 1]
            ratio = m[0] / m[1] if m[1] != 0 else 0.0
            g[i] = 0.5 * np.log(ratio) if ratio > 0 and np.isfinite(ratio) else 0.0
            x = np.exp(-g[i] * spins) @ both
            x = x / np.abs(x).max()
    return g


def compress(row: Row, bonds: list[int]) -> None:
    """Cut the bonds of a row to these dimensions."""
    b, n = row.applied, len(row.applied)
    means = [np.ones(1)] * (n + 1)
    for i in range(n - 1, -1, -1):
        mean = b[i].sum(1) @ means[i + 1]
        means[i] = mean / np.abs(mean).max()
    gauge, turned = [np.ones((1, 1))], []
    for i in range(n):  # left-orthonormal
        t = np.tensordot(gauge[i], b[i], 1)
        if i + 1 < n:
            q, r = np.linalg.qr(t.reshape(-1, t.shape[2]))
            turned.append(q.reshape(t.shape[0], 2, -1))
        else:
            r = t
        scale = _exponent(r)
        r = np.ldexp(r, -scale)
        if i + 1 < n:
            gauge.append(r)
        else:
            turned.append(r)
        b[i] = np.ldexp(b[i], -scale)
        row.sizes[i] = np.ldexp(row.sizes[i], -scale)
        row.exponent += scale
    gauge.append(np.ones((1, 1)))
    basis = [np.ones((1, 1)) for _ in range(n + 1)]
    kept = [1] * (n + 1)
    weights = np.ones((1, 1))
    for i in range(n - 1, 0, -1):  # bases of what is seen from the right, the mean first
        t = turned[i]
        seen = (t @ weights).reshape(len(t), -1)
        basis[i], triangle = _basis(gauge[i] @ means[i], seen)
        kept[i] = max(1, min(bonds[i], *triangle.shape))
        (lower,) = scipy.linalg.qr(triangle[: kept[i]].T, mode="r", check_finite=False)
        weights = basis[i][:, : kept[i]] @ lower[: kept[i]].T
        weights = np.ldexp(weights, -_exponent(weights))
    for i in range(n):
        turned[i] = np.tensordot(np.tensordot(basis[i].T, turned[i], 1), basis[i + 1], 1)
        gauge[i] = basis[i].T @ gauge[i]
    row.turned, row.gauge, row.kept = turned, gauge, kept


def _exponent(values: FloatArray) -> int:
    """Return the power of two that values are to be divided by."""
    top = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(top) or top == 0:
        raise Lost
    exponent = int(np.frexp(top)[1])
    if not -64 <= exponent <= 900:  # so that underflows stay far below TINY
        raise Lost
    return exponent


def _basis(mean: FloatArray, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis, the mean first, then by size; and what is seen in it."""
    d = len(mean)
    size = float(np.linalg.norm(mean))
    turn = mean.copy()
    turn[0] += size if mean[0] >= 0 else -size
    norm = float(turn @ turn)
    reflection = np.eye(d) - (2.0 / norm) * np.outer(turn, turn) if norm > 0 else np.eye(d)
    if mean[0] >= 0:
        reflection[:, 0] *= -1.0
    first = reflection.T @ seen
    if d == 1:
        return reflection, first
    q, r, order = scipy.linalg.qr(first[1:], pivoting=True, check_finite=False)
    basis = reflection.copy()
    basis[:, 1:] = reflection[:, 1:] @ q
    triangle = np.zeros((1 + min(r.shape), seen.shape[1]))
    triangle[0] = first[0]
    triangle[1:, order] = r[: min(r.shape)]
    return basis, triangle
