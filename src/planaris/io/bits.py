"""Objectives over bits: an Ising model where its doubles hold them, else a Markov random field."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from planaris.models import IsingModel, MarkovRandomField
from planaris.models.base import energy_tolerance, exact_sum
from planaris.typing import BoolArray, FloatArray, LongArray

NEGLIGIBLE = 1e-3
"""Share of the tolerance of energies by which fields may be rounded."""
LOG_WEIGHTS = 1e-8
"""How far log weights may be off: a hundredth of the tolerance of log Z, which grows from a
thousand variables on."""
ROUNDING = 2.0**-53


@dataclass(frozen=True, eq=False)
class Bits:
    """The objective Σ q_k x_i x_j + offset over bits x, to be minimised.

    Attributes
    ----------
    pairs : numpy.ndarray
        int64, shape (m, 2): i and j of every entry; where they are equal it is a linear one.
    q : numpy.ndarray
        The entries; those of one pair add.
    num_variables : int
        Number of bits.
    offset : float
        The constant.
    labels : sequence of hashable or None
        Names of the bits.
    """

    pairs: LongArray
    q: FloatArray
    num_variables: int
    offset: float
    labels: Sequence[Hashable] | None = None

    def as_model(self) -> IsingModel | MarkovRandomField:
        """Return a model of this objective as it is stated.

        Fields of an Ising model are sums of entries, rounded to doubles: a bias of 1 is lost
        beside a penalty of 1e17. Where that matters, every entry becomes a factor of a Markov
        random field over labels 0 and 1.

        >>> pairs = np.array([[0, 0], [0, 1], [1, 1]])
        >>> Bits(pairs, np.array([1.0, -2.0, 3.0]), 2, 0.0).as_model()
        IsingModel(2 spins, 1 edge, 1 field)
        >>> Bits(pairs, np.array([1.0, -1e17, 3.0]), 2, 0.0).as_model()
        MarkovRandomField(2 variables, 3 factors)
        """
        model = self.as_ising()
        probable = LOG_WEIGHTS * max(1.0, self.num_variables / 1000)
        allowed = min(NEGLIGIBLE * energy_tolerance(np.abs(self.q)), probable)
        return model if 2.0 * self._lost(model, allowed) <= allowed else self.as_mrf()

    def as_ising(self) -> IsingModel:
        """Return the Ising model, x = (1 + s) / 2; its fields and offset are rounded sums."""
        linear = self._linear()
        u, v = self.pairs[~linear].T
        quarter, half = self.q[~linear] / 4, self.q[linear] / 2
        n = self.num_variables
        fields = sum_at(self.pairs[linear, 0], -half, n)
        fields += sum_at(np.concatenate([u, v]), -np.concatenate([quarter, quarter]), n)
        offset = 0.0 - exact_sum(np.concatenate([[self.offset], half, quarter]))
        edges, names = self.pairs[~linear], self.labels
        return IsingModel(edges, -quarter, fields, num_spins=n, offset=offset, labels=names)

    def as_mrf(self) -> MarkovRandomField:
        """Return the Markov random field with a factor for every entry; nothing is rounded."""
        linear = self._linear()
        constant = int(self.offset != 0)
        sizes = np.concatenate([np.where(linear, 1, 2), np.zeros(constant, dtype=np.int64)])
        begins = np.concatenate([[0], np.cumsum(2**sizes)])
        logs = np.zeros(begins[-1])
        logs[begins[1 : len(self.q) + 1] - 1] = 0.0 - self.q
        if constant:
            logs[-1] = 0.0 - self.offset
        named = np.column_stack([np.ones(len(linear), dtype=bool), ~linear])
        return MarkovRandomField.from_arrays(
            np.full(self.num_variables, 2),
            self.pairs[named],
            np.concatenate([[0], np.cumsum(sizes)]),
            logs,
            begins,
            log=True,
            labels=self.labels,
        )

    def _linear(self) -> BoolArray:
        own: BoolArray = self.pairs[:, 0] == self.pairs[:, 1]
        return own

    def _lost(self, model: IsingModel, allowed: float) -> float:
        """Return by how much fields and offset change energies; a bound if that is small."""
        linear = self._linear()
        share = np.where(linear, self.q / 2, self.q / 4)
        shift = abs(exact_sum(np.concatenate([[self.offset, model.offset], share])))
        ends = np.concatenate([self.pairs[:, 0], self.pairs[~linear, 1]])
        terms = np.concatenate([share, share[~linear]])
        sizes = sum_at(ends, np.abs(terms), self.num_variables)
        count = np.bincount(ends, minlength=self.num_variables)
        bound = ROUNDING * float((count * sizes).sum())
        if 4.0 * bound <= allowed or not np.isfinite(bound):
            return 2.0 * bound + shift
        order = np.argsort(ends, kind="stable")
        groups = np.split(terms[order], np.cumsum(count)[:-1])
        pairs = zip(model.fields.tolist(), groups, strict=True)
        return shift + math.fsum(abs(math.fsum([h, *some.tolist()])) for h, some in pairs)


def sum_at(index: LongArray, values: FloatArray, n: int) -> FloatArray:
    """Return the sums of the values at each of n places."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.bincount(index, weights=values, minlength=n).astype(np.float64)
