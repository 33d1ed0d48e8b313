"""Check a tree of decisions on pairs of spins with semidefinite multipliers at its leaves.

Eigenvalues are bounded by a theorem, not by an estimate: ``L L'`` is positive semidefinite for
every matrix L, so ``M + d I`` has no eigenvalue below ``-‖M + d I - L L'‖``. How L was found does
not matter; the norm is computed, and charged for the rounding of every sum and product in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from planaris.result import SemidefiniteTree
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import require, tree_leaves, whole_numbers

_UNIT = 2.0**-53

Groups = tuple[Array, Array, int]
"""The group of every spin, its sign in the group, and the number of groups."""


def semidefinite_bound(edges: Array, couplings: FloatArray, proof: SemidefiniteTree) -> float:
    """Return a lower bound on all energies ``-Σ J s s``: that of the lowest leaf of the tree.

    Examples
    --------
    >>> one_leaf = SemidefiniteTree(
    ...     [[-1, -1]], [[-1, -1]], [0, 2], [-1.0, -1.0], [0, 0], [], [], []
    ... )
    >>> round(semidefinite_bound(np.array([[0, 1]]), np.array([2.0]), one_leaf), 9)
    -2.0
    """
    used = couplings != 0
    touched, ends = np.unique(edges[used], return_inverse=True)
    ends, couplings = ends.reshape(-1, 2), couplings[used]
    lowest = math.inf
    for node, groups in _leaves(len(touched), proof):
        bound = _leaf_bound(ends, couplings, groups, _Multipliers(proof, node))
        require(math.isfinite(bound), "the bound of every leaf is a number")
        lowest = min(lowest, bound)
    return lowest


def _leaves(num_spins: int, proof: SemidefiniteTree) -> Iterator[tuple[int, Groups]]:
    """Yield (leaf, groups there), every node visited once."""
    pair = whole_numbers(proof.pair, "pair").reshape(-1, 2)
    child = whole_numbers(proof.child, "child").reshape(-1, 2)
    require(len(pair) == len(child) > 0, "every node has a pair and two children")

    def split(node: int, groups: Groups) -> tuple[Groups, Groups] | None:
        group, sign, count = groups
        i, j = pair[node].tolist()
        if i < 0:
            return None
        require(i < j < count, "a decision joins two groups")
        moved = group == j
        joined, turned = np.where(moved, i, group - (group > j)), np.where(moved, -sign, sign)
        return (joined, sign, count - 1), (joined, turned, count - 1)

    root = np.arange(num_spins), np.ones(num_spins), max(num_spins, 1)
    return tree_leaves(child, root, split)


class _Multipliers:
    """The numbers of one leaf, each in its range."""

    def __init__(self, proof: SemidefiniteTree, node: int) -> None:
        nodes = len(np.asarray(proof.pair).reshape(-1, 2))
        numbers = _run(proof.diagonal_offsets, "diagonal_offsets", node, nodes)
        rows = _run(proof.triangle_offsets, "triangle_offsets", node, nodes)
        self.diagonal = np.asarray(proof.diagonal, dtype=np.float64)[numbers]
        self.groups = _table(proof.triangles, "triangles")[rows]
        self.signs = _table(proof.signs, "signs")[rows]
        self.weight = np.asarray(proof.multipliers, dtype=np.float64)[rows]
        sizes = len(self.groups) == len(self.signs) == len(self.weight) == rows.stop - rows.start
        same = self.groups.shape == self.signs.shape
        require(sizes and same, "every triangle has groups, signs and a multiplier")
        require(len(self.diagonal) == numbers.stop - numbers.start, "numbers of a leaf are a run")
        require(bool(np.all(self.weight >= 0)), "multipliers are >= 0")
        filled = self.groups != -1
        self.counts = filled.sum(1)
        require(bool(np.all(np.abs(self.signs) == filled)), "signs of triangles are ±1")
        require(bool(np.all(self.counts % 2 == 1)), "cliques have an odd number of groups")

    def check_groups(self, count: int) -> None:
        """Require that every row names different groups of the leaf."""
        filled = self.groups != -1
        inside = np.all(~filled | ((self.groups >= 0) & (self.groups < count)))
        # What is left out gets numbers of its own, so that equal neighbours are equal groups.
        places = -1 - np.arange(self.groups.shape[1])
        ordered = np.sort(np.where(filled, self.groups, places), axis=1)
        three = np.all(self.counts >= 3)
        distinct = np.all(np.diff(ordered) > 0)
        require(bool(inside and three and distinct), "triangles have three groups, cliques more")


def _table(value: Any, name: str) -> Array:
    """Return the rows of cliques, three columns wide by default."""
    array = whole_numbers(value, name)
    wide = array.ndim == 2 and array.size > 0
    require(not wide or array.shape[1] >= 3, f"`{name}` has three columns or more")
    return array if wide else array.reshape(-1, 3)


def _run(offsets: Any, name: str, node: int, nodes: int) -> slice:
    begins = whole_numbers(offsets, name)
    require(len(begins) == nodes + 1, f"`{name}` has a run for every node")
    first, last = int(begins[node]), int(begins[node + 1])
    require(0 <= first <= last, f"`{name}` does not fall")
    return slice(first, last)


def _leaf_bound(ends: Array, couplings: FloatArray, groups: Groups, numbers: _Multipliers) -> float:
    """Return constant + Σ u - Σ r y - count * d, rounded down; r is 1 for triangles."""
    group, sign, count = groups
    require(len(numbers.diagonal) == count, "there is one number per group")
    a, b = group[ends].T
    energy = -couplings * sign[ends].prod(1)
    inside = a == b
    matrix, size, terms = np.zeros((3, count, count))
    _scatter((matrix, size, terms), a[~inside], b[~inside], energy[~inside] / 2)
    numbers.check_groups(count)
    for p, q in itertools.combinations(range(numbers.groups.shape[1]), 2):
        at = np.flatnonzero(numbers.signs[:, p] * numbers.signs[:, q])
        half = -numbers.weight[at] * numbers.signs[at, p] * numbers.signs[at, q] / 2
        _scatter((matrix, size, terms), numbers.groups[at, p], numbers.groups[at, q], half)
    corner = np.diag_indices(count)
    matrix[corner] -= numbers.diagonal
    size[corner] += np.abs(numbers.diagonal)
    # Sums of k terms in any order are right to k units of the sum of their sizes.
    wrong = _norm(1.01 * _UNIT * (terms + 1) * size)
    shift = lowest_eigenvalue(matrix) - wrong
    sides = -(numbers.counts - 1) / 2 * numbers.weight  # times 1, 2 or 3: rounded once at most
    sides = np.where(numbers.counts > 5, np.nextafter(sides, -np.inf), sides)
    parts = [*energy[inside].tolist(), *numbers.diagonal.tolist(), *sides.tolist()]
    total = math.fsum([*parts, count * min(shift, 0.0) * (1 + 4 * _UNIT)])
    return total - 2 * _UNIT * abs(total)


def _scatter(
    into: tuple[FloatArray, FloatArray, FloatArray], a: Array, b: Array, values: FloatArray
) -> None:
    """Add values, their sizes and their number at (a, b) and (b, a)."""
    matrix, size, terms = into
    for rows, columns in ((a, b), (b, a)):
        np.add.at(matrix, (rows, columns), values)
        np.add.at(size, (rows, columns), np.abs(values))
        np.add.at(terms, (rows, columns), 1.0)


def lowest_eigenvalue(matrix: FloatArray) -> float:
    """Return a lower bound on the eigenvalues of a symmetric matrix.

    Examples
    --------
    >>> found = lowest_eigenvalue(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> bool(found <= 1.0), round(found, 12)
    (True, 1.0)
    """
    count = len(matrix)
    largest = float(np.abs(matrix).max(initial=0.0))
    require(largest < 1e300, "the numbers of a leaf are finite")
    if largest == 0.0:
        return 0.0
    # A power of two, so that nothing below overflows, and what underflows is beyond notice.
    unit = math.ldexp(1.0, math.frexp(largest)[1])
    scaled = matrix / unit
    with threadpool_limits(1):  # the matrices are too small to share out
        values, vectors = np.linalg.eigh(scaled)
        shift = -float(values[0])
        factor = vectors * np.sqrt(np.maximum(values + shift, 0.0))
        rest = scaled - factor @ factor.T
    rest[np.diag_indices(count)] += shift
    # |fl(L L') - L L'| <= count units of |L| |L|', of norm at most ‖L‖²; two more subtractions.
    sizes = _norm(factor) ** 2 + 2 * _norm(scaled) + 2 * math.sqrt(count) * abs(shift)
    wrong = _norm(rest) + 1.01 * (count + 4) * _UNIT * sizes + 1e-290
    return unit * (-shift - 1.01 * wrong)


def _norm(matrix: FloatArray) -> float:
    """Return at least the Frobenius norm, which no eigenvalue exceeds."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    scaled = matrix / largest
    return (1 + (matrix.size + 8) * _UNIT) * largest * float(np.sqrt((scaled * scaled).sum()))
