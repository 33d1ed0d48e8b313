"""Marginals of a model of small width whose spins go in a given order, with bounds of rounding.

Tables hold weights, or their logarithms where weights leave the range of doubles. They have an axis
per spin in the order in which spins go. With m the sum of a table t over its first spin, the
distribution is the product of all t / m. The sums m that were computed cancel in it whatever they
are, so that errors of single steps add up, and do not multiply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from planaris.typing import Array, FloatArray

_UNIT = 2.0**-53

LEAST = 2.0**-700
"""Least entry of a table, beside the largest: all products on the way are normal numbers."""

LARGEST = 200.0
"""Largest log weight of a spin and its neighbours."""

HUGE = 1e12
"""Size of logarithms beyond which rounding errors are too large to be of use."""

MAX_AXES = 26
"""Most spins in a table."""

MAX_BYTES = 2**31
"""Largest size of all tables of conditional probabilities together."""


Table = tuple[tuple[int, ...], FloatArray]
"""Spins in order, and a table with an axis for each."""

FEW_AXES = 5
"""Largest number of axes of a table that is multiplied entry by entry."""


class WindowMarginals(NamedTuple):
    """P(+1) of every spin, and P(+1, +1) and P(-1, -1) of every edge, all off by ``error``."""

    up: FloatArray
    both_up: FloatArray
    both_down: FloatArray
    error: float


@dataclass(eq=False)
class _Step:
    """A spin that goes: the spins behind it in its table, and P(+1) given them."""

    rest: tuple[int, ...]
    up: FloatArray
    joint: FloatArray | None = None


def window_marginals(
    edges: Array, couplings: FloatArray, fields: FloatArray
) -> WindowMarginals | None:
    """Return the marginals of spins that go in the order of their numbers.

    None where a table is too large, or the numbers are.

    Examples
    --------
    >>> found = window_marginals(np.array([[0, 1]]), np.array([0.5]), np.array([0.3, 0.0]))
    >>> found.up.round(6).tolist(), found.error < 1e-13
    ([0.645656, 0.56731], True)
    """
    n = len(fields)
    behind: list[dict[int, tuple[float, int]]] = [{} for _ in range(n)]
    for k, ((u, v), coupling) in enumerate(zip(edges.tolist(), couplings.tolist(), strict=True)):
        first, last = min(u, v), max(u, v)
        if last in behind[first]:  # parallel edges are not expected
            return None
        behind[first][last] = coupling, k
    rests = _rests(behind)
    if rests is None:
        return None
    way = _Forward(fields.tolist(), behind, rests)
    steps = way.weights() or way.logarithms()
    if steps is None:
        return None
    largest = max((step.up.size for step in steps), default=1)
    error = 1.01 * _UNIT * (2.0 * way.roundings + 4.0 * n + 4.0 * largest + 16.0)
    return _sweep_back(steps, behind, len(edges), error)


class _Forward:
    """Sums over one spin after the other, and all their roundings, in units."""

    def __init__(
        self,
        fields: list[float],
        behind: list[dict[int, tuple[float, int]]],
        rests: list[tuple[int, ...]],
    ) -> None:
        self.fields, self.behind, self.rests = fields, behind, rests
        self.roundings = 0.0

    def weights(self) -> list[_Step] | None:
        """Return the steps; None where weights differ by more than doubles can say."""
        steps: list[_Step] = []
        waiting: list[list[Table]] = [[] for _ in self.fields]
        self.roundings = 0.0
        for i, rest in enumerate(self.rests):
            local, size = self._local(i)
            if not size <= LARGEST:
                return None
            later = len(self.behind[i])
            total = _joined([*waiting[i], (local[0], np.exp(local[1]))], np.multiply)
            self.roundings += 12.0 + (later + 2.0) * size + len(waiting[i]) + len(rest)
            waiting[i] = []
            if not float(total.min()) >= LEAST:
                return None
            message = total[0] + total[1]
            steps.append(_Step(rest, total[1] / message))
            if rest:
                exponent = math.frexp(float(message.max()))[1]
                waiting[rest[0]].append((rest, np.ldexp(message, -exponent)))
        return steps

    def logarithms(self) -> list[_Step] | None:
        """Return the steps from tables of logarithms: slower, and good for any weights."""
        steps: list[_Step] = []
        waiting: list[list[Table]] = [[] for _ in self.fields]
        self.roundings = 0.0
        for i, rest in enumerate(self.rests):
            local, size = self._local(i)
            total = _joined([*waiting[i], local], np.add)
            size += float(np.abs(total).max())
            # Sums, logarithms and exponentials of numbers of this size, a few roundings each.
            each = 16.0 + len(self.behind[i]) + 2.0 * len(waiting[i])
            self.roundings += each * (size + 2.0) + len(rest)
            waiting[i] = []
            if not size < HUGE:
                return None
            message = np.logaddexp(total[0], total[1])
            steps.append(_Step(rest, np.minimum(np.exp(total[1] - message), 1.0)))
            if rest:
                waiting[rest[0]].append((rest, message - message.max()))
        return steps

    def _local(self, spin: int) -> tuple[Table, float]:
        """Return h s + Σ J s s of a spin and its neighbours behind it, and the size of that."""
        later, field = sorted(self.behind[spin]), self.fields[spin]
        couplings = [self.behind[spin][u][0] for u in later]
        own = np.array([-1.0, 1.0])
        pull: FloatArray = np.array(field)
        for coupling in couplings:
            pull = np.add.outer(pull, coupling * own)
        size = abs(field) + sum(map(abs, couplings))
        return ((spin, *later), np.multiply.outer(own, pull)), size


def _rests(behind: list[dict[int, tuple[float, int]]]) -> list[tuple[int, ...]] | None:
    """Return the spins behind each in its table, in order; None where tables are too large."""
    met: list[set[int]] = [set(some) for some in behind]
    rests, entries = [], 0
    for i, some in enumerate(met):
        rest = tuple(sorted(some))
        rests.append(rest)
        entries += 2 ** min(len(rest), 62)
        if len(rest) > MAX_AXES or 8 * entries > MAX_BYTES:
            return None
        if rest:
            met[rest[0]].update(rest[1:])
        met[i] = set()
    return rests


def _joined(tables: list[Table], join: np.ufunc) -> FloatArray:
    """Return the product or sum of tables, one axis per spin that any of them has, in order."""
    own, total = tables[0]
    for other, table in tables[1:]:
        own, total = _pair((own, total), (other, table), join)
    return total


def _pair(first: Table, second: Table, join: np.ufunc) -> Table:
    """Return the product or sum of two tables, over the axes of both."""
    large, small = (first, second) if first[1].ndim >= second[1].ndim else (second, first)
    axes = tuple(sorted({*large[0], *small[0]}))
    if small[1].ndim > FEW_AXES:
        both = [t.reshape([2 if axis in own else 1 for axis in axes]) for own, t in (large, small)]
        return axes, np.asarray(join(*both))
    # Entry by entry of the small one: inner loops over a last axis that is new would be short.
    # Axes between its own are one.
    ends = [-1, *(axes.index(axis) for axis in small[0]), len(axes)]
    shape, source = [], []
    for before, after in pairwise(ends):
        shape += [2 ** (after - before - 1), 2]
        source += [2 ** (after - before - 1), 1 + (axes[after % len(axes)] in large[0])]
    total = np.empty((2,) * len(axes))
    target, base = total.reshape(shape[:-1]), large[1].reshape(source[:-1])
    for entry in np.ndindex(small[1].shape):
        at: list[Any] = [slice(None)] * len(target.shape)
        at[1::2] = entry
        there = [0 if size == 1 else k for k, size in zip(at, source, strict=False)]
        there[::2] = at[::2]
        join(base[tuple(there)], small[1][entry], out=target[tuple(at)])
    return axes, total


def _sweep_back(
    steps: list[_Step],
    behind: list[dict[int, tuple[float, int]]],
    num_edges: int,
    error: float,
) -> WindowMarginals:
    """Return all marginals, the last spin first: P(s, rest) = P(s | rest) P(rest)."""
    up = np.empty(len(steps))
    both_up, both_down = np.empty(num_edges), np.empty(num_edges)
    children = np.bincount([s.rest[0] for s in steps if s.rest], minlength=len(steps))
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        rest: FloatArray = np.ones(())
        if step.rest:
            above = steps[step.rest[0]]
            assert above.joint is not None, "steps are filled from the last to the first"
            rest = _summed(above.joint, (step.rest[0], *above.rest), step.rest)
            children[step.rest[0]] -= 1
            if not children[step.rest[0]]:
                above.joint = None
        joint = np.empty((2, *rest.shape))
        minus, plus = joint[0, ...], joint[1, ...]
        np.multiply(rest, step.up, out=plus)
        np.subtract(rest, plus, out=minus)
        up[i] = plus.sum()
        for u, (_, k) in behind[i].items():
            halves = (2 ** step.rest.index(u), 2, -1)
            both_up[k] = plus.reshape(halves)[:, 1].sum()
            both_down[k] = minus.reshape(halves)[:, 0].sum()
        if children[i]:
            step.joint = joint
        step.up = np.zeros(0)
    return WindowMarginals(up, both_up, both_down, error)


def _summed(table: FloatArray, axes: tuple[int, ...], kept: tuple[int, ...]) -> FloatArray:
    """Return the sums of a table over all axes but some."""
    left = list(axes)
    for axis in axes:
        if axis not in kept:
            place = left.index(axis)
            halves = table.reshape(2**place, 2, -1)
            table = halves[:, 0] + halves[:, 1]
            left.remove(axis)
    return table.reshape((2,) * len(left))
