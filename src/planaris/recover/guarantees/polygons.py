"""The constant of the upper bound on square grids: a sum over self-avoiding polygons.

A region of wrong labels has a boundary of i edges, half of which or more are bad. Regions with one
boundary are polygons of the dual lattice, so the expected number of nodes inside bad regions is at
most ``Σ_i A_i P(Bin(i, p) >= i/2)`` per node, A_i the total area of all polygons of perimeter i up
to translation (GRSY15 section 5.1 and its supplement).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from planaris.errors import ModelError

MAX_PERIMETER = 14
"""Default perimeter up to which polygons are listed."""

COUNTS = {
    16: 2938,
    18: 15268,
    20: 81826,
    22: 449572,
    24: 2521270,
    26: 14385376,
    28: 83290424,
    30: 488384528,
    32: 2895432660,
    34: 17332874364,
    36: 104653427012,
    38: 636737003384,
    40: 3900770002646,
    42: 24045500114388,
    44: 149059814328236,
}
"""Polygons by perimeter, as published (Jensen 2000; OEIS A002931), beyond those that are listed."""

CONNECTIVE = 2.679193
"""No less than the connective constant of the square lattice (Pönitz and Tittmann 2000)."""


class PolygonConstant(NamedTuple):
    """Ends of the constant c in c p² N: polygons that were listed, and all of them."""

    lower: float
    upper: float


@cache
def polygon_areas(max_perimeter: int = MAX_PERIMETER) -> dict[int, tuple[int, int]]:
    """Return number and total area of self-avoiding polygons of every perimeter, by listing them.

    Up to translation, on the square lattice.

    >>> polygon_areas(10)
    {4: (1, 1), 6: (2, 4), 8: (7, 22), 10: (28, 124)}
    """
    found = {i: [0, 0] for i in range(4, max_perimeter + 1, 2)}
    # From its lowest leftmost corner a polygon leaves to the right; it is found once.
    stack = [((0, 0), (1, 0), frozenset({(0, 0), (1, 0)}), 1, 0)]
    while stack:
        _, (x, y), used, length, area = stack.pop()
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            spot = x + dx, y + dy
            if spot == (0, 0) and length >= 3:
                total = found[length + 1]
                total[0] += 1
                total[1] += abs(area + x * dy)
                continue
            home = abs(spot[0]) + abs(spot[1])
            below = spot[1] < 0 or (spot[1] == 0 and spot[0] < 0)
            if below or spot in used or length + 1 + home > max_perimeter:
                continue
            stack.append(((x, y), spot, used | {spot}, length + 1, area + x * dy))
    return {i: (count, area) for i, (count, area) in found.items()}


def polygon_constant(p: float, *, max_perimeter: int = MAX_PERIMETER) -> PolygonConstant:
    """Return c such that interior regions of wrong labels hold at most c p² N nodes on average.

    Parameters
    ----------
    p : float
        Edge noise, in (0, 0.034): beyond, the tail of the sum is not bounded.
    max_perimeter : int
        Polygons up to here are listed with their areas. Larger ones have areas of at most
        i²/16; their numbers are published up to perimeter 44, and at most ``μ^i`` beyond, μ the
        connective constant (Madras and Slade 1993).

    Examples
    --------
    >>> lower, upper = polygon_constant(0.017)
    >>> round(lower, 2), round(upper, 2)
    (7.81, 7.84)
    """
    from scipy.stats import binom

    if not 0 < p < 0.034:
        msg = f"`p` must lie between 0 and 0.034, got {p}: beyond, the tail of the sum grows"
        raise ModelError(msg)
    listed = sum(
        area * float(binom.sf(i // 2 - 1, i, p))
        for i, (_, area) in polygon_areas(max_perimeter).items()
    )
    tail, i = 0.0, max_perimeter - max_perimeter % 2 + 2
    while True:
        # No polygon holds more than a square does.
        count = float(COUNTS[i]) if i in COUNTS else CONNECTIVE**i
        term = i * i / 16 * count * float(binom.sf(i // 2 - 1, i, p))
        tail += term
        # P(Bin(i, p) >= i/2) <= (4 p (1 - p))^(i/2), and it falls at least as fast.
        ratio = ((i + 2) / i) ** 2 * CONNECTIVE**2 * 4 * p * (1 - p)
        if i > max(COUNTS) and ratio < 1 and term * ratio / (1 - ratio) < 1e-7 * p * p:
            break
        i += 2
    return PolygonConstant(listed / p**2, (listed + tail) / p**2 + 1e-6)
