"""Models split into pieces on some of their edges: least energies and log Z from the pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planaris.models import IsingModel
from planaris.result import Decomposition, SplitProof
from planaris.typing import Array, FloatArray
from planaris.verify.conversions import BareModel
from planaris.verify.proof_arrays import indices, real_row, require, runs
from planaris.verify.proofs.energy.energy_bounds import EnergyBound, energy_bound
from planaris.verify.recompute.elimination import recompute

_UNIT = 2.0**-53


def joined(model: IsingModel) -> BareModel:
    """Join every spin to a bias spin, with its field, whether it has one or not."""
    spin = np.arange(model.num_spins)
    bias = np.column_stack([spin, np.full(len(spin), model.num_spins)])
    edges = np.concatenate([model.edges.astype(np.int64), bias])
    return BareModel(model.num_spins + 1, edges, np.concatenate([model.couplings, model.fields]))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Runs of edges of a joined model, with couplings of their own."""

    bare: BareModel
    begins: Array
    edges: Array
    couplings: FloatArray

    @classmethod
    def of(cls, model: IsingModel, proof: Decomposition | SplitProof) -> Pieces:
        """Read the pieces of a proof, or refuse it."""
        bare = joined(model)
        edges = indices(proof.edges, "edges", len(bare.edges))
        couplings = real_row(proof.couplings, "couplings")
        require(edges.shape == couplings.shape, "edges of pieces have couplings")
        count = np.size(proof.piece_offsets) - 1
        begins = runs(proof.piece_offsets, "piece_offsets", count, len(edges))
        pieces = cls(bare, begins, edges, couplings)
        own = pieces.owner * len(bare.edges) + edges
        require(len(np.unique(own)) == len(own), "a piece has an edge once")
        return pieces

    def __len__(self) -> int:
        return len(self.begins) - 1

    def __iter__(self) -> Iterator[BareModel]:
        for first, last in zip(self.begins[:-1].tolist(), self.begins[1:].tolist(), strict=True):
            chosen = self.bare.edges[self.edges[first:last]]
            yield BareModel(self.bare.num_vertices, chosen, self.couplings[first:last])

    @property
    def owner(self) -> Array:
        """The piece of every edge in a piece."""
        return np.repeat(np.arange(len(self)), np.diff(self.begins))

    def missed(self, weights: FloatArray) -> tuple[float, float]:
        """Return Σ |θ - Σ weights θ_piece| over the edges, and what rounding may add to it.

        Sums are correctly rounded where all weights are one.
        """
        if bool(np.all(weights == 1.0)):
            order = np.argsort(self.edges, kind="stable")
            share, ends = self.couplings[order], np.cumsum(np.bincount(self.edges))
            parts = np.split(share, ends)[: len(ends)]
            parts += [share[:0]] * (len(self.bare.couplings) - len(parts))
            whole = zip(parts, self.bare.couplings.tolist(), strict=True)
            missed = [abs(math.fsum([*part.tolist(), -coupling])) for part, coupling in whole]
            return math.nextafter(math.fsum(missed), math.inf) if any(missed) else 0.0, 0.0
        share = weights[self.owner] * self.couplings
        total = np.bincount(self.edges, share, len(self.bare.edges))
        size = float(np.abs(share).sum() + np.abs(self.bare.couplings).sum())
        miss = math.fsum(np.abs(total - self.bare.couplings).tolist())
        return miss, 8 * _UNIT * (len(self) + 4) * size


def split_bound(model: IsingModel, proof: SplitProof, allowed: float) -> EnergyBound | None:
    """Return the least energies of the pieces, added up, less what the pieces miss."""
    pieces = Pieces.of(model, proof)
    right = isinstance(proof.proofs, list) and len(proof.proofs) == len(pieces)
    require(right, "every piece has a proof, or none")
    share = allowed / max(len(pieces), 1)
    bounds = [_piece_bound(p, q, share) for p, q in zip(pieces, proof.proofs, strict=True)]
    miss, slack = pieces.missed(np.ones(len(pieces)))
    terms = [term for bound in bounds for term in bound.terms]
    slack += math.fsum(bound.slack for bound in bounds)
    units = max((bound.units for bound in bounds), default=1)
    return EnergyBound([*terms, -miss, -model.offset], slack, units=units)


def _piece_bound(piece: BareModel, proof: object, allowed: float) -> EnergyBound:
    found = None if proof is None else energy_bound(piece, proof, allowed)
    if found is not None:
        return found
    model = IsingModel(piece.edges, piece.couplings, num_spins=piece.num_vertices)
    again = recompute(model, task="max")
    if again is not None:
        return EnergyBound([-again.value], again.slack)
    return EnergyBound([*(-np.abs(piece.couplings)).tolist()])
