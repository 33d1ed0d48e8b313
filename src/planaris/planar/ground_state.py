"""Exact ground states of Ising models on plane graphs, by matching."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from planaris.embed import Embedding, embed
from planaris.errors import MethodError
from planaris.kernels.matching import TJoin
from planaris.kernels.spins import spins_from_disagreements
from planaris.models import IsingModel
from planaris.planar.tjoin import least_unsatisfied
from planaris.progress import ProgressOption, watch
from planaris.result import GroundState


@dataclass(frozen=True, eq=False)
class PlanarCertificate:
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


def ground_state(
    model: IsingModel,
    *,
    embedding: Embedding | None = None,
    start: PlanarCertificate | None = None,
    time_limit: float | None = None,
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
        unsatisfied edges happen to be consistent, and an interval elsewhere.
    start : PlanarCertificate, optional
        Certificate of an earlier result on the same embedding: a warm start for couplings
        that changed in few places.
    time_limit : float, optional
        Seconds, then ``TimeoutError``.
    progress : bool or callable, optional
        See :data:`planaris.progress.ProgressOption`.

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
    started = perf_counter()
    embedding = embed(model) if embedding is None else embedding
    embedded = perf_counter()
    with watch("matching", progress) as tell:
        tjoin = least_unsatisfied(
            embedding,
            model.couplings,
            start=None if start is None else start.tjoin,
            progress=tell,
            time_limit=time_limit,
        )
    differ = model.couplings < 0
    differ[tjoin.join] ^= True
    spins, conflict = spins_from_disagreements(model.num_spins, model.edges, differ)
    energy = float(model.energy(spins))
    exact = conflict < 0
    return GroundState(
        spins,
        energy,
        energy if exact else min(energy, _lower_bound(model, tjoin)),
        energy,
        exact=exact,
        method="planar",
        stats={
            "embedding_seconds": embedded - started,
            "matching_seconds": perf_counter() - embedded,
            "unsatisfied_edges": len(tjoin.join),
        },
        certificate=PlanarCertificate(embedding, tjoin),
    )


def _lower_bound(model: IsingModel, tjoin: TJoin) -> float:
    """Return -Σ |J| + 2 Σ_join |J| - offset, rounded down."""
    weights = np.abs(model.couplings)
    terms = [*(-weights).tolist(), *(2 * weights[tjoin.join]).tolist(), -model.offset]
    return float(np.nextafter(math.fsum(terms), -np.inf))
