"""Nested sets of faces: the order in which a cold sum over cuts is eliminated.

A packing of T-cuts proves which state is lowest; its sets also say which edges have to go before
which: those inside a set before the one unsatisfied edge that leaves it. See
docs/theory/pfaffian.md, "Low temperature".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planaris.result import CutSum
from planaris.typing import Array, BoolArray, FloatArray
from planaris.verify.proof_arrays import check_nested, indices, real_row, require, whole_row
from planaris.verify.recompute.cut_fronts import Parts
from planaris.verify.recompute.rotations import Rotations

MAX_NESTED = 1000
"""Sets around a face; proofs with more are not followed."""

NEARLY = 1e-9
"""Relative rounding of values, which are sums."""

UNWAITED = 1.0
"""Sets are not waited for while entries grow by no more than e to this power."""


@dataclass(frozen=True, eq=False)
class NestedSets:
    """Nested sets of walks with values: runs of an order, parents before their children."""

    order: Array
    start: Array
    stop: Array
    parent: Array
    values: FloatArray
    innermost: Array
    """Of every walk, or -1."""
    depth: FloatArray
    """Of every walk the values around it."""

    @property
    def count(self) -> int:
        """Number of sets."""
        return len(self.start)

    @classmethod
    def of(cls, proof: CutSum, num_walks: int) -> NestedSets:
        """Read the sets, or refuse them."""
        order = indices(proof.order, "order", num_walks)
        start, stop, parent = (
            whole_row(getattr(proof, name), name) for name in ("start", "stop", "parent")
        )
        values = real_row(proof.values, "values")
        require(len(values) == len(start), "sets have values")
        require(bool(np.all((values >= 0) & (values < 1e300))), "values are finite")
        check_nested(num_walks, order, start, stop, parent)
        innermost = np.full(num_walks, -1)
        innermost[order] = _innermost(len(order), start, stop)
        steps = np.bincount(start, values, len(order) + 1)
        steps -= np.bincount(stop, values, len(order) + 1)
        depth = np.zeros(num_walks)
        depth[order] = np.maximum(np.cumsum(steps)[:-1], 0.0)
        return cls(order, start, stop, parent, values, innermost, depth)

    def prove_lowest(self, walks: Array, gauged: FloatArray) -> bool:
        """Return whether the sets prove that no state is lower than one with these couplings.

        ``walks`` are those on either side of every edge. No edge is in sets of more than its size,
        unsatisfied ones (g < 0) are in sets of that much, and every set has one of them, so an odd
        number in any state.
        """
        if self.count == 0:
            return not np.any(gauged < 0)
        crossed, size = np.zeros(len(gauged)), np.abs(gauged)
        at = np.full(len(self.innermost), -1)
        at[self.order] = np.arange(len(self.order))
        below, leaving = gauged < 0, np.zeros(self.count, dtype=np.int64)
        for here, there in (walks.T, walks[:, ::-1].T):
            chain = self._left_behind(here, at[there])
            if chain is None:
                return False
            for edges, sets in chain:
                crossed[edges] += self.values[sets]
                np.add.at(leaving, sets[below[edges]], 1)
        room = NEARLY * (size + self.depth[walks].sum(1))
        return bool(
            np.all(crossed <= size + room)
            and np.all(crossed[below] >= (size - room)[below])
            and np.all(leaving[self.values > 0] == 1)
        )

    def waits(
        self, dual: Rotations, parts: Parts, below: BoolArray
    ) -> tuple[Array, Array, Array] | None:
        """Return the positions that every edge waits for, from low to high, and its rank.

        An edge with g < 0 waits for the largest sets that it leaves, less those that entries
        may grow by; None if too many sets lie in each other.
        """
        ends = parts.position[dual.ends]
        low, high, rank = ends.min(1), ends.max(1), np.zeros(len(ends))
        if self.count == 0:
            return low, high, rank
        first, last = self._ranges(dual, parts)
        walks = dual.whole[dual.ends]
        at = np.full(len(self.innermost), -1)
        at[self.order] = np.arange(len(self.order))
        edges = np.flatnonzero(below)
        for here, there in (walks[edges].T, walks[edges, ::-1].T):
            found = self._outermost(here, at[there])
            if found is None:
                return None
            some = found >= 0
            sets, waiting = found[some], edges[some]
            low[waiting] = np.minimum(low[waiting], first[sets])
            high[waiting] = np.maximum(high[waiting], last[sets])
            rank[waiting] = np.maximum(rank[waiting], self.stop[sets] - self.start[sets])
        return low, high, rank

    def _ranges(self, dual: Rotations, parts: Parts) -> tuple[Array, Array]:
        """Return the first and the last position in every set."""
        first = np.full(self.count + 1, dual.num_vertices)
        last = np.full(self.count + 1, -1)
        owner = self.innermost[dual.whole]  # -1: the last entry, which is nobody's
        np.minimum.at(first, owner, parts.position)
        np.maximum.at(last, owner, parts.position)
        begin, end = first.tolist(), last.tolist()
        for k in range(self.count - 1, -1, -1):
            around = int(self.parent[k])
            begin[around] = min(begin[around], begin[k])
            end[around] = max(end[around], end[k])
        return np.array(begin[:-1]), np.array(end[:-1])

    def _outermost(self, here: Array, there: Array) -> Array | None:
        """Return the largest set around each walk but not around the place beyond; -1 if none."""
        chain = self._left_behind(here, there)
        if chain is None:
            return None
        total = np.zeros(len(here))
        for active, sets in chain:
            total[active] += 2 * self.values[sets]
        found = np.full(len(here), -1)
        inner = np.zeros(len(here))
        for active, sets in chain:
            matters = total[active] - inner[active] > UNWAITED
            found[active[matters]] = sets[matters]
            inner[active] += 2 * self.values[sets]
        return found

    def _left_behind(self, here: Array, there: Array) -> list[tuple[Array, Array]] | None:
        """Return pairs (which, set) of sets around walks but not around the places beyond.

        From the innermost on, as arrays of those as far out; None if there are too many.
        """
        chain: list[tuple[Array, Array]] = []
        active, sets = np.arange(len(here)), self.innermost[here]
        while len(active):
            place = there[active]
            leaves = (sets >= 0) & ~((self.start[sets] <= place) & (place < self.stop[sets]))
            active, sets = active[leaves], sets[leaves]
            chain.append((active, sets))
            sets = self.parent[sets]
            if len(chain) > MAX_NESTED:
                return None
        return chain


def _innermost(size: int, start: Array, stop: Array) -> Array:
    """Return the smallest run around every place; runs are nested, outer ones come first."""
    found = np.full(size, -1)
    stack: list[int] = []
    done = 0
    ends, begins = stop.tolist(), start.tolist()
    for k in [*np.lexsort([np.arange(len(start)), -stop, start]).tolist(), -1]:
        begin = begins[k] if k >= 0 else size
        while stack and ends[stack[-1]] <= begin:
            top = stack.pop()
            found[done : ends[top]] = top
            done = max(done, ends[top])
        if stack:
            found[done:begin] = stack[-1]
        done = max(done, begin)
        stack.append(k)
    return found
