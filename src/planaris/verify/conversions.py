"""Models in the forms that proofs are about: spins, pairs of variables, one spin clamped.

The solvers convert models too, in code of their own. A proof numbers edges and clusters as said
here. The rounding of a conversion is bounded, and the callers account for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.typing import Array, FloatArray


@dataclass(frozen=True)
class BareModel:
    """Edges and couplings without fields; a bias spin may be the last vertex."""

    num_vertices: int
    edges: Array
    couplings: FloatArray

    @classmethod
    def of(cls, model: IsingModel) -> BareModel:
        """Join the fields to a bias spin behind the last spin."""
        with_field = np.flatnonzero(model.fields)
        bias = np.column_stack([with_field, np.full(len(with_field), model.num_spins)])
        edges = np.concatenate([model.edges.astype(np.int64), bias])
        couplings = np.concatenate([model.couplings, model.fields[with_field]])
        return cls(model.num_spins + 1, edges, couplings)

    def restrict(self, chosen: Array) -> BareModel:
        """Keep some of the edges."""
        return BareModel(self.num_vertices, self.edges[chosen], self.couplings[chosen])

    def as_model(self) -> IsingModel:
        """Return the model of the vertices that have edges, in their order."""
        vertices, ends = np.unique(self.edges, return_inverse=True)
        return IsingModel(ends.reshape(-1, 2), self.couplings, num_spins=len(vertices))


@dataclass(frozen=True)
class AsSpins:
    """A model of two labels as spins: label 0 is -1 and 1 is +1.

    Attributes
    ----------
    model : IsingModel
        One spin per variable of two labels, in their order; variables of one label are left out.
        Edges in the order of the first table on the pair.
    rounding : float
        No energy differs by more from that of the labels.
    """

    model: IsingModel
    rounding: float


def as_spins(mrf: MarkovRandomField) -> AsSpins | None:
    """Return a Markov random field as an Ising model; None if it is none.

    Examples
    --------
    >>> mrf = MarkovRandomField([2, 1, 2], [((0, 1, 2), [[[4, 1]], [[1, 4]]])])
    >>> as_spins(mrf).model.couplings.round(3).tolist()
    [0.693]
    """
    cards = mrf.cardinalities
    if np.any(cards > 2) or np.any(np.isinf(mrf.log_values)):
        return None
    free = np.flatnonzero(cards == 2)
    spin = np.full(len(cards), -1)
    spin[free] = np.arange(len(free))
    tables = _SpinTables(len(free))
    for k in range(mrf.num_factors):
        scope = [v for v in spin[mrf.scope(k)].tolist() if v >= 0]
        if len(scope) > 2:
            return None
        table = np.asarray(mrf.log_table(k), dtype=np.float64)
        tables.add(scope, table.reshape((2,) * len(scope)))
    return tables.as_spins()


def required_spins(mrf: MarkovRandomField) -> AsSpins:
    """Return a Markov random field as an Ising model, or refuse a proof that is about spins."""
    found = as_spins(mrf)
    if found is None:
        msg = "the proof is broken: it must hold that the model has two labels and no zeros"
        raise VerificationError(msg)
    return found


class _SpinTables:
    """Tables of single labels and of pairs, merged and one by one."""

    def __init__(self, count: int) -> None:
        self.nodes: list[list[FloatArray]] = [[] for _ in range(count)]
        self.pairs: dict[tuple[int, int], list[FloatArray]] = {}
        # Numbers that add up to each field, coupling and to the constant exactly.
        self.field_terms: list[list[float]] = [[] for _ in range(count)]
        self.coupling_terms: dict[tuple[int, int], list[float]] = {}
        self.constant: list[float] = []

    def add(self, scope: list[int], table: FloatArray) -> None:
        if len(scope) == 2 and scope[0] > scope[1]:
            scope, table = scope[::-1], table.T
        self.constant += (table / table.size).ravel().tolist()
        if len(scope) == 1:
            self.nodes[scope[0]].append(table)
            self.field_terms[scope[0]] += [table[1] / 2, -table[0] / 2]
        elif scope:
            key = scope[0], scope[1]
            self.pairs.setdefault(key, []).append(table)
            (a, b), (c, d) = (table / 4).tolist()
            self.coupling_terms.setdefault(key, []).extend([a, -b, -c, d])
            self.field_terms[key[0]] += [-a, -b, c, d]
            self.field_terms[key[1]] += [-a, b, -c, d]

    def as_spins(self) -> AsSpins:
        """Add up; every sum is held against the exact one."""
        edges = np.array(list(self.pairs), dtype=np.int64).reshape(-1, 2)
        t = np.array([_added_up(some, (2, 2)) for some in self.pairs.values()]).reshape(-1, 2, 2)
        nodes = np.array([_added_up(some, (2,)) for some in self.nodes]).reshape(-1, 2)
        couplings = ((t[:, 0, 0] + t[:, 1, 1]) - (t[:, 0, 1] + t[:, 1, 0])) / 4
        tilt, swap = t[:, 1, 1] - t[:, 0, 0], t[:, 1, 0] - t[:, 0, 1]
        fields = (nodes[:, 1] - nodes[:, 0]) / 2
        np.add.at(fields, edges[:, 0], (tilt + swap) / 4)
        np.add.at(fields, edges[:, 1], (tilt - swap) / 4)
        offset = math.fsum(self.constant)
        sums = [
            (offset, self.constant),
            *zip(fields.tolist(), self.field_terms, strict=True),
            *zip(couplings.tolist(), self.coupling_terms.values(), strict=True),
        ]
        missed = math.fsum(abs(math.fsum([*terms, -found])) for found, terms in sums)
        model = IsingModel(edges, couplings, fields, num_spins=len(fields), offset=offset)
        return AsSpins(model, math.nextafter(missed, math.inf) if missed else 0.0)


def _added_up(tables: list[FloatArray], shape: tuple[int, ...]) -> FloatArray:
    """Return the sum of some tables, every entry rounded once."""
    if len(tables) <= 2:
        return np.asarray(sum(tables, np.zeros(shape)))
    entries = zip(*(table.ravel().tolist() for table in tables), strict=True)
    return np.array([math.fsum(some) for some in entries]).reshape(shape)


def as_pairwise(mrf: MarkovRandomField) -> MarkovRandomField:
    """Return a pairwise MRF: a larger factor becomes one more variable behind the last.

    Its labels are the entries of the table that are allowed, in their order (the first one where
    none is); tables of pairs forbid it to disagree with the variables of the factor.

    Examples
    --------
    >>> parity = MarkovRandomField([2, 2, 2], [((0, 1, 2), [1, 0, 0, 1, 0, 1, 1, 0])])
    >>> as_pairwise(parity).cardinalities.tolist()
    [2, 2, 2, 4]
    """
    cards = mrf.cardinalities.tolist()
    factors: list[tuple[list[int], Array]] = []
    for k in range(mrf.num_factors):
        scope, logs = mrf.scope(k).tolist(), np.asarray(mrf.log_table(k))
        if len(scope) <= 2:
            factors.append((scope, logs))
            continue
        allowed = np.argwhere(logs > -math.inf)
        allowed = allowed if len(allowed) else np.zeros((1, logs.ndim), dtype=np.int64)
        factors.append(([len(cards)], logs[tuple(allowed.T)]))
        for v, labels in zip(scope, allowed.T, strict=True):
            agree = labels[None, :] == np.arange(cards[v])[:, None]
            factors.append(([v, len(cards)], np.where(agree, 0.0, -math.inf)))
        cards.append(len(allowed))
    return MarkovRandomField(cards, factors, log=True)


def as_labels(model: IsingModel) -> MarkovRandomField:
    """Return an Ising model as an MRF of two labels: -1 is label 0 and +1 is 1.

    Examples
    --------
    >>> mrf = as_labels(IsingModel([(0, 1)], [2.0], fields=[1.0, 0.0]))
    >>> mrf.log_table(0).tolist(), mrf.log_table(2).tolist()
    ([-1.0, 1.0], [[2.0, -2.0], [-2.0, 2.0]])
    """
    factors: list[tuple[list[int], Array]] = [
        ([v], np.array([-field, field])) for v, field in enumerate(model.fields.tolist())
    ]
    for (u, v), coupling in zip(model.edges.tolist(), model.couplings.tolist(), strict=True):
        factors.append(([u, v], np.array([[coupling, -coupling], [-coupling, coupling]])))
    factors.append(([], np.array(model.offset)))
    return MarkovRandomField([2] * model.num_spins, factors, log=True)


def hold_spin(model: IsingModel, spin: int) -> IsingModel:
    """Return the model of the other spins, with half of the weight; log 2 is put back.

    Examples
    --------
    >>> rest = hold_spin(IsingModel([(0, 1), (1, 2)], [1.0, 0.5]), 1)
    >>> rest.fields.tolist(), round(rest.offset, 6)
    ([1.0, 0.5], 0.693147)
    """
    if not 0 <= spin < model.num_spins or np.any(model.fields):
        msg = "the proof is broken: it must hold that some spin can be held"
        raise VerificationError(msg)
    at = (model.edges == spin).any(1)
    fields = np.bincount(model.edges[at].sum(1) - spin, model.couplings[at], model.num_spins)
    rest = model.edges[~at]
    return IsingModel(
        rest - (rest > spin),
        model.couplings[~at],
        np.delete(fields, spin),
        num_spins=model.num_spins - 1,
        offset=model.offset + math.log(2.0),
    )
