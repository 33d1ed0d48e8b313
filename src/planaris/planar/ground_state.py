"""Exact ground states of Ising models on plane graphs: lightest T-joins of the dual.

A set U of edges is the set of unsatisfied edges of some state only if every face has as many of
them, modulo two, as it has negative couplings: U is a T-join of the dual graph, T the frustrated
faces. On a plane graph the converse holds too, so a ground state is a T-join of least Σ |J|; on
other surfaces the least T-join gives a lower bound. The outer face of every component absorbs
parity: the number of frustrated faces of a component is even anyway.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from planaris.budget import UNLIMITED, Budget, ProgressOption, TimeLimit, use_threads
from planaris.embed import Embedding, embed
from planaris.errors import MethodError
from planaris.kernels.cuts import (
    CutPacking,
    TJoin,
    descend_energy,
    minimum_tjoin,
    negative_parity,
    spins_from_disagreements,
)
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel, require_ising
from planaris.models.base import exact_sum
from planaris.result import GroundState, Proof, TJoinProof
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray

MARGIN = 1e-12
"""Rounding error of the slack of an edge, relative to Σ |J|."""


@dataclass(frozen=True, eq=False, repr=False)
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
    require_ising(model)
    if model.has_fields:
        msg = "planar ground states need a model without fields; join them to a bias spin first"
        raise MethodError(msg)
    budget = Budget.of(time_limit, progress=progress)
    with use_threads(budget.workers()):
        return _ground_state(model, embedding, start, budget)


def _ground_state(
    model: IsingModel,
    embedding: Embedding | None,
    start: PlanarCertificate | None,
    budget: Budget,
) -> GroundState:
    started = perf_counter()
    embedding = embed(model) if embedding is None else embedding
    embedded = perf_counter()
    try:
        with budget.watch("matching") as watched:
            tjoin = least_unsatisfied(
                embedding,
                model.couplings,
                start=None if start is None else start.tjoin,
                time_limit=watched,
            )
    except TimeoutError:
        return _late(model, embedding, budget)
    differ = model.couplings < 0
    differ[tjoin.join] ^= True
    spins, conflict = spins_from_disagreements(model.num_spins, model.edges, differ)
    lower = math.inf  # no lower than its energy
    if conflict >= 0 or not tjoin.exact:
        nothing = np.zeros(model.num_spins, dtype=bool)
        with suppress(TimeoutError):
            spins = descend_energy(
                model.edges,
                model.couplings,
                model.fields,
                nothing,
                spins,
                budget=budget.quiet().to_finish(),
            )
        lower = _lower_bound(model, tjoin)
    result = GroundState.of(
        model,
        spins,
        lower,
        method="planar",
        seconds=perf_counter() - started,
        stats={
            "embedding_seconds": embedded - started,
            "matching_seconds": perf_counter() - embedded,
            "unsatisfied_edges": len(tjoin.join),
        },
        certificate=PlanarCertificate(embedding, tjoin),
    )
    return result if conflict < 0 else _bounded(model, embedding, tjoin, result)


def _late(model: IsingModel, embedding: Embedding, budget: Budget) -> GroundState:
    """Return what holds without a T-join: a state, and a bound that satisfies all couplings."""
    nothing = np.zeros(model.num_spins, dtype=bool)
    start = np.ones(model.num_spins, dtype=np.int8)
    spins = descend_energy(model.edges, model.couplings, model.fields, nothing, start, sweeps=2)
    lower = exact_sum(np.concatenate([-np.abs(model.couplings), [-model.offset]]))
    return GroundState.of(
        model,
        spins,
        math.nextafter(lower, -math.inf),
        method="planar",
        status="time_limit",
        seconds=budget.seconds(),
        certificate=PlanarCertificate(embedding, _no_tjoin()),
    )


def _no_tjoin() -> TJoin:
    """Return what is known of a T-join before any search: it weighs no less than nothing."""
    none = np.zeros(0, dtype=np.int32)
    return TJoin(none, math.inf, 0, 0, 0.0, exact=False, certificate=CutPacking.empty())


def _bounded(
    model: IsingModel, embedding: Embedding, tjoin: TJoin, found: GroundState
) -> GroundState:
    """Return what holds on a surface where the least unsatisfied edges are no state."""
    certain = _certain_edges(model, embedding.dual_edges, tjoin, found.energy)
    spins = _certain_spins(model, certain)
    return replace(found, certain=spins, stats={**found.stats, "certain_edges": certain})


def _lower_bound(model: IsingModel, tjoin: TJoin) -> float:
    """Return -Σ |J| + 2 (least Σ |J| of a join) - offset, rounded down."""
    weights = np.abs(model.couplings)
    least = weights[tjoin.join] if tjoin.exact else [float(tjoin.lower)]
    terms = np.concatenate([-weights, 2.0 * np.asarray(least), [-model.offset]])
    return float(np.nextafter(exact_sum(terms), -np.inf))


# -- T-joins of the dual ------------------------------------------------------------------------


def frustrated_faces(embedding: Embedding, couplings: FloatArray) -> IntArray:
    """Return the faces whose couplings multiply to a negative number.

    >>> import numpy as np
    >>> triangle = Embedding.from_graph([(0, 1), (1, 2), (2, 0)], num_vertices=3)
    >>> frustrated_faces(triangle, np.array([1.0, 1.0, -1.0])).tolist()
    [0, 1]
    """
    return np.flatnonzero(_frustrated(embedding, couplings)).astype(np.int32)


def _frustrated(embedding: Embedding, couplings: FloatArray) -> BoolArray:
    """Return for every face whether it is frustrated."""
    return negative_parity(embedding.num_faces, embedding.dual_edges, couplings)


def least_unsatisfied(
    embedding: Embedding,
    couplings: FloatArray,
    *,
    start: TJoin | None = None,
    time_limit: TimeLimit = None,
) -> TJoin:
    """Return edges of least total ``|J|`` that are unsatisfied consistently on every face.

    ``start`` is an earlier answer on the same embedding, for a warm start. After ``time_limit``
    seconds the edges are consistent, but only proved to be least up to ``TJoin.lower``; where that
    leaves no time for a search, ``TimeoutError`` is raised.
    """
    outer = embedding.outer_faces
    absorbing = outer[outer >= 0]
    odd = _frustrated(embedding, couplings)
    odd[absorbing] = False
    return minimum_tjoin(
        embedding.num_faces,
        embedding.dual_edges,
        np.ascontiguousarray(couplings),
        np.flatnonzero(odd).astype(np.int32),
        absorbing,
        start=start,
        budget=Budget.of(time_limit),
        give_up=True,
        absolute=True,
    )


def gauge_spins(
    embedding: Embedding, couplings: FloatArray, *, budget: Budget = UNLIMITED
) -> tuple[Int8Array, TJoin]:
    """Return a ground state of a plane model, a low state on surfaces of higher genus.

    The edges that disagree with their coupling form a minimum T-join of the dual graph, T the
    faces with an odd number of negative couplings (Bieche et al. 1980). On a surface of genus
    g > 0 that T-join need not come from a state; then the spanning tree decides. The T-join comes
    with its proof.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Embedding.from_graph([(0, 1), (1, 2), (0, 2)], num_vertices=3)
    >>> spins, unsatisfied = gauge_spins(triangle, np.array([3.0, 2.0, -1.0]))
    >>> spins.tolist(), unsatisfied.join.tolist()
    ([1, 1, 1], [2])
    """
    differ = couplings < 0
    unsatisfied = least_unsatisfied(embedding, couplings, time_limit=budget)
    if not unsatisfied.exact:
        raise TimeoutError
    differ[unsatisfied.join] ^= True
    spins, _ = spins_from_disagreements(embedding.num_vertices, embedding.edges, differ)
    return spins, unsatisfied


# -- surfaces: what the T-join proves where it is no state ----------------------------------------


def _certain_edges(
    model: IsingModel, dual_edges: IntArray, tjoin: TJoin, energy: float
) -> BoolArray:
    """Return the edges that every ground state satisfies, given a state of that energy.

    The packing of T-cuts y gives every edge a slack, its weight minus the cuts through it. A
    state that leaves edge e unsatisfied leaves at least Σ y + slack_e unsatisfied in all. Where
    that is more than a known state needs, every ground state satisfies e (reduced-cost fixing).
    """
    weights = np.abs(model.couplings)
    total = float(weights.sum())
    needed = (energy + model.offset + total) / 2
    values, crossed = tjoin.certificate.values, np.zeros_like(weights)
    for sets, edges in tjoin.certificate.crossings(dual_edges):
        crossed[edges] += values[sets]
    return np.asarray(weights - crossed > needed - float(tjoin.lower) + MARGIN * total)


def _certain_spins(model: IsingModel, certain: BoolArray) -> BoolArray:
    """Return the largest set of spins whose relative signs the certain edges fix."""
    joined = np.ascontiguousarray(model.edges[certain])
    cluster = connected_components(model.num_spins, joined)
    if not len(cluster):
        return np.zeros(0, dtype=bool)
    return np.asarray(cluster == np.bincount(cluster).argmax())
