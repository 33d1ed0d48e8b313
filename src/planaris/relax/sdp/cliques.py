"""Odd clique inequalities with multipliers, as rows over the pairs of a moment matrix.

Any odd number p of spins with signs b satisfies ``(Σ b_i s_i)² >= 1``, that is
``Σ_{i<j} b_i b_j X_ij >= -(p - 1) / 2``: triangles, pentagons and heptagons for p = 3, 5, 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.kernels.relaxations import extend_cliques, separate_triangles
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray, LongArray

WIDTH = 7
"""Spins of the largest cliques; rows of smaller ones end with spin -1 and sign 0."""

PAIRS = np.triu_indices(WIDTH, 1)

PATIENCE = 2
"""Rounds that an inequality may be idle before it is dropped."""

TIGHT = 0.5
"""How far from violated a smaller clique may be that larger ones are looked for around."""


@dataclass(eq=False)
class Cliques:
    """Clique inequalities, one per row: spins in ascending order, the first sign positive.

    Examples
    --------
    >>> rows = Cliques.of([[0, 1, 2]], [[1, 1, -1]], [0.5])
    >>> rows.left(np.ones((3, 3))).tolist(), rows.sides.tolist()
    ([-1.0], [1.0])
    >>> rows.contract(0, 2, 1).size  # spins 0 and 2 are equal: nothing is left to say
    0
    """

    spins: IntArray
    signs: Int8Array
    weight: FloatArray
    idle: IntArray

    @classmethod
    def none(cls) -> Cliques:
        """Return an empty set."""
        return cls.of(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))

    @classmethod
    def of(cls, spins: Any, signs: Any, weight: Any) -> Cliques:
        """Return rows of cliques of one size."""
        spins, signs = np.asarray(spins, dtype=np.int32), np.asarray(signs, dtype=np.int8)
        room = ((0, 0), (0, WIDTH - spins.shape[1]))
        return cls(
            np.pad(spins, room, constant_values=-1),
            np.pad(signs, room),
            np.array(weight, dtype=np.float64),
            np.zeros(len(spins), dtype=np.int32),
        )

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.weight)

    @property
    def sides(self) -> FloatArray:
        """Minus the right sides, (p - 1) / 2."""
        return np.asarray(((self.spins >= 0).sum(1) - 1) / 2.0)

    def matrix(self, n: int) -> Any:
        """Return the rows over the entries ``n i + j``, i < j, of a matrix (CSR)."""
        from scipy.sparse import csr_array

        a, b = PAIRS
        value = self.signs[:, a] * self.signs[:, b]
        at = self.spins[:, a] * np.int32(n) + self.spins[:, b]
        there = value != 0
        offsets = np.concatenate([[0], np.cumsum(there.sum(1))])
        shape = (self.size, n * n)
        return csr_array((value[there].astype(np.float64), at[there], offsets), shape=shape)

    def left(self, x: FloatArray) -> FloatArray:
        """Return the left sides at a matrix."""
        return np.asarray(self.matrix(len(x)) @ np.ascontiguousarray(x).ravel())

    def kept(self, which: BoolArray | LongArray) -> Cliques:
        """Return the rows where ``which`` is True, or those numbered so."""
        return Cliques(self.spins[which], self.signs[which], self.weight[which], self.idle[which])

    def joined(self, *others: Cliques) -> Cliques:
        """Return all rows together, every inequality once with its multipliers added."""
        sets = [self, *others]
        return Cliques(
            np.concatenate([rows.spins for rows in sets]),
            np.concatenate([rows.signs for rows in sets]),
            np.concatenate([rows.weight for rows in sets]),
            np.concatenate([rows.idle for rows in sets]),
        )._merged()

    def _merged(self) -> Cliques:
        if self.size < 2:
            return self
        row = np.ascontiguousarray(np.concatenate([self.spins, self.signs], axis=1, dtype=np.int16))
        key = row.view(np.dtype((np.void, row.dtype.itemsize * row.shape[1]))).ravel()
        _, first, index = np.unique(key, return_index=True, return_inverse=True)
        rows = self.kept(first)
        rows.weight = np.bincount(index.ravel(), self.weight, len(first)).astype(np.float64)
        return rows

    def contract(self, i: int, j: int, sign: int) -> Cliques:
        """Return the rows after spin j became ``sign`` times spin i; j's number goes.

        A row with both loses them where their signs cancel, and is dropped where they add up.
        """
        spins, signs = np.array(self.spins), np.array(self.signs)
        signs[spins == j] *= np.int8(sign)
        both = (spins == i).any(1) & (spins == j).any(1)
        pair = (spins == i) | (spins == j)
        total = np.where(pair, signs, 0).sum(1)
        gone = pair & (both & (total == 0))[:, None]
        spins[spins == j] = i
        spins[gone], signs[gone] = -1, 0
        spins[spins > j] -= 1
        order = np.argsort(np.where(spins < 0, np.iinfo(np.int32).max, spins), 1, kind="stable")
        spins, signs = np.take_along_axis(spins, order, 1), np.take_along_axis(signs, order, 1)
        signs *= signs[:, :1]
        good = ~(both & (total != 0)) & (spins[:, 2] >= 0)
        return Cliques(spins, signs, self.weight, self.idle).kept(good)._merged()


def violated_cliques(
    x: FloatArray, counts: tuple[int, int, int], least: float, *, budget: Budget = UNLIMITED
) -> list[Cliques]:
    """Return violated triangles, pentagons and heptagons of a matrix, at most so many of each.

    All triangles are looked at. Larger cliques are extensions of smaller ones that are violated
    or not far from it, by the two spins that fit best. ``TimeoutError`` when the time is over.
    """
    matrix = np.ascontiguousarray(x)
    found, least_size = [], least
    base = separate_triangles(
        matrix, min_violation=-TIGHT, max_cuts=max(counts[0], 2 * counts[1]), budget=budget
    )
    for size, count in zip((3, 5, 7), counts, strict=True):
        if size > 3:
            least_size = least * (size - 1) / 2
            more = max(count, 2 * counts[2]) if size == 5 else count
            if not count:
                break
            slack = -2 * TIGHT if size == 5 else least_size
            base = extend_cliques(
                matrix,
                base.spins,
                base.signs,
                min_violation=slack,
                max_cuts=more,
                budget=budget,
            )
        take = np.flatnonzero(base.violation > least_size)[:count]
        found.append(Cliques.of(base.spins[take], base.signs[take], np.zeros(len(take))))
    return found
