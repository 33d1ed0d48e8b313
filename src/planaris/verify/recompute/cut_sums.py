"""Recomputes log Z of models on surfaces, at any temperature: a sum over cuts.

Relative to a state with couplings g = J s s, Z is 2 per component times exp(Σ g) times the sum over
all cuts of exp(-2 Σ g). A cut meets every face evenly, so this is a sum over even sets of the
dual graph (:mod:`planaris.verify.recompute.rotations`). The result says which state, which
faces, and which sets of faces have to be eliminated before the edge that leaves them, with values
by which the rows are scaled: at low temperature nothing of importance cancels then. Another state
would give the same sum, but less accurately, and two eliminations may then be wrong alike: at low
temperature the sets of a plane model have to prove that the state is a lowest one.

Accuracy is measured: two eliminations that halve the graph elsewhere differ by their errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.models import IsingModel
from planaris.result import CutSum
from planaris.typing import Array, FloatArray
from planaris.verify.conversions import BareModel
from planaris.verify.embedding import closed_walks
from planaris.verify.proof_arrays import components, require, whole_row
from planaris.verify.recompute.cut_fronts import WIDE, Schedule, halve, pfaffian
from planaris.verify.recompute.determinant import ACCURACY, SPREAD
from planaris.verify.recompute.elimination import Recomputed
from planaris.verify.recompute.nested_sets import NestedSets
from planaris.verify.recompute.rotations import Rotations

WAY = "a sum over cuts"

MAX_EDGES = 250_000
"""Larger models are not recomputed: that would take a minute, and a gigabyte."""

MAX_GENUS = 2
RUNS = 3
"""Eliminations on surfaces of higher genus, where terms of both signs may cancel."""

WEAK = 3.0
"""Couplings up to here are added up relative to any state: nothing of importance cancels."""

NEAR = 1e-6
"""Error of log Z from which wider floats are tried."""

DOUBLE_RANGE = 600.0
"""Logarithm of the largest ratio of two entries that doubles are used for."""

_UNIT = 2.0**-53
_STEP = 2.0**-40
"""Step of the derivative along the imaginary axis; its square is the relative error."""


def log_partition_by_cuts(model: IsingModel, proof: CutSum) -> Recomputed | None:
    """Return log Z of a model on a surface; None if it is too large or rounding is.

    Raises
    ------
    VerificationError
        When the faces are not those of the model's graph, or the sets are not nested.

    Examples
    --------
    >>> import planaris as pl
    >>> glass = pl.generate.spin_glass(8, np.random.default_rng(0))
    >>> cold = pl.IsingModel(glass.edges, 50 * glass.couplings)
    >>> claimed = pl.log_partition(cold, "planar")
    >>> found = log_partition_by_cuts(cold, claimed.certificate.as_proof())
    >>> bool(claimed.lower <= found.value <= claimed.upper)
    True
    """
    bare = BareModel.of(model)
    sum_over_cuts = _CutSum.of(bare, proof)
    if sum_over_cuts is None:
        return None
    found = sum_over_cuts.evaluate(None)
    if found is None:
        return None
    total, spread, _, _ = found
    count, _ = components(bare.num_vertices, *bare.edges.T)
    terms = [(count - 1) * math.log(2.0), model.offset, total]  # the bias spin is held
    relative = sum_over_cuts.gauged
    value = math.fsum([*terms, *relative.tolist()])
    sizes = math.fsum(map(abs, terms)) + float(np.abs(relative).sum())
    slack = SPREAD * spread + 16 * _UNIT * sizes
    if not slack <= ACCURACY * (model.num_spins + len(relative) + sizes + 1.0):
        return None
    return Recomputed(value, slack, estimated=True, way=WAY)


def edge_sum_by_cuts(proof: CutSum, bare: BareModel, weights: FloatArray) -> Recomputed | None:
    """Return Σ weights <s_u s_v> over the edges: the derivative of log Z along the weights.

    None if the model is too large or rounding is.
    """
    sum_over_cuts = _CutSum.of(bare, proof)
    if sum_over_cuts is None:
        return None
    found = sum_over_cuts.evaluate(weights)
    if found is None:
        return None
    _, _, derivative, spread = found
    length = float(np.linalg.norm(weights))
    terms = [*(weights * sum_over_cuts.agree).tolist(), derivative]
    slack = SPREAD * spread + 1e-12 * (length + 1.0)
    if not slack <= 1e-6 * length:
        return None
    return Recomputed(math.fsum(terms), slack, estimated=True, way=WAY)


@dataclass(frozen=True, eq=False)
class _CutSum:
    """The dual graph, the couplings relative to a state, and the sets to wait for."""

    dual: Rotations
    genus: int
    agree: FloatArray
    """+1 for edges whose ends agree in the state, -1 for others."""
    gauged: FloatArray
    sets: NestedSets

    @classmethod
    def of(cls, bare: BareModel, proof: CutSum) -> _CutSum | None:
        """Read what a result says, or refuse it; None if it asks for too much."""
        if not 0 < len(bare.edges) <= MAX_EDGES:
            return None
        closed_walks(bare.edges, proof.walk, proof.offsets)
        walks = len(proof.offsets) - 1
        spins = np.append(whole_row(proof.spins, "spins"), 1)
        require(len(spins) == bare.num_vertices, "every spin has a state")
        require(bool(np.all(np.abs(spins) == 1)), "states are -1 and +1")
        sets = NestedSets.of(proof, walks)
        dual = Rotations.of(whole_row(proof.walk, "walk"), whole_row(proof.offsets, "offsets"))
        used = np.unique(bare.edges)
        orbits = int(dual.face.max(initial=-1)) + 1
        require(orbits == len(used), "the walks close around every spin")
        several, _ = components(bare.num_vertices, *bare.edges.T)
        several -= bare.num_vertices - len(used)
        genus = several - (len(used) - len(bare.edges) + walks) // 2
        if genus > MAX_GENUS:
            return None
        agree = (spins[bare.edges[:, 0]] * spins[bare.edges[:, 1]]).astype(np.float64)
        gauged = bare.couplings * agree
        if genus == 0 and np.abs(gauged).max() > WEAK:
            lowest = sets.prove_lowest(dual.whole[dual.ends[: len(gauged)]], gauged)
            require(lowest, "the state is a lowest one, by the sets of walks")
        return cls(dual, genus, agree, gauged, sets)

    def evaluate(self, weights: FloatArray | None) -> tuple[float, float, float, float] | None:
        """Return the logarithm of the sum over cuts and its derivative, each with its spread."""
        gauged = np.zeros(len(self.dual.signs))  # edges behind the model's join pieces of a face
        gauged[: len(self.gauged)] = self.gauged
        depth = self.sets.depth[self.dual.whole]
        scale = _scale(self.dual.ends, gauged, depth)
        for kind in self._kinds(gauged, scale, depth):
            found = self._repeat(kind, gauged, scale, weights)
            if found is not None:
                return found
        return None

    def _repeat(
        self, kind: Any, gauged: FloatArray, scale: FloatArray, weights: FloatArray | None
    ) -> tuple[float, float, float, float] | None:
        """Evaluate some times in one kind of floats, all entries moved by their rounding."""
        weight = np.exp((scale - np.repeat(gauged, 2)).astype(kind))
        joins = np.exp((scale[0::2] + scale[1::2]).astype(kind)) * self.dual.signs
        if weights is not None:
            turn = np.zeros(len(gauged), dtype=kind)
            turn[: len(weights)] = -2 * _STEP * self.agree * weights
            weight = weight.astype(np.result_type(kind, np.complex64))
            weight[0::2] *= 1.0 + 1j * turn
        logs, slopes = [], []
        for seed in range(RUNS if self.genus else 2):
            moved = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], len(weight))
            moved = 1.0 + (2 * np.finfo(kind).eps * moved).astype(kind)
            run = self._run(gauged, weight * moved if seed else weight, joins, seed)
            if run is None:
                return None
            logs.append(run.log)
            slopes.append(run.slope)
            rounding = run.rounding
        apart, turned = float(np.ptp(logs)) + rounding, float(np.ptp(slopes))
        return (logs[0], apart, slopes[0], turned) if SPREAD * apart < NEAR else None

    def _kinds(self, gauged: FloatArray, scale: FloatArray, depth: FloatArray) -> list[Any]:
        """Return floats whose range is enough, narrow ones first."""
        deepest = 2 * float(depth.max(initial=0.0))
        largest = max(deepest, float(np.abs(scale[0::2] + scale[1::2]).max(initial=0.0)))
        reach = deepest + largest
        if self.sets.count == 0:
            reach = 4 * float(np.abs(gauged).max(initial=0.0))
        ranges = [(np.float64, DOUBLE_RANGE), (WIDE, 0.85 * float(np.log(np.finfo(WIDE).max)))]
        return [kind for kind, most in ranges if reach < most]

    def _run(self, gauged: FloatArray, weight: Any, joins: Any, seed: int) -> _Run | None:
        """Add up all structures; None if a pivot shows that rounding has won."""
        parts = halve(self.dual.num_vertices, self.dual.ends, seed)
        waits = self.sets.waits(self.dual, parts, gauged < 0)
        if waits is None:
            return None
        low, high, rank = waits
        schedule = Schedule.of(parts, parts.lowest(low, high), rank)
        structures = self.dual.flips if self.genus else [np.ones(len(joins))]
        found = [self._structure(schedule, weight, joins * flips) for flips in structures]
        terms = [term for term in found if term is not None]
        return _added(terms, joins.dtype) if len(terms) == len(found) else None

    def _structure(self, schedule: Schedule, weight: Any, joins: Any) -> _Term | None:
        """Eliminate one structure."""
        legs = self.dual.rotation, self.dual.offsets
        found = pfaffian(schedule, *legs, weight, joins, search=self.genus > 0)
        if found is None:
            return None
        values = found.values
        if self.genus:
            each = np.concatenate([np.log(np.abs(values.real)), -np.log(np.abs(joins))])
        else:
            # A pivot is a ratio of two sums of which the first holds the other.
            ratio = (values / joins[found.legs[::2] // 2]).real
            if not np.all(ratio >= 1 - 1e-6):
                return None
            each = np.log(ratio)
        return _Term(
            each.sum(),
            float(np.abs(each).sum()),
            found.sign() * float(np.prod(np.sign(joins))),
            float((values.imag / values.real).sum()) / _STEP,
        )


@dataclass(frozen=True)
class _Term:
    """One structure: logarithm of its size, what was added up to it, sign and derivative."""

    log: Any
    size: float
    sign: float
    slope: float


@dataclass(frozen=True)
class _Run:
    """log of the sum over cuts, its rounding if no elimination had any, and its derivative."""

    log: float
    rounding: float
    slope: float


def _added(terms: list[_Term], kind: Any) -> _Run | None:
    """Return the mean of all structures; None if rounding has left nothing of it."""
    top = max(term.log for term in terms)
    parts = np.array([term.sign * np.exp(term.log - top) for term in terms])
    total = parts.sum()
    if not total > 0:
        return None
    # What the logarithms are rounded by, relative to what is left of the signed sum.
    sizes = np.abs(parts) @ np.array([term.size for term in terms])
    return _Run(
        float(top + np.log(total / len(terms))),
        float(np.finfo(kind).eps * sizes / total),
        float(parts @ np.array([term.slope for term in terms]) / total),
    )


def _scale(ends: Array, gauged: FloatArray, depth: FloatArray) -> FloatArray:
    """Return logarithms to scale the legs by: see docs/theory/pfaffian.md, "Low temperature"."""
    scale = np.empty(2 * len(gauged))
    scale[0::2], scale[1::2] = depth[ends[:, 1]], depth[ends[:, 0]]
    below = np.flatnonzero(gauged < 0)
    if depth.any():
        scale[2 * below] = gauged[below] + depth[ends[below, 0]]
        scale[2 * below + 1] = gauged[below] + depth[ends[below, 1]]
    return scale
