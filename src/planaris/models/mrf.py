"""Markov random fields: P(x) ∝ Π_f f(x_f), any discrete factors, kept as logarithms."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.models.arrays import as_names, as_real
from planaris.models.base import (
    ScaledModel,
    energy_tolerance,
    exact_sum,
    exact_sums,
    once_per_model,
    smallest_step,
)
from planaris.models.ising import IsingModel, require_ising
from planaris.models.tables import (
    as_integers,
    as_labels,
    as_logs,
    as_pairs,
    as_scope,
    c_strides,
    check_scopes,
    check_table_sizes,
)
from planaris.notebook import ON_CIRCLE, facts_html, graph_svg
from planaris.show import many
from planaris.typing import ArrayLike, FloatArray, Int8Array, IntArray, LongArray

if TYPE_CHECKING:
    from planaris.models.condition import Conditioning
    from planaris.models.tables import PairwiseView


FEW_FACTORS = 100
"""Tables that are searched for a small step before all of them are."""


class MarkovRandomField(ScaledModel):
    r"""A discrete Markov random field, as flat arrays.

    .. math:: P(x) \propto \prod_f f(x_f), \qquad x_v \in \{0, \ldots, k_v - 1\}

    Parameters
    ----------
    cardinalities : array_like of int, shape (n,)
        Number of labels of every variable, at least one.
    factors : iterable of (scope, table)
        ``scope`` names different variables; ``table`` holds the potentials, with one axis per
        variable in the order of ``scope`` (or flat in C order: the last variable is fastest).
        Zeros are hard constraints; an empty scope is a constant.
    log : bool
        The tables hold logarithms of potentials (``-inf`` for zero) instead; at most 1e300 in
        size, so that no sum of them overflows.
    labels : sequence of hashable, optional
        Names of the variables; default ``range(n)``.

    Examples
    --------
    >>> mrf = MarkovRandomField([2, 3], [((0, 1), [[1, 2, 3], [4, 0, 1]])])
    >>> mrf
    MarkovRandomField(2 variables, 1 factor)
    >>> mrf.log_weight([[0, 0], [1, 1]]).tolist()
    [0.0, -inf]
    """

    __slots__ = (
        "_memo",
        "cardinalities",
        "labels",
        "linear_values",
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
    linear_values: FloatArray | None
    """The potentials as they were given, or None if logarithms were. Solvers use
    ``log_values``; these are kept because exp(log(f)) is not f to the last bit, and a file
    must be written back as it was read."""
    table_offsets: LongArray
    """Where the table of each factor begins in ``log_values``, shape (num_factors + 1,)."""
    labels: Sequence[Hashable]
    """Names of the variables."""

    def __init__(
        self,
        cardinalities: ArrayLike,
        factors: Iterable[tuple[Sequence[int], ArrayLike]],
        *,
        log: bool = False,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        pairs = [
            (as_scope(f"factors[{k}]", s), as_real(f"factors[{k}]", t))
            for k, (s, t) in enumerate(as_pairs("factors", factors))
        ]
        self._fill(
            cardinalities,
            np.concatenate([s for s, _ in pairs]) if pairs else np.zeros(0, dtype=np.int64),
            np.cumsum([0, *(len(scope) for scope, _ in pairs)]),
            np.concatenate([t.ravel() for _, t in pairs]) if pairs else np.zeros(0),
            np.cumsum([0, *(table.size for _, table in pairs)]),
            log=log,
            labels=labels,
        )
        for k, (_, table) in enumerate(pairs):
            if table.ndim > 1 and table.shape != self.table_shape(k):
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
        labels: Sequence[Hashable] | None = None,
    ) -> MarkovRandomField:
        """Build from flat arrays, without a Python object per factor."""
        mrf = cls.__new__(cls)
        mrf._fill(
            cardinalities, scopes, scope_offsets, values, table_offsets, log=log, labels=labels
        )
        return mrf

    @classmethod
    def from_ising(cls, model: IsingModel) -> MarkovRandomField:
        """Build the same distribution from an Ising model; label 0 is spin -1, 1 is +1.

        The factors are one table per spin, one per edge in the order of ``model.edges``, and
        the offset as a constant. :func:`planaris.models.convert.ising2mrf` also gives the way
        back.

        >>> mrf = MarkovRandomField.from_ising(IsingModel([(0, 1)], [2.0], [0.5, 0.0]))
        >>> mrf.log_weight([[0, 0], [1, 0], [1, 1]]).tolist()
        [1.5, -1.5, 2.5]
        """
        require_ising(model)
        n, m = model.num_spins, model.num_edges
        sizes = np.concatenate([np.ones(n, np.int64), np.full(m, 2), [0]])
        nodes = model.fields[:, None] * [-1.0, 1.0]
        edges = model.couplings[:, None] * [1.0, -1.0, -1.0, 1.0]
        return cls.from_arrays(
            np.full(n, 2),
            np.concatenate([np.arange(n), model.edges.ravel()]),
            _offsets(sizes),
            np.concatenate([nodes.ravel(), edges.ravel(), [model.offset]]),
            _offsets(2**sizes),
            log=True,
            labels=model.labels,
        )

    def _fill(
        self,
        cardinalities: ArrayLike,
        scopes: ArrayLike,
        scope_offsets: ArrayLike,
        values: ArrayLike,
        table_offsets: ArrayLike,
        *,
        log: bool,
        labels: Sequence[Hashable] | None,
    ) -> None:
        cards = as_integers("cardinalities", cardinalities)
        flat_scopes = as_integers("scopes", scopes)
        self.scope_offsets = as_integers("scope_offsets", scope_offsets).copy()
        self.table_offsets = as_integers("table_offsets", table_offsets).copy()
        check_scopes(cards, flat_scopes, self.scope_offsets)
        check_table_sizes(cards[flat_scopes], self.scope_offsets, self.table_offsets)
        self.cardinalities = cards.astype(np.int32)
        self.scopes = flat_scopes.astype(np.int32)
        given = as_real("values", values).ravel()
        self.log_values = as_logs(given, self.table_offsets, log=log)
        self.linear_values = None if log else np.array(given)
        self.labels = as_names("labels", labels, len(cards), "variables")
        self._freeze()

    def _freeze(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name, None)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    # -- what it says -----------------------------------------------------------------------

    @property
    def num_variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    @property
    def num_factors(self) -> int:
        """Number of factors."""
        return len(self.scope_offsets) - 1

    @property
    def is_pairwise(self) -> bool:
        """Whether no factor has more than two variables."""
        return bool(np.diff(self.scope_offsets).max(initial=0) <= 2)

    @property
    def is_binary(self) -> bool:
        """Whether no variable has more than two labels."""
        return bool(self.cardinalities.max(initial=0) <= 2)

    @property
    def has_zeros(self) -> bool:
        """Whether any potential is zero (a hard constraint)."""
        return bool(np.any(self.log_values == -np.inf))

    @property
    def is_ising(self) -> bool:
        """Whether it is equivalent to an Ising model: two labels, pairwise, no zeros."""
        return self.is_binary and self.is_pairwise and not self.has_zeros

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

    def strides(self) -> LongArray:
        """Stride, in its factor's table, of every entry of ``scopes``."""
        return c_strides(self.cardinalities[self.scopes], self.scope_offsets)

    @property
    def log_weight_size(self) -> float:
        """How large a log weight can be: the sum of the largest finite entries of all tables."""
        least, largest = _extremes(self)
        return float(np.maximum(largest, -least).sum())

    def log_weight(self, assignments: ArrayLike) -> FloatArray:
        """Return Σ_f log f(x_f) of one assignment or of each row of a batch.

        The sum of the doubles in ``log_values`` is exact and rounded once, to nearest.
        """
        x = as_labels(assignments, self.cardinalities)
        steps = np.zeros((*x.shape[:-1], len(self.scopes) + 1), dtype=np.int64)
        np.cumsum(x[..., self.scopes] * self.strides(), axis=-1, out=steps[..., 1:])
        ends = steps[..., self.scope_offsets]
        entry = self.table_offsets[:-1] + (ends[..., 1:] - ends[..., :-1])
        if x.ndim == 1:  # of a large model most numbers are not in the sum
            return np.float64(exact_sum(self.log_values[entry]))  # type: ignore[return-value]
        return exact_sums(self.log_values, lambda logs: logs[entry].sum(-1))

    def energy(self, assignments: ArrayLike) -> FloatArray:
        """Return minus the log weight of one assignment or of each row, rounded once."""
        return 0.0 - self.log_weight(assignments)

    @property
    def energy_tolerance(self) -> float:
        """Widest interval around the minimum energy that counts as exact.

        See :func:`planaris.models.base.energy_tolerance`.
        """
        return _energy_tolerance(self)

    @property
    def has_one_energy(self) -> bool:
        """Whether no parameter makes a difference: all states that are allowed have one energy.

        >>> MarkovRandomField([2], [((0,), [3.0, 0.0])]).has_one_energy
        True
        """
        return self.energy_tolerance == 0.0 and not np.any(_ranges(self) > 0)

    def spins_and_labels(self, state: ArrayLike) -> tuple[Int8Array, IntArray]:
        """Return an assignment as spins (none with more than two labels) and as labels.

        >>> [x.tolist() for x in MarkovRandomField([2, 2], []).spins_and_labels([1, 0])]
        [[1, -1], [1, 0]]
        """
        labels = np.asarray(state, dtype=np.int32)
        spins = 2 * labels - 1 if self.is_binary else np.zeros(0)
        return spins.astype(np.int8), labels

    def _scaled(self, factor: float) -> MarkovRandomField:
        """Return the model with every finite log potential multiplied; zeros stay zeros."""
        if factor == 1.0:
            return self
        finite = np.isfinite(self.log_values)
        with np.errstate(over="ignore"):
            scaled = factor * np.where(finite, self.log_values, 0.0)
        if not np.all(np.isfinite(scaled)):
            msg = f"log potentials times {factor:g} must be finite; those of a weight of zero stay"
            raise ModelError(msg)
        values = np.where(finite, scaled, self.log_values)
        return MarkovRandomField.from_arrays(
            self.cardinalities,
            self.scopes,
            self.scope_offsets,
            values,
            self.table_offsets,
            log=True,
            labels=self.labels,
        )

    def _content(self) -> tuple[Any, ...]:
        names = () if isinstance(self.labels, range) else tuple(self.labels)
        tables = (self.table_offsets, self.log_values)
        return (self.cardinalities, self.scopes, self.scope_offsets, *tables, names)

    # -- other forms ------------------------------------------------------------------------

    def condition(
        self, evidence: Mapping[int, int], *, keep_numbering: bool = False
    ) -> tuple[MarkovRandomField, Conditioning]:
        """Fix variables to labels; see :func:`planaris.models.condition.condition`.

        >>> mrf = MarkovRandomField([2, 3], [((0, 1), [[1, 2, 3], [4, 0, 1]])])
        >>> smaller, inverse = mrf.condition({0: 1})
        >>> smaller.cardinalities.tolist(), inverse.lift_states([2]).tolist()
        ([3], [1, 2])
        """
        from planaris.models.condition import condition

        return condition(self, evidence, keep_numbering=keep_numbering)

    def pairwise_view(self) -> PairwiseView:
        """Merge the factors into node and edge tables; see :mod:`planaris.models.tables`."""
        from planaris.models.tables import pairwise_view

        return pairwise_view(self)

    def _repr_html_(self) -> str:
        fewest, most = self.cardinalities.min(initial=10**9), self.cardinalities.max(initial=0)
        facts = {
            "variables": f"{self.num_variables:,}",
            "labels": f"{most}" if fewest >= most else f"{fewest} to {most}",
            "factors": f"{self.num_factors:,}",
            "zero potentials": f"{np.count_nonzero(np.isneginf(self.log_values)):,}",
        }
        return facts_html("MarkovRandomField", facts, self._picture())

    def _picture(self) -> str:
        """Return the graph of the variables that share a factor, where it is small."""
        if self.num_variables > ON_CIRCLE:
            return ""
        pairs = {
            (int(u), int(v))
            for factor in range(self.num_factors)
            for u, v in itertools.combinations(sorted(self.scope(factor)), 2)
        }
        edges = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        return graph_svg(None, self.num_variables, edges, np.ones(len(edges)))

    def __repr__(self) -> str:
        factors = many(self.num_factors, "factor")
        return f"MarkovRandomField({many(self.num_variables, 'variable')}, {factors})"


def _offsets(sizes: LongArray) -> LongArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@once_per_model
def _extremes(mrf: MarkovRandomField) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest finite entry of each table that has any."""
    starts = mrf.table_offsets[:-1][np.diff(mrf.table_offsets) > 0]
    logs = mrf.log_values
    if not len(starts):
        return np.zeros(0), np.zeros(0)
    least, largest = np.minimum.reduceat(logs, starts), np.maximum.reduceat(logs, starts)
    if least.min() == -np.inf:
        least = np.minimum.reduceat(np.where(logs == -np.inf, np.inf, logs), starts)
        some = largest > -np.inf
        least, largest = least[some], largest[some]
    return least, largest


def _ranges(mrf: MarkovRandomField) -> FloatArray:
    """Return by how much the finite entries of each table differ, where there are any."""
    least, largest = _extremes(mrf)
    return np.asarray(largest - least)


@once_per_model
def _energy_tolerance(mrf: MarkovRandomField) -> float:
    def smallest() -> float:
        few = _smallest_step(mrf, min(mrf.num_factors, FEW_FACTORS))
        return few if few < 1.0 else _smallest_step(mrf, mrf.num_factors)  # no scale is below 1

    return energy_tolerance(_ranges(mrf), smallest)


def require_mrf(mrf: object) -> None:
    """Refuse anything but a Markov random field, and say how to get one.

    >>> require_mrf(MarkovRandomField([2], [((0,), [1.0, 2.0])]))
    """
    if not isinstance(mrf, MarkovRandomField):
        msg = (
            f"`mrf` must be a MarkovRandomField, got {type(mrf).__name__}; "
            "`planaris.models.ising2mrf` converts Ising models"
        )
        raise MethodError(msg)


def _smallest_step(mrf: MarkovRandomField, count: int) -> float:
    """Return the smallest difference of two finite entries of one of the first tables."""
    logs = mrf.log_values[: mrf.table_offsets[count]]
    finite = np.isfinite(logs)
    table = np.repeat(np.arange(count), np.diff(mrf.table_offsets[: count + 1]))
    return smallest_step(logs[finite], table[finite])
