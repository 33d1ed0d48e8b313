"""Ends of marginals of models without frustration, from windows between held spins.

The theorem is in docs/theory/bounds.md, "Marginals by clamping". What windows say is added up anew,
in the order of the proof; ends of walls are those that windows before them gave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.models import IsingModel
from planaris.result import MarginalWindows
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import components, distinct, indices, require, runs, whole_row
from planaris.verify.proofs.marginals.neighbours import (
    SpinEnds,
    edge_ends,
    neighbour_ends,
    outward,
)
from planaris.verify.recompute.window_sums import WindowMarginals, window_marginals

_UNIT = 2.0**-53

MOST_LOST = 1e-12
"""Negative couplings of this size are rounding of labels written as spins: they are left out."""


def window_ends(model: IsingModel, proof: MarginalWindows) -> SpinEnds:
    """Return the ends that a proof gives, or refuse it.

    Windows whose tables are too large, or whose weights differ by more than doubles can say, say
    nothing here; the ends are then wider.

    Examples
    --------
    >>> row = IsingModel([(0, 1), (1, 2)], [1.0, -1.0], fields=[0.5, 0.0, 0.2])
    >>> whole = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 3, 6])
    >>> walls = np.zeros(0, dtype=int), np.zeros(3, dtype=int)
    >>> proof = MarginalWindows(np.array([1, 1, -1]), np.array([1, -1]), *whole[::-1], *walls[::-1])
    >>> (low, high), _ = window_ends(row, proof)
    >>> bool(np.all(high - low < 1e-13)), low.round(6).tolist()
    (True, [0.683527, 0.606444, 0.462694])
    """
    signs = whole_row(proof.signs, "signs")
    right = signs.shape == (model.num_spins,) and bool(np.all(np.abs(signs) == 1))
    require(right, "every spin has a sign")
    turned = model.couplings * signs[model.edges].prod(axis=1)
    lost = float(np.maximum(-turned, 0.0).sum())
    require(lost <= MOST_LOST, "the signs leave no negative coupling")
    sides = whole_row(proof.sides, "sides")
    require(bool(np.all(np.abs(sides) == 1)), "windows are for upper or for lower ends")
    spins = indices(proof.spins, "spins", model.num_spins)
    walls = indices(proof.walls, "walls", model.num_spins)
    spin_begins = runs(proof.spin_offsets, "spin_offsets", len(sides), len(spins))
    wall_begins = runs(proof.wall_offsets, "wall_offsets", len(sides), len(walls))
    graph = _Graph(model, np.maximum(turned, 0.0), model.fields * signs)
    known = {side: _Side.of(graph, side) for side in (1, -1)}
    for k, side in enumerate(sides.tolist()):
        inside = spins[spin_begins[k] : spin_begins[k + 1]]
        around = walls[wall_begins[k] : wall_begins[k + 1]]
        require(distinct(inside), "a window has a spin once")
        require(not np.isin(around, inside).any(), "walls are outside of their window")
        known[side].add(graph, inside, around)
    ends = _turned_back(model, signs, known[1], known[-1])
    if lost:  # no weight is off by more than a factor exp(±lost)
        units = math.expm1(2 * lost) * (1 + 1e-6) / _UNIT
        ends = SpinEnds(outward(*ends.nodes, units), outward(*ends.edges, units))
    return ends


class _Graph:
    """A model without negative couplings, with its edges by spin."""

    def __init__(self, model: IsingModel, couplings: FloatArray, fields: FloatArray) -> None:
        self.model = IsingModel(model.edges, couplings, fields)
        self.fields, self.couplings = fields, couplings
        ends = model.edges.astype(np.int64)
        near, far = ends.ravel(), ends[:, ::-1].ravel()
        order = np.argsort(near, kind="stable")
        self.far, self.edge = far[order], order // 2
        self.begins = np.concatenate([[0], np.cumsum(np.bincount(near, minlength=len(fields)))])
        self.place = np.full(len(fields), -1)

    def around(self, spins: Array) -> tuple[Array, Array, Array]:
        """Return the half-edges of some spins: the place of the spin, the other end, the edge."""
        counts = self.begins[spins + 1] - self.begins[spins]
        owner = np.repeat(np.arange(len(spins)), counts)
        first = np.repeat(self.begins[spins] - np.cumsum(counts) + counts, counts)
        at = first + np.arange(len(owner))
        return owner, self.far[at], self.edge[at]


@dataclass(eq=False)
class _Side:
    """Upper ends of P(+1) and of P(+1, +1), and lower ends of P(-1, -1), of one side.

    The other side, ``way`` -1, has all spins turned over.
    """

    way: int
    high: FloatArray
    both_up: FloatArray
    both_down: FloatArray

    @classmethod
    def of(cls, graph: _Graph, way: int) -> _Side:
        """Return what neighbours can do at most."""
        low, high = neighbour_ends(graph.model)
        most = high if way > 0 else np.minimum(1 - low + 2 * _UNIT, 1.0)
        count = len(graph.couplings)
        return cls(way, most, np.ones(count), np.zeros(count))

    def add(self, graph: _Graph, inside: Array, walls: Array) -> None:
        """Lower the ends by what one window says."""
        n = len(inside)
        graph.place[inside] = np.arange(n)
        near, far, edge = graph.around(inside)
        other = graph.place[far]
        graph.place[inside] = -1
        within = other > near
        joined = np.column_stack([near[within], other[within]])
        couplings, names = graph.couplings[edge[within]], edge[within]
        out = other < 0
        near, far, size = near[out], far[out], graph.couplings[edge[out]]
        wall = np.isin(far, walls)
        own = self.way * graph.fields[inside]
        fields = own + np.bincount(near, np.where(wall, -size, size), n)
        # A field moves a probability by at most half of what it moves itself.
        terms = 2 + np.bincount(near, minlength=n)
        slack = _UNIT * float((terms * (np.abs(own) + np.bincount(near, size, n))).sum())
        found = window_marginals(joined, couplings, fields)
        if found is None:
            return
        found = found._replace(error=found.error + 1.01 * slack)
        count, label = components(n, *joined.T)
        pairs = np.unique(label[near[wall]] * np.int64(len(self.high)) + far[wall])
        piece, who = np.divmod(pairs, len(self.high))
        rounding = 4 * _UNIT * (len(who) + 1)
        charge = np.bincount(piece, self.high[who], max(count, 1)) * (1 + rounding)
        self._lower(found, inside, names, np.minimum(charge, 1.0)[label], joined[:, 0])

    def _lower(
        self, found: WindowMarginals, inside: Array, names: Array, wrong: FloatArray, first: Array
    ) -> None:
        """With a mean g but for a probability c, a mean lies in g (1 - c) to g (1 - c) + c."""
        off = found.error + 16 * _UNIT
        up, both, none = (
            np.clip(part, 0.0, 1.0) for part in (found.up, found.both_up, found.both_down)
        )
        self.high[inside] = np.minimum(self.high[inside], up + (1 - up) * wrong + off)
        c = wrong[first]
        self.both_up[names] = np.minimum(self.both_up[names], both + (1 - both) * c + off)
        self.both_down[names] = np.maximum(self.both_down[names], none * (1 - c) - off)


def _turned_back(model: IsingModel, signs: Array, above: _Side, below: _Side) -> SpinEnds:
    """Return the ends of the model's own spins and edges."""
    low, high = outward(1 - below.high, above.high, 2)
    u, v = model.edges.T
    # Two spins are up together at least as often as if they were independent.
    least_up = np.maximum(below.both_down, low[u] * low[v])
    least_down = np.maximum(above.both_down, (1 - high[u]) * (1 - high[v]))
    most_up = np.minimum(above.both_up, np.minimum(high[u], high[v]))
    most_down = np.minimum(below.both_up, 1 - np.maximum(low[u], low[v]))
    by_spins = edge_ends(model, low, high)
    least, most = outward(least_up + least_down, most_up + most_down, 8)
    least, most = np.maximum(least, by_spins[0]), np.minimum(most, by_spins[1])
    up, same = signs > 0, signs[u] == signs[v]
    swapped, crossed = outward(1 - high, 1 - low, 2), outward(1 - most, 1 - least, 2)
    nodes = np.where(up, low, swapped[0]), np.where(up, high, swapped[1])
    edges = np.where(same, least, crossed[0]), np.where(same, most, crossed[1])
    return SpinEnds(nodes, edges)
