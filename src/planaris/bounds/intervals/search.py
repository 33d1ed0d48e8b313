"""An interval around log Z of any model, tightened while time lasts."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

import numpy as np

from planaris.bounds.best_interval import BestInterval, crude_upper, solve_easy
from planaris.bounds.decomposition.trees import MAX_GROWN, tree_decomposition
from planaris.bounds.entropy.bounds import shares_of
from planaris.bounds.intervals.nearly_planar import enclose_by_rest, planar_rest
from planaris.bounds.intervals.strips import strip_shapes, tighten_by_strips
from planaris.bounds.labels.intervals import enclose_mrf
from planaris.bounds.structured_mean_field import mean_field
from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition
from planaris.models.bias_spin import bias2fields
from planaris.models.convert import mrf2ising
from planaris.result import (
    AsIsing,
    HeavyState,
    HeldSpin,
    LogPartition,
    LowestEnergy,
    Pseudomarginals,
)
from planaris.subgraphs.bias_model import EPSILON, LOG2, BiasModel, as_bias_model
from planaris.subgraphs.convex_combination import Callback, Decomposition
from planaris.subgraphs.covers import lattice_places, rods
from planaris.subgraphs.families import cluster_family, lattice_shape, planar_subgraphs
from planaris.typing import LongArray

WIDTHS = (4, 8, 11, 13, 15, 17)
"""Treewidths of subgraphs and clusters, tried in turn."""

TRIAL_STEPS = 10
"""Steps after which two starts are compared."""

PROVED_EDGES = 2000
"""Larger models are not asked for a proof of their lowest energy: it takes time to write down."""

FEW_EDGES = 0.1
"""A planar subgraph that leaves out less than this of its size is tried before trees."""

ROD_WIDTHS = (8, 12, 16)
"""Spins in a section of rods that mean field takes together, tried in turn."""

STRIP_SHARE = 0.9
"""Part of the time that strips of a lattice take."""

NARROW = 0.02
"""Width per spin from which strips of a lattice are left to themselves."""

DENSE_DEGREE = 8.0
"""Mean degree from which the cycle polytope is worth its time: large subgraphs hold few edges."""


def interval(
    model: IsingModel | MarkovRandomField,
    time_limit: TimeLimit = 10.0,
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
        Seconds, kept to a tenth or half a second where a first interval takes less; that one
        is returned however little there is.
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
    Ising models: mean field over growing clusters and planar cores from below; trees, planar
    subgraphs and subgraphs of growing treewidth from above, and for dense graphs the entropy
    of trees over the cycle polytope. Other models: trees and weighted mini-buckets from above,
    mean field and exact sums over assignments of a cutset from below. What a stage takes is
    estimated before it starts; the ends are those of the best stages.

    Examples
    --------
    >>> k6 = [(u, v) for u in range(6) for v in range(u)]
    >>> found = interval(IsingModel(k6, 0.3))
    >>> bool(found.lower <= found.value <= found.upper)
    True
    """
    rng = np.random.default_rng(0) if rng is None else rng
    clock = BestInterval(Budget.of(time_limit).quiet(), callback)
    if isinstance(model, IsingModel):
        return _ising(model, clock, rng)
    if model.is_ising:
        ising, inverse = mrf2ising(model)
        found = _ising(ising, clock, rng)
        return replace(lift_log_partition(found, inverse), certificate=AsIsing(found.certificate))
    return enclose_mrf(model, clock, rng)


# -- Ising models ---------------------------------------------------------------------------


def _ising(model: IsingModel, clock: BestInterval, rng: np.random.Generator) -> LogPartition:
    bare = as_bias_model(model)
    if (found := solve_easy(model, bare, "planar", budget=clock.budget)) is not None:
        return found
    if (found := clock.by_elimination(model)) is not None:
        return found
    if (hub := _hub(model)) is not None:
        return _held(model, hub, clock, rng)
    clock.offer("sizes", upper=crude_upper(model))
    kept, left = planar_rest(bare, budget=clock.share(0.2))
    nearly_planar = len(left) <= FEW_EDGES * len(kept)
    if nearly_planar and (found := enclose_by_rest(model, bare, kept, left, clock)) is not None:
        return found
    _raise_lower(model, clock, rng, "spins", 1)
    try:
        search = _Search(bare, clock, rng, strips=lattice_places(model) is not None)
    except TimeoutError:  # not even trees were found
        half = Pseudomarginals(np.full(model.num_spins, 0.5), np.full(model.num_edges, 0.5))
        return clock.result("interval", model.num_spins, pseudomarginals=half)
    if not nearly_planar:  # helps if the edges left out weigh less than the interval is wide
        enclose_by_rest(model, bare, kept, left, clock, max_handles=0)
    _from_ground_state(model, clock, search.state)
    if _by_strips(model, clock, search.slowness()):
        return _result(model, clock, search)
    if model.num_edges >= DENSE_DEGREE / 2 * model.num_spins:
        _over_cycles(model, clock, search.state)
    for stage in _stages(bare):
        if clock.budget.expired():
            break
        if stage == "planar":
            if not model.has_fields:
                _raise_lower(model, clock, rng, "planar", WIDTHS[1])
        else:
            _raise_lower(model, clock, rng, "width", int(stage))
        search.tighten(stage)
    search.finish()
    return _result(model, clock, search)


def _result(model: IsingModel, clock: BestInterval, search: _Search) -> LogPartition:
    guess = Pseudomarginals(*search.state.marginals())
    return clock.result("interval", model.num_spins, pseudomarginals=guess)


def _by_strips(model: IsingModel, clock: BestInterval, slowness: float) -> bool:
    """Tighten both ends of a lattice by strips; return whether nothing else is worth trying."""
    places = lattice_places(model)
    if places is None or not strip_shapes(places):
        return False
    if places.sides[2] > 1:
        for width in ROD_WIDTHS:
            _raise_lower(model, clock, np.random.default_rng(0), rods(places, width), width)
    in_range = tighten_by_strips(model, places, clock, clock.share(STRIP_SHARE), slowness=slowness)
    return in_range and clock.upper - clock.lower <= NARROW * model.num_spins


def _stages(bare: BiasModel) -> list[str]:
    """Return the families of subgraphs in the order in which they pay off."""
    narrow, wide = ([str(width) for width in part] for part in (WIDTHS[:2], WIDTHS[2:]))
    if lattice_shape(bare) is not None:
        # Strips of a lattice are cheap and keep all fields.
        return [*narrow, "planar", *wide]
    # Elsewhere planar subgraphs hold more; other ones, chosen at random, are added in turn.
    return ["planar", *narrow, *(stage for width in wide for stage in ("planar", width))]


def _hub(model: IsingModel) -> int | None:
    """Return a spin joined to most others, as a bias spin is, of a model without fields."""
    if model.has_fields or model.num_spins < 4:
        return None
    degree = np.bincount(model.edges.ravel(), minlength=model.num_spins)
    hub, rest = int(np.argmax(degree)), int(np.sort(degree)[-2])
    return hub if degree[hub] >= 0.5 * (model.num_spins - 1) and degree[hub] > 2 * rest else None


def _held(
    model: IsingModel, hub: int, clock: BestInterval, rng: np.random.Generator
) -> LogPartition:
    """Clamp a hub spin to +1: its couplings are fields again, and the rest may be a lattice."""
    smaller, _ = bias2fields(model, hub)
    found = _ising(smaller, clock, rng)
    slack = 2 * EPSILON * (abs(found.value) + 1)
    return replace(
        found,
        value=found.value + LOG2,
        lower=found.lower + LOG2 - slack,
        upper=found.upper + LOG2 + slack,
        excess=None if found.excess is None else found.excess + LOG2,
        pseudomarginals=None,
        certificate=HeldSpin(hub, found.certificate),
    )


def _from_ground_state(model: IsingModel, clock: BestInterval, trees: Decomposition) -> None:
    """Bound log Z by a state of large weight and a bound on all weights: tight when cold.

    The bound is at least n log 2 plus the log weight of any state. Where this is no improvement
    for the state that the marginals of the trees point to, no better one is looked for.
    """
    from planaris.relax import mplp

    nodes, _ = trees.marginals()
    spins = np.where(nodes >= 0.5, 1, -1).astype(np.int8)
    weight = -float(model.energy(spins))
    size = np.abs(model.couplings).sum() + np.abs(model.fields).sum() + abs(model.offset)
    slack = 64 * EPSILON * (float(size) + 1)
    clock.offer("a state", lower=weight - slack, proof=lambda: HeavyState(spins))
    if model.num_spins * LOG2 + weight >= clock.upper:
        return
    prove = model.num_edges <= PROVED_EDGES
    found = mplp(model, time_limit=replace(clock.share(0.05), prove=prove))
    upper = model.num_spins * LOG2 - found.lower
    slack = 8 * EPSILON * (abs(found.lower) + abs(upper) + 1)
    proof = LowestEnergy(found.certificate) if prove else None
    clock.offer("ground state", upper=upper + slack, proof=lambda: proof)
    clock.offer("a state", lower=-found.energy - slack, proof=lambda: HeavyState(found.spins))


def _raise_lower(
    model: IsingModel,
    clock: BestInterval,
    rng: np.random.Generator,
    clusters: str | list[LongArray],
    width: int,
) -> None:
    # One sweep over clusters of this width, and the search for them, must fit.
    each = 2e-5 if lattice_shape(as_bias_model(model)) is not None else 2e-4
    seconds = model.num_spins * (each + 2e-8 * 2.0**width)
    if clusters != "spins" and seconds > 0.2 * clock.left():
        return
    try:
        found = mean_field(
            model,
            clusters=clusters,
            width=width,
            restarts=2,
            time_limit=clock.share(0.1),
            rng=rng,
        )
    except MethodError:  # a planar core too cold for its marginals
        return
    clock.take("mean field", found)


def _over_cycles(model: IsingModel, clock: BestInterval, state: Decomposition) -> None:
    """Bound by the entropy of the same trees over the cycle polytope; dense Newton steps."""
    from planaris.relax import entropy_bound

    size = model.num_spins + model.num_edges
    if 40 * 2e-10 * size**3 > 0.4 * clock.left():
        return
    found = entropy_bound(
        model,
        rho=shares_of(model, state.rho(), state.pieces.subgraphs),
        tolerance=1e-3 * model.num_spins,
        time_limit=clock.share(0.4),
    )
    clock.take("cycle polytope", found)


class _Search:
    """The decomposition so far; every stage adds subgraphs or starts again with better ones."""

    def __init__(
        self, bare: BiasModel, clock: BestInterval, rng: np.random.Generator, *, strips: bool
    ) -> None:
        self.bare, self.clock, self.rng = bare, clock, rng
        self.cpu, self.started = time.process_time(), clock.budget.seconds()
        # Few trees: more of them help little beside the subgraphs to come.
        share = 0.2 if bare.num_edges > bare.num_model_edges else 0.1
        share = 0.05 if strips else share
        self.state, _ = tree_decomposition(bare, max_rounds=MAX_GROWN, budget=clock.share(share))
        clock.offer("trees", upper=self.state.certified(), proof=self.state.proof)

    def slowness(self) -> float:
        """Return the wall time of a second of work, as seen so far."""
        worked = time.process_time() - self.cpu
        waited = self.clock.budget.seconds() - self.started  # others may have had time before
        return min(max(1.0, waited / max(worked, 1e-3)), 10.0)

    def tighten(self, stage: str) -> None:
        """Minimise over the subgraphs of a stage, alone or with those before."""
        budget = self.clock.budget
        try:
            if (family := self._family(stage)) is None:
                return
            alone = Decomposition(self.bare, family, budget=budget)
        except TimeoutError:
            return
        left = self.clock.left()
        if self.slowness() * alone.pieces.seconds() > 0.1 * left:
            return
        starts = [alone]
        if self.slowness() * alone.pieces.seconds() + self.seconds_per_step() < 0.05 * left:
            # Wide subgraphs may be better off alone: fewer to evaluate, no weight elsewhere.
            with suppress(TimeoutError):
                starts.append(self.state.extended(family, weight=0.5, budget=budget))
        for start in starts:
            start.evaluate_start()
            if len(starts) > 1:  # a start says little about the optimum; some steps say more
                start.budget = self.clock.share(0.08)
                start.minimise(TRIAL_STEPS)
        self._minimise(min(starts, key=lambda start: start.upper), 0.25)

    def finish(self) -> None:
        """Minimise the present decomposition until the time is over."""
        self._minimise(self.state, 1.0)

    def seconds_per_step(self) -> float:
        """Estimate the time of one evaluation of the present decomposition."""
        return self.slowness() * self.state.pieces.seconds()

    def _minimise(self, state: Decomposition, share: float) -> None:
        """Run until a share of the time is gone, less what a last step and a proof take."""
        whole = self.clock.budget
        started = whole.seconds()
        state.evaluate_start()
        step = whole.seconds() - started
        state.budget = whole.share(share).within(whole.remaining() - 4 * step)
        if not state.budget.expired():
            state.minimise(300 if share < 1.0 else 10_000)
        if state is self.state or state.upper < self.state.upper:
            self.clock.offer("decomposition", upper=state.certified(), proof=state.proof)
            self.state = state.pruned() if share < 1.0 else state

    def _family(self, stage: str) -> list[LongArray] | None:
        """Return the subgraphs of a stage, or None where building them would take too long.

        ``TimeoutError`` when the time is over before.
        """
        lattice, size = lattice_shape(self.bare), self.bare.num_spins
        if stage == "planar":
            count = 6 if lattice is None else sum(lattice) // (1 if max(lattice) <= 12 else 2)
            seconds = 4e-5 * size * count
        else:
            seconds = 3e-5 * size if lattice is not None else 1e-3 * size
        if self.slowness() * seconds > 0.25 * self.clock.left():
            return None
        if stage == "planar":
            return planar_subgraphs(self.bare, "auto", self.rng, budget=self.clock.budget)
        if lattice is not None and int(stage) >= min(lattice):
            return None
        return cluster_family(self.bare, int(stage), self.rng, budget=self.clock.budget)
