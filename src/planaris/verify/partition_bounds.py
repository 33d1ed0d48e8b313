"""Check an interval around log Z from the distributions and decompositions that prove it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField, mrf2ising
from planaris.result import AsIsing, Bounds, Decomposition, HeavyState, LogPartition, MeanField
from planaris.verify.anew import log_partition_anew
from planaris.verify.demands import components, require, whole_numbers
from planaris.verify.elimination import Recomputed, recompute
from planaris.verify.energy_bounds import BareModel
from planaris.verify.findings import Finding
from planaris.verify.ground_state import energy_terms

_UNIT = 2.0**-53
COARSEST = 1e-8
"""Rounding errors of a proof, relative to the model, that are let pass."""


def check_interval(model: IsingModel | MarkovRandomField, result: LogPartition) -> list[Finding]:
    """Return what the certificate proves of ``[lower, upper]``, as findings."""
    certificate = result.certificate
    if isinstance(model, MarkovRandomField) and isinstance(certificate, AsIsing):
        model, certificate = mrf2ising(model)[0], certificate.proof
    if not (isinstance(certificate, Bounds) and isinstance(model, IsingModel)):
        return [Finding("log Z", "unproved", "no proof, and too wide to recompute")]
    findings = []
    for claim, proof, sign in (
        ("lower end", certificate.lower, 1.0),
        ("upper end", certificate.upper, -1.0),
    ):
        if sign < 0 and result.upper >= _plain_upper(model):
            findings.append(Finding(claim, "proved", "the sizes of all couplings"))
            continue
        prove = _PROVERS[claim].get(type(proof))
        found = None if prove is None else prove(model, proof)
        if found is None:
            findings.append(Finding(claim, "unproved", "no proof, or too wide to recompute"))
            continue
        # Numbers far beyond those of the model would hide any claim in their rounding.
        require(found.slack <= COARSEST * _scale(model), "its numbers are of the model's size")
        claimed = result.lower if sign > 0 else result.upper
        if not sign * (claimed - found.value) <= 2 * found.slack:  # nor if it is no number
            msg = f"the {claim} is claimed to be {claimed}, but the proof gives {found.value}"
            raise VerificationError(msg, claimed=claimed, found=found.value)
        findings.append(
            Finding(claim, "recomputed", f"{proof.KIND}, pieces by determinants")
            if found.estimated
            else Finding(claim, "proved", proof.KIND)
        )
    return findings


def _scale(model: IsingModel) -> float:
    sizes = np.abs(model.couplings).sum() + np.abs(model.fields).sum() + abs(model.offset)
    return 1.0 + model.num_spins + float(sizes)


def _plain_upper(model: IsingModel) -> float:
    """Return n log 2 + Σ |J| + Σ |h| + c, rounded up."""
    sizes = [*np.abs(model.couplings).tolist(), *np.abs(model.fields).tolist(), model.offset]
    value = math.fsum([model.num_spins * math.log(2.0), *sizes])
    return value + 8 * _UNIT * (model.num_spins + abs(value))


def decomposition_bound(model: IsingModel, proof: Decomposition) -> Recomputed | None:
    """Return Σ ρ log Z(θ^r), plus what Σ ρ θ^r misses of θ; None if a piece is too wide."""
    spin = np.arange(model.num_spins)
    bias = np.column_stack([spin, np.full(len(spin), model.num_spins)])
    bare = BareModel(
        model.num_spins + 1,
        np.concatenate([model.edges.astype(np.int64), bias]),
        np.concatenate([model.couplings, model.fields]),
    )
    weights = np.asarray(proof.weights, dtype=np.float64)
    begins = whole_numbers(proof.piece_offsets, "piece_offsets")
    edges = whole_numbers(proof.edges, "edges")
    couplings = np.asarray(proof.couplings, dtype=np.float64)
    require(len(begins) == len(weights) + 1, "every piece has a run of edges")
    ends = (begins[0], begins[-1]) == (0, len(edges)) and len(edges) == len(couplings)
    require(ends and bool(np.all(np.diff(begins) >= 0)), "pieces are runs of edges")
    inside = len(edges) == 0 or (edges.min() >= 0 and edges.max() < len(bare.edges))
    require(bool(inside) and bool(np.all(weights >= 0)), "pieces have edges and weights >= 0")
    rest = abs(math.fsum([*weights.tolist(), -1.0]))
    require(rest <= 1e-9, "the weights of the pieces add up to one")
    piece = np.repeat(np.arange(len(weights)), np.diff(begins))
    total = np.bincount(edges, weights[piece] * couplings, len(bare.edges))
    size = float(weights[piece] @ np.abs(couplings))
    miss = math.fsum(np.abs(total - bare.couplings).tolist())
    estimated = False
    values, slack = [], 8 * _UNIT * (len(weights) + 4) * (size + 1.0) + 2 * rest * size
    for k, weight in enumerate(weights.tolist()):
        run = slice(int(begins[k]), int(begins[k + 1]))
        require(len(np.unique(edges[run])) == len(edges[run]), "a piece has an edge once")
        part = IsingModel(bare.edges[edges[run]], couplings[run], num_spins=bare.num_vertices)
        found = log_partition_anew(part)
        if found is None:
            return None
        estimated |= found.estimated
        values.append(weight * found.value)
        slack += weight * found.slack + 2 * rest * abs(found.value)
    value = math.fsum([*values, miss, model.offset, -math.log(2.0)])
    slack += 8 * _UNIT * (abs(value) + abs(model.offset))
    return Recomputed(value, slack, estimated=estimated)


def mean_field_bound(model: IsingModel, proof: MeanField) -> Recomputed | None:
    """Return E_q log weight + H(q): q keeps some couplings and has fields of its own.

    With q ∝ exp(Σ_kept J s s + Σ f s), this is log Z_q + Σ (h - f) m + Σ_left J E_q s s, where
    E_q s s = m m for edges between clusters of q.
    """
    kept = whole_numbers(proof.edges, "edges")
    fields = np.asarray(proof.fields, dtype=np.float64)
    count = model.num_edges
    inside = kept.size == 0 or (kept.min() >= 0 and kept.max() < count)
    require(bool(inside) and fields.shape == (model.num_spins,), "q has edges of the model")
    is_kept = np.zeros(count, dtype=bool)
    is_kept[kept] = True
    _, label = components(model.num_spins, *model.edges[is_kept].T)
    u, v = model.edges[:, 0], model.edges[:, 1]
    apart = ~is_kept & ((label[u] != label[v]) | (model.couplings == 0))
    # Left out inside a cluster: an edge without coupling, for its marginal.
    inside_q = np.flatnonzero(~apart)
    q = IsingModel(
        model.edges[inside_q],
        np.where(is_kept, model.couplings, 0.0)[inside_q],
        fields,
        num_spins=model.num_spins,
    )
    found = recompute(q, task="sum", marginals=True, max_entries=2**18)
    if found is None or found.marginals is None or found.factor_marginals is None:
        return None
    means = np.array([table[1] - table[0] for table in found.marginals])
    pairs = means[u] * means[v]
    for e, table in zip(inside_q.tolist(), found.factor_marginals, strict=False):
        pairs[e] = table[0, 0] - table[0, 1] - table[1, 0] + table[1, 1]
    left = ~is_kept
    terms = [
        *((model.fields - fields) * means).tolist(),
        *(model.couplings[left] * pairs[left]).tolist(),
    ]
    size = float(np.abs(model.fields).sum() + np.abs(fields).sum() + np.abs(model.couplings).sum())
    value = math.fsum([found.value, *terms, model.offset])
    return Recomputed(value, 64 * found.slack + 64 * _UNIT * (size + abs(value)))


def state_bound(model: IsingModel, proof: HeavyState) -> Recomputed:
    """Return the log weight of a state."""
    spins = np.asarray(proof.spins)
    right = spins.shape == (model.num_spins,) and bool(np.all(np.abs(spins) == 1))
    require(right, "the state has one spin of ±1 each")
    terms = energy_terms(model, spins)
    return Recomputed(0.0 - math.fsum(terms), 2.0**-50 * math.fsum(map(abs, terms)))


_PROVERS: dict[str, dict[type, Any]] = {
    "lower end": {MeanField: mean_field_bound, HeavyState: state_bound},
    "upper end": {Decomposition: decomposition_bound},
}
