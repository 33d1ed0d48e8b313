"""Whole models: fields on one face become couplings to a bias spin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from planaris.embed import join_bias_spin
from planaris.models import IsingModel
from planaris.planar.pfaffian.evaluator import CutSumCertificate
from planaris.planar.plan import Plan, plan
from planaris.result import Marginals
from planaris.typing import FloatArray


def planar_marginals(model: IsingModel, *, nodes: bool = True, **options: Any) -> Marginals:
    """Compute P(s_u = s_v) of every edge and P(s_v = +1) of every spin.

    Parameters
    ----------
    model : IsingModel
        Planar, with all spins that have a field on one face.
    nodes : bool
        Whether to compute the marginals of spins away from the bias spin, all of them by one
        more sweep. If False they are NaN.
    **options
        As for :meth:`Plan.marginals`.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0], [0.5, 0.0, 0.0])
    >>> planar_marginals(model).nodes.round(6).tolist()
    [0.731059, 0.57515, 0.42485]
    """
    prepared, couplings = _prepare(model)
    found: Marginals = prepared.marginals(couplings, **options)
    if not model.has_fields:
        return found
    kept = np.flatnonzero(model.fields)
    edges = np.asarray(found.edges)
    probability = np.full(model.num_spins, math.nan)
    probability[kept] = edges[model.num_edges :]
    if nodes:
        with_bias = prepared.spin_correlations(couplings, model.num_spins, **options)
        rest = np.isnan(probability)
        probability[rest] = (1.0 + with_bias[:-1][rest]) / 2
    certificate = found.certificate
    if isinstance(certificate, CutSumCertificate):
        certificate = certificate.without_bias()
    edges = edges[: model.num_edges]
    return replace(found, nodes=probability, edges=edges, certificate=certificate)


def _prepare(model: IsingModel) -> tuple[Plan, FloatArray]:
    if not model.has_fields:
        return plan(model), model.couplings
    biased = join_bias_spin(model)
    positions = None
    if model.positions is not None:
        positions = np.concatenate([model.positions, np.full((1, 2), math.nan)])
    return Plan(biased.embedding, positions=positions), biased.model.couplings
