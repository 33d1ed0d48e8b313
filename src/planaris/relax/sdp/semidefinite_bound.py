"""Semidefinite bounds with triangle inequalities, for dense models.

``min <C, X>`` over ``X >= 0`` (positive semidefinite), ``diag X = 1`` and triangles
``σ_ij X_ij + σ_ik X_ik + σ_jk X_jk >= -1`` (σ of product +1) bounds ``min <C, s s'>``.
Since ``‖X‖ <= n``, for any α > 0 and any multipliers (λ free, γ >= 0)

    min >= Σ λ_i - Σ γ_t - (1/2α) ‖[C - Diag λ - T'γ]_-‖² - (α/2) n²

(Malick & Roupin 2013), a smooth concave function of the multipliers; its gradient is
``A(X) - b`` at ``X = [C - Diag λ - T'γ]_- / α``. No interior-point solver. At every step
``Σ λ_i - Σ γ_t + n min(λ_min, 0)``, with the least eigenvalue of the same matrix, is a bound
too and never worse (X has trace n): it is the one that counts, and that certificates give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.relax.cut_form import UNIT
from planaris.relax.sdp.projected_lbfgs import minimize_projected
from planaris.typing import BoolArray, FloatArray, LongArray

SIGNS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=np.float64)
"""Signs (ij, ik, jk) of the four triangle inequalities."""


@dataclass(eq=False)
class Triangles:
    """Triangle inequalities with their multipliers."""

    spins: LongArray
    kind: LongArray
    weight: FloatArray

    @classmethod
    def none(cls) -> Triangles:
        """Return an empty set."""
        return cls(np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0))

    def pull(self, n: int) -> FloatArray:
        """Return T'γ as a symmetric matrix."""
        flat = np.zeros(n * n)
        i, j, k = self.spins.T
        for at, (a, b) in enumerate(((i, j), (i, k), (j, k))):
            half = self.weight * SIGNS[self.kind, at] / 2
            flat += np.bincount(a * n + b, half, n * n)
        matrix = flat.reshape(n, n)
        return matrix + matrix.T

    def left(self, x: FloatArray) -> FloatArray:
        """Return the left sides at a matrix."""
        i, j, k = self.spins.T
        signs = SIGNS[self.kind]
        return np.asarray(signs[:, 0] * x[i, j] + signs[:, 1] * x[i, k] + signs[:, 2] * x[j, k])

    def contract(self, i: int, j: int, sign: int) -> Triangles:
        """Return the triangles after spin j became ``sign`` times spin i; j's number goes."""
        spins, signs = np.array(self.spins), np.array(SIGNS[self.kind])
        here = spins == j
        if sign < 0:
            for at, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
                signs[here[:, a] | here[:, b], at] *= -1
        spins[here] = i
        spins[spins > j] -= 1
        order = np.argsort(spins, axis=1, kind="stable")
        spins = np.take_along_axis(spins, order, 1)
        # Position of the pair that leaves out spin p is 2 - p; sorting permutes the left-outs.
        signs = np.take_along_axis(signs[:, ::-1], order, 1)[:, ::-1]
        good = (spins[:, 0] < spins[:, 1]) & (spins[:, 1] < spins[:, 2])
        kind = np.argmax((signs[:, None, :] == SIGNS[None]).all(2), axis=1)
        keep = np.flatnonzero(good)
        return Triangles(spins[keep], kind[keep], self.weight[keep]).merged()

    def merged(self) -> Triangles:
        """Return the same set with every inequality once, multipliers added."""
        if not len(self.weight):
            return self
        key = np.column_stack([self.spins, self.kind])
        unique, index = np.unique(key, axis=0, return_inverse=True)
        weight: FloatArray = np.zeros(len(unique))
        np.add.at(weight, index.ravel(), self.weight)
        return Triangles(unique[:, :3], unique[:, 3], weight)

    def joined(self, other: Triangles) -> Triangles:
        """Return both sets together."""
        return Triangles(
            np.concatenate([self.spins, other.spins]),
            np.concatenate([self.kind, other.kind]),
            np.concatenate([self.weight, other.weight]),
        ).merged()

    def kept(self, which: BoolArray) -> Triangles:
        """Return the part where ``which`` is True."""
        return Triangles(self.spins[which], self.kind[which], self.weight[which])


def violated_triangles(x: FloatArray, count: int, least: float) -> Triangles:
    """Return the ``count`` most violated triangle inequalities of a matrix."""
    n = len(x)
    found_spins, found_kind, found = [], [], []
    for i in range(n - 2):
        row = x[i, i + 1 :]
        block = x[i + 1 :, i + 1 :]
        upper = np.triu_indices(len(row), 1)
        a, b, c = row[upper[0]], row[upper[1]], block[upper]
        for kind, (p, q, r) in enumerate(SIGNS):
            violation = -1.0 - (p * a + q * b + r * c)
            hit = np.flatnonzero(violation > least)
            if len(hit):
                spins = np.column_stack(
                    [np.full(len(hit), i), upper[0][hit] + i + 1, upper[1][hit] + i + 1]
                )
                found_spins.append(spins)
                found_kind.append(np.full(len(hit), kind))
                found.append(violation[hit])
    if not found:
        return Triangles.none()
    violation = np.concatenate(found)
    best = np.argsort(-violation, kind="stable")[:count]
    spins = np.concatenate(found_spins)[best]
    return Triangles(spins, np.concatenate(found_kind)[best], np.zeros(len(best)))


class SemidefiniteBound:
    """The bound of one matrix C: multipliers, the matrix X they give, and the best bound."""

    def __init__(
        self,
        cost: FloatArray,
        diagonal: FloatArray | None = None,
        triangles: Triangles | None = None,
    ) -> None:
        self.cost = cost
        self.n = len(cost)
        self.diagonal = -np.abs(cost).sum(1) if diagonal is None else diagonal
        self.triangles = Triangles.none() if triangles is None else triangles
        self.lower = -np.inf
        self.best: tuple[FloatArray, Triangles] = (self.diagonal, Triangles.none())
        self.x: FloatArray = np.eye(self.n)
        self.alpha = 0.1
        self.evaluations = 0

    def value(self, multipliers: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the bound and its gradient; note the best bound."""
        n = self.n
        self.triangles.weight = multipliers[n:]
        matrix = self.cost - self.triangles.pull(n)
        matrix[np.diag_indices(n)] -= multipliers[:n]
        values, vectors = np.linalg.eigh(matrix)
        self.evaluations += 1
        low = values < 0
        part = vectors[:, low]
        negative = (part * values[low]) @ part.T  # [matrix]_-
        self.x = negative / -self.alpha
        square = float(values[low] @ values[low])
        linear = float(multipliers[:n].sum() - multipliers[n:].sum())
        bound = linear - square / (2 * self.alpha) - self.alpha / 2 * n * n
        # Without the regularisation: <Z, X> >= n λ_min(Z), as X has trace n. Never worse.
        least = linear + n * min(float(values[0]), 0.0)
        # Backward error of the eigenvalues, far more than LAPACK's in practice.
        wrong = 4 * n * n * UNIT * float(np.abs(values).max())
        wrong += 8 * n * UNIT * (abs(least) + float(np.abs(multipliers).sum()))
        if least - wrong > self.lower:
            self.lower = least - wrong
            weighed = replace(self.triangles, weight=np.array(multipliers[n:]))
            self.best = (np.array(multipliers[:n]), weighed)
        gradient = np.concatenate([self.x.diagonal() - 1.0, self.triangles.left(self.x) + 1.0])
        return -bound, gradient

    def ascend(self, target: float, iterations: int, budget: Budget = UNLIMITED) -> None:
        """Improve the multipliers; stop once the bound passes ``target``, or late."""
        start = np.concatenate([self.diagonal, self.triangles.weight])
        found = minimize_projected(
            self.value,
            start,
            np.arange(len(start)) >= self.n,
            iterations=iterations,
            stop=lambda: self.lower >= target or budget.expired(),
        )
        self.value(found)
        self.diagonal, self.triangles.weight = found[: self.n], found[self.n :]

    def tighten(self) -> int:
        """Drop idle triangles, add violated ones; return how many were added."""
        active = (self.triangles.weight > 1e-8) | (self.triangles.left(self.x) < -0.99)
        self.triangles = self.triangles.kept(active)
        fresh = violated_triangles(self.x, 6 * self.n, 0.02)
        before = len(self.triangles.weight)
        self.triangles = self.triangles.joined(fresh)
        return len(self.triangles.weight) - before
