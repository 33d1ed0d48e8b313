"""Exact log Z and ground energy of strips with fields: site by site, no cancellation.

The state is one row of spins. Sites are added in reading order; each step replaces one spin of
the row. Every number added is positive, so rounding stays harmless at any temperature, and for
the ground energy sums become maxima: with integers, exact. Work and memory grow as 2^columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.errors import ModelError, TooLargeError
from planaris.typing import Array, ArrayLike, FloatArray

MAX_COLUMNS = 24


@dataclass(frozen=True)
class Strip:
    """What :func:`solve_strip` finds.

    Attributes
    ----------
    log_partition : float
        Natural logarithm of the partition function.
    energy : float
        Lowest energy, minus the largest log weight.
    num_ground_states : int
        How many states have exactly that energy; meant for integer couplings.
    """

    log_partition: float
    energy: float
    num_ground_states: int


def solve_strip(fields: ArrayLike, right: ArrayLike, down: ArrayLike) -> Strip:
    """Solve a rows × columns grid model; arguments as for ``IsingModel.from_image``.

    Extended precision (numpy's longdouble) inside, where the machine has it.

    Parameters
    ----------
    fields : array_like, shape (H, W)
        Field of every site; W at most 24.
    right, down : array_like
        Couplings to the right neighbour, shape (H, W - 1), and to the one below,
        shape (H - 1, W); a number stands for all.

    Examples
    --------
    >>> strip = solve_strip(np.zeros((2, 2)), 1.0, 1.0)
    >>> strip.energy, strip.num_ground_states, round(strip.log_partition, 6)
    (-4.0, 2, 4.797714)
    """
    h, r, d = as_strip(fields, right, down)
    logs = sweep(h, r, d, np.zeros(1, dtype=np.longdouble), _times_log, np.logaddexp)
    best = sweep(h, r, d, np.zeros(1), _times_log, np.maximum)
    counted = sweep(h, r, d, np.array([[0.0], [1.0]]), _times_counted, _plus_counted)
    return Strip(
        log_partition=float(logs[0]),
        energy=0.0 - float(best[0]),
        num_ground_states=int(counted[1, 0]),
    )


def as_strip(
    fields: ArrayLike, right: ArrayLike, down: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Check and broadcast the arrays of a strip."""
    h = np.asarray(fields, dtype=np.float64)
    if h.ndim != 2:
        msg = f"`fields` must have shape (H, W), got shape {h.shape}"
        raise ModelError(msg)
    rows, columns = h.shape
    if columns > MAX_COLUMNS:
        needed = 3 * 16 * 2**columns
        msg = f"a strip may have at most {MAX_COLUMNS} columns, got {columns}; transpose it?"
        raise TooLargeError(msg, bytes_needed=needed)
    r = np.broadcast_to(np.asarray(right, dtype=np.float64), (rows, max(columns - 1, 0)))
    d = np.broadcast_to(np.asarray(down, dtype=np.float64), (max(rows - 1, 0), columns))
    return h, r, d


def sweep(
    fields: FloatArray,
    right: FloatArray,
    down: FloatArray,
    one: Array,
    times: Callable[[Array, float], Any],
    plus: Callable[[Array, Array], Any],
) -> Array:
    """Sum over all states in any semiring; the last axis holds the row of spins.

    Parameters
    ----------
    fields, right, down : numpy.ndarray
        From :func:`as_strip`.
    one : numpy.ndarray
        The unit, with a last axis of length one.
    times : callable
        ``times(values, w)``: every value times exp(w).
    plus : callable
        Sum of two arrays.

    Returns
    -------
    numpy.ndarray
        The total, shaped like ``one``.
    """
    rows, columns = fields.shape
    total = one
    for y in range(rows):
        for x in range(columns):
            # Axes: spins before x, spin x (old), spins after x; spin 0 = -1 comes first.
            if y == 0:
                old = [total, total]
            else:
                shape = (*one.shape[:-1], 2**x, 2, 2 ** (columns - 1 - x))
                table = total.reshape(shape)
                low, high = table[..., 0, :], table[..., 1, :]
                j = float(down[y - 1, x])
                old = [plus(times(low, -s * j), times(high, s * j)) for s in (-1, 1)]
            new = []
            for s, values in zip((-1, 1), old, strict=True):
                values = times(values, s * float(fields[y, x]))
                if x > 0:
                    j = s * float(right[y, x - 1])
                    lead = values.reshape((*one.shape[:-1], 2 ** (x - 1), 2, -1))
                    parts = [times(lead[..., k, :], t * j) for k, t in ((0, -1), (1, 1))]
                    values = np.stack(parts, axis=-2)
                new.append(values.reshape((*one.shape[:-1], 2**x, -1)))
            total = np.stack(new, axis=-2).reshape((*one.shape[:-1], -1))
    while total.shape[-1] > 1:
        half = total.shape[-1] // 2
        total = plus(total[..., :half], total[..., half:])
    return total


def _times_log(values: Array, w: float) -> Array:
    return values + w


def _times_counted(values: Array, w: float) -> Array:
    return np.stack([values[0] + w, values[1]])


def _plus_counted(a: Array, b: Array) -> Array:
    """Keep the larger log weight; where they tie, add the counts."""
    count = np.where(a[0] > b[0], a[1], np.where(a[0] < b[0], b[1], a[1] + b[1]))
    return np.stack([np.maximum(a[0], b[0]), count])
