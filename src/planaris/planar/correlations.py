"""Correlations of spins that no edge joins, by flipping signs along a path between them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.planar.attempts import assigned_entries
from planaris.planar.entries import Entries
from planaris.typing import ArrayLike, FloatArray, Int8Array, IntArray

if TYPE_CHECKING:
    from planaris.planar.plan import Plan

ACCURACY = 1e-10
"""Absolute; beyond it correlations are computed in double-double."""


def pair_correlations(
    plan: Plan, couplings: FloatArray, pairs: ArrayLike, **options: Any
) -> FloatArray:
    """Return ⟨s_u s_v⟩ for every row (u, v) of ``pairs``; see :meth:`Plan.correlations`."""
    chosen = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= plan.num_spins):
        msg = f"`pairs` must name spins 0 to {plan.num_spins - 1}, got {chosen.tolist()}"
        raise ModelError(msg)
    if plan.genus:
        msg = f"correlations need a plane embedding, got genus {plan.genus}"
        raise MethodError(msg, genus=plan.genus)
    entries = assigned_entries(plan, couplings, options["progress"])
    component = plan.embedding.component_of
    ratios = _Ratios(plan, entries, options)
    result = np.zeros(len(chosen))
    order = np.argsort(chosen[:, 0], kind="stable")
    tree = (-1, np.zeros(0, dtype=np.int32))
    for k in order.tolist():
        u, v = chosen[k].tolist()
        if component[u] != component[v]:
            continue  # independent: zero
        if tree[0] != u:
            tree = (u, _search_tree(plan, u))
        flips, length = _path_flips(plan, tree[1], u, v)
        gauge = int(entries.spins[u]) * int(entries.spins[v])
        result[k] = gauge * (-1) ** length * ratios.of(flips)
    return result


class _Ratios:
    """Pf of flipped signs over Pf, by two different eliminations of each."""

    def __init__(self, plan: Plan, entries: Entries, options: dict[str, Any]) -> None:
        self.plan, self.options = plan, options
        self.ways = (entries, entries.shaken())
        self.whole: dict[bool, list[tuple[float, int]]] = {}

    def of(self, flips: Int8Array) -> float:
        for wide in (False, True):
            if wide not in self.whole:
                self.whole[wide] = [self._eliminate(way, wide) for way in self.ways]
            found = [
                self._ratio(self._eliminate(way.with_signs(flips), wide), whole)
                for way, whole in zip(self.ways, self.whole[wide], strict=True)
            ]
            if abs(found[0] - found[1]) <= ACCURACY and max(map(abs, found)) <= 1 + ACCURACY:
                return float(np.clip(found[0], -1.0, 1.0))
        msg = "this correlation cannot be computed to ten digits at this temperature"
        raise MethodError(msg, found=found)

    def _eliminate(self, entries: Entries, wide: bool) -> tuple[float, int]:
        found = self.plan._elimination.log_pfaffian(
            entries.face, entries.scale, entries.signs, wide=wide, **self.options
        )
        if found.left_over:
            return -math.inf, 1
        return found.log_magnitude, found.sign

    def _ratio(self, part: tuple[float, int], whole: tuple[float, int]) -> float:
        if not math.isfinite(whole[0]) or math.isnan(part[0]):
            return math.nan
        return part[1] * whole[1] * math.exp(min(part[0] - whole[0], 1.0))


def _search_tree(plan: Plan, root: int) -> IntArray:
    """Return the parent of every vertex in a breadth-first tree, negative at the root."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    n, edges = plan.num_spins, plan.embedding.edges
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    search: Any = breadth_first_order
    return np.asarray(search(graph, root, directed=False)[1])


def _path_flips(plan: Plan, parent: IntArray, u: int, v: int) -> tuple[Int8Array, int]:
    """Return -1 on the edges of a path from u to v, +1 elsewhere, and the path's length."""
    e = plan.embedding
    flips = np.ones(plan._split.num_edges, dtype=np.int8)
    length = 0
    while v != u:
        above = int(parent[v])
        around = e.rotation[e.offsets[v] : e.offsets[v + 1]]
        flips[around[e.heads[around] == above][0] >> 1] = -1
        v, length = above, length + 1
    return flips, length
