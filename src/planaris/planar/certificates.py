"""What results of planar sums keep, so that they can be added up anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planaris.embed import Embedding
from planaris.kernels.tjoin import CutPacking
from planaris.result import CutSum
from planaris.show import one_line
from planaris.typing import FloatArray, Int8Array, IntArray


@dataclass(frozen=True, eq=False)
class CutSumCertificate:
    """The faces, the state and the order of a sum over cuts.

    Attributes
    ----------
    embedding : Embedding
        The surface.
    spins : numpy.ndarray
        The state that cuts are relative to.
    packing : CutPacking or None
        The sets of faces that prove it a ground state; None on surfaces of higher genus.
    """

    embedding: Embedding
    spins: Int8Array
    packing: CutPacking | None

    __repr__ = one_line

    def without_bias(self) -> CutSumCertificate:
        """Return it for the model whose fields are couplings to the last spin, held at +1."""
        return replace(self, spins=self.spins[:-1] * self.spins[-1])

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
