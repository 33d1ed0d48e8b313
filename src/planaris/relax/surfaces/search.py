"""Branch and bound over edges of a model on a surface, with Lagrangian bounds from T-joins."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.embed import Embedding
from planaris.errors import MethodError
from planaris.kernels.cuts import descend_energy, spins_from_disagreements
from planaris.kernels.relaxations import improve_spins, round_disagreements
from planaris.models import IsingModel, require_ising
from planaris.models.base import exact_sum
from planaris.relax.cut_form import energy_quantum
from planaris.relax.surfaces.bundle import Bound, Lagrangian, Master
from planaris.relax.surfaces.joins import Fixings, Held, SurfaceJoins
from planaris.relax.surfaces.proofs import SurfaceCertificate
from planaris.relax.surfaces.seams import improve_around_seams
from planaris.result import GroundState
from planaris.typing import BoolArray, FloatArray, Int8Array, LongArray

FIRST_STEP = 0.05
"""From violation to multipliers, in weights of an edge."""

SPREAD = 0.02
"""Size of random changes of the weights, which choose among lightest T-joins, relative to the
weight of an edge."""

TRIES = 24
"""Random changes at the root, while their T-joins are as light as the lightest."""


@dataclass(order=True)
class Node:
    """A part of the search space; the heap gives the one with the lowest bound."""

    value: int
    order: int
    fixings: Fixings = field(compare=False)
    multipliers: FloatArray = field(compare=False)
    rows: LongArray = field(compare=False)
    number: int = field(compare=False, default=0)


class SurfaceSearch:
    """Best-bound search; every bound keeps what proves it.

    Attributes
    ----------
    spins, weight
        The best state so far, and the weight it leaves unsatisfied, in units.
    leaves : dict
        The best bound of every leaf of the tree, by the number of its node.
    """

    def __init__(self, model: IsingModel, embedding: Embedding, budget: Budget, seed: int) -> None:
        self.joins = SurfaceJoins(model, embedding, budget)
        self.bundle = Lagrangian(self.joins)
        self.model, self.budget = model, budget
        self.rng = np.random.default_rng(seed)
        self.quantum = math.ldexp(energy_quantum(model) / 2, -self.joins.exponent)
        self.tolerance = math.ldexp(model.energy_tolerance / 2, -self.joins.exponent)
        self.spins: Int8Array = np.ones(model.num_spins, dtype=np.int8)
        self.weight = self.joins.weigh(self.joins.unsatisfied_by(self.spins))
        self.branch_edge, self.child = [-1], [[-1, -1]]
        self.leaves: dict[int, Bound] = {}
        self.open: list[Node] = []
        self.order = itertools.count()
        self.nodes = self.rounds = 0
        self.step = FIRST_STEP

    # -- states -----------------------------------------------------------------------------

    def offer(self, unsatisfied: BoolArray) -> bool:
        """Take a T-join if it is a state better than the best."""
        weight = self.joins.weigh(unsatisfied)
        if weight >= self.weight:
            return False
        spins = self.joins.state_of(unsatisfied)
        if spins is None:
            return False
        self.spins, self.weight = spins, weight
        return True

    def improve(self, patience: int) -> None:
        """Optimise the best state around seams."""
        spins = improve_around_seams(self.joins, self.spins, self.rng, patience=patience)
        self.offer(self.joins.unsatisfied_by(spins))

    def round(self, mixture: FloatArray, seed: int) -> None:
        """Look for a better state near a mixture of T-joins."""
        model, negative = self.model, self.joins.negative
        spins = round_disagreements(
            model.num_spins, model.edges, np.where(negative, 1.0 - mixture, mixture)
        )
        spins = improve_spins(
            model.num_spins,
            model.edges,
            model.couplings,
            spins,
            tabu_steps=min(4 * model.num_spins, 4000),
            seed=seed,
            budget=self.budget.quiet(),
        )
        self.offer(self.joins.unsatisfied_by(spins))

    def start(self, first: Bound) -> None:
        """Look for a state among T-joins of slightly changed weights, then around seams."""
        weights = self.joins.weights
        spread = max(1, int(SPREAD * self.bundle.scale))
        for _ in range(TRIES):
            if self.closed(first.value) or self.budget.expired():
                return
            changed = weights + self.rng.integers(0, spread, len(weights))
            found = self.joins.solve(changed, self.joins.nothing).unsatisfied
            self.bundle.remember(found)
            self.offer(found)
        self._start_from(first.join.unsatisfied)

    def _start_from(self, unsatisfied: BoolArray) -> None:
        model = self.model
        spins, _ = spins_from_disagreements(
            model.num_spins, model.edges, unsatisfied ^ self.joins.negative
        )
        loose = np.zeros(model.num_spins, dtype=bool)
        spins = descend_energy(model.edges, model.couplings, model.fields, loose, spins)
        self.offer(self.joins.unsatisfied_by(spins))
        self.improve(patience=8)

    # -- bounds -----------------------------------------------------------------------------

    def closed(self, value: int) -> bool:
        """Return whether no state under this bound can be better than the best one.

        Of couplings that integers round too much, none can be lighter in units; neither the state
        nor what is proved would get better below.
        """
        gap = self.weight - value
        if gap <= 0 or (self.joins.rounding == 0 and gap < self.quantum * (1 - 1e-6)):
            return True
        return gap + 2 * self.rounding <= self.tolerance

    @property
    def rounding(self) -> float:
        """What integers in place of couplings may cost, in units."""
        return math.ldexp(self.joins.rounding, -self.joins.exponent)

    def bound(self, node: Node, held: Held) -> tuple[Bound, FloatArray, Master | None]:
        """Raise the bound of a node until it is closed or stalls."""
        bundle = self.bundle
        center = np.zeros(len(bundle.active))
        center[np.isin(bundle.active, node.rows)] = node.multipliers[
            np.isin(node.rows, bundle.active)
        ]
        best = bundle.evaluate(center, held)
        self.offer(best.join.unsatisfied)
        if not node.fixings:
            self.start(best)
        master: Master | None = None
        last, stalled, failed = best.value, 0, 0
        for step in itertools.count():
            if self.closed(best.value) or self.budget.expired():
                break
            master = bundle.master(center, self.step, held)
            added = bundle.separate(master.mixture, min_violation=0.02)
            hoped = master.value - best.value / bundle.scale
            if hoped < 1e-9 and not added:
                break
            center = np.append(center, np.zeros(added))
            trial = np.append(master.multipliers, np.zeros(added))
            found = bundle.evaluate(trial, held)
            self.rounds += 1
            self.offer(found.join.unsatisfied)
            risen = (found.value - best.value) / bundle.scale
            if risen > 0.1 * hoped:
                best, center, failed = found, trial, 0
                if risen > 0.5 * hoped:
                    self.step *= 1.5
            else:
                failed += 1
                if failed % 3 == 0:
                    self.step *= 0.7
            center = bundle.purge(center)
            if step % 24 == 23:
                room = max(self.weight - last, 1)
                stalled = stalled + 1 if best.value - last < 0.05 * room else 0
                last = best.value
                self.improve(patience=2)
                if stalled >= 2:
                    break
            if step % 6 == 5:
                self.round(master.mixture, step)
            self.budget.report()
        return best, center, master

    # -- the search -------------------------------------------------------------------------

    def run(self) -> str:
        """Search until the tree is empty or the time is over."""
        none = np.zeros(0, dtype=np.int64)
        self.open = [Node(-(2**62), next(self.order), (), np.zeros(0), none)]
        while self.open:
            node = heapq.heappop(self.open)
            if node.number in self.leaves and self.closed(self.leaves[node.number].value):
                continue
            if self.budget.expired() and self.leaves:
                heapq.heappush(self.open, node)
                return "time_limit"
            self.process(node)
        return "optimal"

    def process(self, node: Node) -> None:
        """Bound a node, and branch where that does not close it."""
        held = self.joins.implied(node.fixings)
        if held is None:  # no state lies here
            self.leaves.pop(node.number, None)
            return
        self.nodes += 1
        best, center, master = self.bound(node, held)
        known = self.leaves.get(node.number)
        if known is None or best.value > known.value:
            self.leaves[node.number] = best
        if self.closed(best.value):
            return
        node.value = max(node.value, best.value)
        node.rows, node.multipliers = self.bundle.active, center
        if self.budget.expired() or master is None:
            heapq.heappush(self.open, node)
            return
        self.branch(node, held, master.mixture)

    def branch(self, node: Node, held: Held, mixture: FloatArray) -> None:
        """Split a node at the edge that its mixture of T-joins is most undecided about."""
        doubt = np.minimum(mixture, 1.0 - mixture) * (1e-9 + self.joins.weights / self.bundle.scale)
        doubt[held.mask] = -1.0
        edge = int(np.argmax(doubt))
        if doubt[edge] < 0:  # every edge is held: the node is one state
            return
        bound = self.leaves.pop(node.number)
        self.branch_edge[node.number] = edge
        near = bool(mixture[edge] > 0.5)
        for value in (near, not near):
            number = len(self.branch_edge)
            self.branch_edge.append(-1)
            self.child.append([-1, -1])
            self.child[node.number][int(value) ^ int(self.joins.negative[edge])] = number
            self.leaves[number] = bound
            child = Node(
                node.value,
                next(self.order),
                (*node.fixings, (edge, value)),
                node.multipliers,
                node.rows,
                number,
            )
            heapq.heappush(self.open, child)

    # -- what is proved ---------------------------------------------------------------------

    def lower(self) -> float:
        """Return a proved lower bound on all energies."""
        energy = float(self.model.energy(self.spins))
        least = min((bound.value for bound in self.leaves.values()), default=self.weight)
        least = min(least, self.weight)
        gap = self.weight - least
        if self.joins.rounding == 0 and (gap == 0 or gap < self.quantum * (1 - 1e-6)):
            return energy  # no other energy fits in
        # A float below what the unsatisfied edges weigh, whatever the conversion rounds.
        below = math.nextafter(float(least), -math.inf)
        try:
            least_join = math.ldexp(below, self.joins.exponent + 1)
        except OverflowError:
            return -math.inf
        more = [-2 * self.joins.rounding, least_join, -self.model.offset]
        total = exact_sum(np.concatenate([-np.abs(self.model.couplings), more]))
        return min(math.nextafter(total, -math.inf), energy) if math.isfinite(total) else -math.inf


def surface_ground_state(
    model: IsingModel,
    embedding: Embedding,
    *,
    time_limit: TimeLimit = None,
    seed: int = 0,
    progress: ProgressOption = None,
) -> GroundState:
    """Find a ground state of a zero-field model on a surface, with proof.

    Parameters
    ----------
    model : IsingModel
        Without fields.
    embedding : Embedding
        Rotation system of the model's graph, of any genus; the lower, the better.
    time_limit : float, optional
        Seconds; then the interval proved so far is returned.
    seed : int
        Of random choices; it changes the way, not the answer.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    GroundState
        With a :class:`~planaris.result.CutTree` as its certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from planaris.embed import torus_lattice
    >>> lattice = torus_lattice(6, 6)
    >>> signs = np.random.default_rng(1).choice([-1.0, 1.0], lattice.num_edges)
    >>> found = surface_ground_state(IsingModel(lattice.edges, signs, num_spins=36), lattice)
    >>> found.exact
    True
    """
    require_ising(model)
    if model.has_fields:
        msg = (
            "ground states on surfaces need a model without fields; join them to a bias spin first"
        )
        raise MethodError(msg)
    budget = Budget.of(time_limit, progress=progress)
    with budget.watch("T-joins on the surface") as watched:
        search = SurfaceSearch(model, embedding, watched, seed)
        status = search.run()
    return GroundState.of(
        model,
        search.spins,
        search.lower(),
        method="surface",
        status=status,
        rounds=search.rounds,
        seconds=budget.seconds(),
        certificate=SurfaceCertificate.of(search),
        stats={
            "genus": embedding.genus,
            "nodes": search.nodes,
            "open": len(search.open),
            "tjoins": search.joins.count,
            "cycles": len(search.bundle.rows),
        },
    )
