"""Boxes around the vectors x_p = x_{p-1} M_p(s_p) of all configurations s at once.

Vectors are scaled to first component one. The boxes at a position come from hulls at positions
before it, by the products of the matrices in between: words, which are the leaves of a binary
tree. Trees and hulls are given; whatever they are, the boxes hold all vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from planaris.typing import BoolArray, FloatArray, LongArray
from planaris.verify.proof_arrays import require
from planaris.verify.proofs.tensor_network.rounding import TINY, UNIT, Lost, gamma, raised

MOST_BOXES = 40_000
"""At a position: a proof with more is refused."""

_WIDE = 0.02
_ENTRIES = 2_000_000


class Boxes(NamedTuple):
    """|x - centre| <= radius for one of some boxes (count × dim); the letter next to the bond."""

    centre: FloatArray
    radius: FloatArray
    letters: LongArray


class Level(NamedTuple):
    """Words of one length: their first letters, the words they prolong, and leaves (or -1)."""

    letters: LongArray
    parents: LongArray
    leaves: LongArray


class Tree(NamedTuple):
    """A tree of words by their lengths, and the letter of every leaf that is next to the bond."""

    levels: tuple[Level, ...]
    last_letters: LongArray


@lru_cache(maxsize=4096)
def tree_of(lengths: tuple[int, ...]) -> Tree:
    """Return the binary tree with leaves at these depths, in preorder.

    >>> [level.leaves.tolist() for level in tree_of((1, 2, 2)).levels]
    [[0, -1], [1, 2]]
    """
    rows: list[list[tuple[int, int, int]]] = []
    last: list[int] = []
    waiting = [(1, -1, 1, 1), (1, -1, 0, 0)]
    while waiting:
        depth, parent, letter, beside = waiting.pop()
        require(len(last) < len(lengths), "words are the leaves of a binary tree")
        leaf = lengths[len(last)] == depth
        require(leaf or lengths[len(last)] > depth, "words are the leaves of a binary tree")
        if len(rows) < depth:
            rows.append([])
        rows[depth - 1].append((letter, parent, len(last) if leaf else -1))
        if leaf:
            last.append(beside)
        else:
            here = len(rows[depth - 1]) - 1
            waiting += [(depth + 1, here, 1, beside), (depth + 1, here, 0, beside)]
    require(len(last) == len(lengths), "words are the leaves of a binary tree")
    levels = (Level(*np.array(row, dtype=np.int64).T) for row in rows)
    return Tree(tuple(levels), np.array(last, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Step:
    """From one position to the next: matrices (2 × from × to) and what rounding adds.

    ``added`` (2 × to) is relative to the first component of the vector before. The rest is known
    of all vectors there: |x| times |M|, and the largest first component of an image.
    """

    matrices: FloatArray
    added: FloatArray
    carried: FloatArray
    most: FloatArray


class Hulls(NamedTuple):
    """Boxes that hold all vectors of a position together, and the sizes of these."""

    centre: FloatArray
    radius: FloatArray
    size: FloatArray


def _hulls(low: FloatArray, high: FloatArray) -> Hulls:
    centre = 0.5 * (low + high)
    radius = np.maximum(high - centre, centre - low)
    radius = radius * (1.0 + 4.0 * UNIT) + TINY
    centre[:, 0], radius[:, 0] = 1.0, 0.0
    return Hulls(centre, radius, raised((np.abs(centre) + radius).max(0), 1))


class Chain:
    """Encloses position after position."""

    def __init__(self) -> None:
        one = np.ones((1, 1))
        self.hulls = [Hulls(one, 0 * one, np.ones(1))]
        self.boxes = [Boxes(one, 0 * one, np.full(1, -1))]
        self.steps: list[Step] = []

    def advance(
        self,
        matrices: FloatArray,
        added: FloatArray,
        words: tuple[int, ...],
        runs: LongArray,
        again: tuple[int, ...],
    ) -> None:
        """Enclose the next position.

        Parameters
        ----------
        matrices, added
            See :class:`Step`.
        words : tuple of int
            Lengths of the words of the tree that the hulls are from.
        runs : numpy.ndarray
            How many boxes of that tree are in every hull.
        again : tuple of int
            Lengths of the words of another tree for the boxes; empty: the same.
        """
        self.steps.append(_step(matrices, added, self.hulls[-1]))
        first = self._boxes(words)
        count = len(first.letters)
        fits = len(runs) > 0 and int(runs.min()) > 0 and int(runs.sum()) == count
        require(fits, "every box is in one hull")
        begins = np.concatenate([[0], np.cumsum(runs)[:-1]])
        low = np.minimum.reduceat(_below(first.centre, first.radius), begins)
        high = -np.minimum.reduceat(_below(-first.centre, first.radius), begins)
        self.hulls.append(_hulls(low, high))
        self.boxes.append(self._boxes(again) if again else first)

    def _boxes(self, lengths: tuple[int, ...]) -> Boxes:
        position = len(self.steps)
        require(max(lengths, default=0) <= position, "no word is longer than the chain")
        tree = tree_of(lengths)
        counts = np.zeros(len(tree.last_letters), dtype=np.int64)
        for length, level in enumerate(tree.levels, 1):
            at = level.leaves[level.leaves >= 0]
            counts[at] = len(self.hulls[position - length].centre)
        require(int(counts.sum()) <= MOST_BOXES, f"there are at most {MOST_BOXES} boxes")
        begins = np.cumsum(counts) - counts
        to = self.steps[-1].matrices.shape[2]
        centre, radius = np.empty((counts.sum(), to)), np.empty((counts.sum(), to))
        words: _Words | None = None
        for length, level in enumerate(tree.levels, 1):
            step, hulls = self.steps[position - length], self.hulls[position - length]
            words = _letters(step, level) if words is None else _longer(words, step, level)
            least = words.settle(hulls)
            leaf = level.leaves >= 0
            if not np.all(least[leaf] > 0):
                raise Lost
            images = words.images(leaf, hulls, least)
            where = begins[level.leaves[leaf]][:, None] + np.arange(len(hulls.centre))
            centre[where], radius[where] = images
        centre[:, 0], radius[:, 0] = 1.0, 0.0
        if not (np.isfinite(centre).all() and np.isfinite(radius).all()):
            raise Lost
        return Boxes(centre, radius, np.repeat(tree.last_letters, counts))


def _below(centre: FloatArray, radius: FloatArray) -> FloatArray:
    """Return centre - radius, rounded down."""
    low: FloatArray = np.nextafter(centre - radius, -np.inf)
    return low


def _step(matrices: FloatArray, added: FloatArray, hulls: Hulls) -> Step:
    size = np.abs(matrices)
    depth = matrices.shape[1]
    carried = raised(hulls.size @ size, depth)
    first = matrices[:, :, 0]
    reach = (hulls.centre @ first.T + hulls.radius @ np.abs(first).T).max(0)
    most = np.abs(reach) + 2.0 * gamma(depth + 4) * carried[:, 0] + added[:, 0]
    return Step(matrices, added, carried, raised(most, 4))


@dataclass(eq=False)
class _Words:
    """Words of one length. For x with x[0] = 1 the exact image X is within
    ``error + relative · X[0]`` of x · matrix.
    """  # noqa: D205

    matrices: FloatArray  # (count × from × to)
    error: FloatArray  # (count × to)
    relative: FloatArray

    def settle(self, hulls: Hulls) -> FloatArray:
        """Return lower bounds of X[0], (count × hulls); errors become relative where it is > 0."""
        first = self.matrices[:, :, 0]
        depth = first.shape[1]
        value = first @ hulls.centre.T
        off = np.abs(first) @ hulls.radius.T
        rounding = (2.0 * gamma(depth + 4)) * (np.abs(first) @ hulls.size) + self.error[:, 0]
        least = value - raised(off + rounding[:, None], depth + 4)
        least = least / (1.0 + self.relative[:, :1]) * (1.0 - 8.0 * UNIT)
        lowest = least.min(1)
        sure = lowest > 0
        share = raised(self.error[sure] / lowest[sure, None], 2)
        self.relative[sure] = raised(self.relative[sure] + share, 2)
        self.error[sure] = 0.0
        return least

    def images(
        self, chosen: BoolArray, hulls: Hulls, least: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the images of all hulls under some words, (words × hulls × to) each.

        For any λ, X_k / X_0 - λ is at most sup x (A_k - λ A_0) / inf X_0, with errors; where the
        denominator is wide either end has a λ of its own, by a step of Dinkelbach's iteration.
        """
        a = self.matrices[chosen]
        depth, to = a.shape[1:]
        size = raised(hulls.size @ np.abs(a), depth)
        x = hulls.centre @ a  # (words × hulls × to)
        lam = x / x[:, :, :1]
        wide = np.abs(a[:, :, 0]) @ hulls.radius.T > _WIDE * np.abs(x[:, :, 0])
        bounds = _Bounds(a, x, size, self.relative[chosen], least[chosen], hulls.radius)
        centre, radius = lam.copy(), np.empty_like(lam)
        for part in _parts(np.argwhere(~wide), depth * to):
            ends = [bounds.reach(part, lam[part], sign) for sign in (1.0, -1.0)]
            radius[part] = np.maximum(*ends)
        for part in _parts(np.argwhere(wide), depth * to):
            tops = []
            for sign in (1.0, -1.0):
                better = bounds.better(part, lam[part], sign)
                tops.append(np.nextafter(sign * better + bounds.reach(part, better, sign), np.inf))
            middle = 0.5 * (tops[0] - tops[1])
            centre[part] = middle
            radius[part] = np.maximum(tops[0] - middle, tops[1] + middle) * (1.0 + 4.0 * UNIT)
            radius[part] += TINY
        return centre, radius


def _parts(pairs: LongArray, entries: int) -> list[tuple[LongArray, LongArray]]:
    """Return pairs of words and hulls in pieces that fit into the cache."""
    step = max(1, _ENTRIES // max(1, entries))
    pieces = (pairs[k : k + step] for k in range(0, len(pairs), step))
    return [(piece[:, 0], piece[:, 1]) for piece in pieces]


class _Bounds(NamedTuple):
    """Suprema of x (A_k - λ A_0) / X_0 over hulls."""

    a: FloatArray
    x: FloatArray
    size: FloatArray
    relative: FloatArray
    least: FloatArray
    radius: FloatArray

    def reach(self, part: tuple[LongArray, LongArray], lam: FloatArray, sign: float) -> FloatArray:
        """Bound sign (X_k / X_0 - λ), not below zero."""
        word, hull = part
        a, x = self.a[word], self.x[word, hull]
        gaps = np.abs(a - lam[:, None, :] * a[:, :, :1])
        spread = (self.radius[hull][:, None, :] @ gaps)[:, 0]
        sizes = self.size[word] + np.abs(lam) * self.size[word, :1]
        depth = a.shape[1]
        off = sign * (x - lam * x[:, :1]) + raised(spread, depth + 4)
        off = off + 4.0 * gamma(depth + 6) * sizes + TINY
        least = self.least[word, hull][:, None]
        own = self.relative[word] + np.abs(lam) * self.relative[word, :1]
        return raised(np.maximum(off, 0.0) / least + own, 4)

    def better(self, part: tuple[LongArray, LongArray], lam: FloatArray, sign: float) -> FloatArray:
        """Return a λ near the end of the interval; any number will do."""
        word, hull = part
        a, x = self.a[word], self.x[word, hull]
        gaps = a - lam[:, None, :] * a[:, :, :1]
        radius = self.radius[hull][:, None, :]
        spread = (radius @ np.abs(gaps))[:, 0]
        gain = ((radius * a[:, None, :, 0]) @ np.copysign(1.0, gaps))[:, 0]
        below = np.maximum(x[:, :1] + sign * gain, self.least[word, hull][:, None])
        found: FloatArray = lam + sign * spread / below
        return found


def _letters(step: Step, level: Level) -> _Words:
    added = step.added[level.letters]
    return _Words(step.matrices[level.letters], added.copy(), np.zeros_like(added))


def _longer(words: _Words, step: Step, level: Level) -> _Words:
    """Return s w for words w: M(s) times the matrix of w, and what that adds to its errors."""
    s, w = level.letters, level.parents
    after = words.matrices[w]
    depth = after.shape[1]
    new = step.added + gamma(depth + 2) * step.carried
    error = (new[s][:, None, :] @ np.abs(after))[:, 0] + step.most[s, None] * words.error[w]
    return _Words(step.matrices[s] @ after, raised(error, depth + 8), words.relative[w])
