"""Markov random fields: P(x) ∝ Π_f f(x_f), any discrete factors, kept as logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from planaris.errors import ModelError
from planaris.typing import ArrayLike, FloatArray, IntArray, LongArray


class MarkovRandomField:
    r"""A discrete Markov random field, as flat arrays.

    .. math:: P(x) \propto \prod_f f(x_f), \qquad x_v \in \{0, …, k_v - 1\}

    Parameters
    ----------
    cardinalities : array_like of int, shape (n,)
        Number of labels of every variable, at least one.
    factors : iterable of (scope, table)
        ``scope`` names different variables; ``table`` holds the potentials, with one axis per
        variable in the order of ``scope`` (or flat in C order: the last variable is fastest).
        Zeros are hard constraints.
    log : bool
        The tables hold logarithms of potentials (``-inf`` for zero) instead.

    Examples
    --------
    >>> mrf = MarkovRandomField([2, 3], [((0, 1), [[1, 2, 3], [4, 0, 1]])])
    >>> mrf
    MarkovRandomField(2 variables, 1 factors)
    >>> mrf.log_weight([[0, 0], [1, 1]]).tolist()
    [0.0, -inf]
    """

    __slots__ = (
        "cardinalities",
        "log_values",
        "scope_offsets",
        "scopes",
        "table_offsets",
    )

    cardinalities: IntArray
    """Labels per variable, shape (n,)."""
    scopes: IntArray
    """Variables of all factors, one factor after the other."""
    scope_offsets: LongArray
    """Where the scope of each factor begins in ``scopes``, shape (num_factors + 1,)."""
    log_values: FloatArray
    """Logarithms of all tables, flat in C order, one factor after the other."""
    table_offsets: LongArray
    """Where the table of each factor begins in ``log_values``, shape (num_factors + 1,)."""

    def __init__(
        self,
        cardinalities: ArrayLike,
        factors: Iterable[tuple[Sequence[int], ArrayLike]],
        *,
        log: bool = False,
    ) -> None:
        pairs = [(np.asarray(s, dtype=np.int64).ravel(), np.asarray(t, float)) for s, t in factors]
        sizes = [len(scope) for scope, _ in pairs]
        lengths = [table.size for _, table in pairs]
        self._fill(
            cardinalities,
            np.concatenate([s for s, _ in pairs]) if pairs else np.zeros(0, dtype=np.int64),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([t.ravel() for _, t in pairs]) if pairs else np.zeros(0),
            np.concatenate([[0], np.cumsum(lengths)]),
            log=log,
        )
        for k, (_, table) in enumerate(pairs):
            if table.ndim != 1 and table.shape != self.table_shape(k):
                msg = (
                    f"`factors[{k}]` must have a table of shape {self.table_shape(k)} for scope "
                    f"{tuple(self.scope(k).tolist())}, got {table.shape}"
                )
                raise ModelError(msg, factor=k)

    @classmethod
    def from_arrays(
        cls,
        cardinalities: ArrayLike,
        scopes: ArrayLike,
        scope_offsets: ArrayLike,
        values: ArrayLike,
        table_offsets: ArrayLike,
        *,
        log: bool = False,
    ) -> MarkovRandomField:
        """Build from flat arrays, without a Python object per factor."""
        mrf = cls.__new__(cls)
        mrf._fill(cardinalities, scopes, scope_offsets, values, table_offsets, log=log)
        return mrf

    def _fill(
        self,
        cardinalities: ArrayLike,
        scopes: ArrayLike,
        scope_offsets: ArrayLike,
        values: ArrayLike,
        table_offsets: ArrayLike,
        *,
        log: bool,
    ) -> None:
        self.cardinalities = np.array(cardinalities, dtype=np.int32).ravel()
        flat_scopes = np.asarray(scopes, dtype=np.int64).ravel()
        self.scope_offsets = np.array(scope_offsets, dtype=np.int64)
        self.table_offsets = np.array(table_offsets, dtype=np.int64)
        _check_variables(self.cardinalities, flat_scopes, self.scope_offsets)
        self.scopes = flat_scopes.astype(np.int32)
        _check_table_sizes(self)
        self.log_values = _as_logs(np.asarray(values, dtype=np.float64).ravel(), self, log=log)
        for name in self.__slots__:
            getattr(self, name).setflags(write=False)

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    @property
    def num_factors(self) -> int:
        """Number of factors."""
        return len(self.scope_offsets) - 1

    def scope(self, factor: int) -> IntArray:
        """Variables of a factor, in the order of its table's axes."""
        return self.scopes[self.scope_offsets[factor] : self.scope_offsets[factor + 1]]

    def table_shape(self, factor: int) -> tuple[int, ...]:
        """Shape of a factor's table."""
        return tuple(self.cardinalities[self.scope(factor)].tolist())

    def log_table(self, factor: int) -> FloatArray:
        """Logarithms of a factor's potentials, one axis per variable of its scope."""
        begin, end = self.table_offsets[factor], self.table_offsets[factor + 1]
        return self.log_values[begin:end].reshape(self.table_shape(factor))

    def log_weight(self, assignments: ArrayLike) -> FloatArray:
        """Return Σ_f log f(x_f) of one assignment or of each row of a batch."""
        x = np.asarray(assignments)
        if x.shape[-1:] != (self.num_variables,):
            msg = (
                f"`assignments` must have {self.num_variables} labels in the last dimension, "
                f"got shape {x.shape}"
            )
            raise ModelError(msg)
        if x.size and (np.any(x < 0) or np.any(x >= self.cardinalities)):
            msg = "`assignments` must hold labels from 0 to cardinality - 1"
            raise ModelError(msg)
        # Index of every factor's entry: strides of C order inside each scope.
        per_scope = np.diff(self.scope_offsets)
        owner = np.repeat(np.arange(self.num_factors), per_scope)
        steps = x[..., self.scopes] * _c_strides(self)
        entry = np.zeros((self.num_factors, *x.shape[:-1]), dtype=np.int64)
        np.add.at(entry, owner, np.moveaxis(steps, -1, 0))
        entry = np.moveaxis(entry, 0, -1) + self.table_offsets[:-1]
        return np.asarray(self.log_values[entry].sum(-1))

    def energy(self, assignments: ArrayLike) -> FloatArray:
        """Return minus the log weight of one assignment or of each row of a batch."""
        return 0.0 - self.log_weight(assignments)

    def __repr__(self) -> str:
        return f"MarkovRandomField({self.num_variables} variables, {self.num_factors} factors)"

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


def _check_variables(cardinalities: IntArray, scopes: LongArray, offsets: LongArray) -> None:
    if np.any(cardinalities < 1):
        at = int(np.flatnonzero(cardinalities < 1)[0])
        msg = f"`cardinalities` must be at least 1, got {cardinalities[at]} at variable {at}"
        raise ModelError(msg, index=at)
    if (
        offsets.ndim != 1
        or offsets[0] != 0
        or offsets[-1] != len(scopes)
        or np.any(np.diff(offsets) < 0)
    ):
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
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((scopes, owner))
    same = (np.diff(scopes[order]) == 0) & (np.diff(owner[order]) == 0)
    if same.any():
        at = order[np.flatnonzero(same)[0]]
        msg = f"`factors[{owner[at]}]` must name each variable once, got {scopes[at]} twice"
        raise ModelError(msg, factor=int(owner[at]))


def _check_table_sizes(mrf: MarkovRandomField) -> None:
    logs = np.log2(mrf.cardinalities[mrf.scopes].astype(float))
    owner = np.repeat(np.arange(mrf.num_factors), np.diff(mrf.scope_offsets))
    bits = np.bincount(owner, weights=logs, minlength=mrf.num_factors)
    lengths = np.diff(mrf.table_offsets)
    ok = len(lengths) == mrf.num_factors and np.all(bits < 62)
    if ok:
        wanted = np.ones(mrf.num_factors, dtype=np.int64)
        np.multiply.at(wanted, owner, mrf.cardinalities[mrf.scopes].astype(np.int64))
        wrong = np.flatnonzero(wanted != lengths)
        if not wrong.size:
            return
        at = int(wrong[0])
        msg = (
            f"`factors[{at}]` must have a table of {wanted[at]} numbers for its scope, "
            f"got {lengths[at]}"
        )
        raise ModelError(msg, factor=at)
    msg = "`table_offsets` must give every factor a table of the product of its cardinalities"
    raise ModelError(msg)


def _as_logs(values: FloatArray, mrf: MarkovRandomField, *, log: bool) -> FloatArray:
    if len(values) != mrf.table_offsets[-1]:
        msg = f"`values` must hold {mrf.table_offsets[-1]} numbers, got {len(values)}"
        raise ModelError(msg)
    bad = np.isnan(values) | (values == np.inf) | (False if log else values < 0)
    if np.any(bad):
        at = int(np.flatnonzero(bad)[0])
        factor = int(np.searchsorted(mrf.table_offsets, at, side="right")) - 1
        needed = "finite or -inf" if log else "finite and not negative"
        msg = f"`factors[{factor}]` must hold potentials that are {needed}, got {values[at]}"
        raise ModelError(msg, factor=factor)
    if log:
        return np.array(values)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _c_strides(mrf: MarkovRandomField) -> LongArray:
    """Stride, in its factor's table, of every entry of ``scopes``."""
    cards = mrf.cardinalities[mrf.scopes].astype(np.int64)
    strides = np.ones(len(cards), dtype=np.int64)
    longest = int(np.diff(mrf.scope_offsets).max(initial=0))
    last = np.repeat(mrf.scope_offsets[1:] - 1, np.diff(mrf.scope_offsets))
    place = np.arange(len(cards))
    for back in range(1, longest):
        inner = place + back
        live = inner <= last
        strides[live] *= cards[inner[live]]
    return strides
