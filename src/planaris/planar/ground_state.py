"""Exact ground states of Ising models on plane graphs, by matching."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.embed import Embedding, embed
from planaris.errors import MethodError
from planaris.kernels.graph import descend_energy, spins_from_disagreements
from planaris.matching.tjoins import TJoin
from planaris.models import IsingModel
from planaris.planar.certain import certain_edges, certain_spins
from planaris.planar.tjoin import least_unsatisfied
from planaris.result import GroundState, Proof, TJoinProof
from planaris.show import one_line


@dataclass(frozen=True, eq=False)
class PlanarCertificate(Proof):
    """Proof that no state leaves less ``|J|`` unsatisfied: face walks and a packing of cuts.

    Attributes
    ----------
    embedding : Embedding
        Its face walks are closed walks of the graph that use every edge twice.
    tjoin : TJoin
        Lightest T-join of the dual, with its packing of T-cuts.
    """

    embedding: Embedding
    tjoin: TJoin

    __repr__ = one_line

    def as_proof(self) -> TJoinProof:
        """Return the proof as plain arrays, for :mod:`planaris.verify` and for files."""
        packing, outer = self.tjoin.certificate, self.embedding.outer_faces
        return TJoinProof(
            walk=self.embedding.face_walk,
            offsets=self.embedding.face_offsets,
            free=outer[outer >= 0],
            order=packing.order,
            start=packing.start,
            stop=packing.stop,
            parent=packing.parent,
            digits=packing.digits,
            exponent=packing.exponent,
        )


def ground_state(
    model: IsingModel,
    *,
    embedding: Embedding | None = None,
    start: PlanarCertificate | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> GroundState:
    """Return a ground state of a zero-field model on a planar graph.

    Parameters
    ----------
    model : IsingModel
        Without fields; see :func:`planaris.models.convert.fields2bias` for models with.
    embedding : Embedding, optional
        Rotation system of the model's graph; found from the positions or by a planarity test
        if not given. On a surface of genus above 0 the result is exact where the least
        unsatisfied edges happen to be consistent, and an interval elsewhere, with ``certain``
        marking spins whose relative signs hold in every ground state and
        ``stats["certain_edges"]`` edges that every ground state satisfies.
    start : PlanarCertificate, optional
        Certificate of an earlier result on the same embedding: a warm start for couplings
        that changed in few places.
    time_limit : float, optional
        Seconds, after which a state and a lower bound on its energy are returned.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Examples
    --------
    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0])
    >>> result = ground_state(frustrated)
    >>> result.energy, result.exact
    (-4.0, True)
    """
    if model.has_fields:
        msg = "planar ground states need a model without fields; join them to a bias spin first"
        raise MethodError(msg)
    budget = Budget.of(time_limit, progress=progress)
    started = perf_counter()
    embedding = embed(model) if embedding is None else embedding
    embedded = perf_counter()
    with budget.watch("matching") as watched:
        tjoin = least_unsatisfied(
            embedding,
            model.couplings,
            start=None if start is None else start.tjoin,
            time_limit=watched,
        )
    differ = model.couplings < 0
    differ[tjoin.join] ^= True
    spins, conflict = spins_from_disagreements(model.num_spins, model.edges, differ)
    result = GroundState.of(
        model,
        spins,
        math.inf,  # no lower than its energy, unless something below says so
        method="planar",
        seconds=perf_counter() - started,
        stats={
            "embedding_seconds": embedded - started,
            "matching_seconds": perf_counter() - embedded,
            "unsatisfied_edges": len(tjoin.join),
        },
        certificate=PlanarCertificate(embedding, tjoin),
    )
    if conflict >= 0:
        return _bounded(model, embedding, tjoin, result)
    return result if tjoin.exact else _improved(model, tjoin, result)


def _improved(model: IsingModel, tjoin: TJoin, found: GroundState) -> GroundState:
    """Flip single spins while that helps, and state what the T-join proves."""
    nothing = np.zeros(model.num_spins, dtype=bool)
    spins = descend_energy(model.edges, model.couplings, model.fields, nothing, found.spins)
    return found.restated(model, spins, _lower_bound(model, tjoin))


def _bounded(
    model: IsingModel, embedding: Embedding, tjoin: TJoin, found: GroundState
) -> GroundState:
    """Return what holds on a surface where the least unsatisfied edges are no state."""
    found = _improved(model, tjoin, found)
    certain = certain_edges(model, embedding.dual_edges, tjoin, found.energy)
    spins = certain_spins(model, certain)
    return replace(found, certain=spins, stats={**found.stats, "certain_edges": certain})


def _lower_bound(model: IsingModel, tjoin: TJoin) -> float:
    """Return -Σ |J| + 2 (least Σ |J| of a join) - offset, rounded down."""
    weights = np.abs(model.couplings)
    least = weights[tjoin.join].tolist() if tjoin.exact else [float(tjoin.lower)]
    terms = [*(-weights).tolist(), *(2 * w for w in least), -model.offset]
    return float(np.nextafter(math.fsum(terms), -np.inf))
