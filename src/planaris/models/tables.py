"""Flat tables of many factors at once: checks, strides, and picking entries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.budget import check_structure
from planaris.errors import MethodError, ModelError
from planaris.models.arrays import as_array
from planaris.models.base import exact_sum, exact_sums, once_per_model
from planaris.typing import Array, ArrayLike, BoolArray, FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from planaris.models.mrf import MarkovRandomField

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


def as_scope(name: str, scope: ArrayLike) -> LongArray:
    """Return the variables of a factor, which are numbers; names are refused."""
    words = scope if isinstance(scope, tuple | list) else [scope]
    named = next((word for word in words if isinstance(word, str)), None)
    if named is not None:
        msg = (
            f"`{name}` must name its variables by number, got {named!r}; names are `labels`, and "
            f"labels.index({named!r}) is a number"
        )
        raise ModelError(msg)
    return as_integers(name, scope)


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
    strides = np.ones(len(cards), dtype=np.int64)
    last, arity = offsets[1:] - 1, np.diff(offsets)
    for back in range(1, int(arity.max(initial=0))):
        place = last[arity > back] - back
        strides[place] = strides[place + 1] * cards[place + 1]
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


# -- models of single variables and pairs ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairwiseView:
    """A pairwise model with one table per variable and one per edge.

    ``log P(x) = constant + Σ_v node_logs[v][x_v] + Σ_uv edge_logs[uv][x_u, x_v] - log Z``

    Attributes
    ----------
    cardinalities : numpy.ndarray
        Labels per variable, shape (n,).
    node_logs, node_offsets : numpy.ndarray
        Log potentials of the variables, flat; zero where no factor has the variable.
    edges : numpy.ndarray
        Pairs ``u < v``, shape (m, 2), each once, in the order of their first factor.
    edge_logs, edge_offsets : numpy.ndarray
        Log potentials of the edges, flat, ``x_u`` the slow axis; factors on the same pair add.
    constant : float
        Sum of the factors without variables; ``-inf`` if one of them is zero.
    factor_node, factor_edge : numpy.ndarray
        Variable of every factor with one variable, edge of every factor with two; -1 for others.
    factor_swapped : numpy.ndarray
        Whether the factor names its variables as ``(v, u)`` with ``u < v``.
    """

    cardinalities: IntArray
    node_logs: FloatArray
    node_offsets: LongArray
    edges: IntArray
    edge_logs: FloatArray
    edge_offsets: LongArray
    constant: float
    factor_node: IntArray
    factor_edge: IntArray
    factor_swapped: BoolArray

    def node_log(self, variable: int) -> FloatArray:
        """Log potentials of a variable."""
        return self.node_logs[self.node_offsets[variable] : self.node_offsets[variable + 1]]

    def edge_log(self, edge: int) -> FloatArray:
        """Log potentials of an edge, shape (labels of u, labels of v)."""
        shape = self.cardinalities[self.edges[edge]]
        return self.edge_logs[self.edge_offsets[edge] : self.edge_offsets[edge + 1]].reshape(shape)

    def factor_tables(
        self, nodes: Sequence[FloatArray], edges: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return a table for every factor, from those of the variables and of the edges."""
        tables: list[FloatArray] = []
        places = (self.factor_node, self.factor_edge, self.factor_swapped)
        for v, edge, swapped in zip(*(array.tolist() for array in places), strict=True):
            if edge >= 0:
                tables.append(edges[edge].T if swapped else edges[edge])
            else:
                tables.append(nodes[v] if v >= 0 else np.ones(()))
        return tables


@once_per_model
def pairwise_view(mrf: MarkovRandomField) -> PairwiseView:
    """Merge the factors of a pairwise model into one table per variable and per edge.

    Inside ``Budget.for_structure``, ``TimeoutError`` is raised once the time is over.

    Examples
    --------
    >>> from planaris import MarkovRandomField
    >>> mrf = MarkovRandomField([2, 2], [((0,), [1, 2]), ((1, 0), [[1, 3], [1, 1]])])
    >>> view = mrf.pairwise_view()
    >>> view.edges.tolist(), view.edge_log(0).round(3).tolist()
    ([[0, 1]], [[0.0, 0.0], [1.099, 0.0]])
    """
    _require_pairwise(mrf)
    cards = mrf.cardinalities.astype(np.int64)
    arity, first = np.diff(mrf.scope_offsets), mrf.scope_offsets[:-1]
    lone, pair = np.flatnonzero(arity == 1), np.flatnonzero(arity == 2)
    alone, u, v = (mrf.scopes[k] for k in (first[lone], first[pair], first[pair] + 1))
    edges, edge_of_pair = number_pairs(np.minimum(u, v), np.maximum(u, v))
    edge_sizes = cards[edges[:, 0]] * cards[edges[:, 1]]
    node_offsets = np.concatenate([[0], np.cumsum(cards)])
    edge_offsets = np.concatenate([[0], np.cumsum(edge_sizes)])
    check_structure()

    # Tables of variables, then those of edges; constants lie behind them.
    size = int(node_offsets[-1] + edge_offsets[-1])
    begin = np.full(mrf.num_factors, size)
    begin[lone] = node_offsets[alone]
    begin[pair] = node_offsets[-1] + edge_offsets[edge_of_pair]
    swapped = u > v
    turned = pair[swapped], cards[u[swapped]], cards[v[swapped]]
    logs = _merge_tables(mrf, begin, size, *turned)

    factor_node = np.full(mrf.num_factors, -1, dtype=np.int32)
    factor_node[lone] = alone
    factor_edge = np.full(mrf.num_factors, -1, dtype=np.int32)
    factor_edge[pair] = edge_of_pair
    factor_swapped = np.zeros(mrf.num_factors, dtype=bool)
    factor_swapped[pair] = swapped
    view = PairwiseView(
        cardinalities=mrf.cardinalities,
        node_logs=logs[: node_offsets[-1]],
        node_offsets=node_offsets,
        edges=edges,
        edge_logs=logs[node_offsets[-1] :],
        edge_offsets=edge_offsets,
        constant=exact_sum(mrf.log_values[mrf.table_offsets[:-1][arity == 0]]),
        factor_node=factor_node,
        factor_edge=factor_edge,
        factor_swapped=factor_swapped,
    )
    for array in vars(view).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)  # every caller has the same one
    return view


def _require_pairwise(mrf: MarkovRandomField) -> None:
    if not mrf.is_pairwise:
        at = int(np.argmax(np.diff(mrf.scope_offsets)))
        msg = (
            f"a pairwise view needs factors of at most two variables, but factor {at} has "
            f"{mrf.scope(at).size}; `planaris.models.mrf2pairwise` gives a pairwise model"
        )
        raise MethodError(msg, factor=at)


def _added_up(places: LongArray, values: FloatArray, length: int) -> FloatArray:
    """Return an array of sums of the values with the same place, each rounded once."""
    if not len(places):
        return np.zeros(length)
    total = np.zeros(length)
    count = np.bincount(places, minlength=length)
    if count.max(initial=0) <= 1:
        total[places] = values
        return total
    once = count[places] == 1
    total[places[once]] = values[once] + 0.0  # a sum is never minus zero
    some, at = np.unique(places[~once], return_inverse=True)

    def add(part: FloatArray) -> FloatArray:
        return np.bincount(at, part, len(some)).astype(np.float64, copy=False)

    total[some] = exact_sums(values[~once], add)
    return total


def _merge_tables(
    mrf: MarkovRandomField,
    begin: LongArray,
    size: int,
    turned: LongArray,
    rows: LongArray,
    columns: LongArray,
) -> FloatArray:
    """Return the tables of factors added up, that of factor k from ``begin[k]``.

    Tables of the factors ``turned``, of so many rows and columns, are transposed. What lies behind
    ``size`` is left out.
    """
    offsets = mrf.table_offsets
    places = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], np.diff(offsets))
    if len(turned):
        sizes = rows * columns
        owner = np.repeat(np.arange(len(turned)), sizes)
        rank = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner]
        row, column = np.divmod(rank, columns[owner])
        places[offsets[turned][owner] + rank] = begin[turned][owner] + column * rows[owner] + row
    check_structure()
    if places.max(initial=0) < size:
        return _added_up(places, mrf.log_values, size)
    inside = places < size
    return _added_up(places[inside], mrf.log_values[inside], size)


def number_pairs(low: IntArray, high: IntArray) -> tuple[IntArray, LongArray]:
    """Return the different pairs in order of first appearance, and the number of each one given."""
    pairs = np.column_stack([low, high])
    key = low.astype(np.int64) * (int(high.max(initial=0)) + 1) + high
    ranked = np.sort(key)
    if np.all(ranked[1:] != ranked[:-1]):
        return pairs, np.arange(len(pairs))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return pairs[first[order]], number[group]


def parts_ending_at(flat: FloatArray, ends: Array) -> list[FloatArray]:
    """Return the parts of a flat array, given their ends; ``numpy.split`` takes ten times as long.

    >>> [part.tolist() for part in parts_ending_at(np.arange(4.0), np.array([1, 4]))]
    [[0.0], [1.0, 2.0, 3.0]]
    """
    return [flat[begin:end] for begin, end in itertools.pairwise([0, *ends.tolist()])]


def alike(shapes: LongArray) -> list[tuple[int, int, LongArray]]:
    """Return the different rows of two numbers, ascending, each with the places that have it.

    >>> [(a, b, rows.tolist()) for a, b, rows in alike(np.array([(3, 2), (2, 2), (3, 2)]))]
    [(2, 2, [1]), (3, 2, [0, 2])]
    """
    width = int(shapes.max(initial=0)) + 1
    key = shapes[:, 0] * width + shapes[:, 1]
    return [(*divmod(k, width), np.flatnonzero(key == k)) for k in np.unique(key).tolist()]
