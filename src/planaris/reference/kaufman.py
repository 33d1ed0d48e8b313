"""Closed forms of the square-lattice ferromagnet: finite torus (Kaufman) and infinite (Onsager)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from planaris.errors import ModelError
from planaris.typing import FloatArray


def kaufman_log_partition(rows: int, columns: int, coupling: float) -> float:
    r"""Return log Z of the square-lattice ferromagnet on a torus.

    Every site is joined to the next one to the right and to the next one below, so that a side
    of length two has parallel edges: ``2 * rows * columns`` edges of strength ``coupling``.

    Parameters
    ----------
    rows, columns : int
        At least two each.
    coupling : float
        ``J`` (that is β J) of every edge, not negative.

    Notes
    -----
    With :math:`s = \sinh 2J` and :math:`\cosh\gamma_k = 1 + (1-s)^2/s + 2\sin^2(\pi k/2m)`,

    .. math:: Z = \tfrac12 (2s)^{mn/2} \Big[\prod_{k\,\mathrm{odd}} 2\cosh\tfrac{n\gamma_k}{2}
        + \prod_{k\,\mathrm{odd}} 2\sinh\tfrac{n\gamma_k}{2}
        + \prod_{k\,\mathrm{even}} 2\cosh\tfrac{n\gamma_k}{2}
        + \prod_{k\,\mathrm{even}} 2\sinh\tfrac{n\gamma_k}{2}\Big],

    where k runs to 2m - 1 and :math:`\gamma_0` is negative above the critical temperature
    (Kaufman 1949). All in log space; the one negative term never exceeds the third.

    Examples
    --------
    >>> round(kaufman_log_partition(2, 2, 0.5), 12)  # log(2 exp(4) + 12 + 2 exp(-4))
    4.797713747488
    """
    if rows < 2 or columns < 2:
        msg = f"`rows` and `columns` must be at least 2, got {rows} and {columns}"
        raise ModelError(msg)
    if not 0 <= coupling < np.inf:
        msg = f"`coupling` must be finite and not negative (a ferromagnet), got {coupling}"
        raise ModelError(msg)
    if coupling == 0:
        return float(rows * columns * np.log(2))
    log_s = _log_sinh(2 * coupling)
    half = columns * _gamma(log_s, np.pi * np.arange(2 * rows) / rows) / 2
    odd, even = half[1::2], half[::2]
    terms = np.array(
        [_log_cosh2(odd).sum(), _log_sinh2(odd), _log_cosh2(even).sum(), _log_sinh2(even)]
    )
    sign = np.array([1.0, 1.0, 1.0, np.sign(log_s)])
    top = terms.max()
    total = float(np.sum(sign * np.exp(terms - top)))
    return float(rows * columns / 2 * (np.log(2) + log_s) + top + np.log(total / 2))


def onsager_log_partition(coupling: float) -> float:
    r"""Return log Z per spin of the infinite square-lattice ferromagnet.

    .. math:: \tfrac12 \log(2 \sinh 2J) + \frac1{2\pi}\int_0^\pi \gamma(\omega)\,d\omega

    Examples
    --------
    >>> round(onsager_log_partition(0.5), 9)
    1.025792813
    """
    from scipy.integrate import quad

    coupling = abs(coupling)  # the lattice is bipartite
    if coupling == 0:
        return float(np.log(2))
    if not np.isfinite(coupling):
        msg = f"`coupling` must be finite, got {coupling}"
        raise ModelError(msg)
    log_s = _log_sinh(2 * coupling)
    # γ bends within |1 - s| of angle zero: cut there, so that every piece is smooth.
    kink = min(abs(float(np.expm1(min(log_s, 1.0)))) + 1e-12, 1.0)
    breaks = [0.0, kink / 10, kink, np.sqrt(kink), np.pi]
    pieces = [
        quad(lambda x: _gamma(log_s, np.array([x]))[0], a, b, epsabs=1e-14, epsrel=1e-13)[0]
        for a, b in pairwise(breaks)
        if b > a
    ]
    return float((np.log(2) + log_s) / 2 + sum(pieces) / (2 * np.pi))


def _log_sinh(x: float) -> float:
    return float(x + np.log(-np.expm1(-2 * x)) - np.log(2))


def _gamma(log_s: float, angle: FloatArray) -> FloatArray:
    """γ at the given angles; negative at angle zero above the critical temperature."""
    if log_s > 300:  # cosh γ = s to all digits
        return np.full(len(angle), log_s + np.log(2))
    gap = np.expm1(log_s) ** 2 * np.exp(-log_s)
    gamma = 2 * np.arcsinh(np.sqrt(gap / 2 + np.sin(angle / 2) ** 2))
    return np.asarray(np.where((angle == 0) & (log_s < 0), -gamma, gamma))


def _log_cosh2(x: FloatArray) -> FloatArray:
    x = np.abs(x)
    return np.asarray(x + np.log1p(np.exp(-2 * x)))


def _log_sinh2(x: FloatArray) -> float:
    """Logarithm of the absolute product of 2 sinh x."""
    x = np.abs(x)
    if np.any(x == 0):
        return -np.inf
    return float((x + np.log(-np.expm1(-2 * x))).sum())
