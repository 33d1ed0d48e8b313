"""Lower bounds on the energies of a model without fields, from a proof alone.

A bound comes as doubles that add up to it exactly, and a slack for what was computed in floating
point; so that where a proof is exact, "no gap" is decided without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from planaris.result import CutTree, Flow, Proof, SemidefiniteTree, TJoinProof
from planaris.typing import Array, FloatArray
from planaris.verify.conversions import BareModel
from planaris.verify.embedding import closed_walks
from planaris.verify.proof_arrays import components, require, tree_leaves, whole_numbers
from planaris.verify.proofs.energy.semidefinite import semidefinite_bound
from planaris.verify.proofs.energy.tjoin import packing_value
from planaris.verify.recompute.elimination import least_energy

SEMIDEFINITE_UNITS = 64
"""Norms of matrices are computed in doubles, by verify and by the solver in orders of their own."""

Fixings = tuple[tuple[int, int], ...]
"""Edges whose ends are equal (0) or differ (1)."""

_UNIT = 2.0**-53


@dataclass(frozen=True)
class EnergyBound:
    """``Σ terms - slack`` is no more than the energy of any state.

    A bound is ``tight`` if proofs of its kind leave no gap at all where a state is optimal, as
    matchings do; others may leave what counts as exact (:mod:`planaris.verify.exactness`).
    """

    terms: list[float]
    slack: float = 0.0
    tight: bool = False
    units: int = 1
    """How many units in its last place a claim may exceed the bound by."""
    recomputed: bool = False
    """Whether parts of the model came without a proof, and were eliminated."""

    @property
    def value(self) -> float:
        """The bound, rounded down."""
        return float(np.nextafter(math.fsum(self.terms), -math.inf)) - self.slack


def energy_bound(model: BareModel, proof: Any, allowed: float) -> EnergyBound | None:
    """Return the bound on the least energy that a proof gives; None if it is no proof.

    Parameters
    ----------
    model : BareModel
        Edges and couplings.
    proof : object
        A proof of :mod:`planaris.result`.
    allowed : float
        Where more than this would be lost to rounding, rational numbers are used.

    Raises
    ------
    VerificationError
        When the proof is broken.
    """
    if isinstance(proof, Proof):
        proof = proof.as_proof()
    if isinstance(proof, TJoinProof):
        return _by_tjoin(model, proof)
    if isinstance(proof, Flow):
        return _by_flow(model, proof)
    if isinstance(proof, CutTree):
        return _by_tree(model, proof, allowed)
    if isinstance(proof, SemidefiniteTree):
        lowest = semidefinite_bound(model.edges, model.couplings, proof)
        return EnergyBound([lowest], units=SEMIDEFINITE_UNITS)
    return None


def eliminated(model: BareModel, allowed: float) -> EnergyBound | None:
    """Return the least energy by plain elimination, without a proof; None if it is too wide."""
    lowest = least_energy(model.as_model(), allowed)
    if not isinstance(lowest, Fraction):
        return None
    return EnergyBound(_expansion(lowest), recomputed=True)


def _by_tjoin(model: BareModel, proof: TJoinProof) -> EnergyBound:
    """Bound by closed walks and a packing of T-cuts.

    On any closed walk the number of unsatisfied edges has the parity of the number of negative
    couplings. With walks that use every edge twice as vertices, the edges joining them, the
    unsatisfied edges of any state are a T-join; they weigh at least the value of the packing.
    """
    walk_of = closed_walks(model.edges, proof.walk, proof.offsets)
    size = len(proof.offsets) - 1
    negatives = np.bincount(walk_of[np.repeat(model.couplings < 0, 2)], minlength=size)
    free = whole_numbers(proof.free, "free")
    require(free.size == 0 or (free.min() >= 0 and free.max() < size), "free walks exist")
    odd = np.flatnonzero(negatives % 2)
    weights = np.abs(model.couplings)
    value = packing_value(size, walk_of.reshape(-1, 2), weights, odd, proof, boundary=free)
    return EnergyBound([*(-weights).tolist(), *_expansion(2 * value)], tight=True)


def _expansion(number: Fraction) -> list[float]:
    """Return doubles that add up to a dyadic number exactly."""
    terms: list[float] = []
    require(abs(number) < 2**1023, "a bound is a number")
    while number:
        terms.append(float(number))
        number -= Fraction(terms[-1])
    return terms


def _by_flow(model: BareModel, proof: Flow) -> EnergyBound:
    """Bound by a flow along all edges, or along those that do not come from a field.

    A flow beyond its coupling is cut off there: any numbers within the couplings are a proof.
    The bound is a sum of doubles, which is returned as such, so nothing is lost to rounding.
    """
    flow = np.asarray(proof.flow, dtype=np.float64)
    edges, couplings = model.edges, model.couplings
    terms = _Shares(model.num_vertices)
    if len(flow) != len(edges):
        from_field = edges[:, 1] == model.num_vertices - 1
        terms.add(edges[from_field, 0], couplings[from_field])
        edges, couplings = edges[~from_field], couplings[~from_field]
    strength = np.abs(couplings)
    require(flow.shape == strength.shape, "there is one flow per edge")
    require(not bool(np.any(np.isnan(flow))), "flows are numbers")
    flow = np.clip(flow, -strength, strength)
    terms.add(edges[:, 0], -flow)
    terms.add(edges[:, 1], np.where(couplings < 0, -flow, flow))
    return EnergyBound([*(-strength).tolist(), *terms.minus_sizes()])


class _Shares:
    """Numbers given to vertices, and minus the size of the sum at each, exactly."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.vertex: list[Array] = [np.zeros(0, dtype=np.int64)]
        self.share: list[FloatArray] = [np.zeros(0)]

    def add(self, vertex: Array, share: FloatArray) -> None:
        self.vertex.append(vertex)
        self.share.append(share)

    def minus_sizes(self) -> list[float]:
        """Return doubles that add up to ``-Σ |sum at a vertex|``."""
        vertex, share = np.concatenate(self.vertex), np.concatenate(self.share)
        total = np.bincount(vertex, share, self.count)
        size = np.bincount(vertex, np.abs(share), self.count)
        degree = np.bincount(vertex, minlength=self.count)
        # The sign of a sum is beyond doubt where it is larger than its rounding.
        doubtful = ~(np.abs(total) > 2 * _UNIT * (degree + 2) * size)
        sign = np.sign(total)
        order = np.argsort(vertex, kind="stable")
        ends = np.cumsum(degree)
        for v in np.flatnonzero(doubtful & (degree > 0)).tolist():
            here = share[order[ends[v] - degree[v] : ends[v]]]
            sign[v] = np.sign(math.fsum(here.tolist()))
        terms: list[float] = (-sign[vertex] * share).tolist()
        return terms


def _by_tree(model: BareModel, proof: CutTree, allowed: float) -> EnergyBound:
    offsets, edges = whole_numbers(proof.offsets, "offsets"), whole_numbers(proof.edges, "edges")
    odd = whole_numbers(proof.odd, "odd") != 0
    _check_rows(model, offsets, edges, odd)
    sides = 1.0 - np.add.reduceat(np.append(odd, False).astype(float), offsets[:-1])
    rows = (offsets, edges, np.where(odd, -1.0, 1.0), sides)
    base = [*(-model.couplings).tolist()]
    found: list[Fraction] = []
    for node, fixings in _leaves(model, proof):
        box = _implied(model, fixings)
        if box is not None:
            leaf = _Leaf.of(model, proof, node, rows)
            bound, charged = leaf.bound(*box)
            exactly = charged <= allowed and math.isfinite(bound)
            found.append(Fraction(bound) if exactly else leaf.exact_bound(*box))
    require(len(found) > 0, "some leaf holds a state")
    return EnergyBound([*base, *_expansion(min(found))])


def _check_rows(model: BareModel, offsets: Array, edges: Array, odd: Array) -> None:
    """Every row's edges must meet each vertex evenly, and F must be odd."""
    runs = len(offsets) > 0 and (offsets[0], offsets[-1]) == (0, len(edges))
    require(runs and bool(np.all(np.diff(offsets) > 0)), "rows are runs of edges")
    inside = len(edges) == 0 or (edges.min() >= 0 and edges.max() < len(model.edges))
    require(bool(inside) and len(odd) == len(edges), "rows name edges of the model")
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    met = (row[:, None] * model.num_vertices + model.edges[edges]).ravel()
    _, times = np.unique(met, return_counts=True)
    require(bool(np.all(times % 2 == 0)), "the edges of a row meet every vertex evenly")
    flipped = np.bincount(row[odd], minlength=len(offsets) - 1)
    require(bool(np.all(flipped % 2 == 1)), "an odd number of edges of a row is flipped")


def _leaves(model: BareModel, proof: CutTree) -> Iterator[tuple[int, Fixings]]:
    """Yield (leaf, decisions on the way there), every node visited once."""
    edge_of = whole_numbers(proof.branch_edge, "branch_edge")
    child = whole_numbers(proof.child, "child").reshape(-1, 2)
    require(len(edge_of) == len(child) > 0, "every node has an edge and two children")

    def split(node: int, fixings: Fixings) -> tuple[Fixings, Fixings] | None:
        edge = int(edge_of[node])
        require(edge < len(model.edges), "decisions are about edges of the model")
        return None if edge < 0 else ((*fixings, (edge, 0)), (*fixings, (edge, 1)))

    return tree_leaves(child, (), split)


def _implied(model: BareModel, fixings: Fixings) -> tuple[FloatArray, FloatArray] | None:
    """Return the box of edges that the decisions leave; None if they contradict each other."""
    n, count = model.num_vertices, len(model.edges)
    lower, upper = np.zeros(count), np.ones(count)
    if not fixings:
        return lower, upper
    fixed = np.array(fixings, dtype=np.int64)
    ends, apart = model.edges[fixed[:, 0]], fixed[:, 1] * n
    # Two copies of every vertex, one for each spin: a decision joins copies.
    rows = np.concatenate([ends[:, 0], ends[:, 0] + n])
    columns = np.concatenate([ends[:, 1] + apart, ends[:, 1] + n - apart])
    _, label = components(2 * n, rows, columns)
    if np.any(label[:n] == label[n:]):
        return None
    u, v = model.edges[:, 0], model.edges[:, 1]
    upper[label[u] == label[v]] = 0.0
    lower[label[u] == label[v + n]] = 1.0
    return lower, upper


@dataclass(frozen=True)
class _Leaf:
    """Rows with multipliers: ``Σ λ b + Σ_e min over the box of (c - A'λ)_e x_e`` is a bound."""

    cost: FloatArray
    edge: Array
    product: FloatArray
    """Entries of A'λ: the edge and the number, one per edge of every row."""
    weight: FloatArray
    side: FloatArray

    @classmethod
    def of(cls, model: BareModel, proof: CutTree, node: int, rows: Any) -> _Leaf:
        """Read the rows of a leaf, or refuse them."""
        offsets, edges, signs, sides = rows
        begins = whole_numbers(proof.row_offsets, "row_offsets")
        require(len(begins) == len(np.atleast_1d(proof.branch_edge)) + 1, "every node has its rows")
        first, last = int(begins[node]), int(begins[node + 1])
        require(0 <= first <= last <= len(proof.rows), "rows of a node are a run")
        used = whole_numbers(proof.rows, "rows")[first:last]
        weight = np.asarray(proof.multipliers, dtype=np.float64)[first:last]
        right = len(used) == len(weight) and bool(np.all((weight >= 0) & (weight < math.inf)))
        require(right, "multipliers are >= 0")
        require(used.size == 0 or (used.min() >= 0 and used.max() < len(sides)), "rows exist")
        lengths = np.diff(offsets)[used]
        before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        start = np.repeat(offsets[:-1][used] - before, lengths)
        place = start + np.arange(int(lengths.sum())) if len(used) else np.zeros(0, dtype=np.int64)
        product = signs[place] * np.repeat(weight, lengths)
        return cls(2.0 * model.couplings, edges[place], product, weight, sides[used])

    def bound(self, low: FloatArray, high: FloatArray) -> tuple[float, float]:
        """Return the bound, rounded down, and what that may have cost."""
        count = len(self.cost)
        reduced = self.cost - np.bincount(self.edge, self.product, count)
        size = np.abs(self.cost) + np.bincount(self.edge, np.abs(self.product), count)
        slop = 1.01 * _UNIT * size * (np.bincount(self.edge, minlength=count) + 3)
        worst = np.minimum(
            np.minimum((reduced - slop) * low, (reduced - slop) * high),
            np.minimum((reduced + slop) * low, (reduced + slop) * high),
        )
        terms = [*(self.weight * self.side).tolist(), *worst.tolist()]
        total = math.fsum(terms)
        rounding = 2.02 * _UNIT * (math.fsum(map(abs, terms)) + abs(total))
        return total - rounding, 2 * (rounding + float(slop.sum()))

    def exact_bound(self, low: FloatArray, high: FloatArray) -> Fraction:
        """Return the bound without rounding."""
        reduced = [Fraction(cost) for cost in self.cost.tolist()]
        for e, product in zip(self.edge.tolist(), self.product.tolist(), strict=True):
            reduced[e] -= Fraction(product)
        pairs = zip(self.weight.tolist(), self.side.tolist(), strict=True)
        total = sum((Fraction(weight) * int(side) for weight, side in pairs), Fraction(0))
        for cost, least, most in zip(reduced, low.tolist(), high.tolist(), strict=True):
            total += min(cost * int(least), cost * int(most))
        return total
