"""Turns what the user gives into checked arrays; every refusal names the argument."""

from __future__ import annotations

import contextlib
import math
import operator
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from planaris.errors import ModelError, refuse_masked
from planaris.typing import Array, ArrayLike, FloatArray, IntArray, LongArray, Rng

Number = TypeVar("Number", bound=np.generic)

MAX_SPINS = 2**30
"""Half-edges are numbered in int32."""


def as_array(name: str, values: ArrayLike) -> Any:
    """Return values as an array of any dtype; refuse ragged and masked ones."""
    if isinstance(values, np.ndarray) and type(values) is not np.ndarray:  # perhaps masked
        refuse_masked(name, values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must be an array: {error}"
        raise ModelError(msg) from error


def as_real(name: str, values: ArrayLike) -> FloatArray:
    """Return a float64 array of any shape; refuse entries that are not real numbers."""
    array = as_array(name, values)
    if array.dtype.kind not in "iufbO":
        msg = f"`{name}` must hold real numbers, got dtype {array.dtype}"
        raise ModelError(msg)
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"`{name}` must hold real numbers: {error}"
        raise ModelError(msg) from error


def as_names(
    name: str, labels: Sequence[Hashable] | None, length: int, things: str
) -> Sequence[Hashable]:
    """Return names of spins or variables, different and hashable; default ``range(length)``."""
    if labels is None or (isinstance(labels, range) and labels == range(length)):
        return range(length)
    names = list(labels)
    if len(names) != length:
        msg = f"`{name}` must name all {length} {things}, got {len(names)} labels"
        raise ModelError(msg)
    try:
        unique = len(set(names)) == length
    except TypeError as error:
        msg = f"`{name}` must be hashable: {error}"
        raise ModelError(msg) from error
    if not unique:
        twice = Counter(names).most_common(1)[0][0]
        msg = f"`{name}` must be different, got {twice!r} twice"
        raise ModelError(msg, label=twice)
    return range(length) if names == list(range(length)) else names


def frozen(array: NDArray[Number]) -> NDArray[Number]:
    """Return an array that nobody else holds, read-only."""
    array.setflags(write=False)
    return array


def held(array: NDArray[Number]) -> NDArray[Number]:
    """Return a read-only array: a copy, unless nobody can write to the given one.

    >>> mine = np.arange(3)
    >>> held(mine) is mine, held(held(mine)).flags.writeable, mine.flags.writeable
    (False, False, True)
    """
    return frozen(array.copy()) if array.flags.writeable else array


def as_edges(edges: ArrayLike, num_vertices: int, *, name: str = "edges") -> IntArray:
    """Return edges as a new int32 array of shape (m, 2), checked; self-loops are refused."""
    array = as_array(name, edges)
    if array.ndim == 0:  # NumPy holds sets and iterators as one object
        msg = f"`{name}` must be a list or array of pairs, got {type(edges).__name__}"
        raise ModelError(msg)
    if array.size == 0 and array.shape in ((0,), (0, 2)):
        return np.zeros((0, 2), dtype=np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        msg = f"`{name}` must have shape (m, 2), got {array.shape}"
        raise ModelError(msg)
    if array.dtype.kind not in "iu":
        array = _as_integers(name, array)
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= num_vertices:
        at = int(np.flatnonzero((array < 0).any(1) | (array >= num_vertices).any(1))[0])
        msg = (
            f"`{name}` must name spins 0 to {num_vertices - 1}, got {tuple(array[at].tolist())} "
            f"at row {at}; pass num_spins=, or as many `fields`, `positions` or `labels`, "
            "if the model has more spins"
        )
        raise ModelError(msg, edge=at)
    loops = np.flatnonzero(array[:, 0] == array[:, 1])
    if loops.size:
        at = int(loops[0])
        msg = (
            f"`{name}` must join different spins, got the self-loop {tuple(array[at].tolist())} "
            f"at row {at}; s * s = 1, so add its coupling to `offset` instead"
        )
        raise ModelError(msg, edge=at)
    return np.array(array, dtype=np.int32, order="C")  # a copy: models freeze what they hold


def _as_integers(name: str, array: Array) -> Array:
    """Return whole floats, and Python integers among objects, as int64; refuse all else."""
    kind, whole = array.dtype.kind, None
    if kind == "f" or _are_integers(array):
        with np.errstate(invalid="ignore"), contextlib.suppress(OverflowError):
            whole = array.astype(np.int64)
    if whole is None or not np.array_equal(whole, array):
        msg = f"`{name}` must hold integers, got dtype {array.dtype}"
        if kind in "USO":
            msg += "; `IsingModel.from_couplings` takes names"
        raise ModelError(msg)
    return whole


def _are_integers(array: Array) -> bool:
    """Whether objects are integers, as in columns of a table of mixed types."""
    return array.dtype.kind == "O" and all(
        isinstance(x, Integral) and not isinstance(x, bool) for x in array.flat
    )


def as_finite(name: str, values: ArrayLike, length: int, edges: Any = None) -> FloatArray:
    """Return a float64 vector of the given length; a number stands for all entries."""
    array = as_real(name, values)
    if array.ndim == 0:
        array = np.full(length, array)
    if array.shape != (length,):
        msg = f"`{name}` must have shape ({length},), got {array.shape}"
        raise ModelError(msg)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        at = int(bad[0])
        where = f"edge {at} = {tuple(edges[at].tolist())}" if edges is not None else f"entry {at}"
        msg = f"`{name}` must be finite, got {array[at]} at {where}"
        raise ModelError(msg, index=at)
    return np.array(array, dtype=np.float64)


def as_number(name: str, value: Any) -> float:
    """Return one finite number."""
    array = as_real(name, value)
    if array.shape != () or not np.isfinite(array):
        msg = f"`{name}` must be finite and one number, got {value!r}"
        raise ModelError(msg)
    return float(array)


def as_positions(positions: ArrayLike, num_vertices: int) -> FloatArray:
    """Return coordinates as a new finite float64 array of shape (n, 2)."""
    array = as_real("positions", positions)
    if array.size == 0 and num_vertices == 0:
        return np.zeros((0, 2))
    if array.shape != (num_vertices, 2):
        msg = f"`positions` must have shape ({num_vertices}, 2), got {array.shape}"
        raise ModelError(msg)
    finite = np.isfinite(array)
    if not finite.all():
        at = int(np.flatnonzero(~finite.all(1))[0])
        msg = f"`positions` must be finite, got {array[at].tolist()} at spin {at}"
        raise ModelError(msg, index=at)
    return np.array(array, order="C")


def merge_parallel_edges(edges: IntArray, couplings: FloatArray) -> tuple[IntArray, FloatArray]:
    """Add up couplings of parallel edges at the place of the first one; order is kept."""
    if len(edges) < 2:
        return edges, couplings
    low = np.minimum(edges[:, 0], edges[:, 1]).astype(np.int64)
    high = np.maximum(edges[:, 0], edges[:, 1]).astype(np.int64)
    key = low * (int(high.max()) + 1) + high
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    new = np.empty(len(key), dtype=bool)
    new[0] = True
    np.not_equal(sorted_key[1:], sorted_key[:-1], out=new[1:])
    if new.all():
        return edges, couplings
    group = np.cumsum(new) - 1
    first = order[new]
    rank = np.argsort(first, kind="stable")
    place = np.empty(len(first), dtype=np.int64)
    place[rank] = np.arange(len(first))
    slot = np.empty(len(key), dtype=np.int64)
    slot[order] = place[group]
    total = np.zeros(len(first))
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(total, slot, couplings)
    begins = np.append(np.flatnonzero(new), len(key))
    for g in np.flatnonzero(np.diff(begins) > 2).tolist():  # sums of more than two, rounded once
        if np.isfinite(total[place[g]]):
            some = couplings[order[begins[g] : begins[g + 1]]]
            total[place[g]] = math.fsum(some.tolist())
    return np.ascontiguousarray(edges[first[rank]]), total


def implied_num_spins(
    edges: ArrayLike, fields: FloatArray | None, positions: ArrayLike | None, labels: Any
) -> int:
    """Return the number of spins that the other arguments imply."""
    if fields is not None and fields.ndim:
        return len(fields)
    for name, known in (("positions", positions), ("labels", labels)):
        if known is not None:
            if not hasattr(known, "__len__"):
                msg = f"`{name}` must be a sequence, got {type(known).__name__}"
                raise ModelError(msg)
            return len(cast(Any, known))
    flat = as_array("edges", edges)
    numbers = flat.dtype.kind in "iuf" or _are_integers(flat)
    if not flat.size or not numbers or not math.isfinite(flat.max()):
        return 0
    return int(flat.max()) + 1


def number_labels(
    name: str, pairs: Mapping[tuple[Hashable, Hashable], float]
) -> tuple[LongArray, dict[Hashable, int]]:
    """Return label pairs as numbers, given in order of appearance."""
    if not isinstance(cast(Any, pairs), Mapping):
        msg = f"`{name}` must be a dict of numbers by pairs of labels, got {type(pairs).__name__}"
        raise ModelError(msg)
    index: dict[Hashable, int] = {}
    ends = np.empty((len(pairs), 2), dtype=np.int64)
    for k, pair in enumerate(cast(Mapping[Any, float], pairs)):
        if not isinstance(pair, tuple) or len(pair) != 2:
            msg = f"`{name}` must have pairs of labels as keys, got {pair!r}"
            raise ModelError(msg)
        ends[k] = [index.setdefault(label, len(index)) for label in pair]
    return ends, index


def as_count(name: str, value: Any) -> int:
    """Return a whole number that is not negative."""
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0:
        msg = f"`{name}` must be an integer that is not negative, got {value!r}"
        raise ModelError(msg)
    return count


def as_rng(rng: Rng) -> np.random.Generator:
    """Return a random generator, made from a seed where one is given."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        msg = (
            f"`rng` must be a numpy.random.Generator, a seed that is not negative or None, "
            f"got {rng!r}"
        )
        raise ModelError(msg) from error


def checked_count(num_spins: Any) -> int:
    """Return a number of spins, at most ``MAX_SPINS``."""
    try:
        count = operator.index(num_spins)
    except TypeError as error:
        msg = f"`num_spins` must be an integer, got {num_spins!r}"
        raise ModelError(msg) from error
    if not 0 <= count <= MAX_SPINS:
        msg = f"`num_spins` must lie between 0 and {MAX_SPINS}, got {count}"
        raise ModelError(msg)
    return count


def compact(edges: IntArray, num_vertices: int) -> tuple[IntArray, IntArray]:
    """Return the vertices that have edges, ascending, and the edges between their ranks.

    >>> vertices, ranks = compact(np.array([(7, 2), (2, 5)], dtype=np.int32), 9)
    >>> vertices.tolist(), ranks.tolist()
    ([2, 5, 7], [[2, 0], [0, 1]])
    """
    seen = np.zeros(num_vertices, dtype=bool)
    seen[edges] = True
    rank = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(seen).astype(np.int32), rank[edges]
