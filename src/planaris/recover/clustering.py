"""Correlation clustering into two clusters: the best cut of a signed graph."""

from __future__ import annotations

import math
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.errors import ModelError
from planaris.infer import ground_state
from planaris.infer.domain_wall import most_above
from planaris.models import IsingModel
from planaris.models.arrays import as_number
from planaris.models.base import EPS, sum_below
from planaris.notebook import Shown
from planaris.relax.cut_form import energy_quantum


@dataclass(frozen=True, eq=False, repr=False)
class TwoClusters(Shown):
    """Two clusters and what they cost.

    Attributes
    ----------
    clusters : tuple of set
        The nodes of each side; the first holds the first node. One may be empty.
    cost : float
        Weight of the edges disagreed with: positive ones between, negative ones inside.
    lower : float
        No two clusters cost less.
    exact : bool
        True when these are proved to be the best.
    method : str
        How they were found.
    """

    clusters: tuple[set[Hashable], set[Hashable]]
    cost: float
    lower: float
    exact: bool
    method: str


def two_clusters(
    graph: Any, *, weight: str = "weight", time_limit: float | None = None
) -> TwoClusters:
    """Split a signed graph into at most two clusters with the least disagreement.

    Parameters
    ----------
    graph : networkx graph
        Edges with a positive ``weight`` want their ends in one cluster, negative ones apart.
        Planar graphs are solved by matching, of any size; others by the best exact method.
    weight : str
        The edge attribute; edges without it count +1.
    time_limit : float, optional
        Seconds; the best found by then comes with the bound proved.

    Examples
    --------
    >>> import networkx as nx
    >>> friends = nx.Graph()
    >>> friends.add_weighted_edges_from([("a", "b", 2), ("b", "c", -2), ("a", "c", 1)])
    >>> found = two_clusters(friends)
    >>> found.cost, found.exact, [sorted(side) for side in found.clusters]
    (1.0, True, [['a', 'b'], ['c']])
    """
    if not hasattr(graph, "nodes"):
        msg = f"`graph` must be a networkx graph, got {type(graph).__name__}"
        raise ModelError(msg)
    budget = Budget.of(time_limit)
    nodes = list(graph.nodes)
    place = {node: k for k, node in enumerate(nodes)}
    given = list(graph.edges(data=weight, default=1.0))
    numbers = _numbers(given, weight)
    ends = [(place[u], place[v]) for u, v, _ in given]
    data = [(u, v, w) for (u, v), w in zip(ends, numbers, strict=True) if u != v]
    # A node agrees with itself whatever the split.
    loops = [-w for (u, v), w in zip(ends, numbers, strict=True) if u == v and w < 0]
    pairs = np.array([(u, v) for u, v, _ in data], dtype=np.int32).reshape(-1, 2)
    weights = np.array([w for *_, w in data], dtype=np.float64)
    model = IsingModel(pairs, weights / 2, num_spins=len(nodes))
    best = ground_state(model, time_limit=budget)
    spins = best.spins * (best.spins[0] if len(nodes) else 1)
    apart = spins[pairs[:, 0]] != spins[pairs[:, 1]]
    terms = [*np.abs(weights[apart == (weights > 0)]).tolist(), *loops]
    above = most_above(best)
    if model.num_edges < len(pairs):  # parallel edges were added up
        above += EPS * math.fsum(np.abs(weights).tolist())
    elif above < energy_quantum(model):
        above = 0.0  # no split costs less by so little
    first = {node for node, spin in zip(nodes, spins.tolist(), strict=True) if spin > 0}
    return TwoClusters(
        (first, set(nodes) - first),
        math.fsum(terms),
        max(sum_below(*terms, -above), 0.0),
        best.exact,
        best.method,
    )


def _numbers(edges: list[tuple[Hashable, Hashable, Any]], weight: str) -> list[float]:
    """Return the weights, which must be finite numbers."""
    given = [w for *_, w in edges]
    if all(type(w) is float or type(w) is int for w in given):
        with suppress(OverflowError):
            numbers = [float(w) for w in given]
            if np.isfinite(numbers).all():
                return numbers
    return [as_number(f"{weight}` of the edge `{(u, v)}", w) for u, v, w in edges]
