"""Tractable cores of structured mean field: sets of small treewidth, planar sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from planaris import treewidth
from planaris.budget import UNLIMITED, Budget
from planaris.kernels.graph import breadth_first_order, is_planar
from planaris.models import IsingModel
from planaris.planar.plan import Plan, plan
from planaris.subgraphs.bias_model import EPSILON, LOG2
from planaris.subgraphs.clusters import grow_clusters
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

SEARCH_SECONDS = 5.0
"""Time for the search for a planar core."""


class Solved(NamedTuple):
    """log Z of a core in given fields, its rounding error, and mean spins with theirs."""

    log: float
    error: float
    means: FloatArray
    doubt: float


class Core(Protocol):
    """Spins solved together, given the fields that the others exert."""

    @property
    def spins(self) -> LongArray:
        """The spins of the core."""
        ...

    def solve(self, fields: FloatArray) -> Solved:
        """Return the exact answer with these fields."""
        ...

    def pairs(self, fields: FloatArray) -> FloatArray:
        """Return E s_u s_v of the core's own edges."""
        ...


@dataclass(frozen=True, eq=False)
class EliminatedCore:
    """A core of small treewidth."""

    spins: LongArray
    model: IsingModel
    plan: treewidth.EliminationPlan

    def solve(self, fields: FloatArray) -> Solved:
        """Return the exact answer with these fields."""
        found = treewidth.marginals(
            self.model.with_couplings(self.model.couplings, fields), plan=self.plan
        )
        log = found.log_partition
        assert log is not None, "elimination has log Z"
        return Solved(log.value, log.value - log.lower, 2 * np.asarray(found.nodes) - 1, 1e-12)

    def pairs(self, fields: FloatArray) -> FloatArray:
        """Return E s_u s_v of the core's own edges."""
        found = treewidth.marginals(
            self.model.with_couplings(self.model.couplings, fields), plan=self.plan
        )
        return 2 * np.asarray(found.edges) - 1


@dataclass(frozen=True, eq=False)
class PlanarCore:
    """A core that is planar together with a bias spin joined to its rim.

    The rim holds all spins that have a field or a neighbour outside: no other spin is ever in
    a field. Mean spins are computed on the rim; elsewhere they are not needed, and NaN.
    """

    spins: LongArray
    model: IsingModel
    rim: LongArray
    plan: Plan

    def _couplings(self, fields: FloatArray) -> FloatArray:
        return np.concatenate([self.model.couplings, fields[self.rim]])

    def solve(self, fields: FloatArray) -> Solved:
        """Return the exact answer with these fields."""
        couplings = self._couplings(fields)
        log = self.plan.log_partition(couplings)
        moments = 2 * np.asarray(self.plan.marginals(couplings).edges) - 1
        means = np.full(len(self.spins), np.nan)
        means[self.rim] = moments[self.model.num_edges :]
        error = log.value - log.lower + 4 * EPSILON * (abs(log.value) + 1)
        return Solved(log.value - LOG2, error, means, 1e-8)

    def pairs(self, fields: FloatArray) -> FloatArray:
        """Return E s_u s_v of the core's own edges."""
        moments = 2 * np.asarray(self.plan.marginals(self._couplings(fields)).edges) - 1
        return np.asarray(moments[: self.model.num_edges])


def make_core(model: IsingModel, spins: LongArray, members: LongArray, rim: BoolArray) -> Core:
    """Return a core over some spins and the edges among them, by what is cheaper.

    ``rim`` marks spins of the model with a field or with neighbours outside.
    """
    place = np.full(model.num_spins, -1, dtype=np.int64)
    place[spins] = np.arange(len(spins))
    part = IsingModel(place[model.edges[members]], model.couplings[members], num_spins=len(spins))
    order = treewidth.plan_elimination(part, task="marginals")
    planar_seconds = 5e-6 * len(spins) + 5e-7 * len(spins) ** 1.5
    if order.complete and order.seconds <= planar_seconds:
        return EliminatedCore(spins, part, order)
    marked = np.flatnonzero(rim[spins])
    joined = _join(part.edges, marked, len(spins))
    if is_planar(len(spins) + 1, joined):
        return PlanarCore(spins, part, marked, plan((len(spins) + 1, joined)))
    return EliminatedCore(spins, part, order)


def planar_clusters(model: IsingModel, width: int) -> list[LongArray]:
    """Partition the spins into one planar core, as large as found, and small ones.

    The core grows from a spin, breadth first, by all that leave it planar together with a bias
    spin at its rim; on a torus it covers all but two rings.

    >>> k5 = IsingModel([(u, v) for u in range(5) for v in range(u)], 1.0)
    >>> [len(spins) for spins in planar_clusters(k5, 2)]
    [3, 2]
    """
    n, (u, v) = model.num_spins, model.edges.T
    out = np.ones(n, dtype=bool)
    budget = UNLIMITED.within(SEARCH_SECONDS)
    left = breadth_first_order(n, model.edges).astype(np.int64)
    while len(left):
        _take_in(model, out, left, budget)
        refused = left[out[left]]
        # What was refused may fit once more of its surroundings are in.
        if len(refused) == len(left) or budget.expired():
            break
        left = refused
    rest = np.flatnonzero(out)
    place = np.full(n, -1, dtype=np.int32)
    place[rest] = np.arange(len(rest))
    among = np.ascontiguousarray(place[model.edges[out[u] & out[v]]])
    small = [rest[spins] for spins in grow_clusters(len(rest), among, width)]
    core = np.flatnonzero(~out)
    return [core, *small] if len(core) else small


def _take_in(model: IsingModel, out: BoolArray, order: LongArray, budget: Budget) -> None:
    """Add spins to the core in this order while it stays planar, halving groups that fail."""
    groups = [order]
    while groups and not budget.expired():
        group = groups.pop()
        out[group] = False
        if is_planar(model.num_spins + 1, _with_rim(model, out)):
            continue
        out[group] = True
        if len(group) > 1:
            groups += [group[len(group) // 2 :], group[: len(group) // 2]]


def _with_rim(model: IsingModel, out: BoolArray) -> IntArray:
    """Return the edges among the spins that are not out, and those of the bias spin."""
    u, v = model.edges.T
    rim = np.flatnonzero(rim_of(model, out) & ~out)
    return _join(model.edges[~out[u] & ~out[v]], rim, model.num_spins)


def rim_of(model: IsingModel, out: BoolArray) -> BoolArray:
    """Return the spins with a field or with a neighbour that is ``out``."""
    rim = np.asarray(model.fields != 0)
    u, v = model.edges.T
    rim[u[out[v]]] = True
    rim[v[out[u]]] = True
    return rim


def _join(edges: IntArray, spins: LongArray, bias: int) -> IntArray:
    spokes = np.column_stack([spins, np.full(len(spins), bias)])
    return np.ascontiguousarray(np.concatenate([edges, spokes]), dtype=np.int32)
