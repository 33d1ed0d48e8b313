"""General models as binary or pairwise ones: k labels in bits, factors as variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from planaris.errors import MethodError, ModelError, TooLargeError
from planaris.models.convert import Inverse, with_tables
from planaris.models.mrf import MarkovRandomField, require_mrf
from planaris.models.tables import PairwiseView, as_labels
from planaris.result import Marginals
from planaris.typing import ArrayLike, FloatArray, IntArray, LongArray


def kary2binary(
    mrf: MarkovRandomField, *, encoding: str = "log"
) -> tuple[MarkovRandomField, Inverse]:
    """Turn a model with any number of labels into a binary one.

    Parameters
    ----------
    mrf : MarkovRandomField
        The model.
    encoding : {"log", "order"}
        ``"log"``: ⌈log2 k⌉ bits per variable, most significant first; a factor becomes one
        factor over all bits of its scope. Any factors, zeros allowed; codes that stand for no
        label have weight zero. ``"order"``: k - 1 bits, bit i says ``x > i``, with a hard
        constraint between neighbouring bits; pairwise models stay pairwise (a table of k × l
        labels becomes (k - 1)(l - 1) edges). Potentials are differenced, so they must not be
        zero.

    Examples
    --------
    >>> mrf = MarkovRandomField([3], [((0,), [1, 2, 3])])
    >>> binary, inverse = kary2binary(mrf, encoding="order")
    >>> inverse.lift_states([[0, 0], [1, 0], [1, 1]]).tolist()
    [[0], [1], [2]]
    """
    require_mrf(mrf)
    if encoding == "log":
        return _log_encoding(mrf)
    if encoding == "order":
        return _order_encoding(mrf)
    msg = f"`encoding` must be 'log' or 'order', got {encoding!r}"
    raise ModelError(msg)


# -- log encoding: any factors ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FromBits(Inverse):
    """Lifts bits, most significant first, to labels."""

    original: MarkovRandomField
    bits: IntArray

    def lift_states(self, states: ArrayLike) -> LongArray:
        """Return labels; codes that stand for no label are refused."""
        x = as_labels(states, np.full(self.bits.sum(), 2, dtype=np.int32))
        labels = np.zeros((*x.shape[:-1], len(self.bits)), dtype=np.int64)
        place = np.cumsum(self.bits) - self.bits
        for k in range(int(self.bits.max(initial=0))):
            live = self.bits > k
            labels[..., live] = 2 * labels[..., live] + x[..., (place + k)[live]]
        return as_labels(labels, self.original.cardinalities)

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return one table per variable and per factor."""
        mrf, n = self.original, self.original.num_variables
        nodes = [
            np.ravel(cast(FloatArray, table))[:k]
            for table, k in zip(marginals.edges[:n], mrf.cardinalities.tolist(), strict=True)
        ]
        tables = []
        for k in range(mrf.num_factors):
            padded = np.reshape(
                cast(FloatArray, marginals.edges[n + k]), 2 ** self.bits[mrf.scope(k)]
            )
            tables.append(padded[tuple(slice(size) for size in mrf.table_shape(k))])
        return with_tables(marginals, self, nodes, tables)


def _log_encoding(mrf: MarkovRandomField) -> tuple[MarkovRandomField, FromBits]:
    bits = np.array([(k - 1).bit_length() for k in mrf.cardinalities.tolist()], dtype=np.int32)
    first = np.cumsum(bits) - bits
    factors: list[tuple[list[int], FloatArray]] = []
    for v, k in enumerate(mrf.cardinalities.tolist()):
        valid = np.where(np.arange(2 ** bits[v]) < k, 0.0, -np.inf)
        factors.append((list(range(first[v], first[v] + bits[v])), valid))
    for k in range(mrf.num_factors):
        scope = mrf.scope(k).tolist()
        padded = np.full(2 ** bits[scope], -np.inf) if scope else np.zeros(())
        padded[tuple(slice(size) for size in mrf.table_shape(k))] = mrf.log_table(k)
        place = [b for v in scope for b in range(first[v], first[v] + bits[v])]
        factors.append((place, padded.ravel()))
    binary = MarkovRandomField(np.full(bits.sum(), 2), factors, log=True)
    return binary, FromBits(mrf, bits)


# -- order encoding: pairwise stays pairwise -------------------------------------------------


@dataclass(frozen=True, eq=False)
class FromOrder(Inverse):
    """Lifts bits ``x > i`` to labels."""

    original: MarkovRandomField
    view: PairwiseView
    first: LongArray
    """First bit of every variable, shape (n + 1,)."""
    first_pair: LongArray
    """First factor of the new model that belongs to each edge of the view."""

    def lift_states(self, states: ArrayLike) -> LongArray:
        """Return labels; bits out of order are refused."""
        x = as_labels(states, np.full(self.first[-1], 2, dtype=np.int32))
        bits = x.shape[-1]
        inside = np.ones(max(bits - 1, 0), dtype=bool)  # not between two variables
        inside[self.first[(self.first > 0) & (self.first < bits)] - 1] = False
        if np.any((np.diff(x, axis=-1) > 0) & inside):
            msg = "`states` must have bits in order: bit i of a variable says x > i"
            raise ModelError(msg)
        sums = np.zeros((*x.shape[:-1], x.shape[-1] + 1), dtype=np.int64)
        np.cumsum(x, axis=-1, out=sums[..., 1:])
        return np.asarray(np.diff(sums[..., self.first], axis=-1))

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return one table per variable and per factor."""
        mrf, cards = self.original, self.original.cardinalities
        above: list[FloatArray] = []  # P(x_v >= a), a = 0 … k
        for v in range(mrf.num_variables):
            bits = [float(marginals.nodes[b][1]) for b in range(self.first[v], self.first[v + 1])]
            above.append(np.array([1.0, *bits, 0.0]))
        nodes = [np.clip(-np.diff(tail), 0.0, 1.0) for tail in above]
        joints = []
        for e, (u, v) in enumerate(self.view.edges.tolist()):
            k, m = int(cards[u]), int(cards[v])
            tail = np.zeros((k + 1, m + 1))  # P(x_u >= a, x_v >= b)
            tail[:, 0], tail[0, :] = above[u], above[v]
            begin = self.first_pair[e]
            inner = marginals.edges[begin : begin + (k - 1) * (m - 1)]
            corner = [np.reshape(cast(FloatArray, table), 4)[3] for table in inner]
            tail[1:k, 1:m] = np.reshape(corner, (k - 1, m - 1))
            joints.append(np.clip(np.diff(np.diff(tail, axis=0), axis=1), 0.0, 1.0))
        return with_tables(marginals, self, nodes, self.view.factor_tables(nodes, joints))


def _order_encoding(mrf: MarkovRandomField) -> tuple[MarkovRandomField, FromOrder]:
    view = mrf.pairwise_view()
    zeros = np.flatnonzero(mrf.log_values == -np.inf)
    if zeros.size:
        at = int(np.searchsorted(mrf.table_offsets, zeros[0], side="right")) - 1
        msg = (
            f"the order encoding takes differences of log potentials, but factor {at} has a "
            "zero; use encoding='log'"
        )
        raise MethodError(msg, factor=at)
    cards = mrf.cardinalities.astype(np.int64)
    first = np.concatenate([[0], np.cumsum(cards - 1)])
    constant = view.constant
    bits = np.zeros(first[-1])  # log potential of each bit being one
    for v in range(mrf.num_variables):
        logs = view.node_log(v)
        constant += logs[0]
        bits[first[v] : first[v + 1]] += np.diff(logs)
    scopes, corners = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
    for e, (u, v) in enumerate(view.edges.tolist()):
        logs = view.edge_log(e)
        constant += logs[0, 0]
        bits[first[u] : first[u + 1]] += np.diff(logs[:, 0])
        bits[first[v] : first[v + 1]] += np.diff(logs[0])
        corner = np.diff(np.diff(logs, axis=0), axis=1)
        where = np.indices(corner.shape).reshape(2, -1).T
        scopes.append(where + np.array([first[u], first[v]]))
        corners.append(corner.ravel())
    sizes = [len(corner) for corner in corners[1:]]
    first_pair = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
    # Not x > i + 1 without x > i: a constraint on neighbouring bits of one variable.
    inner = np.setdiff1d(np.arange(max(first[-1] - 1, 0)), first[1:] - 1)
    scopes.append(np.column_stack([inner, inner + 1]))
    pairs, chains = np.concatenate(corners), np.tile([0.0, -np.inf, 0.0, 0.0], (len(inner), 1))
    tables = np.zeros((len(pairs), 4))
    tables[:, 3] = pairs
    lone = np.column_stack([np.zeros(len(bits)), bits])
    arity = np.repeat([2, 1, 0], [len(pairs) + len(inner), len(bits), 1])
    binary = MarkovRandomField.from_arrays(
        np.full(first[-1], 2),
        np.concatenate([np.concatenate(scopes).ravel(), np.arange(len(bits))]),
        np.concatenate([[0], np.cumsum(arity)]),
        np.concatenate([tables.ravel(), chains.ravel(), lone.ravel(), [constant]]),
        np.concatenate([[0], np.cumsum(2**arity)]),
        log=True,
    )
    return binary, FromOrder(mrf, view, first, first_pair)


# -- higher order → pairwise (SJ07, "Non-pairwise") ------------------------------------------


@dataclass(frozen=True, eq=False)
class FromClusters(Inverse):
    """Lifts from the model whose clusters are variables to the factors they stand for."""

    original: MarkovRandomField
    cluster_states: list[LongArray | None]
    """Flat table entries that are the labels of each factor's cluster; None: no cluster."""
    new_index: LongArray
    """Of each factor: its cluster variable, or its factor in the new model."""

    def lift_states(self, states: ArrayLike) -> LongArray:
        """Return the labels of the original variables."""
        x = np.asarray(states)
        return as_labels(x[..., : self.original.num_variables], self.original.cardinalities)

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return one table per variable and per factor."""
        tables: list[FloatArray] = []
        for k, entries in enumerate(self.cluster_states):
            at, shape = self.new_index[k], self.original.table_shape(k)
            if entries is None:
                tables.append(np.reshape(cast(FloatArray, marginals.edges[at]), shape))
            else:
                table = np.zeros(shape)
                table.ravel()[entries] = marginals.nodes[at]
                tables.append(table)
        nodes = list(marginals.nodes[: self.original.num_variables])
        return with_tables(marginals, self, nodes, tables)


def mrf2pairwise(
    mrf: MarkovRandomField, *, memory_limit: int = 2**32
) -> tuple[MarkovRandomField, FromClusters]:
    """Turn factors of three or more variables into variables (SJ07, "Non-pairwise").

    A factor becomes a variable whose labels are the joint states of its scope with nonzero
    potential, joined to every variable of the scope by a table that forbids disagreement.
    Zeros only make it smaller.

    Parameters
    ----------
    mrf : MarkovRandomField
        The model.
    memory_limit : int
        Bytes the new tables may take; more is refused with a ``TooLargeError``.

    Examples
    --------
    >>> parity = MarkovRandomField([2, 2, 2], [((0, 1, 2), [1, 0, 0, 1, 0, 1, 1, 0])])
    >>> pairwise, inverse = mrf2pairwise(parity)
    >>> pairwise.cardinalities.tolist(), pairwise.num_factors
    ([2, 2, 2, 4], 4)
    """
    require_mrf(mrf)
    cards = mrf.cardinalities.tolist()
    needed = 8 * sum(
        int(np.count_nonzero(mrf.log_table(k) > -np.inf)) * (1 + sum(mrf.table_shape(k)))
        for k in np.flatnonzero(np.diff(mrf.scope_offsets) > 2).tolist()
    )
    if needed > memory_limit:
        msg = f"the pairwise form needs {needed} bytes, `memory_limit` is {memory_limit}"
        raise TooLargeError(msg, bytes_needed=needed)
    factors: list[tuple[list[int], FloatArray]] = []
    states: list[LongArray | None] = []
    new_index = np.zeros(mrf.num_factors, dtype=np.int64)
    for k in range(mrf.num_factors):
        scope, logs = mrf.scope(k).tolist(), mrf.log_table(k)
        if len(scope) <= 2:
            states.append(None)
            new_index[k] = len(factors)
            factors.append((scope, logs))
            continue
        entries, agreements = joint_states(logs)
        cluster = len(cards)
        cards.append(len(entries))
        states.append(entries)
        new_index[k] = cluster
        factors.append(([cluster], logs.ravel()[entries]))
        factors += [([v, cluster], agree) for v, agree in zip(scope, agreements, strict=True)]
    names = (
        None
        if isinstance(mrf.labels, range)
        else [*mrf.labels, *((("factor", k)) for k, s in enumerate(states) if s is not None)]
    )
    pairwise = MarkovRandomField(cards, factors, log=True, labels=names)
    return pairwise, FromClusters(mrf, states, new_index)


def joint_states(logs: FloatArray) -> tuple[LongArray, list[FloatArray]]:
    """Return the entries of a table that have weight, and tables that forbid disagreement.

    There is one such table for every axis, over its labels and these entries.

    >>> entries, (first, second) = joint_states(np.array([[0.0, -np.inf], [-np.inf, 1.0]]))
    >>> entries.tolist(), first.tolist()
    ([0, 3], [[0.0, -inf], [-inf, 0.0]])
    """
    entries = np.flatnonzero(logs > -np.inf)
    entries = entries if entries.size else np.zeros(1, dtype=np.int64)  # all zero: so is Z
    agreements = [
        np.where(np.arange(size)[:, None] == label, 0.0, -np.inf)
        for size, label in zip(logs.shape, np.unravel_index(entries, logs.shape), strict=True)
    ]
    return entries, agreements
