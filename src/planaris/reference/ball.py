"""Proven enclosures of log Z in ball arithmetic (python-flint).

Every number is a ball, midpoint and radius, that contains the true one; so does the result.
Precision is doubled until the result is as narrow as wanted. Slow; for tests and stored values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from planaris.embed import Embedding
from planaris.embed.homology import sign_structures
from planaris.errors import PlanarisError
from planaris.reference.kasteleyn import edge_signs, face_signs, gauge_couplings
from planaris.reference.transfer_matrix import as_strip, sweep
from planaris.result import LogPartition
from planaris.typing import ArrayLike, FloatArray, Int8Array

DIGITS = 25
"""Default number of significant digits: beyond extended precision."""

MAX_BITS = 2**17


def log_partition(
    embedding: Embedding,
    couplings: ArrayLike,
    *,
    spins: ArrayLike | None = None,
    digits: int = DIGITS,
    bits: int = 128,
) -> LogPartition:
    """Enclose log Z of a zero-field model on a rotation system.

    Plane graphs by one determinant, Pf(K)² = det K; genus g by 4^g signed Pfaffians.

    Parameters
    ----------
    embedding : Embedding
        The graph with its rotation system; parallel edges are allowed.
    couplings : array_like
        One per edge of ``embedding``; taken as exact.
    spins : array_like, optional
        State to take weights relative to; a ground state saves precision, no more.
    digits : int
        Significant digits wanted.
    bits : int
        Precision to begin with.

    Returns
    -------
    LogPartition
        ``stats["digits"]`` holds the enclosure as a decimal string ``[mid +/- rad]``.

    Examples
    --------
    >>> from planaris import Embedding
    >>> bridge = Embedding.from_rotation([(0, 1)], [0, 1], num_vertices=2)
    >>> log_partition(bridge, [1000.0], digits=30).stats["digits"]
    '[1000.69314718055994530941723212 +/- 1.46e-27]'
    """
    g = gauge_couplings(embedding, couplings, spins)
    within, sigma = face_signs(embedding), edge_signs(embedding)
    structures = sign_structures(embedding)

    def attempt() -> Any:
        from flint import arb

        total = arb(0)
        for flip in structures:
            signs = sigma * flip
            matrix = _kasteleyn_matrix(within, signs, g)
            if len(structures) == 1:
                total += matrix.det().sqrt() if len(signs) else arb(1)
            else:
                total += int(np.prod(signs)) * _ball_pfaffian(matrix.tolist())
        count = embedding.num_components - 2 * embedding.genus
        return total.log() + sum(map(arb, g.tolist()), arb(0)) + count * arb(2).log()

    return _until_narrow(attempt, "ball-pfaffian", digits, bits)


def strip_log_partition(
    fields: ArrayLike, right: ArrayLike, down: ArrayLike, *, digits: int = DIGITS, bits: int = 128
) -> LogPartition:
    """Enclose log Z of a rows × columns grid by a transfer matrix of balls.

    Parameters
    ----------
    fields, right, down : array_like
        As for ``IsingModel.from_image``; taken as exact.
    digits, bits : int
        As for :func:`log_partition`.

    Examples
    --------
    >>> strip_log_partition([[0.0, 0.0]], 1000.0, 0.0, digits=30).stats["digits"]
    '[1000.69314718055994530941723212 +/- 1.46e-27]'
    """
    h, r, d = as_strip(fields, right, down)

    def attempt() -> Any:
        from flint import arb

        one = np.array([arb(1)], dtype=object)
        total = sweep(h, r, d, one, lambda v, w: v * arb(w).exp() if w else v, np.add)
        return total[0].log()

    return _until_narrow(attempt, "ball-transfer-matrix", digits, bits)


def _until_narrow(attempt: Callable[[], Any], method: str, digits: int, bits: int) -> LogPartition:
    from flint import ctx

    before = ctx.prec
    try:
        while bits <= MAX_BITS:
            ctx.prec = bits
            ball = attempt()
            if ball.is_finite() and ball.rel_one_accuracy_bits() >= digits * math.log2(10):
                return LogPartition(
                    value=float(ball),
                    lower=math.nextafter(float(ball.lower()), -math.inf),
                    upper=math.nextafter(float(ball.upper()), math.inf),
                    method=method,
                    stats={"digits": ball.str(digits), "bits": bits},
                )
            bits *= 2
    finally:
        ctx.prec = before
    msg = f"{MAX_BITS} bits are not enough for {digits} digits; pass a ground state as `spins`"
    raise PlanarisError(msg)


def _kasteleyn_matrix(within: Int8Array, signs: Int8Array, g: FloatArray) -> Any:
    from flint import arb, arb_mat

    weight = [(-arb(x)).exp() for x in g.tolist() for _ in (0, 1)]
    size = len(weight)
    rows = [[arb(0)] * size for _ in range(size)]
    for i, j in np.argwhere(within > 0).tolist():
        rows[i][j] = weight[i] * weight[j]
        rows[j][i] = -rows[i][j]
    for e, sign in enumerate(signs.tolist()):
        rows[2 * e][2 * e + 1] += sign
        rows[2 * e + 1][2 * e] -= sign
    return arb_mat(rows) if size else arb_mat(0, 0)


def _ball_pfaffian(a: list[list[Any]]) -> Any:
    """Pfaffian by elimination; what is left when no pivot is surely nonzero is bounded."""
    from flint import arb

    n, value = len(a), arb(1)
    for k in range(0, n, 2):
        sizes = [a[k][j].abs_lower() for j in range(k + 1, n)]
        best = max(range(len(sizes)), key=sizes.__getitem__) + k + 1
        if not a[k][best].abs_lower() > 0:
            return value * _bounded_pfaffian([row[k:] for row in a[k:]])
        if best != k + 1:
            a[k + 1], a[best] = a[best], a[k + 1]
            for row in a:
                row[k + 1], row[best] = row[best], row[k + 1]
            value = -value
        pivot = a[k][k + 1]
        value *= pivot
        ratio = [a[k][j] / pivot for j in range(n)]
        for i in range(k + 2, n):
            row, below = a[i], a[k + 1][i]
            for j in range(i + 1, n):
                row[j] += below * ratio[j] - ratio[i] * a[k + 1][j]
                a[j][i] = -row[j]
    return value


def _bounded_pfaffian(a: list[list[Any]]) -> Any:
    """Zero plus or minus Hadamard's bound: Pf² = det, at most the product of the row norms."""
    from flint import arb

    squares = [sum((x.abs_upper() ** 2 for x in row), arb(0)) for row in a]
    bound = arb(1)
    for square in squares:
        bound *= square.abs_upper().sqrt().sqrt()
    return arb(0, bound.abs_upper())
