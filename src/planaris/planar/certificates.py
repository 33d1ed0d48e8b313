"""What results of planar sums keep, so that they can be added up anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planaris.embed import Embedding
from planaris.kernels.tjoin import CutPacking
from planaris.planar.gauge import gauge_spins
from planaris.result import CutSum, Proof
from planaris.show import one_line
from planaris.typing import FloatArray, Int8Array, IntArray


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
