"""Cycle inequalities in terms of unsatisfied edges, as multipliers of a Lagrangian use them.

For a closed walk C and a set F of its edges, every state obeys ``Σ_{C-F} u - Σ_F u >= 1 - |F|``
for the indicator u of its unsatisfied edges, if the size of F plus the number of negative couplings
of C is odd. T-joins of the dual obey those of cycles that bound faces; others go around handles.
"""

from __future__ import annotations

import numpy as np

from planaris.kernels.relaxations import CycleCuts
from planaris.typing import Array, BoolArray, FloatArray, LongArray


class CycleRows:
    """Inequalities ``signs @ u >= side`` that only grow in number.

    Attributes
    ----------
    offsets, edges, signs : int array
        Row k has the signs ``signs[offsets[k]:offsets[k + 1]]`` at ``edges[...]`` of that run.
    side : int array
        The right-hand sides.
    """

    def __init__(self, negative: BoolArray) -> None:
        self.negative = negative
        self.offsets: LongArray = np.zeros(1, dtype=np.int64)
        self.edges: LongArray = np.zeros(0, dtype=np.int64)
        self.signs: LongArray = np.zeros(0, dtype=np.int64)
        self.side: LongArray = np.zeros(0, dtype=np.int64)
        self._known: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.side)

    def add(self, cuts: CycleCuts) -> int:
        """Add inequalities of ``x_e = [s_u != s_v]``; return how many were new."""
        before = len(self)
        runs, signs, sides = [self.edges], [self.signs], self.side.tolist()
        ends = self.offsets.tolist()
        for begin, end in zip(cuts.offsets[:-1].tolist(), cuts.offsets[1:].tolist(), strict=True):
            order = np.argsort(cuts.edges[begin:end], kind="stable")
            edges = cuts.edges[begin:end][order].astype(np.int64)
            odd = cuts.odd[begin:end][order].astype(bool) ^ self.negative[edges]
            key = edges.tobytes() + odd.tobytes()
            if key in self._known:
                continue
            self._known.add(key)
            runs.append(edges)
            signs.append(1 - 2 * odd.astype(np.int64))
            sides.append(1 - int(odd.sum()))
            ends.append(ends[-1] + len(edges))
        self.edges, self.signs = np.concatenate(runs), np.concatenate(signs)
        self.offsets, self.side = np.array(ends), np.array(sides, dtype=np.int64)
        return len(self) - before

    def violation(self, values: Array, first: int = 0) -> FloatArray:
        """Return ``side - signs @ u`` of the rows from ``first`` on; positive where violated."""
        if first == len(self):
            return np.zeros(0)
        start = int(self.offsets[first])
        terms = self.signs[start:] * values[self.edges[start:]]
        sums = np.add.reduceat(terms, self.offsets[first:-1] - start)
        return np.asarray(self.side[first:] - sums, dtype=np.float64)

    def combine(self, rows: LongArray, multipliers: LongArray, num_edges: int) -> LongArray:
        """Return Σ multiplier × signs over some rows, by edge."""
        lengths = np.diff(self.offsets)[rows]
        begin = np.repeat(self.offsets[rows] - np.cumsum(lengths) + lengths, lengths)
        entry = begin + np.arange(len(begin))
        total = np.zeros(num_edges, dtype=np.int64)
        np.add.at(total, self.edges[entry], self.signs[entry] * np.repeat(multipliers, lengths))
        return total
