"""The tree of a search on a surface as a proof about cycles of the model alone.

A set of faces with an odd number of frustrated ones is bounded by edges that meet every vertex
evenly, and one of them at least is unsatisfied: a T-cut of the dual is a cycle inequality. The
packing of T-cuts and the cycles around handles of a leaf are therefore multipliers of one kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from planaris.embed import Embedding
from planaris.relax.surfaces.bundle import Bound
from planaris.relax.surfaces.rows import CycleRows
from planaris.result import CutTree, Proof
from planaris.typing import BoolArray, FloatArray, LongArray

if TYPE_CHECKING:
    from planaris.relax.surfaces.search import SurfaceSearch


@dataclass(frozen=True, eq=False)
class Rows:
    """Cycle inequalities of ``x_e = [s_u != s_v]``, one after the other, with multipliers."""

    lengths: LongArray
    edges: LongArray
    odd: BoolArray
    multipliers: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class SurfaceCertificate(Proof):
    """What a search on a surface leaves behind: a tree, and a bound at every leaf.

    Attributes
    ----------
    embedding : Embedding
        The surface.
    negative : bool array
        Edges with negative couplings.
    exponent : int
        Bounds count units of ``2**exponent``.
    branch_edge, child : int array
        The tree, as in :class:`~planaris.result.CutTree`.
    cycles : CycleRows
        Cycles around handles.
    leaves : list of Bound or None
        Of every node; None inside the tree and where no state is left.
    """

    KIND: ClassVar[str] = CutTree.KIND
    embedding: Embedding
    negative: BoolArray
    exponent: int
    branch_edge: LongArray
    child: LongArray
    cycles: CycleRows
    leaves: list[Bound | None]

    @classmethod
    def of(cls, search: SurfaceSearch) -> SurfaceCertificate:
        """Return the certificate of a search."""
        return cls(
            search.joins.embedding,
            search.joins.negative,
            search.joins.exponent,
            np.array(search.branch_edge),
            np.array(search.child),
            search.bundle.rows,
            [search.leaves.get(k) for k in range(len(search.branch_edge))],
        )

    def as_proof(self) -> CutTree:
        """Return the proof as plain arrays, for :mod:`planaris.verify` and for files."""
        # The energy is a constant plus twice the weight of the unsatisfied edges.
        unit = math.ldexp(1.0, self.exponent + 1)
        none = np.zeros(0, dtype=np.int64)
        found = [Rows(none, none, none.astype(bool), np.zeros(0))]
        counts = [0]
        for leaf in self.leaves:
            count = 0
            if leaf is not None:
                parts = self._cycles(leaf, unit), self._cuts(leaf, unit)
                found += parts
                count = sum(len(part.lengths) for part in parts)
            counts.append(count)
        row_offsets = np.cumsum(counts)
        return CutTree(
            offsets=np.cumsum([0, *np.concatenate([part.lengths for part in found]).tolist()]),
            edges=np.concatenate([part.edges for part in found]),
            odd=np.concatenate([part.odd for part in found]).astype(np.int64),
            branch_edge=self.branch_edge,
            child=self.child,
            row_offsets=row_offsets,
            rows=np.arange(int(row_offsets[-1])),
            multipliers=np.concatenate([part.multipliers for part in found]),
        )

    def _cycles(self, leaf: Bound, unit: float) -> Rows:
        runs = [
            np.arange(self.cycles.offsets[k], self.cycles.offsets[k + 1])
            for k in leaf.rows.tolist()
        ]
        entries = np.concatenate([np.zeros(0, dtype=np.int64), *runs])
        edges = self.cycles.edges[entries]
        odd = (self.cycles.signs[entries] < 0) ^ self.negative[edges]
        lengths = np.array([len(run) for run in runs], dtype=np.int64)
        return Rows(lengths, edges, odd, unit * leaf.multipliers.astype(np.float64))

    def _cuts(self, leaf: Bound, unit: float) -> Rows:
        packing = leaf.join.packing
        none = np.zeros(0, dtype=np.int64)
        met = [(none, none), *packing.crossings(self.embedding.dual_edges)]
        cut, edges = (np.concatenate(side) for side in zip(*met, strict=True))
        few = packing.num_sets <= np.iinfo(np.uint16).max  # small numbers are sorted by digits
        order = np.argsort(cut.astype(np.uint16) if few else cut, kind="stable")
        edges = edges[order]
        lengths = np.bincount(cut, minlength=packing.num_sets)
        odd = leaf.join.flipped[edges] ^ self.negative[edges]
        return Rows(lengths, edges, odd, unit * packing.values)
