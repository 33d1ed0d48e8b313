"""Ising models as cut problems: no fields, fewer spins, and the way back.

An external field becomes a coupling to one extra spin, the bias spin. The relaxations then live
in the space of ``x_e = P(s_u != s_v)``, one variable per edge: for binary models LOCAL and the
cycle polytope are given there by triangles through the extra spin and by cycles.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from planaris.budget import Budget
from planaris.kernels.graph import connected_components
from planaris.kernels.relaxations import (
    CutReduction,
    improve_spins,
    reduce_cut,
    round_disagreements,
)
from planaris.models import IsingModel, fields2bias
from planaris.models.base import exact_sum, once_per_model
from planaris.result import GroundState
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray, LongArray

UNIT = 2.0**-53
"""Unit roundoff of double precision."""

FIRST = 64
"""Couplings that are looked at first, to see whether they are multiples of a unit."""

LEAST_POWER = -11
"""Units of couplings are powers of two, from two to this power on."""

ROUNDING = 1e-12
"""What solvers may lose of sums of couplings, relative to all of them."""


@dataclass(frozen=True, eq=False)
class NoReduction:
    """A cut problem left as it is."""

    num_spins: int
    edges: IntArray
    couplings: FloatArray
    constant: float = 0.0
    constant_rest: float = 0.0
    error: float = 0.0

    def small_model(self) -> tuple[IntArray, FloatArray]:
        """Return edges and couplings."""
        return self.edges, self.couplings

    def lift_spins(self, spins: Int8Array) -> Int8Array:
        """Return the spins given."""
        return spins

    def lift_disagreements(self, x: FloatArray) -> FloatArray:
        """Return the values given."""
        return x


@dataclass(frozen=True, eq=False)
class CutForm:
    """Minimise ``base + Σ cost_e x_e`` over the cuts x of a graph.

    Attributes
    ----------
    model : IsingModel
        What was asked.
    num_spins, edges, couplings
        The reduced zero-field model.
    level : tuple of float
        Numbers whose sum, not evaluated, is taken off all energies: what strong couplings
        contribute is not to hide what is decided by weak ones.
    base : float
        Energy above that level of the state in which all spins of the reduced model are equal.
    error : float
        The energies of both models agree to this (rounding of the reduction).
    quantum : float
        Energies of states differ by multiples of this; zero if not known.
    resolution : float
        A search ends when its interval is this narrow: what counts as exact, or what rounding
        leaves of the couplings.
    """

    model: IsingModel
    num_spins: int
    edges: IntArray
    couplings: FloatArray
    level: tuple[float, ...]
    base: float
    error: float
    quantum: float
    resolution: float
    reduction: CutReduction | NoReduction = field(repr=False)

    @classmethod
    def from_model(
        cls,
        model: IsingModel,
        *,
        keep_zero_edges: bool = True,
        reduce: bool = True,
        budget: Budget | None = None,
    ) -> CutForm:
        """Add the bias spin and reduce, unless a proof about the model's own edges is wanted.

        Once the time is over the model stays as it is.
        """
        edges, couplings = with_bias_spin(model)
        total = model.num_spins + 1
        small: CutReduction | NoReduction = NoReduction(total, edges, couplings)
        if reduce:
            with suppress(TimeoutError):
                small = reduce_cut(
                    total, edges, couplings, keep_zero_edges=keep_zero_edges, budget=budget
                )
        size = float(np.abs(small.small_model()[1]).sum())
        small_edges, small_couplings = small.small_model()
        constants = small.constant, small.constant_rest, -model.offset
        base = exact_sum(-small_couplings)
        rounding = UNIT * abs(base)
        return cls(
            model,
            small.num_spins,
            small_edges,
            small_couplings,
            tuple(x for x in constants if x),
            base,
            small.error + 2 * rounding,
            energy_quantum(model),
            max(model.energy_tolerance, ROUNDING * size),
            small,
        )

    def energy_of(self, state: Int8Array) -> float:
        """Return the energy of a state of the model, above the level."""
        if not self.level:
            return float(self.model.energy(state))
        return self.model.energy_above(state, self.level)

    def absolute(self, bound: float) -> float:
        """Return a bound on energies above the level as one on energies.

        Where the bound is at most the least one, rounded to nearest, so is what is returned.
        """
        if not self.level or not math.isfinite(bound):
            return bound
        return math.fsum([math.nextafter(bound, -math.inf), *self.level])

    def lower_end(self, state: Int8Array, energy: float, bound: float) -> float:
        """Return the lower end of the interval for a state and a bound, both above the level.

        A gap that counts stays open, even where one step of the energies is wider.
        """
        best = float(self.model.energy(state))
        lower = min(self.absolute(bound), best)
        if self.level and energy - bound > self.model.energy_tolerance:
            lower = min(lower, math.nextafter(best, -math.inf))
        return lower

    def is_closed(self, lower: float, upper: float) -> bool:
        """Return whether [lower, upper] leaves no room for a better state."""
        if self.quantum > 0 and lower > upper - self.quantum * (1 - 1e-6):
            return True
        return upper - lower <= self.resolution

    def proved_end(self, state: Int8Array, energy: float, bound: float) -> float:
        """Return the lower end of the interval for the best state and a bound, above the level.

        Where energies are multiples of a quantum, a bound less than one quantum away leaves
        only the best energy itself.
        """
        if self.quantum > 0 and self.is_closed(bound, energy):
            return float(self.model.energy(state))
        return self.lower_end(state, energy, bound)

    @property
    def cost(self) -> FloatArray:
        """Cost of cutting each edge."""
        return 2.0 * self.couplings

    def spins_of(self, small: Int8Array) -> Int8Array:
        """Lift spins of the reduced model; the bias spin is turned to +1."""
        lifted = self.reduction.lift_spins(small)
        return np.asarray(lifted[:-1] * lifted[-1])

    def round(
        self, x: FloatArray, *, tabu_steps: int = 0, seed: int = 0, budget: Budget | None = None
    ) -> Int8Array:
        """Return spins of the reduced model near the values ``x``, improved locally."""
        spins = round_disagreements(self.num_spins, self.edges, x)
        return self.improve(spins, tabu_steps=tabu_steps, seed=seed, budget=budget)

    def improve(
        self, spins: Int8Array, *, tabu_steps: int = 0, seed: int = 0, budget: Budget | None = None
    ) -> Int8Array:
        """Improve spins of the reduced model by local search."""
        return improve_spins(
            self.num_spins,
            self.edges,
            self.couplings,
            spins,
            tabu_steps=tabu_steps,
            seed=seed,
            budget=budget,
        )

    def completed(self) -> CutForm:
        """Return the same problem with an edge of no cost for every pair that had none."""
        extra = missing_edges(self.num_spins, self.edges)
        return replace(
            self,
            edges=np.ascontiguousarray(np.concatenate([self.edges, extra])),
            couplings=np.concatenate([self.couplings, np.zeros(len(extra))]),
        )

    def pseudomarginals(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``P(s_v = +1)`` and ``P(s_u = s_v)`` of the model asked for."""
        own = len(self.reduction.small_model()[1])
        lifted = self.reduction.lift_disagreements(np.ascontiguousarray(x[:own]))
        count = self.model.num_edges
        nodes = _extend_to_bias_spin(self.model, lifted[:count], lifted[count:])
        return nodes, 1.0 - lifted[:count]


def with_bias_spin(model: IsingModel) -> tuple[IntArray, FloatArray]:
    """Return edges and couplings with the fields as couplings to spin ``num_spins``."""
    if not model.has_fields:
        return model.edges, model.couplings
    bare, _ = fields2bias(model)
    return bare.edges, bare.couplings


@once_per_model
def energy_quantum(model: IsingModel) -> float:
    """Return a number of which all energy differences are multiples, or zero.

    Found for couplings that are small multiples of a common power of two, which is exact in
    floating point: flipping v changes the energy by ``2 Σ_{e at v} ±J_e``.
    """
    edges, couplings = with_bias_spin(model)
    largest = float(np.abs(couplings).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return 0.0
    # Scaled so that whole numbers stay below 2^40.
    scale = 2.0 ** min(0, math.frexp(largest)[1] - 40)
    if not _whole(couplings[:FIRST], max(2.0**LEAST_POWER, scale)):
        return 0.0
    for power in range(0, LEAST_POWER - 1, -1):
        unit = max(2.0**power, scale)
        if largest / unit < 2.0**40 and _whole(couplings[:FIRST], unit) and _whole(couplings, unit):
            numbers = np.rint(couplings / unit).astype(np.int64)
            common = int(np.gcd.reduce(np.abs(numbers)))
            sums = np.zeros(model.num_spins + 1, dtype=np.int64)
            np.add.at(sums, edges[:, 0], numbers)
            np.add.at(sums, edges[:, 1], numbers)
            step = int(np.gcd.reduce(np.concatenate([[2 * common], np.abs(sums)])))
            return 2.0 * unit * step
    return 0.0


def _whole(values: FloatArray, unit: float) -> bool:
    """Return True if all numbers are multiples of a unit."""
    whole = values / unit
    return bool(np.all(whole == np.rint(whole)))


def _extend_to_bias_spin(model: IsingModel, edge_x: FloatArray, field_x: FloatArray) -> FloatArray:
    """Return P(s_v = +1), for spins without field half-way between what cycles allow.

    For x in the cycle polytope the value of a missing edge (v, bias spin) may lie between
    1 - d(v') and d(v), the distances in the doubled graph to v's two copies; the midpoints
    of all spins together are again in the cycle polytope.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    n = model.num_spins
    at = np.flatnonzero(model.fields)
    if not len(at):
        return np.full(n, 0.5)
    if len(at) == n:
        return np.asarray(1.0 - np.clip(field_x, 0.0, 1.0))
    edges, _ = with_bias_spin(model)
    x = np.concatenate([edge_x, field_x])
    u, v = edges[:, 0], edges[:, 1]
    tiny = 1e-300  # csgraph reads zero as no edge
    rows = np.concatenate([u, u + n + 1, u, u + n + 1])
    columns = np.concatenate([v, v + n + 1, v + n + 1, v])
    lengths = np.concatenate([x, x, 1 - x, 1 - x]) + tiny
    graph = coo_array((lengths, (rows, columns)), shape=(2 * n + 2, 2 * n + 2)).tocsr()
    distance = np.minimum(dijkstra(graph, directed=False, indices=np.array([n]))[0], 1.0)
    apart = (distance[:n] + 1.0 - distance[n + 1 : 2 * n + 1]) / 2
    apart[at] = field_x
    return np.asarray(1.0 - np.clip(apart, 0.0, 1.0))


def with_offset(found: GroundState, model: IsingModel) -> GroundState:
    """Return the result for a model from that for the same model without its offset.

    Examples
    --------
    >>> pair = IsingModel([(0, 1)], [1.0], offset=2.0)
    >>> bare = GroundState.of(pair.without_offset(), [1, 1], -1.0, method="graph-cut")
    >>> with_offset(bare, pair).energy
    -3.0
    """
    # A bound is at most the least energy rounded to nearest; rounding keeps the order of sums.
    lower = math.fsum([math.nextafter(found.lower, -math.inf), -model.offset])
    if not found.exact:  # a gap that counts stays open
        lower = min(lower, math.nextafter(float(model.energy(found.spins)), -math.inf))
    trace = [
        {**row, "lower": row["lower"] - model.offset, "upper": row["upper"] - model.offset}
        for row in found.trace
    ]
    return found.restated(model, found.spins, lower, trace=trace)


def implied_disagreements(
    num_spins: int, edges: IntArray, held: LongArray, differ: BoolArray
) -> tuple[BoolArray, BoolArray] | None:
    """Return which edges have equal ends, and which different ones, where some are given.

    None if the given ones, ``held``, contradict each other: consistent ones leave at least one cut.

    Examples
    --------
    >>> triangle = np.array([(0, 1), (1, 2), (0, 2)], dtype=np.int32)
    >>> implied_disagreements(3, triangle, np.array([0, 1]), np.array([True, False]))
    (array([False,  True, False]), array([ True, False,  True]))
    """
    # Two copies of every spin, one for each sign: a given edge joins copies.
    (u, v), n = edges[held].T, num_spins
    pairs = np.concatenate(
        [np.column_stack([u, v + n * differ]), np.column_stack([u + n, v + n * ~differ])]
    )
    label = connected_components(2 * n, np.ascontiguousarray(pairs, dtype=np.int32))
    if np.any(label[:n] == label[n:]):
        return None
    first, second = label[edges[:, 0]], edges[:, 1]
    return first == label[second], first == label[second + n]


def missing_edges(num_spins: int, edges: IntArray) -> IntArray:
    """Return the pairs that are not joined."""
    absent = np.ones((num_spins, num_spins), dtype=bool)
    absent[edges[:, 0], edges[:, 1]] = absent[edges[:, 1], edges[:, 0]] = False
    return np.argwhere(np.triu(absent, 1)).astype(np.int32, order="C")
