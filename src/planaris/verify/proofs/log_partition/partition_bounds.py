"""Check an interval around log Z from the distributions and decompositions that prove it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.errors import VerificationError
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import (
    AsIsing,
    BoundaryStates,
    Bounds,
    ConditionalPieces,
    Contraction,
    CutsetSum,
    Decomposition,
    GaussianEntropyBound,
    HeavyState,
    HeldSpin,
    HolderPieces,
    LabelField,
    LabelTree,
    LabelTrees,
    LabelTreesOverCycles,
    LogPartition,
    LowestEnergy,
    MeanField,
    MiniBuckets,
    Proof,
    SplitEdges,
    TreeEntropyBound,
)
from planaris.verify.conversions import BareModel, as_labels, hold_spin, required_spins
from planaris.verify.exactness import energy_tolerance, log_partition_tolerance
from planaris.verify.findings import TOO_LARGE, Finding
from planaris.verify.proof_arrays import components, real_row, require, whole_numbers
from planaris.verify.proofs.energy.ground_state import energy_terms, proved_bound
from planaris.verify.proofs.energy.label_bounds import label_bound
from planaris.verify.proofs.energy.splits import Pieces
from planaris.verify.proofs.log_partition.entropies import entropy_bound
from planaris.verify.proofs.log_partition.forests import Forest, are_forests, forest_log_partitions
from planaris.verify.proofs.log_partition.label_sums import (
    cutset_bound,
    label_field_bound,
    label_trees_bound,
    label_trees_over_cycles_bound,
)
from planaris.verify.proofs.log_partition.mini_buckets import mini_bucket_bound
from planaris.verify.proofs.log_partition.shared_spins import conditional_bound, holder_bound
from planaris.verify.proofs.log_partition.split_edges import split_lower_bound, split_upper_bound
from planaris.verify.proofs.tensor_network.contraction import contraction_interval
from planaris.verify.recompute.elimination import Recomputed, recompute
from planaris.verify.recompute.log_partition import log_partition_anew

_UNIT = 2.0**-53

Model = IsingModel | MarkovRandomField


def check_interval(model: Model, result: LogPartition) -> list[Finding]:
    """Return what the certificate proves of ``[lower, upper]``, as findings."""
    contracted = _contracted(model, result.certificate)
    if contracted is not None:
        return [_check_contraction(result, *contracted)]
    model, bounds, rounding = _bounds_of(model, result.certificate)
    if bounds is None:
        return [Finding("log Z", "unproved", f"no proof, and {TOO_LARGE}")]
    ends = (bounds.lower, 1.0, result.lower), (bounds.upper, -1.0, result.upper)
    return [_check_end(model, *end, rounding) for end in ends]


def proved_ends(model: Model, proof: Proof) -> tuple[float, float]:
    """Return the ends of an interval around log Z that a proof gives, infinite where it does not.

    Sums by determinants, whose rounding is estimated, prove nothing.
    """
    contracted = _contracted(model, proof)
    if contracted is not None:
        return contracted
    model, bounds, rounding = _bounds_of(model, proof)
    ends = [-math.inf, math.inf]
    if bounds is not None:
        for k, (end, sign) in enumerate([(bounds.lower, 1.0), (bounds.upper, -1.0)]):
            found = _end_bound(model, end, sign)
            if found is not None and not found.estimated:
                ends[k] = found.value - sign * (found.slack + rounding)
    return ends[0], ends[1]


def _contracted(model: Model, proof: Proof | None) -> tuple[float, float] | None:
    """Return the ends that a contraction gives; None if the proof is none."""
    rounding = 0.0
    if isinstance(proof, BoundaryStates):
        proof = proof.above
    if isinstance(model, MarkovRandomField) and isinstance(proof, AsIsing):
        if not isinstance(proof.proof, Contraction):
            return None
        spins = required_spins(model)
        model, proof, rounding = spins.model, proof.proof, spins.rounding
    if not (isinstance(model, IsingModel) and isinstance(proof, Contraction)):
        return None
    low, high = contraction_interval(model, proof)
    return math.nextafter(low - rounding, -math.inf), math.nextafter(high + rounding, math.inf)


def _check_contraction(result: LogPartition, low: float, high: float) -> Finding:
    """Check an interval against that of a contraction, which must lie in it."""
    if result.lower <= low and high <= result.upper:
        return Finding("log Z", "proved", f"{Contraction.KIND}, in [{low!r}, {high!r}]")
    if not (result.lower <= high and low <= result.upper):
        msg = (
            f"log Z is claimed to lie in [{result.lower}, {result.upper}], but the proof gives "
            f"[{low}, {high}]"
        )
        raise VerificationError(msg, claimed=(result.lower, result.upper), found=(low, high))
    return Finding("log Z", "unproved", f"the proof gives [{low!r}, {high!r}]")


def _bounds_of(model: Model, proof: Proof | None) -> tuple[Model, Bounds | None, float]:
    """Return the model that proofs of both ends are about, these, and its rounding."""
    rounding = 0.0
    if isinstance(model, MarkovRandomField) and isinstance(proof, AsIsing):
        spins = required_spins(model)
        model, proof, rounding = spins.model, proof.proof, spins.rounding
    if isinstance(proof, HeldSpin) and isinstance(model, IsingModel):
        model, proof = hold_spin(model, proof.spin), proof.proof
    return model, proof if isinstance(proof, Bounds) else None, rounding


def _end_bound(model: Model, proof: Proof | None, sign: float) -> Recomputed | None:
    """Return what the proof of one end gives, the lower one if ``sign`` is positive."""
    claim = "lower end" if sign > 0 else "upper end"
    prove = _PROVERS[claim, isinstance(model, IsingModel)].get(type(proof))
    found: Recomputed | None = None if prove is None else prove(model, proof)
    return found


def _check_end(model: Model, proof: Any, sign: float, claimed: float, rounding: float) -> Finding:
    """Check one end, the lower one if ``sign`` is positive; ``rounding`` is that of the model."""
    claim = "lower end" if sign > 0 else "upper end"
    if sign * claimed == -math.inf:
        return Finding(claim, "proved", "nothing is claimed")
    if sign < 0 and claimed >= _plain_upper(model) + rounding:
        return Finding(claim, "proved", "the sizes of all potentials")
    found = _end_bound(model, proof, sign)
    if found is None:
        return Finding(claim, "unproved", f"no proof, or {TOO_LARGE}")
    # Numbers far beyond those of the model would hide any claim in their rounding.
    slack = found.slack + rounding
    if not slack <= log_partition_tolerance(model):
        return Finding(claim, "unproved", f"the numbers of the proof are only good to {slack:.0e}")
    if not sign * (claimed - found.value) <= 2 * slack:  # nor if it is no number
        msg = f"the {claim} is claimed to be {claimed}, but the proof gives {found.value}"
        raise VerificationError(msg, claimed=claimed, found=found.value)
    if found.estimated:
        return Finding(claim, "recomputed", f"{proof.KIND}, pieces by determinants")
    return Finding(claim, "proved", proof.KIND)


def _plain_upper(model: Model) -> float:
    """Return the log of the number of states plus all potentials at their largest, rounded up."""
    if isinstance(model, MarkovRandomField):
        states = np.log(model.cardinalities.astype(np.float64)).tolist()
        sizes = [float(model.log_table(k).max()) for k in range(model.num_factors)]
        if -math.inf in sizes:
            return -math.inf
    else:
        states = [model.num_spins * math.log(2.0)]
        sizes = [*np.abs(model.couplings).tolist(), *np.abs(model.fields).tolist(), model.offset]
    value = math.fsum([*states, *sizes])
    return value + 8 * _UNIT * math.fsum([*states, *map(abs, sizes)])


def decomposition_bound(model: IsingModel, proof: Decomposition) -> Recomputed | None:
    """Return Σ ρ log Z(θ^r), plus what Σ ρ θ^r misses of θ; None if a piece is too wide."""
    pieces = Pieces.of(model, proof)
    weights = real_row(proof.weights, "weights")
    require(weights.shape == (len(pieces),), "every piece has a weight")
    require(bool(np.all(weights >= 0)), "no weight is below zero")
    rest = abs(math.fsum([*weights.tolist(), -1.0]))
    require(rest <= 1e-9, "the weights of the pieces add up to one")
    size = float(weights[pieces.owner] @ np.abs(pieces.couplings))
    miss, slack = pieces.missed(weights)
    slack += 8 * _UNIT * (len(weights) + 4) + 2 * rest * size
    found = _log_partitions(pieces)
    if found is None:
        return None
    weighted = list(zip(weights.tolist(), found, strict=True))
    slack += math.fsum(w * (f.slack + 2 * rest * abs(f.value)) for w, f in weighted)
    values = [w * f.value for w, f in weighted]
    estimated = any(f.estimated for f in found)
    value = math.fsum([*values, miss, model.offset, -math.log(2.0)])
    slack += 8 * _UNIT * (abs(value) + abs(model.offset))
    return Recomputed(value, slack, estimated=estimated)


def _log_partitions(pieces: Pieces) -> list[Recomputed] | None:
    """Return log Z of every piece: forests but for one spin all at once, others one by one."""
    found: list[Recomputed | None] = [None] * len(pieces)
    bare = list(pieces)
    hubs = [int(np.argmax(np.bincount(piece.edges.ravel(), minlength=1))) for piece in bare]
    without = [
        piece.edges[~(piece.edges == hub).any(1)] for piece, hub in zip(bare, hubs, strict=True)
    ]
    forests = are_forests(bare[0].num_vertices if bare else 0, without)
    easy = [k for k, forest in enumerate(forests) if forest]
    for k, one in zip(easy, _by_forests([(bare[k], hubs[k]) for k in easy]), strict=True):
        found[k] = one
    for k, piece in enumerate(bare):
        if found[k] is None:
            model = IsingModel(piece.edges, piece.couplings, num_spins=piece.num_vertices)
            again = log_partition_anew(model)
            if not again:
                return None
            found[k] = again[0]
    return [one for one in found if one is not None]


def _by_forests(pieces: list[tuple[BareModel, int]]) -> list[Recomputed]:
    """Return log Z of pieces that are forests without their hub, which is held at +1."""
    if not pieces:
        return []
    size = pieces[0][0].num_vertices
    fields, edges, couplings = [], [], []
    for k, (piece, hub) in enumerate(pieces):
        at_hub = (piece.edges == hub).any(1)
        ends = piece.edges[at_hub].sum(1) - hub
        fields.append(np.bincount(ends, piece.couplings[at_hub], size))
        edges.append(piece.edges[~at_hub] + k * size)
        couplings.append(piece.couplings[~at_hub])
    nodes = np.concatenate(fields)[:, None] * np.array([1.0, -1.0])
    tables = np.concatenate(couplings)[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    owner = np.repeat(np.arange(len(pieces)), size)
    forest = Forest(owner, nodes, np.concatenate(edges), tables)
    # The hub is left in as a spin without edges: its two states are those of the symmetry.
    found = zip(*forest_log_partitions(forest, len(pieces)), strict=True)
    return [Recomputed(float(value), float(slack)) for value, slack in found]


def mean_field_bound(model: IsingModel, proof: MeanField) -> Recomputed | None:
    """Return E_q log weight + H(q): q keeps some couplings and has fields of its own.

    With q ∝ exp(Σ_kept J s s + Σ f s), this is log Z_q + Σ (h - f) m + Σ_left J E_q s s, where
    E_q s s = m m for edges between clusters of q.

    Means are those of a distribution p close to q, so this with E_p and H(p) for E_q and H(q) is a
    bound as well. It is less by KL(p | q), which is of second order in the rounding of log Z_q.
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
    slack = 64 * found.slack + 4 * found.unit * size
    return Recomputed(value, slack + 64 * _UNIT * (size + abs(value)))


def state_bound(model: IsingModel, proof: HeavyState) -> Recomputed:
    """Return the log weight of a state and of those with components without fields flipped."""
    spins = np.asarray(proof.spins)
    right = spins.shape == (model.num_spins,) and bool(np.all(np.abs(spins) == 1))
    require(right, "the state has one spin of ±1 each")
    terms = energy_terms(model, (spins > 0).astype(np.int64))
    count, of_spin = components(model.num_spins, model.edges[:, 0], model.edges[:, 1])
    free = count - len(np.unique(of_spin[model.fields != 0]))
    value = free * math.log(2.0) - math.fsum(terms)
    return Recomputed(value, 2.0**-50 * (math.fsum(map(abs, terms)) + free))


def lowest_energy_bound(model: IsingModel, proof: LowestEnergy) -> Recomputed | None:
    """Return n log 2 less the least energy."""
    allowed = energy_tolerance(model) / 4
    if isinstance(proof.proof, LabelTree):
        lowest = float(label_bound(as_labels(model), proof.proof, allowed).value)
    else:
        bound = proved_bound(model, proof.proof, allowed)
        if bound is None:
            return None
        lowest = bound.value
    value = model.num_spins * math.log(2.0) - lowest
    return Recomputed(value, 16 * _UNIT * (abs(value) + abs(lowest)))


_PROVERS: dict[tuple[str, bool], dict[type, Any]] = {
    ("lower end", True): {
        MeanField: mean_field_bound,
        HeavyState: state_bound,
        ConditionalPieces: conditional_bound,
        SplitEdges: split_lower_bound,
    },
    ("upper end", True): {
        HolderPieces: holder_bound,
        SplitEdges: split_upper_bound,
        Decomposition: decomposition_bound,
        LowestEnergy: lowest_energy_bound,
        GaussianEntropyBound: entropy_bound,
        TreeEntropyBound: entropy_bound,
    },
    ("lower end", False): {LabelField: label_field_bound, CutsetSum: cutset_bound},
    ("upper end", False): {
        LabelTrees: label_trees_bound,
        LabelTreesOverCycles: label_trees_over_cycles_bound,
        MiniBuckets: mini_bucket_bound,
    },
}
"""By end, and by whether the model is one of spins."""
