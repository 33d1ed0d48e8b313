"""Branch and cut: exact ground states of any Ising model, or an interval on stopping."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget, ProgressOption, TimeLimit
from planaris.errors import require_one_of
from planaris.models import IsingModel, MarkovRandomField, lift_ground_state, mrf2ising
from planaris.relax.branching.label_search import label_search
from planaris.relax.branching.pseudo_costs import PseudoCosts
from planaris.relax.cut_form import CutForm, implied_disagreements, with_offset
from planaris.relax.lp.cycle_polytope import INTEGRAL, CycleRelaxation
from planaris.relax.sdp.proofs import ProvingDenseSearch
from planaris.relax.sdp.sdp_branch_and_bound import DenseSearch, is_dense, is_small
from planaris.result import GroundState
from planaris.typing import FloatArray, Int8Array

BOUNDS = ("auto", "cycles", "semidefinite")

START_SHARE = 0.2
"""Share of the time limit for a first state."""

TRIAL_NODES = 9
"""Nodes of a search with linear programs on a small graph, before semidefinite bounds take over."""

TRIAL_GAP = 0.012
"""Largest gap of the first linear program, relative to the sum of the couplings, for which more of
them are tried."""

Fixings = tuple[tuple[int, int], ...]
"""Edges held at a value: (edge, 0 or 1)."""


@dataclass(order=True)
class Node:
    """A part of the search space; the heap gives the one with the lowest bound."""

    bound: float
    order: int
    fixings: Fixings = field(compare=False)
    basis: Any = field(compare=False, default=None)


class BranchAndCut(CycleRelaxation):
    """Best-bound search with plunging; cycle cuts at every node; cuts hold everywhere."""

    def __init__(self, form: CutForm, *, gap: float, seed: int, budget: Budget = UNLIMITED) -> None:
        super().__init__(form, budget=budget)
        self.gap = gap
        self.costs = PseudoCosts(len(form.couplings))
        self.seed = seed
        self.nodes = 0
        self.open: list[Node] = []
        self.counter = itertools.count()
        self.finished = np.inf  # lowest bound of a part that was closed
        self.root_fixings: Fixings = ()

    # -- parts of the search space ----------------------------------------------------------

    def closure(self, fixings: Fixings) -> tuple[FloatArray, FloatArray] | None:
        """Return column bounds with all values implied by the fixings; None if contradictory.

        Consistent fixings leave at least one cut, so the program of a node is never infeasible.
        """
        edges = self.form.edges
        if not fixings:
            return np.zeros(len(edges)), np.ones(len(edges))
        which, cut = np.array(fixings, dtype=np.int64).T
        found = implied_disagreements(self.form.num_spins, edges, which, cut == 1)
        if found is None:
            return None
        same, apart = found
        return apart.astype(np.float64), 1.0 - same.astype(np.float64)

    def fix_by_reduced_cost(self) -> Fixings:
        """Return edges that cannot leave their value without passing the best energy.

        Weak duality with the multipliers of the last solve: leaving costs the reduced cost
        on top of the bound that these very multipliers give.
        """
        try:
            room = self.energy - self.bound() - self.form.quantum * (1 - 1e-6)
            if room < 0 or not np.isfinite(room) or self.budget.expired():
                return ()
            _, reduced, slop = self.lp.reduced_costs()
        except TimeoutError:
            return ()
        free = self.lp.lower < self.lp.upper
        room += self.form.resolution
        stay0 = np.flatnonzero(free & (reduced - slop > room))
        stay1 = np.flatnonzero(free & (-reduced - slop > room))
        return tuple((int(e), 0) for e in stay0) + tuple((int(e), 1) for e in stay1)

    # -- one node ---------------------------------------------------------------------------

    def cut_node(self, node: Node) -> tuple[float, bool]:
        """Solve and cut; return the bound and whether the node is done with."""
        bound, stalled, rounds = node.bound, 0, 0
        at_root = not node.fixings
        while True:
            try:
                status = self.solve()
                if status == "infeasible":  # numerics only, see closure(): keep the old bound
                    return bound, False
                new = max(bound, self.bound())
                self.lp.finish.check()
            except TimeoutError:  # long after the deadline
                return max(bound, self.least_bound()), False
            self.try_round(rounds)
            gap = max(self.energy - bound, 1e-300)
            stalled = stalled + 1 if new - bound < (0.005 if at_root else 0.02) * gap else 0
            bound = new
            if self.closed(bound):
                return bound, True
            if status == "stopped" or self.budget.expired() or self.energy - bound <= self.gap:
                return bound, False
            if stalled > (6 if at_root else 2):
                return bound, False
            cuts = self.separate(self.lp.x, min_violation=1e-3 if stalled else 1e-4)
            if not len(cuts):
                return bound, False
            self.purge(patience=5 if at_root else 3)
            self.add(cuts)
            rounds += 1

    def try_round(self, rounds: int) -> None:
        """Look for a better state near the values of the program."""
        steps = min(4 * self.form.num_spins, 4000) if rounds % 4 == 0 else 0
        self.offer(
            self.form.round(self.lp.x, tabu_steps=steps, seed=self.nodes, budget=self.budget)
        )

    def choose_edge(self) -> int:
        """Return the edge to branch on, by pseudo-costs checked with short dual simplex runs."""
        x = self.lp.x
        fractional = np.flatnonzero(np.minimum(x, 1 - x) > INTEGRAL).astype(np.int32)
        if not len(fractional):
            free = np.flatnonzero(self.lp.lower < self.lp.upper)
            return int(free[0]) if len(free) else -1
        weight = np.abs(self.form.couplings[fractional]) * (0.5 - np.abs(x[fractional] - 0.5))
        score = self.costs.score(fractional, x) * (1 + weight / max(weight.max(), 1e-300))
        ranked = fractional[np.argsort(-score, kind="stable")]
        reliable = self.costs.tries.min(0) >= 4
        unsure = [int(e) for e in ranked[:12] if not reliable[e]][:6]
        if not unsure:
            return int(ranked[0])
        best, best_score = int(ranked[0]), -1.0
        basis, before, values = self.lp.get_basis(), self.lp.objective, np.array(x)
        for edge in dict.fromkeys([int(ranked[0]), *unsure]):
            if self.budget.expired():
                break
            rises = [self._probe(edge, value, before, basis) for value in (0, 1)]
            for value, rise in enumerate(rises):
                self.costs.learn(edge, value, float(values[edge]), rise)
            product = max(rises[0], 1e-9) * max(rises[1], 1e-9)
            if product > best_score:
                best, best_score = edge, product
        self.lp.set_basis(basis)
        self.lp.x = values
        return best

    def _probe(self, edge: int, value: int, before: float, basis: Any) -> float:
        lower, upper = np.array(self.lp.lower), np.array(self.lp.upper)
        held = np.array(lower), np.array(upper)
        lower[edge] = upper[edge] = value
        self.lp.set_bounds(lower, upper)
        status = self.lp.solve(iteration_limit=40, budget=self.budget)
        rise = self.energy - before if status == "infeasible" else self.lp.objective - before
        self.lp.set_bounds(*held)
        self.lp.set_basis(basis)
        return float(rise)

    # -- the search -------------------------------------------------------------------------

    def search(self, budget: Budget, *, trial: bool = False) -> str:
        """Run until the tree is empty, the gap is reached, time is up or a trial is over."""
        self.budget = budget
        self.start_states()
        self.open = [Node(-np.inf, next(self.counter), ())]
        while self.open:
            node = heapq.heappop(self.open)
            plunge: Node | None = node
            while plunge is not None:
                plunge = self.process(plunge)
                self.lower = min(self.lower_of_open(plunge), self.finished, self.energy)
                late, reached = self.budget.expired(), self.energy - self.lower <= self.gap
                if late or reached or (trial and self.tried()):
                    if plunge is not None:
                        heapq.heappush(self.open, plunge)
                    if not self.open:
                        break
                    return "time_limit" if late else "gap" if reached else "node_limit"
                budget.report()
            self.record(self.nodes, 0)
        self.lower = min(self.finished, self.energy)
        return "optimal" if self.closed(self.lower) else "gap"

    def tried(self) -> bool:
        """Return whether linear programs do not seem to close the gap."""
        wide = self.energy - self.lower > TRIAL_GAP * float(np.abs(self.form.couplings).sum())
        return self.nodes >= (1 if wide else TRIAL_NODES)

    def lower_of_open(self, plunge: Node | None) -> float:
        """Return the lowest bound among the parts not yet done."""
        bounds = [self.open[0].bound] if self.open else []
        return min([*bounds, plunge.bound if plunge is not None else np.inf])

    def process(self, node: Node) -> Node | None:
        """Bound and branch; return the child to go on with."""
        if self.closed(node.bound):
            self.finished = min(self.finished, node.bound)
            return None
        box = self.closure(node.fixings + self.root_fixings)
        if box is None:
            return None  # no state better than the best one lies here
        self.nodes += 1
        self.lp.set_bounds(*box)
        if node.basis is not None:
            self.lp.set_basis(node.basis)
        bound, done = self.cut_node(node)
        if done or self.energy - bound <= self.gap:  # nothing here that is better by the gap
            self.finished = min(self.finished, bound)
            return None
        if self.budget.expired():
            return Node(bound, next(self.counter), node.fixings)
        fixed = self.fix_by_reduced_cost()
        if not node.fixings:
            self.root_fixings = fixed
        else:
            node = Node(bound, node.order, node.fixings + fixed)
        if self.budget.expired():
            return Node(bound, next(self.counter), node.fixings)
        return self.branch(node, bound)

    def branch(self, node: Node, bound: float) -> Node | None:
        """Split a node; the side the program prefers is gone on with."""
        edge = self.choose_edge()
        if edge < 0:  # every edge is fixed: the node is one state
            energy = self.energy
            self.offer(self.form.round(self.lp.x))
            self.finished = min(
                self.finished, max(bound, min(energy, self.energy) - 2 * self.form.error)
            )
            return None
        near = int(self.lp.x[edge] > 0.5)
        children = [
            Node(bound, next(self.counter), (*node.fixings, (edge, value)))
            for value in (near, 1 - near)
        ]
        heapq.heappush(self.open, children[1])
        return children[0]

    def start_states(self) -> None:
        """Find good states before the first bound: tabu search from random states."""
        rng = np.random.default_rng(self.seed)
        steps = min(20 * self.form.num_spins, 20000)
        start = self.budget.share(START_SHARE)
        for k in range(8):
            if k and start.expired():
                break
            spins: Int8Array = rng.choice(np.array([-1, 1], dtype=np.int8), self.form.num_spins)
            self.offer(self.form.improve(spins, tabu_steps=steps, seed=k, budget=start))


def _search_small(form: CutForm, budget: Budget, **options: Any) -> tuple[str, Any]:
    """Try linear programs on a few nodes, then semidefinite bounds; return the better search."""
    linear = _linear_search(form, budget, **options)
    status = linear.search(budget, trial=True)
    if status != "node_limit":
        return status, linear
    dense = _dense_search(form, budget, **options)
    dense.offer(linear.spins)
    status = dense.search(budget)
    return status, dense if dense.lower >= linear.lower else linear


def _linear_search(form: CutForm, budget: Budget, **options: Any) -> BranchAndCut:
    if not budget.prove:
        return BranchAndCut(form, budget=budget, **options)
    from planaris.relax.branching.proofs import ProvingSearch

    return ProvingSearch(form, budget=budget, **options)


def _dense_search(form: CutForm, budget: Budget, **options: Any) -> DenseSearch:
    return (ProvingDenseSearch if budget.prove else DenseSearch)(form, budget=budget, **options)


def branch_and_cut(
    model: IsingModel | MarkovRandomField,
    *,
    time_limit: TimeLimit = None,
    gap: float = 0.0,
    bound: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    prove: bool = False,
    progress: ProgressOption = None,
) -> GroundState:
    """Find a state of minimum energy of any model, with proof.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any graph, any fields, any labels. Models of more than two labels or with hard
        constraints are bounded by message passing with triplets instead of linear programs.
    time_limit : float, optional
        Seconds; then the interval proved so far is returned.
    gap : float
        Stop when ``upper - lower`` is at most this.
    bound : {"auto", "cycles", "semidefinite"}
        Bounds of Ising models: linear programs with cycle inequalities, or semidefinite
        programs with odd clique inequalities. "auto" takes these for dense graphs, and for graphs
        of up to 150 spins that the first few linear programs do not close.
    seed : int
        Of the local searches; it changes the way, not the answer.
    threads : int, optional
        Threads for the separation; default: all.
    prove : bool
        Keep the tree and the multipliers at its leaves as a certificate. Ising models are then
        not reduced, which takes longer.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    GroundState
        The gap is closed where the spacing of the energies is known (whole-number couplings);
        elsewhere the search ends once it is no wider than ``model.energy_tolerance``.

    Examples
    --------
    >>> edges = [(u, v) for u in range(6) for v in range(u)]
    >>> found = branch_and_cut(IsingModel(edges, -1.0))
    >>> found.exact, found.energy
    (True, -3.0)
    """
    require_one_of("bound", bound, BOUNDS)
    budget = Budget.of(time_limit, threads=threads, prove=prove, progress=progress)
    search_again = partial(
        branch_and_cut,
        time_limit=budget,
        gap=gap,
        bound=bound,
        seed=seed,
    )
    if isinstance(model, MarkovRandomField):
        if not model.is_ising:
            return label_search(model, gap=gap, budget=budget)
        ising, inverse = mrf2ising(model)
        return lift_ground_state(search_again(ising), inverse, model)
    if model.offset:
        return with_offset(search_again(model.without_offset()), model)
    form = CutForm.from_model(model, keep_zero_edges=False, reduce=not budget.prove, budget=budget)
    search: BranchAndCut | DenseSearch
    options: dict[str, Any] = {"gap": gap, "seed": seed}
    with budget.watch("branch and cut") as watched:
        if bound == "semidefinite" or (bound == "auto" and is_dense(form)):
            search = _dense_search(form, budget, **options)
            status = search.search(watched)
        elif bound == "auto" and is_small(form):
            status, search = _search_small(form, watched, **options)
        else:
            search = _linear_search(form, budget, **options)
            status = search.search(watched)
    return GroundState.of(
        model,
        search.state,
        search.proved(),
        method="branch-and-cut",
        status=status,
        seconds=search.budget.seconds(),
        trace=search.trace,
        certificate=search.proof(),
        stats={
            "bound": "cycles" if isinstance(search, BranchAndCut) else "semidefinite",
            "nodes": search.nodes,
            "open": len(search.open),
            "reduced_spins": form.num_spins,
            "reduced_edges": len(form.edges),
        },
    )
