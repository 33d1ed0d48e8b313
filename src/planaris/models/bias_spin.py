"""External fields as couplings to one more spin, the bias spin, and back (SK08 Theorem 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.models.arrays import checked_count
from planaris.models.base import once_per_model
from planaris.models.convert import Inverse, as_spins, with_tables
from planaris.models.ising import IsingModel, require_ising
from planaris.result import Marginals
from planaris.typing import ArrayLike, BoolArray, Int8Array, LongArray


@dataclass(frozen=True, eq=False)
class WithoutBias(Inverse):
    """Lifts from a model with a bias spin (the last one) to the model with fields."""

    original: IsingModel
    bias_edge: LongArray
    """Edge of the new model from every spin to the bias spin, -1 where there is none."""
    log_partition_shift: ClassVar[float] = -float(np.log(2.0))

    @cached_property
    def symmetric(self) -> BoolArray:
        """Spins in components without any field: P(s = +1) is one half."""
        from planaris.kernels.graph import connected_components

        model = self.original
        component = connected_components(model.num_spins, np.ascontiguousarray(model.edges))
        has_field = np.zeros(model.num_spins, dtype=bool)
        has_field[component[np.flatnonzero(model.fields)]] = True
        return ~has_field[component]

    def lift_states(self, states: ArrayLike) -> Int8Array:
        """Return spins relative to the bias spin."""
        s = as_spins(states, self.original.num_spins + 1)
        return s[..., :-1] * s[..., -1:]

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return P(s_v = +1) = P(s_v = s_bias) and P(s_u = s_v)."""
        equal = np.asarray(marginals.edges)
        unknown = np.flatnonzero((self.bias_edge < 0) & ~self.symmetric)
        if unknown.size:
            msg = (
                f"the marginal of spin {unknown[0]} is not among the edges of the model with a "
                "bias spin, since it has no field; convert with `fields2bias(model, "
                "all_spins=True)` when node marginals are wanted"
            )
            raise MethodError(msg, spins=unknown)
        nodes = np.full(self.original.num_spins, 0.5)
        joined = self.bias_edge >= 0
        nodes[joined] = equal[self.bias_edge[joined]]
        return with_tables(marginals, self, nodes, equal[: self.original.num_edges])


@once_per_model
def fields2bias(model: IsingModel, *, all_spins: bool = False) -> tuple[IsingModel, WithoutBias]:
    """Turn fields into couplings to one more spin, the last one (SK08 Theorem 1).

    Flipping all spins of the new model changes nothing, so every state counts twice: log Z
    grows by log 2.

    Parameters
    ----------
    model : IsingModel
        Model with fields.
    all_spins : bool
        Join spins without a field too, with coupling zero: only then are all node marginals
        edge marginals of the new model. Default: only spins with a field, which may keep the
        graph planar.

    Examples
    --------
    >>> new, inverse = fields2bias(IsingModel([(0, 1)], [1.0], [0.5, 0.0]))
    >>> new, inverse.lift_states([1, -1, -1]).tolist()
    (IsingModel(3 spins, 2 edges, no fields), [-1, 1])
    """
    require_ising(model)
    if all_spins and model.fields.all():
        return fields2bias(model)
    n, m = model.num_spins, model.num_edges
    joined = np.arange(n) if all_spins else np.flatnonzero(model.fields)
    bias_edge = np.full(n, -1, dtype=np.int64)
    bias_edge[joined] = m + np.arange(len(joined))
    edges = np.full((m + len(joined), 2), n, dtype=np.int32)
    edges[:m] = model.edges
    edges[m:, 0] = joined
    plain = isinstance(model.labels, range)
    new = model._but(
        num_spins=checked_count(n + 1),
        edges=edges,
        couplings=np.concatenate([model.couplings, model.fields[joined]]),
        fields=np.zeros(n + 1),
        positions=None,
        labels=range(n + 1) if plain else [*model.labels, _new_name(model.labels)],
    )
    return new, WithoutBias(model, bias_edge)


@dataclass(frozen=True, eq=False)
class WithBias(Inverse):
    """Lifts from a model with one spin held at +1 to the model without fields."""

    original: IsingModel
    spin: int
    log_partition_shift: ClassVar[float] = float(np.log(2.0))

    def lift_states(self, states: ArrayLike) -> Int8Array:
        """Return states with the held spin at +1."""
        s = as_spins(states, self.original.num_spins - 1)
        return np.insert(s, self.spin, 1, axis=-1)

    def lift_marginals(self, marginals: Marginals) -> Marginals:
        """Return P(s_v = +1), one half everywhere, and P(s_u = s_v)."""
        up, equal = np.asarray(marginals.nodes), np.asarray(marginals.edges)
        edges = np.empty(self.original.num_edges)
        at = self.original.edges == self.spin
        held = at.any(1)
        other = np.where(at[:, 0], self.original.edges[:, 1], self.original.edges[:, 0])[held]
        edges[~held] = equal
        edges[held] = up[other - (other > self.spin)]
        return with_tables(marginals, self, np.full(self.original.num_spins, 0.5), edges)


def bias2fields(model: IsingModel, spin: int = -1) -> tuple[IsingModel, WithBias]:
    """Clamp one spin of a model without fields to +1: its couplings become fields.

    >>> new, inverse = bias2fields(IsingModel([(0, 1), (1, 2)], [1.0, 0.5]))
    >>> new.fields.tolist(), inverse.lift_states([1, -1]).tolist()
    ([0.0, 0.5], [1, -1, 1])
    """
    require_ising(model)
    n = model.num_spins
    if not -n <= spin < n:
        msg = f"`spin` must lie between 0 and {n - 1}, got {spin}"
        raise ModelError(msg)
    if model.has_fields:
        msg = "only a model without fields may hold a spin; `fields2bias` removes them"
        raise MethodError(msg)
    spin %= n
    at = model.edges == spin
    held = at.any(1)
    other = np.where(at[:, 0], model.edges[:, 1], model.edges[:, 0])[held]
    fields = np.zeros(n)
    fields[other] = model.couplings[held]
    labels = None if isinstance(model.labels, range) else list(model.labels)
    new = IsingModel(
        model.edges[~held] - (model.edges[~held] > spin),
        model.couplings[~held],
        np.delete(fields, spin),
        num_spins=n - 1,
        positions=None if model.positions is None else np.delete(model.positions, spin, axis=0),
        offset=model.offset,
        labels=None if labels is None else labels[:spin] + labels[spin + 1 :],
    )
    return new, WithBias(model, spin)


def _new_name(labels: object) -> str:
    names = set(labels)  # type: ignore[call-overload]
    name = "bias"
    while name in names:
        name += "_"
    return name
