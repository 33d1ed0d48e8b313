"""Concave upper bounds on the entropy, as functions of the moments of an Ising model.

Moments are ``z = (E s_v for all v, E s_u s_v for all pairs)``. Every entropy gives value, gradient
and Hessian at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from planaris.typing import FloatArray, IntArray

Derivatives = tuple[float, Any, Any]
"""Value, gradient, and Hessian (sparse or dense)."""

UNIT = 2.0**-53

SIGNS = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], dtype=np.float64)
"""Coefficients of (E s_u, E s_v, E s_u s_v) in 4 P(s_u, s_v) - 1."""

DENSE_SIZE = 120
"""Variables up to which matrices of second derivatives are dense."""


class TreeEntropy:
    r"""Tree-reweighted entropy: Σ H_v - Σ ρ_e I_e (Wainwright, Jaakkola, Willsky 2005).

    Parameters
    ----------
    num_spins : int
        Number of spins.
    pairs : numpy.ndarray
        Edges, shape (m, 2).
    rho : numpy.ndarray
        Edge appearance probabilities, a point of the spanning tree polytope.
    """

    def __init__(self, num_spins: int, pairs: IntArray, rho: FloatArray) -> None:
        self.n, self.pairs, self.rho = num_spins, pairs, rho
        self.share = 1.0 - np.bincount(pairs.ravel(), np.repeat(rho, 2), num_spins)
        m = np.arange(len(pairs)) + num_spins
        self.columns = np.column_stack([pairs, m])

    def tables(self, z: FloatArray) -> FloatArray:
        """Return P(s_u, s_v) for (+,+), (+,-), (-,+), (-,-), one row per edge."""
        return np.asarray((1.0 + z[self.columns] @ SIGNS.T) / 4)

    def information(self, z: FloatArray) -> FloatArray:
        """Return the mutual information of every edge."""
        p, q = self.tables(z), (1 + z[: self.n]) / 2
        ends = np.stack([q, 1 - q], axis=1)
        u, v = ends[self.pairs[:, 0]], ends[self.pairs[:, 1]]
        product = np.stack(
            [u[:, 0] * v[:, 0], u[:, 0] * v[:, 1], u[:, 1] * v[:, 0], u[:, 1] * v[:, 1]], axis=1
        )
        return np.asarray((p * np.log(p / product)).sum(1))

    def slope(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        n = self.n
        p, q = self.tables(z), (1 + z[:n]) / 2
        logs, lq, lr = np.log(p), np.log(q), np.log1p(-q)
        value = -float(self.share @ (q * lq + (1 - q) * lr) + self.rho @ (p * logs).sum(1))
        gradient = np.zeros(len(z))
        gradient[:n] = -self.share * (lq - lr) / 2
        parts = -self.rho[:, None] * (logs @ SIGNS) / 4
        np.add.at(gradient, self.columns, parts)
        return value, gradient

    def __call__(self, z: FloatArray) -> Derivatives:
        """Return value, gradient and Hessian: sparse, or dense where it is small."""
        n, size = self.n, len(z)
        # Σ_p (1/p) g g' of every edge, g = SIGNS / 4.
        weights = self.rho[:, None] / self.tables(z)
        blocks = np.einsum("ek,ka,kb->eab", weights, SIGNS, SIGNS) / -16
        rows = np.repeat(self.columns, 3, axis=1).ravel()
        columns = np.tile(self.columns, (1, 3)).ravel()
        own = -self.share / (1 - z[:n] ** 2)
        data = np.concatenate([blocks.ravel(), own])
        rows, columns = np.append(rows, np.arange(n)), np.append(columns, np.arange(n))
        hessian: Any
        if size <= DENSE_SIZE:
            hessian = np.bincount(rows * size + columns, data, size * size).reshape(size, size)
        else:
            hessian = scipy.sparse.csr_array(
                scipy.sparse.coo_array((data, (rows, columns)), shape=(size, size))
            )
        return (*self.slope(z), hessian)

    def rounding(self, z: FloatArray) -> float:
        """Return by how much the tangent at z may be off: tables of pairs fit those of spins."""
        q = (1 + z[: self.n]) / 2
        shaken = 1 / q + 1 / (1 - q)
        spread = float(self.rho @ shaken[self.pairs].sum(1) + np.abs(self.share) @ shaken)
        return 16 * UNIT * spread


class LogDetEntropy:
    """Entropy of a Gaussian of the same moments plus uniform noise (Wainwright, Jordan 2006).

    ``½ log det(M1 + ⅓ blkdiag(0, I)) + (n/2) log(πe/2)``; needs the moments of all pairs.
    """

    def __init__(self, num_spins: int, pairs: IntArray) -> None:
        self.n, self.pairs = num_spins, pairs

    def slope(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient; minus infinity outside the domain."""
        value, gradient = log_det_slope(self._noisy(z), *moment_places(self.n, self.pairs))
        return value / 2 + self._constant(), gradient / 2

    def __call__(self, z: FloatArray) -> Derivatives:
        """Return value, gradient and dense Hessian; minus infinity outside the domain."""
        places = moment_places(self.n, self.pairs)
        value, gradient, hessian = log_det(self._noisy(z), *places)
        return value / 2 + self._constant(), gradient / 2, hessian / 2

    def _constant(self) -> float:
        return self.n / 2 * float(np.log(np.pi * np.e / 2))

    def rounding(self, z: FloatArray) -> float:
        """Return by how much the tangent at z may be off: entries of inverses, by the condition."""
        matrix = self._noisy(z)
        inverse = float(np.linalg.norm(np.linalg.inv(matrix)))
        spread = float(np.linalg.norm(matrix)) * inverse * (1.0 + inverse)
        return 16 * (self.n + 1) * UNIT * spread

    def _noisy(self, z: FloatArray) -> FloatArray:
        """Return the moment matrix of the spins plus uniform noise."""
        matrix = moment_matrix(self.n, self.pairs, z)
        at = np.arange(1, self.n + 1)
        matrix[at, at] += 1.0 / 3
        return matrix


def moment_places(n: int, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """Return row and column of every moment in the moment matrix M1."""
    rows = np.concatenate([np.zeros(n, dtype=np.int64), pairs[:, 0] + 1])
    columns = np.concatenate([np.arange(1, n + 1), pairs[:, 1] + 1])
    return rows.astype(np.int32), columns.astype(np.int32)


def moment_matrix(n: int, pairs: IntArray, z: FloatArray) -> FloatArray:
    """Return M1 = E (1, s)(1, s)'; pairs that are not listed are taken as zero."""
    rows, columns = moment_places(n, pairs)
    matrix = np.eye(n + 1)
    matrix[rows, columns] = matrix[columns, rows] = z
    return matrix


def log_det(matrix: FloatArray, rows: IntArray, columns: IntArray) -> Derivatives:
    """Return log det and its derivatives by the symmetric entries at (rows, columns)."""
    value, gradient = log_det_slope(matrix, rows, columns)
    if value == -np.inf:
        return value, gradient, np.zeros((len(rows), len(rows)))
    inverse = np.linalg.inv(matrix)
    a = inverse[np.ix_(rows, rows)] * inverse[np.ix_(columns, columns)]
    b = inverse[np.ix_(rows, columns)] * inverse[np.ix_(columns, rows)]
    return value, gradient, -2.0 * (a + b)


def log_det_slope(
    matrix: FloatArray, rows: IntArray, columns: IntArray
) -> tuple[float, FloatArray]:
    """Return log det and its gradient by the symmetric entries at (rows, columns)."""
    try:
        factor = np.linalg.cholesky(matrix)
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return -np.inf, np.zeros(len(rows))
    value = 2.0 * float(np.log(np.diagonal(factor)).sum())
    return value, np.asarray(2.0 * inverse[rows, columns], dtype=np.float64)
