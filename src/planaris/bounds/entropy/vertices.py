"""Concave maximisation over the marginal polytope itself, by weights of all states."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from planaris.bounds.entropy.entropies import Derivatives
from planaris.typing import FloatArray, IntArray


class VertexSolver:
    """Maximise ``θ·z + H(z)`` over the marginal polytope itself, by weights of all states."""

    def __init__(
        self, theta: FloatArray, entropy: Callable[[FloatArray], Derivatives], vertices: FloatArray
    ) -> None:
        self.theta, self.entropy, self.vertices = theta, entropy, vertices
        self.weights = np.full(len(vertices), 1 / len(vertices))
        self.upper, self.value = np.inf, -np.inf
        self.z = self.weights @ vertices
        self.steps = 0

    def maximise(self, tolerance: float) -> None:
        """Barrier on the weights; Newton steps by the Woodbury formula."""
        weight = 1.0
        while True:
            for _ in range(60):
                if self._newton(weight) < 0.02 * weight:
                    break
            self._bound()
            if self.upper - self.value <= tolerance or len(self.weights) * weight < tolerance / 50:
                return
            weight *= 0.2

    def _objective(self, weights: FloatArray, weight: float) -> float:
        z = weights @ self.vertices
        return float(self.theta @ z) + self.entropy(z)[0] + weight * float(np.log(weights).sum())

    def _newton(self, weight: float) -> float:
        _, g, h = self.entropy(self.z)
        hessian = h if isinstance(h, np.ndarray) else h.toarray()
        gradient = self.vertices @ (self.theta + g) + weight / self.weights
        inverse = self.weights**2 / weight
        # (D + V B V')^-1 with B = -H, D diagonal: only as large as the moments.
        thin = self.vertices * inverse[:, None]
        # With B = R R': R (1 + R' V' D^-1 V R)^-1 R', all eigenvalues inside at least one.
        values, vectors = np.linalg.eigh(-hessian)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        inside = np.eye(len(hessian)) + root.T @ (self.vertices.T @ thin) @ root
        factor = np.linalg.cholesky(inside)

        def apply(x: FloatArray) -> FloatArray:
            y = np.linalg.solve(factor.T, np.linalg.solve(factor, root.T @ (thin.T @ x)))
            return np.asarray(inverse * x - thin @ (root @ y))

        ones = np.ones(len(self.weights))
        left, right = apply(gradient), apply(ones)
        step = left - right * (left.sum() / right.sum())
        decrement = float(gradient @ step)
        self.steps += 1
        before = self._objective(self.weights, weight)
        length = 1.0
        falling = step < 0
        if falling.any():
            length = min(1.0, 0.95 * float((-self.weights[falling] / step[falling]).min()))
        for _ in range(50):
            trial = self.weights + length * step
            if self._objective(trial, weight) >= before + 0.1 * length * decrement - 1e-12:
                self.weights = trial / trial.sum()
                self.z = self.weights @ self.vertices
                return decrement
            length /= 2
        return 0.0

    def _bound(self) -> None:
        f, g, _ = self.entropy(self.z)
        gradient = self.theta + g
        self.value = float(self.theta @ self.z) + f
        most = float((self.vertices @ gradient).max())
        bound = self.value - float(gradient @ self.z) + most
        self.upper = min(self.upper, bound + 1e-13 * (1 + abs(bound)))


def all_vertices(n: int, pairs: IntArray) -> FloatArray:
    """Return the moments of all states, one row each.

    >>> all_vertices(1, np.zeros((0, 2), dtype=int)).tolist()
    [[1.0], [-1.0]]
    """
    states = np.array(list(itertools.product([1.0, -1.0], repeat=n))).reshape(-1, n)
    return np.concatenate([states, states[:, pairs[:, 0]] * states[:, pairs[:, 1]]], axis=1)
