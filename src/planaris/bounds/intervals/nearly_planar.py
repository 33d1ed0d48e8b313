"""Intervals for models that are planar but for a few edges.

With the distribution of a planar rest for q, and sums over the edges left out,
log Z_rest + Σ J E_q s_u s_v <= log Z <= log Z_rest + Σ |J|: Jensen's inequality, and no edge moves
a log weight by more than |J|. Very few edges are put back over handles, which is exact.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

from planaris.bounds.best_interval import BestInterval, crude_upper, without_bias
from planaris.budget import UNLIMITED, Budget, TimeLimit
from planaris.embed import embedding_with_handles
from planaris.errors import MethodError, TimeLimitError
from planaris.kernels.graph import maximal_planar
from planaris.models import IsingModel
from planaris.planar.plan import Plan, plan
from planaris.result import Decomposition, LogPartition, MeanField
from planaris.subgraphs.bias_model import EPSILON, BiasModel, as_bias_model
from planaris.typing import BoolArray, FloatArray, IntArray, LongArray

NAME = "edges left out"

MAX_HANDLES = 3
"""Edges put back over handles; each takes four times as long."""

MAX_TESTED = 40_000_000
"""Edges tested for planarity while those to leave out are looked for."""

MAX_PATHS = 10_000_000
"""Paths of two edges up to which short cycles are counted."""

DOUBT = 1e-8
"""Error allowed to a correlation; they are computed to nine digits."""


def leave_out(
    model: IsingModel, *, max_handles: int = MAX_HANDLES, time_limit: TimeLimit = None
) -> LogPartition:
    """Enclose log Z by that of a planar subgraph and the couplings it leaves out.

    Parameters
    ----------
    model : IsingModel
        Any model; the interval is narrow if it is planar but for few or weak edges. Fields are
        edges to one more spin.
    max_handles : int
        As many edges, and no more, are put back over handles, which gives the exact value.
    time_limit : float, optional
        Seconds; the interval reached by then is returned.

    Returns
    -------
    LogPartition
        ``stats["left_out"]`` has the edges, those of the model counted first, then one per field.

    Examples
    --------
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> found = leave_out(IsingModel(k5, [1.0] * 9 + [0.01]))
    >>> found.exact, round(found.value, 6)
    (True, 9.709286)
    """
    clock = BestInterval(Budget.of(time_limit))
    bare = as_bias_model(model)
    clock.offer("sizes", upper=crude_upper(model))
    kept, left = planar_rest(bare, budget=clock.share(0.2))
    exact = enclose_by_rest(model, bare, kept, left, clock, max_handles)
    found = clock.result(NAME, model.num_spins) if exact is None else exact
    return replace(found, stats={**found.stats, "left_out": left})


def enclose_by_rest(
    model: IsingModel,
    bare: BiasModel,
    kept: LongArray,
    left: LongArray,
    clock: BestInterval,
    max_handles: int = MAX_HANDLES,
) -> LogPartition | None:
    """Offer what a planar subgraph says; return the answer where it turns out to be exact."""
    weight = math.nextafter(math.fsum(np.abs(bare.couplings[left])), math.inf)
    if weight >= clock.upper - clock.lower or clock.budget.expired():
        return None
    try:
        with clock.budget.for_structure():
            rest = plan((bare.num_spins, np.ascontiguousarray(bare.edges[kept])))
    except TimeoutError:
        return None
    couplings = bare.couplings[kept]
    started = clock.budget.seconds()
    found: LogPartition = rest.log_partition(couplings, time_limit=clock.share(0.3))
    seconds = clock.budget.seconds() - started
    slack = 4 * EPSILON * (abs(found.value) + abs(bare.constant) + weight)
    lower, upper = found.lower + bare.constant - slack, found.upper + bare.constant + slack
    below = _kept_fields(model, kept)
    clock.offer(NAME, lower=lower - weight, proof=lambda: below)
    clock.offer(
        NAME,
        upper=upper + weight,
        proof=lambda: Decomposition(np.ones(1), np.array([0, len(kept)]), kept, couplings),
    )
    if len(left) <= max_handles and 4.0 ** len(left) * seconds <= 0.3 * clock.left():
        return _put_back(bare, kept, left, clock)
    if (means := _mean_weight(rest, couplings, bare, left, clock, seconds)) is not None:
        clock.offer("mean of edges left out", lower=lower + means, proof=lambda: below)
    return None


def _kept_fields(model: IsingModel, kept: LongArray) -> MeanField:
    """Return the distribution of the rest as the proof of a lower bound."""
    fields = np.zeros(model.num_spins)
    joined = kept[kept >= model.num_edges] - model.num_edges
    fields[joined] = model.fields[joined]
    return MeanField(kept[kept < model.num_edges], fields)


def _mean_weight(
    rest: Plan,
    couplings: FloatArray,
    bare: BiasModel,
    left: LongArray,
    clock: BestInterval,
    seconds: float,
) -> float | None:
    """Return Σ J E s_u s_v over the edges left out, less its error; None if that is not quick."""
    pairs = bare.edges[left]
    sources = min(len(np.unique(pairs[:, 0])), len(np.unique(pairs[:, 1])))
    if 6 * sources * seconds > 0.3 * clock.left():
        return None
    try:
        means = rest.correlations(couplings, pairs, time_limit=clock.share(0.3))
    except (MethodError, TimeLimitError):  # too cold, or too late
        return None
    size = math.fsum(np.abs(bare.couplings[left]))
    return math.fsum(bare.couplings[left] * means) - DOUBT * size


def _put_back(
    bare: BiasModel, kept: LongArray, left: LongArray, clock: BestInterval
) -> LogPartition | None:
    """Offer the sum over all states, the edges left out running over handles."""
    order = np.concatenate([kept, left])  # those to be taken out of the plane come last
    edges = np.ascontiguousarray(bare.edges[order])
    try:
        with clock.budget.for_structure():
            embedding = embedding_with_handles(
                edges, num_vertices=bare.num_spins, max_handles=len(left)
            )
        turned = plan(embedding).log_partition(bare.couplings[order], time_limit=clock.share(0.5))
    except (MethodError, TimeoutError):
        return None
    found = without_bias(turned, bare)
    clock.offer("handles", lower=found.lower, upper=found.upper)
    return replace(found, method="planar") if found.exact else None


def planar_rest(bare: BiasModel, *, budget: Budget = UNLIMITED) -> tuple[LongArray, LongArray]:
    """Return edges of a planar subgraph, and those that it leaves out; zero couplings are neither.

    Edges in short cycles first, as those of lattices and triangulations are, fields last, the
    heaviest first; otherwise as they come, so that edges that were added are left out.
    """
    members = np.flatnonzero(bare.couplings)
    field = members >= bare.num_model_edges
    alone = np.zeros(len(members), dtype=bool)
    alone[~field] = ~_in_short_cycle(bare.num_spins, bare.edges[members[~field]], budget)
    weight = np.where(field, -np.abs(bare.couplings[members]), 0.0)
    order = members[np.lexsort([weight, alone, field])]
    tests = MAX_TESTED // max(bare.num_edges, 1) + 1
    chosen = maximal_planar(bare.num_spins, bare.edges, order, max_tests=tests, budget=budget)
    return np.flatnonzero(chosen), members[np.asarray(chosen)[members] == 0]


def _in_short_cycle(num_spins: int, edges: IntArray, budget: Budget) -> BoolArray:
    """Return which edges are in a cycle of length three or four; all if counting is too slow."""
    with suppress(TimeoutError):
        return _in_triangle_or_square(num_spins, edges, budget)
    return np.ones(len(edges), dtype=bool)


def _in_triangle_or_square(num_spins: int, edges: IntArray, budget: Budget) -> BoolArray:
    from scipy.sparse import coo_array

    u, v = edges.T
    tails, heads = np.concatenate([u, v]), np.concatenate([v, u])
    degree = np.bincount(tails, minlength=num_spins).astype(np.float64)
    if not len(u) or float(degree @ degree) > MAX_PATHS:
        return np.ones(len(u), dtype=bool)
    shape = (num_spins, num_spins)
    graph = coo_array((np.ones(len(tails)), (tails, heads)), shape=shape).tocsr()
    budget.check()
    two = graph @ graph
    budget.check()
    triangles = np.asarray(two[u, v]).ravel()
    budget.check()
    three = two @ graph
    budget.check()
    # Of the walks of three steps along an edge, so many go to and fro.
    squares = np.asarray(three[u, v]).ravel() - degree[u] - degree[v] + 1
    return np.asarray((triangles > 0) | (squares > 0))
