"""MAP by dual message passing, tightened by frustrated cycles."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget, ProgressOption, TimeLimit, control
from planaris.errors import InfeasibleError
from planaris.kernels.relaxations import MessagePassing
from planaris.models import IsingModel, MarkovRandomField
from planaris.models.base import sum_below
from planaris.relax.label_form import LabelForm
from planaris.relax.messages.cycle_tightening import triplets_to_add
from planaris.relax.spin_labels import SpinLabels
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, LabelTree
from planaris.typing import IntArray, LongArray

ENTRY_SECONDS = 5e-8
"""Estimated time per entry of a table to set up messages."""

WORTHWHILE = 1e-3
"""Share of the gap that a round of tightening has to close."""
PATIENCE = 3
"""Rounds in a row that may close less."""
SWEEPS = 30
"""Sweeps between two looks at whether the bound stalls."""


class MessageSolver:
    """Bounds and states of a reduced model; domains shrink as the interval does.

    Attributes
    ----------
    lower : float
        Best safe lower bound on the energy so far.
    energy, state
        Best state so far, as labels of the model asked for.
    trace : list of dict
        One entry per round: round, lower, upper, triplets, seconds.
    """

    def __init__(self, form: LabelForm | SpinLabels, budget: Budget = UNLIMITED) -> None:
        self.budget = budget
        self.form = form
        variables, self.cards, nodes, self.edges, tables = form.arrays(budget)
        # Not begun if there is no time to make, bound and decode messages.
        budget.reserve(ENTRY_SECONDS * len(tables)).check()
        self.engine = MessagePassing(self.cards, nodes, self.edges, tables, *control(budget))
        self.num_variables = len(variables)
        self.scale = form.magnitude
        self.energy = np.inf
        self.state: LongArray = np.zeros(form.num_variables, dtype=np.int64)
        self.trace: list[dict[str, float]] = []
        self.rounds = 0
        made = budget.seconds()
        self.lower = self.bound(budget)
        self.offer(self.engine.decode(*control(budget)))
        self.answering = budget.seconds() - made
        """Seconds that a bound and a state take, reserved while messages are passed."""

    def offer(self, labels: IntArray) -> None:
        """Take a state of the reduced problem if it is the best so far."""
        state = self.form.lift(labels)
        energy = self.form.energy_of(state)
        if energy < self.energy:
            self.energy, self.state = energy, state

    def bound(self, budget: Budget) -> float:
        """Return the safe bound of the present messages and domains."""
        safe = self.engine.safe_bound(*control(budget))
        return sum_below(self.form.base, safe, -self.form.error)

    def closed(self, lower: float) -> bool:
        """Return whether no state can be better than the best one."""
        return bool(self.energy - lower <= self.form.resolution(self.energy) or lower == np.inf)

    def sweep(self, rounds: int, tolerance: float) -> float:
        """Pass messages, look for a state, shrink the domains; return the bound.

        Minus infinity where the time is over before.
        """
        self.engine.run(rounds, tolerance, *control(self.budget.reserve(self.answering)))
        self.rounds += rounds
        bound = -np.inf
        with suppress(TimeoutError):
            bound = self.bound(self.budget)
            if bound < np.inf:
                self.offer(self.engine.decode(*control(self.budget)))
                bound = self.forbid(bound)
        return bound

    def forbid(self, bound: float) -> float:
        """Shrink the domains: a label that costs more than the gap is in no better state."""
        room = self.energy - bound + self.form.resolution(self.energy)
        if np.isfinite(room) and self.engine.forbid_beyond(room):
            return max(bound, self.bound(self.budget))
        return bound

    def ascend(self, bound: float) -> float:
        """Sweep until the bound stalls, relative to what is missing."""
        stalled = 0
        while not self.closed(bound) and not self.budget.expired():
            gap = min(self.energy - bound, self.scale) if np.isfinite(bound) else self.scale
            new = max(bound, self.sweep(SWEEPS, 1e-4 * gap / SWEEPS))
            stalled = stalled + 1 if new - bound <= 0.01 * gap else 0
            bound = new
            if stalled > 1:
                break
        return bound

    def tighten(self, bound: float, count: int) -> int:
        """Add triplets that raise the bound; return how many."""
        gain = max(1e-5 * min(self.energy - bound, self.scale), 1e-9 * self.scale)
        added = 0
        for trio in triplets_to_add(self.engine, count=count, min_gain=gain, budget=self.budget):
            if self.budget.expired():
                break
            added += self.engine.add_triplet(*trio)
        return added

    def record(self) -> None:
        """Add a line to the trace."""
        self.trace.append(
            {
                "round": self.rounds,
                "lower": self.form.absolute(self.lower),
                "upper": self.form.absolute(self.energy),
                "triplets": self.engine.num_triplets,
                "seconds": self.budget.seconds(),
            }
        )

    def solve_root(self, max_triplets: int) -> str:
        """Sweep and tighten until closed, out of time, or nothing is gained any more."""
        idle = 0
        while True:
            before, gap = self.lower, min(self.energy - self.lower, self.scale)
            self.lower = max(self.lower, self.ascend(self.lower))
            idle = idle + 1 if self.lower - before <= WORTHWHILE * gap else 0
            self.record()
            self.budget.report()
            if self.closed(self.lower):
                return "closed"
            if self.budget.expired():
                return "time_limit"
            room = max_triplets - self.engine.num_triplets
            count = min(max(20, self.num_variables // 4), room)
            if idle > PATIENCE or count <= 0 or not self.tighten(self.lower, count):
                return "time_limit" if self.budget.expired() else "stalled"

    def proved(self) -> float:
        """Return the bound that can be proved."""
        return self.form.lower_end(self.state, self.energy, self.lower)

    def proof(self) -> Any:
        """Return a certificate of the bound, where one was kept."""
        return None


class ProvingMessages(MessageSolver):
    """Message passing with a certificate; no label goes."""

    def forbid(self, bound: float) -> float:
        """Forbid nothing: that would need the best energy as a premise."""
        return bound

    def proved(self) -> float:
        """Return the bound of the present messages, which the proof holds."""
        return self.form.lower_end(self.state, self.energy, min(self.lower, self.bound(UNLIMITED)))

    def proof(self) -> LabelTree:
        """Return the present messages as a tree of one leaf."""
        messages = self.engine.messages()
        return LabelTree(
            edges=self.engine.edges(),
            triplets=self.engine.triplets(),
            branch_variable=np.array([-1]),
            branch_label=np.array([-1]),
            child=np.array([[-1, -1]]),
            message_offsets=np.array([0, len(messages)]),
            messages=messages,
        )


def mplp(
    model: MarkovRandomField | IsingModel,
    *,
    time_limit: TimeLimit = None,
    max_triplets: int = 100_000,
    prove: bool = False,
    progress: ProgressOption = None,
) -> GroundState:
    """Bound the minimum energy by message passing, tightened by frustrated cycles.

    Parameters
    ----------
    model : MarkovRandomField or IsingModel
        Any model; zero potentials are hard constraints.
    time_limit : float, optional
        Seconds; then the interval proved so far is returned.
    max_triplets : int
        Most triplets to add; 0 stays with the local relaxation.
    prove : bool
        Keep the messages of the bound as a certificate. The model is then not reduced, which
        takes longer.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    GroundState
        ``lower`` is recomputed from the messages alone with all rounding charged. For a
        Markov random field the state is ``assignment``.

    Examples
    --------
    >>> model = MarkovRandomField([2, 3], [((0, 1), [[1, 2, 3], [4, 9, 1]])])
    >>> found = mplp(model)
    >>> found.exact, found.assignment.tolist()
    (True, [1, 1])
    """
    budget = Budget.of(time_limit, prove=prove, progress=progress)
    with budget.watch("message passing") as watched:
        try:
            solver = _solver(model, watched)
        except TimeoutError:
            return trivial_ground_state(model, "mplp", budget)
        status = solver.solve_root(max_triplets)
    return _result(solver, model, status)


def _solver(model: MarkovRandomField | IsingModel, budget: Budget) -> MessageSolver:
    if budget.prove:
        mrf = MarkovRandomField.from_ising(model) if isinstance(model, IsingModel) else model
        return ProvingMessages(LabelForm.from_model(mrf, eliminate=0, budget=budget), budget)
    if isinstance(model, IsingModel):
        return MessageSolver(SpinLabels(model, budget), budget)
    return MessageSolver(LabelForm.from_model(model, budget=budget.share(0.5)), budget)


def _result(
    solver: MessageSolver, model: MarkovRandomField | IsingModel, status: str
) -> GroundState:
    """Return what message passing has found."""
    lower = solver.proved()
    if solver.closed(solver.lower) and solver.energy == np.inf:
        msg = "no state has positive weight: the hard constraints contradict each other"
        raise InfeasibleError(msg)
    labels = solver.state
    return GroundState.of(
        model,
        2 * labels - 1 if isinstance(model, IsingModel) else labels,
        lower,
        method="mplp",
        status=status,
        rounds=solver.rounds,
        seconds=solver.budget.seconds(),
        trace=solver.trace,
        certificate=solver.proof(),
        stats={
            "triplets": solver.engine.num_triplets,
            "reduced_variables": solver.num_variables,
            "reduced_edges": len(solver.edges),
        },
    )
