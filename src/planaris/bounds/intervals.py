"""An interval around log Z of any model, tightened while time lasts."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from planaris import treewidth
from planaris.bounds.bare import EPSILON, LOG2, as_bare
from planaris.bounds.conditioned import ConditionedSum, heavy_state
from planaris.bounds.decomposition import Callback, Decomposition, Stop
from planaris.bounds.families import cluster_family
from planaris.bounds.mean_field import mean_field
from planaris.bounds.mini_bucket import elimination_order, mini_bucket_bound
from planaris.bounds.pdc import planar_subgraphs, solve_easy
from planaris.bounds.trw import tree_decomposition
from planaris.errors import InfeasibleError
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition
from planaris.models.convert import mrf2ising
from planaris.result import LogPartition, Stats
from planaris.treewidth import plan_elimination

EXACT_SHARE = 0.2
"""Elimination is used where it is estimated to take this part of the time limit."""

WIDTHS = (4, 8, 11, 13, 15)
"""Treewidths of subgraphs and clusters, tried in turn."""

BUCKET_ENTRIES = (2**6, 2**10, 2**14, 2**17, 2**20)
"""Table sizes of mini-buckets, tried in turn."""


def interval(
    model: IsingModel | MarkovRandomField,
    time_limit: float = 10.0,
    *,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> LogPartition:
    """Enclose log Z of any model, as tightly as ``time_limit`` allows.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model: non-planar, with fields, more than two labels, factors of any size, zeros.
    time_limit : float
        Seconds, roughly; a first interval is returned however little there is.
    rng : numpy.random.Generator, optional
        For the choice of subgraphs and states; default seeded.
    callback : callable, optional
        Receives every new upper bound.

    Returns
    -------
    LogPartition
        ``exact`` if the model turned out to be planar or of small treewidth. ``stats["trace"]``
        lists every improvement: seconds, lower, upper and what gave it.

    Notes
    -----
    Ising models: mean field over growing clusters from below; trees, planar subgraphs and
    subgraphs of growing treewidth, in one decomposition, from above. Other models: exact sums
    over assignments of a cutset from below, weighted mini-buckets from above.

    Examples
    --------
    >>> k6 = [(u, v) for u in range(6) for v in range(u)]
    >>> found = interval(IsingModel(k6, 0.3))
    >>> bool(found.lower <= found.value <= found.upper)
    True
    """
    rng = np.random.default_rng(0) if rng is None else rng
    clock = _Progress(time_limit, callback)
    if isinstance(model, IsingModel):
        return _ising(model, clock, rng)
    if model.is_binary and model.is_pairwise and not model.has_zeros:
        ising, inverse = mrf2ising(model)
        return lift_log_partition(_ising(ising, clock, rng), inverse)
    return _field(model, clock, rng)


class _Progress:
    """The best interval so far, and the clock."""

    def __init__(self, time_limit: float, callback: Callback | None) -> None:
        self.started = time.monotonic()
        self.deadline = self.started + time_limit
        self.limit, self.callback = time_limit, callback
        self.lower, self.upper = -math.inf, math.inf
        self.trace: list[dict[str, Any]] = []

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def share(self, part: float) -> float:
        """Return a deadline that leaves ``1 - part`` of what is left."""
        return time.monotonic() + part * max(self.left(), 0.0)

    def offer(self, by: str, *, lower: float = -math.inf, upper: float = math.inf) -> None:
        """Take what is tighter."""
        if lower <= self.lower and upper >= self.upper:
            return
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)
        seconds = time.monotonic() - self.started
        self.trace.append({"by": by, "lower": self.lower, "upper": self.upper, "seconds": seconds})
        if self.callback is not None:
            self.callback(self.upper)

    def result(self, method: str, stats: Stats) -> LogPartition:
        lower, upper = self.lower, self.upper
        value = (lower + upper) / 2 if math.isfinite(lower) else upper
        seconds = time.monotonic() - self.started
        details: Stats = {"trace": self.trace, "seconds": seconds}
        exact = lower == upper
        return LogPartition(value, lower, upper, exact, method, {**stats, **details})


# -- Ising models ---------------------------------------------------------------------------


def _ising(model: IsingModel, clock: _Progress, rng: np.random.Generator) -> LogPartition:
    bare = as_bare(model)
    if (found := solve_easy(model, bare, "planar")) is not None:
        return found
    plan = plan_elimination(model, task="log_partition", search_seconds=0.05)
    if plan.complete and plan.seconds <= EXACT_SHARE * clock.limit and plan.bytes < 2**31:
        return treewidth.log_partition(model, plan=plan)
    if (hub := _hub(model)) is not None:
        return _held(model, hub, clock, rng)
    clock.offer("sizes", upper=bare.crude_upper())
    _from_ground_state(model, clock)
    _raise_lower(model, clock, 0, rng)
    state, _ = tree_decomposition(bare, deadline=clock.share(0.2))
    clock.offer("trees", upper=state.certified())
    for k in range(len(WIDTHS) + 1):
        if clock.left() <= 0:
            break
        if 0 < k < len(WIDTHS):
            _raise_lower(model, clock, k, rng)
        family = (
            cluster_family(bare, WIDTHS[k - 1], rng) if k else planar_subgraphs(bare, "auto", rng)
        )
        state = _tighten(state, family, clock, last=k == len(WIDTHS))
    nodes, edges = _marginals(model, state)
    return clock.result("interval", {"nodes": nodes, "edges": edges})


def _hub(model: IsingModel) -> int | None:
    """Return a spin joined to most others, as a bias spin is, of a model without fields."""
    if model.has_fields or model.num_spins < 4:
        return None
    degree = np.bincount(model.edges.ravel(), minlength=model.num_spins)
    hub, rest = int(np.argmax(degree)), int(np.sort(degree)[-2])
    return hub if degree[hub] >= 0.5 * (model.num_spins - 1) and degree[hub] > 2 * rest else None


def _held(model: IsingModel, hub: int, clock: _Progress, rng: np.random.Generator) -> LogPartition:
    """Hold a hub at +1: its couplings are fields again, and the rest may be a lattice."""
    at_hub = (model.edges == hub).any(1)
    fields = np.zeros(model.num_spins)
    fields[model.edges[at_hub].sum(1) - hub] = model.couplings[at_hub]
    rest = np.delete(np.arange(model.num_spins), hub)
    place = np.cumsum(np.arange(model.num_spins) != hub) - 1
    smaller = IsingModel(
        place[model.edges[~at_hub]],
        model.couplings[~at_hub],
        fields[rest],
        num_spins=len(rest),
        offset=model.offset,
    )
    found = _ising(smaller, clock, rng)
    slack = 2 * EPSILON * (abs(found.value) + 1)
    stats = {k: v for k, v in found.stats.items() if k not in ("nodes", "edges")}
    return replace(
        found,
        value=found.value + LOG2,
        lower=found.lower + LOG2 - slack,
        upper=found.upper + LOG2 + slack,
        stats=stats,
    )


def _from_ground_state(model: IsingModel, clock: _Progress) -> None:
    """Bound log Z by a bound on the largest weight: tight at low temperature."""
    from planaris.relax import mplp

    found = mplp(model, time_limit=max(0.05 * clock.left(), 0.01))
    upper = model.num_spins * LOG2 - found.lower
    slack = 8 * EPSILON * (abs(found.lower) + abs(upper) + 1)
    clock.offer("ground state", lower=-found.energy - slack, upper=upper + slack)


def _raise_lower(model: IsingModel, clock: _Progress, level: int, rng: np.random.Generator) -> None:
    found = mean_field(
        model,
        clusters="spins" if level == 0 else "width",
        width=WIDTHS[level],
        restarts=4,
        time_limit=max(0.1 * clock.left(), 0.01),
        rng=rng,
    )
    clock.offer("mean field", lower=found.lower)


def _tighten(
    state: Decomposition, family: list[Any], clock: _Progress, *, last: bool
) -> Decomposition:
    """Add subgraphs and minimise; keep the old state if that is no better."""
    # Wide subgraphs may be better off alone: fewer to evaluate, no weight spent elsewhere.
    alone = Decomposition(state.bare, family)
    larger = state.extended(family, weight=0.5)
    for start in (alone, larger):
        start.deadline = math.inf
        start.value(np.concatenate([start.y, start.logits]))
        start.deadline = clock.share(1.0 if last else 0.35)
    larger = min(alone, larger, key=lambda start: start.upper)
    larger.minimise(300)
    if larger.upper >= state.upper:
        return state
    clock.offer("decomposition", upper=larger.certified())
    return larger.pruned()


def _marginals(model: IsingModel, state: Decomposition) -> tuple[Any, Any]:
    from planaris.bounds.report import shared_marginals

    return shared_marginals(model, state)


# -- other models ---------------------------------------------------------------------------


def _field(mrf: MarkovRandomField, clock: _Progress, rng: np.random.Generator) -> LogPartition:
    plan = plan_elimination(mrf, task="log_partition", search_seconds=0.05)
    if plan.complete and plan.seconds <= EXACT_SHARE * clock.limit and plan.bytes < 2**31:
        return treewidth.log_partition(mrf, plan=plan)
    clock.offer("sizes", upper=_table_upper(mrf))
    order = elimination_order(mrf)
    _lower_upper(mrf, order, 0, clock)
    try:
        state = heavy_state(mrf, clock.share(0.2), rng)
    except InfeasibleError:  # proved: every label of some variable is excluded
        clock.offer("no state", upper=-math.inf)
        return clock.result("interval", {"order": order})
    weight = float(mrf.log_weight(state))
    slack = EPSILON * (mrf.num_factors + 4) * float(np.abs(weight) + mrf.num_factors)
    if weight > -math.inf:
        clock.offer("one state", lower=weight - slack)
    total: ConditionedSum | None = None
    for level in range(1, len(BUCKET_ENTRIES)):
        if clock.left() <= 0:
            break
        _lower_upper(mrf, order, level, clock)
        total = ConditionedSum(mrf, state) if total is None else total
        last = level == len(BUCKET_ENTRIES) - 1
        total.walk(clock.share(1.0 if last else 0.3), 100_000, rng)
        clock.offer("cutset", lower=min(total.lower, clock.upper))
    return clock.result("interval", {"order": order})


def _lower_upper(mrf: MarkovRandomField, order: Any, level: int, clock: _Progress) -> None:
    """Run mini-buckets; the first time to the end, later while time lasts."""
    deadline = math.inf if level == 0 else clock.share(0.6)
    try:
        found = mini_bucket_bound(mrf, order, BUCKET_ENTRIES[level], deadline=deadline)
    except Stop:
        return
    clock.offer("mini-buckets", upper=found.upper)


def _table_upper(mrf: MarkovRandomField) -> float:
    """Return Σ log of the largest entries plus the log of the number of states."""
    tops = [float(mrf.log_table(k).max()) for k in range(mrf.num_factors)]
    if -math.inf in tops:
        return -math.inf
    states = float(np.log(mrf.cardinalities.astype(np.float64)).sum())
    return math.fsum([*tops, states]) + 8 * EPSILON * (math.fsum(map(abs, tops)) + states)


def logdet(
    model: IsingModel, *, polytope: str = "cycle", time_limit: float | None = None
) -> LogPartition:
    """Bound log Z from above by the entropy of a Gaussian over a relaxed marginal polytope.

    Parameters
    ----------
    model : IsingModel
        Up to 60 spins: the moment matrix of all pairs is needed.
    polytope : {"local", "psd", "cycle", "marginal"}
        See :func:`planaris.relax.entropy_bound`.
    time_limit : float, optional
        Seconds; the bound found by then is returned.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bool(2.797846 <= logdet(triangle).upper < 4.0)
    True
    """
    from planaris.relax import entropy_bound

    found = entropy_bound(model, entropy="log-det", polytope=polytope, time_limit=time_limit)
    return replace(found, method="logdet")
