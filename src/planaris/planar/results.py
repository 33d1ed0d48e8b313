"""How sums over cuts are stated: value, error, and what it takes to add up anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.embed import Embedding
from planaris.kernels.cuts import CutPacking
from planaris.planar.estimate import EPSILON
from planaris.planar.ground_state import gauge_spins
from planaris.result import CutSum, LogPartition, Proof, Stats
from planaris.show import one_line
from planaris.typing import FloatArray, Int8Array, IntArray

if TYPE_CHECKING:
    from planaris.planar.evaluator import PfaffianEvaluator

WEAK_COUPLING = 3.0
"""Sums of couplings up to here need no certificate: they are added up anew without help."""


@dataclass(frozen=True, eq=False)
class CutSumCertificate(Proof):
    """The faces, the state and the order of a sum over cuts, found when they are asked for.

    Attributes
    ----------
    embedding : Embedding
        The surface.
    couplings : numpy.ndarray
        One per edge.
    biased : bool
        Whether the last spin is a bias spin, held at +1, and no spin of the model.
    """

    embedding: Embedding
    couplings: FloatArray
    biased: bool = False

    __repr__ = one_line

    @cached_property
    def _gauge(self) -> tuple[Int8Array, CutPacking]:
        spins, unsatisfied = gauge_spins(self.embedding, self.couplings)
        return spins, unsatisfied.certificate

    @property
    def spins(self) -> Int8Array:
        """The state that cuts are relative to."""
        spins = self._gauge[0]
        return spins[:-1] * spins[-1] if self.biased else spins

    @property
    def packing(self) -> CutPacking | None:
        """The sets of faces that prove it a ground state; None on surfaces of higher genus."""
        return None if self.embedding.genus else self._gauge[1]

    def without_bias(self) -> CutSumCertificate:
        """Return it for the model whose fields are couplings to the last spin, held at +1."""
        return replace(self, biased=True)

    def as_proof(self) -> CutSum:
        """Return it as plain arrays, for :mod:`planaris.verify` and for files."""
        none: IntArray = np.zeros(0, dtype=np.int32)
        no_values: FloatArray = np.zeros(0)
        sets = self.packing
        return CutSum(
            walk=self.embedding.face_walk,
            offsets=self.embedding.face_offsets,
            spins=self.spins,
            order=none if sets is None else sets.order,
            start=none if sets is None else sets.start,
            stop=none if sets is None else sets.stop,
            parent=none if sets is None else sets.parent,
            values=no_values if sets is None else sets.values,
        )


def certificate_of(evaluator: PfaffianEvaluator, couplings: FloatArray) -> CutSumCertificate | None:
    """Return what it takes to add up anew; nothing for warm plane models, which need no help."""
    if evaluator.genus == 0 and np.abs(couplings).max(initial=0.0) <= WEAK_COUPLING:
        return None
    return CutSumCertificate(evaluator.embedding, couplings.copy())


def around(
    evaluator: PfaffianEvaluator, value: float, error: float, stats: Stats, **details: Any
) -> LogPartition:
    """Return log Z with its estimated error."""
    return LogPartition.around(
        value,
        error,
        num_variables=evaluator.num_spins,
        method="planar",
        proved=False,
        stats={**stats, "error": error},
        **details,
    )


def bounds_of(
    evaluator: PfaffianEvaluator, couplings: FloatArray, lower: float, stats: Stats
) -> LogPartition:
    """Return what holds without elimination: one state below, all states above."""
    upper = float(np.abs(couplings).sum()) + evaluator.num_spins * math.log(2.0)
    slack = EPSILON * (float(np.abs(couplings).sum()) + evaluator.num_spins)
    return LogPartition.between(
        lower - slack,
        upper + slack,
        value=lower,
        num_variables=evaluator.num_spins,
        method="planar",
        stats={**stats, "error": upper - lower},
    )
