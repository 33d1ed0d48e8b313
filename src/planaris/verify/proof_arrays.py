"""Arrays of proofs, checked: types, ranges, runs, nested sets, components."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from planaris.errors import VerificationError
from planaris.typing import Array, FloatArray, LongArray

State = TypeVar("State")


def require(condition: bool, what: str) -> None:
    """Raise unless what a proof must hold does hold."""
    if not condition:
        msg = f"the proof is broken: it must hold that {what}"
        raise VerificationError(msg)


def check(condition: bool, message: str, **evidence: Any) -> None:
    """Raise :class:`~planaris.errors.VerificationError` with this message unless it holds."""
    if not condition:
        raise VerificationError(message, **evidence)


def distinct(numbers: LongArray) -> bool:
    """Return True if no number occurs twice."""
    return numbers.size == 0 or int(np.bincount(numbers).max()) <= 1


def whole_numbers(values: Any, name: str) -> Array:
    """Return an array of a proof as int64, or refuse it."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    require(array.dtype.kind in "iub", f"`{name}` holds whole numbers")
    return array.astype(np.int64)


def whole_row(values: Any, name: str) -> Array:
    """Return an array of one dimension as int64, or refuse it."""
    array = whole_numbers(values, name)
    require(array.ndim == 1, f"`{name}` is a row of numbers")
    return array


def indices(values: Any, name: str, count: int) -> Array:
    """Return a row of numbers from 0 to ``count - 1``, or refuse it."""
    array = whole_row(values, name)
    inside = len(array) == 0 or (array.min() >= 0 and array.max() < count)
    require(bool(inside), f"`{name}` holds numbers below {count}")
    return array


def pairs_of(values: Any, name: str) -> Array:
    """Return pairs of whole numbers, shape (n, 2), or refuse them."""
    array = whole_numbers(values, name)
    require(array.size == 0 or array.shape == (len(array), 2), f"`{name}` holds pairs")
    return array.reshape(-1, 2)


def real_row(values: Any, name: str) -> FloatArray:
    """Return an array of one dimension as float64, or refuse it."""
    array = np.asarray(values)
    require(array.ndim == 1 and array.dtype.kind in "iuf", f"`{name}` is a row of numbers")
    return array.astype(np.float64)


def runs(values: Any, name: str, count: int, total: int) -> Array:
    """Return the begins of ``count`` runs that make up ``total``, and the end, or refuse them."""
    begins = whole_row(values, name)
    right = len(begins) == count + 1 > 0 and begins[0] == 0 and begins[-1] == total
    require(right and bool(np.all(np.diff(begins) >= 0)), f"`{name}` begins {count} runs")
    return begins


def tree_leaves(
    child: Array, root: State, split: Callable[[int, State], tuple[State, State] | None]
) -> Iterator[tuple[int, State]]:
    """Yield (leaf, state there) of a binary tree, or refuse it; every node is visited once.

    ``split(node, state)`` returns the states of both children, None at a leaf.
    """
    seen = np.zeros(len(child), dtype=bool)
    stack = [(0, root)]
    while stack:
        node, state = stack.pop()
        require(0 <= node < len(seen) and not seen[node], "the nodes form a tree")
        seen[node] = True
        states = split(node, state)
        if states is None:
            yield node, state
        else:
            stack += zip(child[node].tolist(), states, strict=True)


def components(size: int, a: Array, b: Array) -> tuple[int, Array]:
    """Return how many components links from a to b leave, and that of every vertex."""
    links = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(size, size))
    count, label = connected_components(links, directed=False)
    return int(count), label


def check_nested(
    num_vertices: int, order: LongArray, start: LongArray, stop: LongArray, parent: LongArray
) -> None:
    """Raise unless runs of an order are nested or disjoint, parents before their children."""
    k = start.size
    check(stop.size == k and parent.size == k, "the packing's arrays differ in length")
    known = order.size == 0 or (int(order.min()) >= 0 and int(order.max()) < num_vertices)
    check(known, "the packing names a vertex that does not exist")
    check(distinct(order), "the packing names a vertex twice")
    fits = (start >= 0) & (start < stop) & (stop <= order.size)
    check(bool(fits.all()), "a set is empty or reaches out of the order")
    check(bool(((parent >= -1) & (parent < np.arange(k))).all()), "a parent comes after its child")
    child = np.flatnonzero(parent >= 0)
    around = parent[child]
    nested = (start[around] <= start[child]) & (stop[child] <= stop[around])
    check(bool(nested.all()), "a set is not inside its parent")
    by_place = _bucketed(parent + 1, _bucketed(start, np.arange(k)))
    before, after = by_place[:-1], by_place[1:]
    apart = (parent[before] != parent[after]) | (stop[before] <= start[after])
    check(bool(apart.all()), "two sets with the same parent overlap")


def _bucketed(keys: LongArray, items: LongArray) -> LongArray:
    """Return `items` by ascending ``keys[item]``, ties as they come: a counting sort."""
    if not items.size:
        return items
    shape = (int(keys.max(initial=-1)) + 1, items.size)
    entries = (items, (keys[items], np.arange(items.size)))
    return np.asarray(coo_array(entries, shape).tocsr().data, np.int64)
