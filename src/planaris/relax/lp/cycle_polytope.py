"""MAP over the cycle relaxation of the marginal polytope, by cutting planes (SJ07)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planaris.budget import UNLIMITED, Budget, TimeLimit
from planaris.errors import MethodError
from planaris.kernels.relaxations import CycleCuts, separate_cycles
from planaris.models import IsingModel, MarkovRandomField, lift_ground_state, mrf2ising
from planaris.models.base import exact_sum, sum_below
from planaris.relax.cut_form import CutForm
from planaris.relax.lp.facets import Rows, violated_rows
from planaris.relax.lp.growing_lp import GrowingLP
from planaris.relax.trivial_bounds import trivial_ground_state
from planaris.result import GroundState, Pseudomarginals
from planaris.typing import BoolArray, FloatArray, Int8Array

MAX_PSD_SPINS = 200
READ_AT_ONCE = 2**14
"""Edges up to which a solution is read, bounded and rounded without a look at the clock."""

INTEGRAL = 1e-6
"""Pseudomarginals this near to 0 or 1 count as integral."""


def cycle_rows(cuts: CycleCuts) -> tuple[Any, Any, FloatArray, FloatArray]:
    """Return cycle inequalities as rows: Σ_{C-F} x - Σ_F x >= 1 - |F|."""
    values: FloatArray = np.asarray(1.0 - 2.0 * cuts.odd, dtype=np.float64)
    ends = cuts.offsets[1:]
    odd = np.concatenate([[0], np.cumsum(cuts.odd, dtype=np.int64)])
    return cuts.offsets, cuts.edges, values, 1.0 - (odd[ends] - odd[cuts.offsets[:-1]])


class CycleRelaxation:
    """The cycle relaxation of a cut form: solve, separate, add, purge, bound.

    Attributes
    ----------
    lower : float
        Best safe lower bound on the energy so far, above the level of the form.
    energy, spins
        Best state of the reduced model so far, and its energy above that level.
    trace : list of dict
        One entry per round: round, lower, upper, cuts, rows, seconds.
    """

    def __init__(self, form: CutForm, *, budget: Budget = UNLIMITED) -> None:
        self.form = form
        self.budget = budget
        count = len(form.couplings)
        self.lp = GrowingLP(form.cost, np.zeros(count), np.ones(count))
        self.lower = -np.inf
        self.energy = np.inf
        self.spins: Int8Array = np.ones(form.num_spins, dtype=np.int8)
        self.state: Int8Array = np.ones(form.model.num_spins, dtype=np.int8)
        self.trace: list[dict[str, float]] = []
        self.idle = np.zeros(0, dtype=np.int32)  # rounds each row has been slack

    def offer(self, spins: Int8Array) -> bool:
        """Take a state of the reduced model if it is the best so far."""
        state = self.form.spins_of(spins)
        energy = self.form.energy_of(state)
        if energy >= self.energy:
            return False
        self.energy, self.spins, self.state = energy, spins, state
        return True

    def bound(self) -> float:
        """Return the safe lower bound of the last solve."""
        return sum_below(self.form.base, self.lp.safe_bound(), -self.form.error)

    def solve(self) -> str:
        """Solve the program; reading what is large then looks at the clock."""
        large = len(self.form.couplings) > READ_AT_ONCE
        return self.lp.solve(budget=self.budget, answer_seconds=0.0 if large else None)

    def least_bound(self) -> float:
        """Return the lower bound without any rows: every edge is what its coupling wants."""
        least = math.nextafter(exact_sum(np.minimum(self.form.cost, 0.0)), -math.inf)
        return sum_below(self.form.base, least, -self.form.error)

    def closed(self, lower: float) -> bool:
        """Return whether no state can be better than the best one, given a lower bound."""
        return self.form.is_closed(lower, self.energy)

    def proved(self) -> float:
        """Return the lower end of the interval."""
        return self.form.proved_end(self.state, self.energy, self.lower)

    def add(self, cuts: CycleCuts) -> None:
        """Add cycle inequalities as rows."""
        self.add_rows(cycle_rows(cuts))

    def add_rows(self, rows: Rows) -> None:
        """Add any rows."""
        self.lp.add_rows(*rows)
        self.idle = np.concatenate([self.idle, np.zeros(len(rows[3]), dtype=np.int32)])

    def more_rows(self, families: tuple[str, ...]) -> Rows | None:
        """Return violated rows of the other families of inequalities, if any."""
        form = self.form
        return violated_rows(form.num_spins, form.edges, self.lp.x, families, budget=self.budget)

    def purge(self, patience: int) -> None:
        """Drop rows that have been slack for more than ``patience`` rounds."""
        basic = self.lp.basic_rows()
        self.idle = np.where(basic, self.idle + 1, 0).astype(np.int32)
        drop = self.idle > patience
        if np.count_nonzero(drop) > 0.1 * len(drop):
            self.drop_rows(drop)

    def drop_rows(self, drop: BoolArray) -> None:
        """Remove rows from the program."""
        self.lp.delete_rows(drop)
        self.idle = self.idle[~drop]

    def separate(self, x: FloatArray, **options: Any) -> CycleCuts:
        """Find violated cycle inequalities of x."""
        form = self.form
        return separate_cycles(form.num_spins, form.edges, x, budget=self.budget, **options)

    def proof(self) -> Any:
        """Return a certificate of the bound, where one was kept."""
        return None

    def record(self, rounds: int, cuts: int) -> None:
        """Add a line to the trace."""
        self.trace.append(
            {
                "round": rounds,
                "lower": self.form.absolute(self.lower),
                "upper": self.form.absolute(self.energy),
                "cuts": cuts,
                "rows": self.lp.num_rows,
                "seconds": self.budget.seconds(),
            }
        )

    def run(
        self,
        *,
        max_rounds: int | None,
        families: tuple[str, ...] = (),
    ) -> str:
        """Cut until nothing is violated, the interval is closed, or time is up."""
        rounds = 0
        while True:
            try:
                status = self.solve()
                self.lower = max(self.lower, self.bound())
                self.lp.finish.check()
                self.offer(self.form.round(self.lp.x, budget=self.budget))
            except TimeoutError:  # long after the deadline
                status = "stopped"
                self.lower = max(self.lower, self.least_bound())
                self.offer(self.spins)
            if status == "stopped":
                self.record(rounds, 0)
                return "time_limit"
            if self.closed(self.lower):
                self.record(rounds, 0)
                return "closed"
            cuts = self.separate(self.lp.x)
            if self.budget.expired():
                self.record(rounds, 0)
                return "time_limit"
            try:
                rows = None if len(cuts) else self.more_rows(families)
            except TimeoutError:
                self.record(rounds, 0)
                return "time_limit"
            self.record(rounds, len(cuts) if rows is None else len(rows[3]))
            if not len(cuts) and rows is None:
                return "optimal"
            rounds += 1
            if max_rounds is not None and rounds > max_rounds:
                return "max_rounds"
            if self.budget.expired():
                return "time_limit"
            self.purge(patience=3)
            if self.budget.expired():
                return "time_limit"
            if rows is None:
                self.add(cuts)
            else:
                self.add_rows(rows)


def cycle_lp(
    model: IsingModel | MarkovRandomField,
    *,
    projection: str = "k",
    families: tuple[str, ...] = (),
    time_limit: TimeLimit = None,
    max_rounds: int | None = None,
    threads: int | None = None,
    prove: bool = False,
) -> GroundState:
    """Bound the minimum energy by the cycle relaxation of the marginal polytope.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any graph, any fields, any labels; zero potentials are hard constraints.
    projection : {"single", "k", "full"}
        How models of more than two labels are projected to binary ones: the likeliest label
        against the rest, each label against the rest, or all partitions.
    families : tuple of {"wheels", "psd"}
        More inequalities for binary models, added when no cycle is violated: bicycle odd
        wheels, and cuts from eigenvectors of the moment matrix (these join all pairs of spins,
        at most 200 after the reduction).
    time_limit : float, optional
        Seconds; what has been proved by then is returned.
    max_rounds : int, optional
        Most rounds of cuts.
    threads : int, optional
        Threads for the separation; default: all.
    prove : bool
        Keep the multipliers of the bound as a certificate (cycles only, and no labels of single
        variables excluded). The model is then not reduced, which takes longer.

    Returns
    -------
    GroundState
        ``lower`` is a safe bound: weak duality evaluated outside the solver, with all rounding
        charged. ``upper`` is the energy of the rounded state. ``stats`` holds ``status``
        (``"optimal"``: no violated cycle is left; ``"closed"``; ``"time_limit"``;
        ``"max_rounds"``), the pseudomarginals ``nodes`` and ``edges``, ``integrality`` (the share
        of integral ones among the variables left after the reduction) and ``trace``.

    Notes
    -----
    The model is reduced, fields become couplings to one extra spin, and the linear program
    has one variable per edge. Tight on graphs without K5 minor, planar ones included [1]_.

    References
    ----------
    .. [1] F. Barahona, A. R. Mahjoub, On the cut polytope, Math. Program. 36 (1986).

    Examples
    --------
    >>> frustrated = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> found = cycle_lp(frustrated)
    >>> found.exact, found.energy
    (True, -1.0)
    """
    budget = Budget.of(time_limit, threads=threads, prove=prove)
    if isinstance(model, MarkovRandomField):
        if model.is_ising:
            ising, inverse = mrf2ising(model)
            found = cycle_lp(ising, families=families, time_limit=budget, max_rounds=max_rounds)
            return lift_ground_state(found, inverse, model)
        from planaris.relax.lp.label_polytope import label_relaxation

        return label_relaxation(model, projection=projection, budget=budget, max_rounds=max_rounds)
    form = CutForm.from_model(model, reduce=not budget.prove, budget=budget)
    if budget.expired() and not budget.prove:
        return trivial_ground_state(model, "cycle-lp", budget)
    if "psd" in families:
        form = _completed(form)
    relaxation = CycleRelaxation(form, budget=budget)
    if budget.prove:
        from planaris.relax.lp.proofs import ProvingRelaxation

        relaxation = ProvingRelaxation(form, budget=budget)
    status = relaxation.run(max_rounds=max_rounds, families=families)
    return relaxation_result(relaxation, status)


def _completed(form: CutForm) -> CutForm:
    if form.num_spins > MAX_PSD_SPINS:
        msg = (
            f"cuts from the moment matrix are for at most {MAX_PSD_SPINS} spins after the "
            f"reduction, got {form.num_spins}; leave 'psd' out of `families`"
        )
        raise MethodError(msg, num_spins=form.num_spins)
    return form.completed()


def relaxation_result(relaxation: CycleRelaxation, status: str) -> GroundState:
    """Return what a cycle relaxation has found."""
    form, x = relaxation.form, relaxation.lp.x
    nodes, edges = form.pseudomarginals(x)
    integral = np.minimum(x, 1 - x) <= INTEGRAL
    share = float(integral.mean()) if len(integral) else 1.0
    return GroundState.of(
        form.model,
        relaxation.state,
        relaxation.proved(),
        method="cycle-lp",
        status=status,
        pseudomarginals=Pseudomarginals(nodes, edges, share),
        rounds=len(relaxation.trace) - 1,
        seconds=relaxation.budget.seconds(),
        trace=relaxation.trace,
        certificate=relaxation.proof(),
        stats={
            "rows": relaxation.lp.num_rows,
            "iterations": relaxation.lp.iterations,
            "reduced_spins": form.num_spins,
            "reduced_edges": len(form.edges),
        },
    )
