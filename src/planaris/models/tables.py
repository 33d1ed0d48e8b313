"""Flat tables of many factors at once: checks, strides, and picking entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.models.arrays import as_array
from planaris.typing import Array, ArrayLike, FloatArray, IntArray, LongArray

LARGEST_LOG = 1e300
"""Larger log potentials are refused, so that no sum of 10^8 of them overflows."""


def as_integers(name: str, values: ArrayLike) -> LongArray:
    """Return a flat int64 array; anything but whole numbers is refused."""
    array = as_array(name, values).ravel()
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind == "f" and np.all(np.isfinite(array)) and np.all(np.abs(array) < 2.0**62):
        array = array.astype(np.int64) if np.all(array == np.floor(array)) else array
    if array.dtype.kind not in "iu" or int(array.max()) >= 2**62:
        msg = f"`{name}` must hold integers, got {array.dtype} {array[:4].tolist()}"
        raise ModelError(msg)
    return np.asarray(array, dtype=np.int64)


def as_pairs(name: str, given: Any) -> list[tuple[Any, Any]]:
    """Return (scope, table) pairs; anything else is refused."""
    items = list(given) if isinstance(given, Iterable) and not isinstance(given, Mapping) else None
    if items is None:
        msg = f"`{name}` must be a list of (scope, table) pairs, got {type(given).__name__}"
        raise ModelError(msg)
    for k, item in enumerate(items):
        if not isinstance(item, tuple | list) or len(item) != 2:
            msg = f"`{name}[{k}]` must be a pair (scope, table), got {item!r}"
            raise ModelError(msg, factor=k)
    return items


def check_scopes(cardinalities: LongArray, scopes: LongArray, offsets: LongArray) -> None:
    """Refuse offsets that do not fit, unknown variables, and variables named twice."""
    if np.any(cardinalities < 1) or np.any(cardinalities > 2**31 - 1):
        at = int(np.flatnonzero((cardinalities < 1) | (cardinalities > 2**31 - 1))[0])
        msg = (
            f"`cardinalities` must lie between 1 and 2^31 - 1, got {cardinalities[at]} "
            f"at variable {at}"
        )
        raise ModelError(msg, index=at)
    steps = np.diff(offsets)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(scopes) or np.any(steps < 0):
        msg = f"`scope_offsets` must rise from 0 to {len(scopes)}"
        raise ModelError(msg)
    bad = np.flatnonzero((scopes < 0) | (scopes >= len(cardinalities)))
    if bad.size:
        factor = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        msg = (
            f"`factors[{factor}]` must name variables 0 to {len(cardinalities) - 1}, "
            f"got {scopes[bad[0]]}"
        )
        raise ModelError(msg, factor=factor)
    owner = np.repeat(np.arange(len(steps)), steps)
    order = np.lexsort((scopes, owner))
    same = (np.diff(scopes[order]) == 0) & (np.diff(owner[order]) == 0)
    if same.any():
        at = order[np.flatnonzero(same)[0]]
        msg = f"`factors[{owner[at]}]` must name each variable once, got {scopes[at]} twice"
        raise ModelError(msg, factor=int(owner[at]))


def check_table_sizes(cards: Array, scope_offsets: LongArray, table_offsets: LongArray) -> None:
    """Refuse tables whose length is not the product of the cardinalities of their scope."""
    num_factors = len(scope_offsets) - 1
    if len(table_offsets) != num_factors + 1 or table_offsets[0] != 0:
        msg = f"`table_offsets` must begin with 0 and have {num_factors + 1} entries"
        raise ModelError(msg)
    owner = np.repeat(np.arange(num_factors), np.diff(scope_offsets))
    logs = np.log2(cards.astype(np.float64))
    bits = np.bincount(owner, weights=logs, minlength=num_factors)
    lengths = np.diff(table_offsets)
    wanted = np.where(bits < 61, 1, -1).astype(np.int64)
    fits = bits[owner] < 61
    np.multiply.at(wanted, owner[fits], cards[fits].astype(np.int64))
    wrong = np.flatnonzero(wanted != lengths)
    if wrong.size:
        at = int(wrong[0])
        needed = str(wanted[at]) if wanted[at] > 0 else f"about 2^{bits[at]:.0f}"
        msg = (
            f"`factors[{at}]` must have a table of {needed} numbers for its scope, "
            f"got {lengths[at]}"
        )
        raise ModelError(msg, factor=at)


def as_logs(values: FloatArray, table_offsets: LongArray, *, log: bool) -> FloatArray:
    """Return logarithms of potentials; NaN, infinite and negative potentials are refused."""
    if len(values) != table_offsets[-1]:
        msg = f"`values` must hold {table_offsets[-1]} numbers, got {len(values)}"
        raise ModelError(msg)
    if log:
        good = (np.abs(values) <= LARGEST_LOG) | (values == -np.inf)
    else:
        good = (values >= 0) & (values < np.inf)
    if not np.all(good):
        at = int(np.flatnonzero(~good)[0])
        factor = int(np.searchsorted(table_offsets, at, side="right")) - 1
        needed = "at most 1e300 in size, or -inf" if log else "finite and not negative"
        kind = "log potentials" if log else "potentials"
        msg = f"`factors[{factor}]` must hold {kind} that are {needed}, got {values[at]}"
        raise ModelError(msg, factor=factor)
    if log:
        return np.array(values)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def c_strides(cards: Array, offsets: LongArray) -> LongArray:
    """Return the stride, in its factor's C-ordered table, of every entry of the scopes."""
    cards = cards.astype(np.int64)
    strides = np.ones(len(cards), dtype=np.int64)
    arity = np.diff(offsets)
    last = np.repeat(offsets[1:] - 1, arity)
    place = np.arange(len(cards))
    for back in range(1, int(arity.max(initial=0))):
        inner = place + back
        live = inner <= last
        strides[live] *= cards[inner[live]]
    return strides


def gather_index(
    cards: Array, strides: LongArray, offsets: LongArray, base: LongArray
) -> tuple[LongArray, LongArray]:
    """Return where the entries of new tables lie in old ones, and the new table offsets.

    New factor ``f`` has axes of lengths ``cards[offsets[f]:offsets[f + 1]]``; a step along an
    axis is a step of its ``strides`` in the old values; its first entry is ``base[f]``.
    """
    arity = np.diff(offsets)
    owner = np.repeat(np.arange(len(arity)), arity)
    sizes = np.ones(len(arity), dtype=np.int64)
    np.multiply.at(sizes, owner, cards.astype(np.int64))
    table_offsets = np.concatenate([[0], np.cumsum(sizes)])
    entry_owner = np.repeat(np.arange(len(arity)), sizes)
    rest = np.arange(table_offsets[-1]) - table_offsets[entry_owner]
    index = base[entry_owner]
    length, stride = np.ones(len(arity), dtype=np.int64), np.zeros(len(arity), dtype=np.int64)
    for back in range(int(arity.max(initial=0))):  # from the fastest axis outwards
        live = arity > back
        place = offsets[1:][live] - 1 - back
        length[:], stride[:] = 1, 0
        length[live], stride[live] = cards[place], strides[place]
        rest, digit = np.divmod(rest, length[entry_owner])
        index += digit * stride[entry_owner]
    return index, table_offsets


def as_labels(assignments: ArrayLike, cardinalities: IntArray) -> LongArray:
    """Return assignments as int64, checked: one label per variable in the last dimension."""
    x = as_array("assignments", assignments)
    n = len(cardinalities)
    if x.shape[-1:] != (n,):
        msg = f"`assignments` must have {n} labels in the last dimension, got shape {x.shape}"
        raise ModelError(msg)
    labels = as_integers("assignments", x).reshape(x.shape)
    bad = (labels < 0) | (labels >= cardinalities)
    if np.any(bad):
        at = tuple(int(k[0]) for k in np.nonzero(bad))
        msg = (
            f"`assignments` must hold labels 0 to {cardinalities[at[-1]] - 1} for variable "
            f"{at[-1]}, got {labels[at]}"
        )
        raise ModelError(msg, index=at)
    return labels
