"""Semidefinite bounds with odd clique inequalities, for dense models.

``min <C, X>`` over ``X >= 0`` (positive semidefinite), ``diag X = 1`` and rows ``T X >= -r`` of
:mod:`planaris.relax.sdp.cliques` bounds ``min <C, s s'>``.
Since ``‖X‖ <= n``, for any α > 0 and any multipliers (λ free, γ >= 0)

    min >= Σ λ_i - Σ r_t γ_t - (1/2α) ‖[C - Diag λ - T'γ]_-‖² - (α/2) n²

(Malick & Roupin 2013), a smooth concave function of the multipliers; its gradient is
``A(X) - b`` at ``X = [C - Diag λ - T'γ]_- / α``. No interior-point solver. At every step
``Σ λ_i - Σ r_t γ_t + n min(λ_min, 0)``, with the least eigenvalue of the same matrix, is a bound
too and never worse (X has trace n): it is the one that counts, and that certificates give.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.relax.cut_form import UNIT
from planaris.relax.sdp.cliques import PATIENCE, Cliques, violated_cliques
from planaris.relax.sdp.projected_lbfgs import minimize_projected
from planaris.typing import FloatArray

LEAST = 0.02
"""Violation of a triangle that is worth an inequality; larger cliques need more."""

ROWS_PER_SPIN = (6, 3, 2)
"""Most triangles, pentagons and heptagons that a round adds, for every spin."""


class SemidefiniteBound:
    """The bound of one matrix C: multipliers, the matrix X they give, and the best bound."""

    def __init__(
        self,
        cost: FloatArray,
        diagonal: FloatArray | None = None,
        cliques: Cliques | None = None,
    ) -> None:
        self.cost = cost
        self.n = len(cost)
        self.diagonal = -np.abs(cost).sum(1) if diagonal is None else diagonal
        self.lower = -np.inf
        self.best: tuple[FloatArray, Cliques] = (self.diagonal, Cliques.none())
        self.x: FloatArray = np.eye(self.n)
        self.alpha = 0.1
        self.evaluations = 0
        self._take(Cliques.none() if cliques is None else cliques)

    def _take(self, cliques: Cliques) -> None:
        self.cliques, self._sides = cliques, cliques.sides
        self._rows = cliques.matrix(self.n)
        self._columns = self._rows.T.tocsr()

    def pull(self, weight: FloatArray) -> FloatArray:
        """Return T'γ as a symmetric matrix."""
        half = (self._columns @ weight).reshape(self.n, self.n) / 2
        return np.asarray(half + half.T)

    def value(self, multipliers: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the bound and its gradient; note the best bound."""
        n = self.n
        weight = multipliers[n:]
        matrix = self.cost - self.pull(weight)
        matrix[np.diag_indices(n)] -= multipliers[:n]
        values, vectors = np.linalg.eigh(matrix)
        self.evaluations += 1
        low = int(np.searchsorted(values, 0.0))
        part = vectors[:, :low]
        self.x = (part * (values[:low] / -self.alpha)) @ part.T  # -[matrix]_- / α
        square = float(values[:low] @ values[:low])
        linear = float(multipliers[:n].sum() - self._sides @ weight)
        bound = linear - square / (2 * self.alpha) - self.alpha / 2 * n * n
        # Without the regularisation: <Z, X> >= n λ_min(Z), as X has trace n. Never worse.
        least = linear + n * min(float(values[0]), 0.0)
        # Backward error of the eigenvalues, far more than LAPACK's in practice.
        wrong = 4 * n * n * UNIT * max(abs(float(values[0])), abs(float(values[-1])))
        sizes = float(np.abs(multipliers[:n]).sum() + self._sides @ weight)
        wrong += 16 * n * UNIT * (abs(least) + sizes)
        if least - wrong > self.lower:
            self.lower = least - wrong
            self.best = (np.array(multipliers[:n]), replace(self.cliques, weight=np.array(weight)))
        excess = self._rows @ self.x.ravel() + self._sides
        return -bound, np.concatenate([self.x.diagonal() - 1.0, excess])

    def ascend(self, target: float, iterations: int, budget: Budget = UNLIMITED) -> None:
        """Improve the multipliers; stop once the bound passes ``target``, or late."""
        start = np.concatenate([self.diagonal, self.cliques.weight])
        found = minimize_projected(
            self.value,
            start,
            np.arange(len(start)) >= self.n,
            iterations=iterations,
            stop=lambda: self.lower >= target or budget.expired(),
        )
        self.value(found)
        self.diagonal, self.cliques.weight = found[: self.n], found[self.n :]

    def tighten(self, budget: Budget = UNLIMITED) -> int:
        """Drop idle inequalities, add violated ones; return how many were added.

        ``TimeoutError`` when the time is over before: then nothing has changed.
        """
        counts = ROWS_PER_SPIN[0] * self.n, ROWS_PER_SPIN[1] * self.n, ROWS_PER_SPIN[2] * self.n
        more = violated_cliques(self.x, counts, LEAST, budget=budget)
        rows = self.cliques
        active = (rows.weight > 1e-8) | (self._rows @ self.x.ravel() + self._sides < 0.01)
        rows.idle = np.where(active, 0, rows.idle + 1).astype(np.int32)
        rows = rows.kept(rows.idle < PATIENCE)
        before = rows.size
        self._take(rows.joined(*more))
        return self.cliques.size - before
