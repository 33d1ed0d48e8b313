"""log Z and marginals by dense, completely pivoted Pfaffians: any rotation system of low genus.

Cubic time per Pfaffian, quadratic memory; for tests. Shares nothing with the sparse solver: no
chords, no elimination order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from planaris.embed import Embedding
from planaris.embed.homology import sign_structures
from planaris.reference.kasteleyn import edge_signs, face_signs, gauge_couplings
from planaris.result import LogPartition
from planaris.typing import ArrayLike, FloatArray, IntArray

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PfaffianFactors:
    """``matrix[order][:, order] = L D Lᵀ`` with 2×2 blocks ``[[0, p], [-p, 0]]`` in D.

    Where ``sign`` is zero, ``log`` bounds what rounding may have hidden.
    """

    sign: float
    log: float
    lower: FloatArray
    pivots: FloatArray
    order: IntArray


def factor_pfaffian(matrix: FloatArray) -> PfaffianFactors:
    """Eliminate by 2×2 pivots, each the largest entry left (Bunch, complete pivoting).

    The updates are exactly antisymmetric, so blocks of odd size stay exactly singular.
    """
    a = np.array(matrix, dtype=np.float64)
    n = len(a)
    lower, order, pivots = np.eye(n), np.arange(n, dtype=np.int32), np.zeros(n // 2)
    sign, log = (0.0, -math.inf) if n % 2 else (1.0, 0.0)
    for k in range(0, n - 1, 2):
        rest = np.abs(a[k:, k:])
        i, j = sorted(divmod(int(rest.argmax()), n - k))
        if rest[i, j] == 0:
            # What is left may be zero or lost to rounding and underflow: bound its Pfaffian.
            log += (n - k) / 2 * math.log(n * n * EPSILON)
            return PfaffianFactors(0.0, log, lower, pivots, order)
        for now, wanted in ((k, i + k), (k + 1, j + k)):
            if now != wanted:
                a[[now, wanted]] = a[[wanted, now]]
                a[:, [now, wanted]] = a[:, [wanted, now]]
                lower[[now, wanted], :k] = lower[[wanted, now], :k]
                order[[now, wanted]] = order[[wanted, now]]
                sign = -sign
        pivot = pivots[k // 2] = a[k, k + 1]
        sign *= math.copysign(1.0, pivot)
        log += math.log(abs(pivot))
        below = a[k + 2 :, k : k + 2]
        lower[k + 2 :, k], lower[k + 2 :, k + 1] = below[:, 1] / pivot, -below[:, 0] / pivot
        outer = np.outer(below[:, 0] / pivot, below[:, 1])
        a[k + 2 :, k + 2 :] += outer.T - outer
    return PfaffianFactors(sign, log, lower, pivots, order)


def pfaffian(matrix: FloatArray) -> tuple[float, float]:
    """Return (sign, log of the absolute value) of the Pfaffian of an antisymmetric matrix.

    Examples
    --------
    >>> pfaffian(np.array([[0.0, -2.0], [2.0, 0.0]]))
    (-1.0, 0.6931471805599453)
    """
    factors = factor_pfaffian(matrix)
    return factors.sign, factors.log if factors.sign else -math.inf


def _pfaffian_error(matrix: FloatArray, factors: PfaffianFactors) -> float:
    """Estimate the error of ``factors.log`` from the residual R of the factorisation.

    To first order log Pf changes by Σ X_{2k,2k+1} / p_k, X = L⁻¹ R L⁻ᵀ, where R is
    antisymmetric like the matrix; small pivots are thus judged against the small residuals of
    their own rows. Entries are taken to be off by two units in the last place themselves.
    """
    permuted = matrix[np.ix_(factors.order, factors.order)]
    wide = factors.lower.astype(np.longdouble)
    left = np.empty_like(wide)
    left[:, 0::2] = -wide[:, 1::2] * factors.pivots
    left[:, 1::2] = wide[:, 0::2] * factors.pivots
    residual = np.asarray(np.abs(permuted - left @ wide.T), dtype=np.float64)
    residual += 2 * EPSILON * np.abs(permuted)
    inverse = solve_triangular(factors.lower, np.eye(len(matrix)), lower=True)
    error = 0.0
    for k, pivot in enumerate(factors.pivots.tolist()):
        outer = np.outer(inverse[2 * k], inverse[2 * k + 1])
        error += float((np.abs(outer - outer.T) * residual).sum()) / (2 * abs(pivot))
    return error


@dataclass(frozen=True, eq=False)
class Structure:
    """One scaled Kasteleyn matrix: Pf(K) = sign · exp(log_scale) · Pf(matrix)."""

    matrix: FloatArray
    joins: FloatArray
    sign: float
    log_scale: float


def _structures(embedding: Embedding, g: FloatArray) -> Iterator[Structure]:
    """Yield all sign structures, rows and columns scaled so that no entry exceeds one."""
    within, sigma = face_signs(embedding), edge_signs(embedding)
    x = np.repeat(g, 2)
    log_face = np.where(within != 0, -x[:, None] - x[None, :], -np.inf)
    even = np.arange(0, len(x), 2)
    log_size = log_face.copy()
    log_size[even, even + 1] = np.maximum(log_size[even, even + 1], 0)
    log_size[even + 1, even] = log_size[even, even + 1]
    y = np.zeros(len(x))
    for _ in range(50):
        y += (log_size - y[:, None] - y[None, :]).max(axis=1, initial=-np.inf) / 2
    y += (log_size - y[:, None] - y[None, :]).max(axis=1, initial=-np.inf).clip(0) / 2
    faces = within.astype(np.float64) * np.exp(log_face - y[:, None] - y[None, :])
    for flip in sign_structures(embedding):
        signs = (sigma * flip).astype(np.float64)
        joins = signs * np.exp(-y[even] - y[even + 1])
        matrix = faces.copy()
        matrix[even, even + 1] += joins
        matrix[even + 1, even] -= joins
        yield Structure(matrix, joins, float(np.prod(signs)), math.fsum(y.tolist()))


def log_partition(
    embedding: Embedding, couplings: ArrayLike, *, spins: ArrayLike | None = None
) -> LogPartition:
    """Compute log Z of a zero-field model on a rotation system.

    Parameters
    ----------
    embedding : Embedding
        Any genus; 4^genus Pfaffians are computed. Parallel edges are allowed.
    couplings : array_like
        One per edge of ``embedding``.
    spins : array_like, optional
        State to take weights relative to; a ground state makes low temperatures accurate on
        plane graphs, as long as no coupling exceeds a few hundred.

    Returns
    -------
    LogPartition
        ``lower`` and ``upper`` come from an estimate of the rounding error (by residuals);
        infinite, with ``exact`` False, when nothing can be trusted.

    Examples
    --------
    >>> from planaris.embed.surfaces import torus_lattice
    >>> round(log_partition(torus_lattice(2, 2), [0.5] * 8).value, 10)
    4.7977137475
    """
    g = gauge_couplings(embedding, couplings, spins)
    logs, signs, errors = [], [], []
    for structure in _structures(embedding, g):
        factors = factor_pfaffian(structure.matrix)
        signs.append(structure.sign * factors.sign)
        logs.append(factors.log + structure.log_scale)
        errors.append(_pfaffian_error(structure.matrix, factors) if factors.sign else 1.0)
    top = max(logs)
    sizes = np.exp(np.array(logs) - top)
    total = float(np.dot(signs, sizes))
    base = embedding.num_components * math.log(2) + math.fsum(g.tolist()) + top
    error = float(np.dot(sizes, errors)) + EPSILON * (len(logs) + abs(top))
    error = 2 * error / max(abs(total), 1e-300) + 4 * EPSILON * (1 + abs(base))
    usable = total > 0 and error < 0.1
    value = base + math.log(abs(total) / len(logs)) if total else -math.inf
    return LogPartition(
        value=value,
        lower=value - error if usable else -math.inf,
        upper=value + error if usable else math.inf,
        method="dense-pfaffian",
        proved=False,
        stats={"error": error, "pfaffians": len(logs)},
    )


def edge_marginals(
    embedding: Embedding, couplings: ArrayLike, *, spins: ArrayLike | None = None
) -> FloatArray:
    """Compute P(s_u = s_v) of every edge, by one more set of Pfaffians per edge.

    The matchings that join the two sides of an edge are those of the matrix without its two
    rows; no inverse is taken, so singular structures do no harm.

    Examples
    --------
    >>> from planaris.embed.surfaces import torus_lattice
    >>> edge_marginals(torus_lattice(2, 2), [0.0] * 8).round(12).tolist()[:2]
    [0.5, 0.5]
    """
    g = gauge_couplings(embedding, couplings, spins)
    structures = list(_structures(embedding, g))
    whole = [(*pfaffian(s.matrix), s) for s in structures]
    top = max(log + s.log_scale for _, log, s in whole)
    total = sum(s.sign * sign * math.exp(log + s.log_scale - top) for sign, log, s in whole)
    joined = np.zeros(embedding.num_edges)
    for s in structures:
        for e in range(embedding.num_edges):
            keep = np.delete(np.arange(len(s.matrix)), [2 * e, 2 * e + 1])
            sign, log = pfaffian(s.matrix[np.ix_(keep, keep)])
            joined[e] += s.sign * sign * s.joins[e] * math.exp(log + s.log_scale - top)
    agree = joined / total
    if spins is None:
        return agree
    state = np.asarray(spins)
    same = state[embedding.edges[:, 0]] == state[embedding.edges[:, 1]]
    return np.where(same, agree, 1 - agree)
