"""Lower bounds on log Z: any distribution q gives log Z >= E_q log weight + H(q)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from planaris.bounds.best_interval import crude_upper, out_of_time
from planaris.bounds.labels.mean_field import label_mean_field
from planaris.bounds.mean_field_clusters import Core, Solved, make_core, planar_clusters
from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError
from planaris.kernels.graph import colour_classes
from planaris.kernels.relaxations import improve_spins
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.bias_spin import fields2bias
from planaris.result import Bounds, LogPartition, MeanField, Pseudomarginals
from planaris.subgraphs.bias_model import EPSILON, as_bias_model
from planaris.subgraphs.clusters import grow_clusters
from planaris.subgraphs.convex_combination import Callback
from planaris.subgraphs.families import lattice_shape
from planaris.typing import FloatArray, LongArray

CLUSTER_SECONDS = 4e-4
"""Per spin, for clusters of width 8 to be found, planned and swept over once."""


def mean_field(
    model: IsingModel | MarkovRandomField,
    *,
    clusters: str | list[LongArray] = "width",
    width: int = 8,
    max_sweeps: int = 100,
    tolerance: float = 1e-8,
    restarts: int = 2,
    time_limit: TimeLimit = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> LogPartition:
    """Bound log Z from below by independent clusters, each solved exactly.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any Ising model, or a pairwise Markov random field without zeros, whose variables are
        then taken one by one.
    clusters : {"spins", "trees", "width", "planar"} or list of numpy.ndarray
        Spins that stay together: single ones (naive mean field), induced trees, induced
        subgraphs whose elimination has at most ``width`` (strips on square lattices), one
        large planar core and small sets around it, or given ones, each of small treewidth or
        planar with a bias spin joined to all spins in a field or with neighbours outside.
    width : int
        For ``clusters="width"``.
    max_sweeps : int
        Most passes over all clusters, from each start.
    tolerance : float
        Stop when a sweep gains less.
    restarts : int
        Starts besides the symmetric one: from a local search, then random.
    time_limit : float, optional
        Seconds; the bound reached by then is returned.
    rng : numpy.random.Generator, optional
        For the starts; default seeded.
    callback : callable, optional
        Receives the lower bound after every sweep.

    Returns
    -------
    LogPartition
        ``lower`` holds at any stop; ``upper`` is the trivial bound. ``stats`` has ``nodes``,
        P(s = +1), and ``edges``, P(s_u = s_v), in the best distribution (NaN for spins inside
        planar cores, where they are not computed).

    Notes
    -----
    Each step replaces one cluster's distribution by the exact one given the mean spins of the
    others, so the bound never falls (Saul and Jordan 1996).

    Examples
    --------
    >>> square = IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], 1.0)
    >>> naive, exact = mean_field(square, clusters="spins"), mean_field(square)
    >>> bool(naive.lower < exact.lower <= 4.797714 <= naive.upper)
    True
    """
    budget, started = Budget.of(time_limit), time.monotonic()
    if not isinstance(model, IsingModel):
        return label_mean_field(
            model, max_sweeps=max_sweeps, tolerance=tolerance, time_limit=budget
        )
    rng = np.random.default_rng(0) if rng is None else rng
    if clusters == "width" and CLUSTER_SECONDS * model.num_spins > budget.remaining():
        clusters = "spins"  # there is no time for more
    try:
        chosen = _as_clusters(model, clusters, width, budget)
    except TimeoutError:
        chosen = []
    try:
        search = _Search(model, chosen, budget, callback)
        for start in _starts(model, restarts, rng, budget):
            search.climb(start, max_sweeps, tolerance)
            if budget.expired():
                break
    except TimeoutError:
        search = None
    if search is None or search.lower == -math.inf:
        return out_of_time(model, "mean-field", time.monotonic() - started)
    upper = crude_upper(model)
    return LogPartition.between(
        search.lower,
        max(upper, search.lower),
        value=search.lower,
        num_variables=model.num_spins,
        method="mean-field",
        pseudomarginals=Pseudomarginals((1 + search.means) / 2, (1 + search.pairs()) / 2),
        rounds=search.sweeps,
        seconds=time.monotonic() - started,
        stats={"clusters": len(search.clusters), "sweeps": search.sweeps},
        certificate=Bounds(MeanField(np.flatnonzero(search.inside), search.used), None),
    )


class _Search:
    """Coordinate ascent over clusters; keeps the best bound seen."""

    def __init__(
        self,
        model: IsingModel,
        clusters: list[LongArray],
        budget: Budget,
        callback: Callback | None,
    ) -> None:
        self.model, self.budget, self.callback = model, budget, callback
        large = [spins for spins in clusters if len(spins) > 1]
        label = len(large) + np.arange(model.num_spins)  # of spins alone: their own
        for k, spins in enumerate(large):
            label[spins] = k
        u, v = model.edges[:, 0], model.edges[:, 1]
        inside = label[u] == label[v]
        self.inside = inside
        between = model.edges[~inside]
        self.couplings = model.couplings[~inside]
        self.between = between
        self.lower, self.sweeps = -math.inf, 0
        self.means = np.zeros(model.num_spins)
        self.used = model.fields
        self.singles, self.clusters, self.members = self._split(large, label, inside)
        budget.check()
        self.sides = self._sides()

    def _split(
        self, large: list[LongArray], label: LongArray, inside: FloatArray
    ) -> tuple[list[LongArray], list[Core], list[LongArray]]:
        """Return the single spins, by colour, the larger cores, and the edges of each."""
        model = self.model
        owner = np.where(inside, label[model.edges[:, 0]], len(large))
        order = np.argsort(owner, kind="stable")
        ends = np.searchsorted(owner[order], np.arange(len(large) + 1))
        rim = np.asarray(model.fields != 0)
        rim[self.between.ravel()] = True
        edges = [order[ends[k] : ends[k + 1]] for k in range(len(large))]
        cores = [make_core(model, *one, rim) for one in zip(large, edges, strict=True)]
        single = label >= len(large)
        between = single[model.edges[:, 0]] & single[model.edges[:, 1]]
        self.budget.check()
        classes = colour_classes(model.num_spins, model.edges[between])
        return [members[single[members]] for members in classes], cores, edges

    def pairs(self) -> FloatArray:
        """Return E s_u s_v of all edges in the best distribution."""
        u, v = self.model.edges.T
        found = self.means[u] * self.means[v]
        for core, members in zip(self.clusters, self.members, strict=True):
            found[members] = core.pairs(self.used[core.spins])
        return np.asarray(found)

    def _steps(self) -> list[tuple[LongArray, Callable[[FloatArray], Solved]]]:
        """Return what is solved in turn: the spins, and their distribution in given fields."""
        return [
            *((spins, _solve_alone) for spins in self.singles),
            *((core.spins, core.solve) for core in self.clusters),
        ]

    def _sides(self) -> list[list[tuple[LongArray, LongArray, FloatArray]]]:
        """Return for every step the edges that leave it, by their first and their second end.

        Each is given by the place of that end in the step, the other end, and the coupling.
        """
        step_of = np.zeros(self.model.num_spins, dtype=np.int64)
        place = np.zeros(self.model.num_spins, dtype=np.int64)
        steps = self._steps()
        for k, (spins, _) in enumerate(steps):
            step_of[spins] = k
            place[spins] = np.arange(len(spins))
        sides: list[list[tuple[LongArray, LongArray, FloatArray]]] = [[] for _ in steps]
        for here, there in (self.between.T, self.between.T[::-1]):
            step = step_of[here]
            order = np.argsort(step, kind="stable")
            ends = np.searchsorted(step[order], np.arange(len(steps) + 1))
            for k, side in enumerate(sides):
                at = order[ends[k] : ends[k + 1]]
                side.append((place[here[at]], there[at], self.couplings[at]))
            self.budget.check()
        return sides

    def outer_fields(self, step: int, spins: LongArray, means: FloatArray) -> FloatArray:
        """Return the fields of a step's spins with the mean spins of all others."""
        first, second = (
            np.bincount(at, couplings * means[other], len(spins))
            for at, other, couplings in self.sides[step]
        )
        return np.asarray(self.model.fields[spins] + (first + second))

    def climb(self, means: FloatArray, max_sweeps: int, tolerance: float) -> None:
        """Sweep over all clusters until nothing is gained; record every bound."""
        means = means.copy()
        last = -math.inf
        for _ in range(max_sweeps + 1):
            try:
                bound, error, means, used = self.sweep(means)
            except TimeoutError:
                return
            if bound - error > self.lower:
                self.lower, self.means, self.used = bound - error, means.copy(), used
            self.sweeps += 1
            if self.callback is not None:
                self.callback(self.lower)
            if bound - last < tolerance * (1 + abs(bound)) or self.budget.expired():
                return
            last = bound

    def sweep(self, means: FloatArray) -> tuple[float, float, FloatArray, FloatArray]:
        """Update every cluster once; return the bound, its rounding error, means and fields.

        With g the fields that a cluster was last solved with and f those it has now, its
        entropy and inner energy are log Z(g) - g·m, so the bound is
        Σ (log Z(g) - g·m) + h·m + Σ_between J m m.
        """
        model = self.model
        used = np.zeros(model.num_spins)
        logs = error = doubt = 0.0
        for k, (spins, solve) in enumerate(self._steps()):
            fields = self.outer_fields(k, spins, means)
            found = solve(fields)
            self.budget.check()
            means[spins], used[spins] = found.means, fields
            logs, error, doubt = logs + found.log, error + found.error, max(doubt, found.doubt)
        u, v = self.between[:, 0], self.between[:, 1]
        pairs = self.couplings * means[u] * means[v]
        away = model.fields - used
        # Where no field acts, the mean spin does not matter (and may not be known).
        rest = np.where(away == 0.0, 0.0, away * means)
        bound = logs + float(pairs.sum()) + float(rest.sum()) + model.offset
        size = float(np.abs(pairs).sum() + np.abs(used).sum() + np.abs(model.fields).sum())
        # Mean spins carry errors of their own: they enter at the size of the fields.
        error += EPSILON * (len(pairs) + 64 + model.num_spins) * (size + abs(bound) + 1)
        error += doubt * float(np.abs(away).sum() + 2 * np.abs(self.couplings).sum())
        return bound, error, means, used


def _solve_alone(fields: FloatArray) -> Solved:
    """Solve single spins in given fields."""
    a = np.abs(fields)
    logs = a + np.log1p(np.exp(-2 * a))
    total = float(logs.sum())
    return Solved(total, 8 * EPSILON * total, np.tanh(fields), 1e-12)


def _starts(
    model: IsingModel, restarts: int, rng: np.random.Generator, budget: Budget
) -> Iterator[FloatArray]:
    """Yield no order at all, a good state, random states."""
    n = model.num_spins
    yield np.zeros(n)
    joined = fields2bias(model, all_spins=True)[0] if model.has_fields else model
    for k in range(restarts if n else 0):
        spins = rng.choice(np.array([-1, 1], dtype=np.int8), joined.num_spins)
        if k % 2 == 0:
            spins = improve_spins(
                joined.num_spins,
                np.ascontiguousarray(joined.edges),
                joined.couplings,
                spins,
                tabu_steps=4 * n,
                seed=k,
                budget=budget.share(0.5),
            )
        if model.has_fields:
            spins = (spins[:-1] * spins[-1]).astype(np.int8)
        yield 0.95 * spins.astype(np.float64)


# -- clusters -------------------------------------------------------------------------------


def _as_clusters(
    model: IsingModel, clusters: str | list[LongArray], width: int, budget: Budget
) -> list[LongArray]:
    """Return the clusters; spins in none of them are alone."""
    n = model.num_spins
    if not isinstance(clusters, str):
        given = [np.asarray(c, dtype=np.int64) for c in clusters]
        named = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *given]))
        if not np.array_equal(named, np.arange(n)):
            msg = f"`clusters` must name each of the {n} spins once"
            raise MethodError(msg)
        return given
    if clusters == "spins":
        return []
    if clusters not in ("trees", "width", "planar"):
        msg = f"`clusters` must be 'spins', 'trees', 'width', 'planar' or a list, got {clusters!r}"
        raise MethodError(msg)
    if clusters == "planar":
        return planar_clusters(model, width)
    shape = lattice_shape(as_bias_model(model))
    if clusters == "width" and shape is not None and width < max(shape):
        # Across the longer side, so that no strip has more than ``width`` on its frontier.
        rows, columns = shape
        spin = np.arange(n)
        line = spin % columns if columns >= rows else spin // columns
        return [np.flatnonzero(line // width == k) for k in range(-(-max(shape) // width))]
    return grow_clusters(n, model.edges, 1 if clusters == "trees" else width, budget=budget)
