"""Contractions of one model with growing bonds, and the answers that come out of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np

from planaris.budget import Budget
from planaris.errors import InfeasibleError, MethodError, PrecisionError, TimeLimitError
from planaris.kernels import tensor
from planaris.kernels.tensor import Accuracy, Contraction, ProvedGrid
from planaris.models import IsingModel
from planaris.result import LogPartition, Marginals, Proof, Stats
from planaris.tensor.changes import Value, change_of, is_stuck, moved
from planaris.tensor.network import (
    Model,
    Network,
    edge_ranges,
    edge_tables,
    node_tables,
    to_network,
)
from planaris.tensor.proof import (
    GridModel,
    boundary_states,
    certificate,
    checked_width,
    prove,
    prove_marginals,
)
from planaris.tensor.rejection import Accepted, draw_exactly
from planaris.tensor.sweeps import Sweep, crossing_sweep, plan_sweep
from planaris.typing import Array, FloatArray

METHOD = "tensor-network"

FIRST_BOND = 16
"""Bond dimension of the first contraction."""

MAX_BOND = 128
"""Largest bond dimension, unless another is asked for."""

SAFETY = 4.0
"""An estimate is off by at most this many times the change of the last two, it is stated."""

LARGEST_CHANGE = 0.1
"""Contractions whose log Z differ by more are no estimates."""

MARGINAL_TOLERANCE = 1e-9
"""Largest change of a probability at which bonds have grown enough."""

COLD = 8.0
"""Log weights of an edge further apart than this: grids are swept in both directions, too."""

EPS = float(np.finfo(np.float64).eps)

PAIR_PIVOT = 1e-29
"""Smallest pivot of contractions in pairs of doubles, which kernels use for pivots below 1e-17."""

_RELATIVE = {False: (0.5, 0.75), True: (0.75, 0.9)}
# Contractions in turn scale by these powers, in doubles and in pairs of them: an error that does
# not depend on the bond dimension (weights out of the reach of doubles, at low temperatures) shows
# in the change, too.


class Run:
    """One model, its sweep, and what may be spent on it."""

    def __init__(
        self,
        model: Model,
        tolerance: float | None,
        max_bond: int,
        budget: Budget,
        sweep: Sweep | None = None,
    ) -> None:
        self.budget = budget
        self.model = model
        self.network: Network = to_network(model)
        self.sweep: Sweep = plan_sweep(model, self.network) if sweep is None else sweep
        self.disagreement = 0.0
        self.first_bond = FIRST_BOND
        self.in_pairs = False  # of doubles
        n = self.network.num_variables
        self.proof_target = None if tolerance is None else float(tolerance)
        self.tolerance = max(1e-11, 1e-12 * n) if tolerance is None else float(tolerance)
        if not (self.tolerance >= 0 and max_bond >= 1):
            msg = f"`tolerance` must be >= 0 and `max_bond` >= 1, got {tolerance} and {max_bond}"
            raise MethodError(msg)
        labels = int(self.network.arrays.cardinalities.max(initial=1))
        per_bond = 2 * max(self.sweep.width, 1) * labels * 8.0  # times the bond squared: a state
        budget.check_memory(
            per_bond * min(FIRST_BOND, max_bond) ** 2, "the state on the line", "raise the limit"
        )
        self.max_bond = int(min(max_bond, math.sqrt(budget.bytes() / per_bond)))

    # -- contractions -----------------------------------------------------------------------

    def contract(self, accuracy: Accuracy, budget: Budget) -> Contraction:
        """Return log Z without the constant."""
        return tensor.contract(
            self.network.arrays,
            self.sweep.program,
            accuracy,
            threads=budget.workers(),
            budget=budget,
        )

    def accuracies(self) -> Iterator[Accuracy]:
        """Yield accuracies with bonds that double every second time, up to the largest."""
        bond, turn = self.first_bond, 0
        while True:
            rank, relative = min(bond, self.max_bond), _RELATIVE[self.in_pairs][turn % 2]
            if self.in_pairs:
                yield Accuracy(rank, PAIR_PIVOT, relative)
            else:
                yield Accuracy(rank, relative=relative)
            bond, turn = bond * 3 // 2 if turn % 2 == 0 else bond * 4 // 3, turn + 1

    def converge(self, contract: Callable[[Accuracy], Contraction]) -> list[Value]:
        """Contract with growing bonds until log Z changes by less than the tolerance."""

        def grow() -> list[Value]:
            return self._grow(lambda accuracy: Value(accuracy, contract(accuracy)), change_of)

        return self._with_digits(grow, change_of)

    def _grow(
        self, contract: Callable[[Accuracy], Value], change: Callable[[list[Value]], float]
    ) -> list[Value]:
        values: list[Value] = []
        for accuracy in self.accuracies():
            try:
                values = [*values, contract(accuracy)]
            except TimeoutError:
                if len(values) >= 2:
                    break
                with self.budget.required("no two contractions ended"):
                    raise
            if values[-1].found.log_partition == -math.inf or self.done(values, change(values)):
                break
        return values

    def _with_digits(
        self, grow: Callable[[], list[Value]], change: Callable[[list[Value]], float]
    ) -> list[Value]:
        """Contract in doubles, and again in pairs of them where digits and not bonds are short."""
        values = grow()
        self.compare_directions(values[-1], self.budget)
        off = max(change(values), change_of(values), self.disagreement)
        if self.is_cold() and off > self.tolerance and self._lacks_digits(values, off):
            self.in_pairs, known, apart = True, values, self.disagreement
            try:
                values = grow()
                self.compare_directions(values[-1], self.budget)
            except (TimeoutError, TimeLimitError):
                values, self.disagreement = known, apart
        return self.checked(values)

    def _lacks_digits(self, values: list[Value], off: float) -> bool:
        """Return whether rounding and not the bond accounts for what contractions are off by."""
        cut = values[-1].found.largest_residual * self.network.num_variables
        return not is_stuck(values) or off > cut

    def compare_directions(self, value: Value, budget: Budget) -> None:
        """Contract a cold grid in the other direction, and keep by how much log Z differs.

        At low temperatures weights get lost that doubles cannot hold side by side, whatever the
        bond dimension is. Which ones depends on the direction.
        """
        found = value.found.log_partition
        other = crossing_sweep(self.network) if self.is_cold() else None
        if other is None or not math.isfinite(found):
            return
        try:
            crossed = tensor.contract(
                self.network.arrays,
                other.program,
                value.accuracy,
                threads=budget.workers(),
                budget=budget,
            ).log_partition
        except TimeoutError:
            return
        self.disagreement = math.inf if math.isnan(crossed) else abs(crossed - found)

    def is_cold(self) -> bool:
        """Return whether weights of an edge are far apart."""
        return bool(edge_ranges(self.network.arrays).max(initial=0.0) > COLD)

    def done(self, values: list[Value], change: float) -> bool:
        """Return whether the last change is small enough, or bonds have come to their limit."""
        if len(values) < 2:
            return False
        return change <= self.tolerance or values[-2].accuracy.max_rank == self.max_bond

    def checked(self, values: list[Value]) -> list[Value]:
        """Refuse sums that lost their sign, and zeros that no weight accounts for."""
        last = values[-1].found.log_partition
        if math.isnan(last) or (last == -math.inf and not self.network.has_zeros):
            msg = (
                "the tensor network lost all digits (a sum of weights is not positive): the "
                'temperature is too low; use `method="treewidth"` or `method="interval"`'
            )
            raise PrecisionError(msg)
        change = max(change_of(values), self.disagreement)
        if change > LARGEST_CHANGE:
            msg = (
                f"contractions of the tensor network differ by {change:.2g}: the "
                "temperature is too low for doubles, or `max_bond` too small; use "
                '`method="treewidth"` or `method="interval"`'
            )
            raise PrecisionError(msg)
        return values

    def require_weight(self, values: list[Value], what: str) -> None:
        """Refuse a model that no state has weight in."""
        if values[-1].found.log_partition + self.network.constant == -math.inf:
            msg = f"the model has no {what}: every state violates a hard constraint"
            raise InfeasibleError(msg)

    def converge_marginals(self, budget: Budget) -> list[Value]:
        """Contract with growing bonds until no probability changes by more than the tolerance."""

        def contract(accuracy: Accuracy) -> Value:
            found = tensor.contract_marginals(
                self.network.arrays,
                self.sweep.program,
                accuracy,
                threads=budget.workers(),
                history_bytes=0.5 * budget.bytes(),
                budget=budget,
            )
            return Value(accuracy, *found)

        return self._with_digits(lambda: self._grow(contract, moved), moved)

    def draw(
        self, count: int, seed: int, accuracy: Accuracy, budget: Budget
    ) -> tuple[Array, FloatArray]:
        """Return labels of samples and their log probabilities."""
        with budget.required("the samples were not drawn"):
            labels, logs, _ = tensor.draw(
                self.network.arrays,
                self.sweep.program,
                count,
                seed,
                accuracy,
                threads=budget.workers(),
                history_bytes=0.5 * budget.bytes(),
                budget=budget,
            )
        if len(labels) < count:
            msg = "the tensor network lost all digits of a sample: the temperature is too low"
            raise PrecisionError(msg)
        return labels, logs

    # -- answers ----------------------------------------------------------------------------

    def stats(self, values: list[Value]) -> Stats:
        """Return what the contractions were, for people to read."""
        return {
            "sweep": self.sweep.kind,
            "width": self.sweep.width,
            "bond": values[-1].found.largest_bond,
            "contractions": [(v.accuracy.max_rank, v.found.log_partition) for v in values],
        }

    def log_partition(self, values: list[Value]) -> LogPartition:
        """Return the last value, with the change since the one before as its error."""
        value = values[-1].found.log_partition + self.network.constant
        rounding = EPS * (abs(value) + 8 * self.network.num_variables)
        change = max(change_of(values), self.disagreement)
        error = 0.0 if value == -math.inf else SAFETY * change + rounding
        return LogPartition.around(
            value,
            error,
            num_variables=self.network.num_variables,
            method=METHOD,
            proved=False,
            rounds=len(values),
            seconds=self.budget.seconds(),
            stats={**self.stats(values), "error": error},
        )

    def prove(self) -> LogPartition | None:
        """Return a proved interval of an Ising grid, an unproved one where it was lost."""
        if (grid := self.grid()) is None:
            return None
        with self.budget.watch("proof") as watched:
            found = prove(grid.arrays, self.proof_target, watched)
        if found is None:
            return None
        return self.proved_interval(found, proof=certificate(grid, found))

    def grid(self) -> GridModel | None:
        """Return the model as a grid that proofs take, or None."""
        return GridModel.of(self.model) if isinstance(self.model, IsingModel) else None

    def proved_interval(self, *found: ProvedGrid, proof: Proof | None = None) -> LogPartition:
        """Return log Z between the ends that all contractions leave, and the proof of it."""
        constant = self.network.constant
        ends = []
        for one in found:
            value = one.log_partition + constant
            error = checked_width(one, self.network.num_variables) + 2 * EPS * (
                abs(value) + abs(constant)
            )
            ends.append((value - error, value + error))
        lower = math.nextafter(max(low for low, _ in ends), -math.inf)
        upper = math.nextafter(min(high for _, high in ends), math.inf)
        sure = math.isfinite(upper - lower)
        return LogPartition.between(
            lower,
            upper,
            value=min(max(found[0].log_partition + constant, lower), upper),
            num_variables=self.network.num_variables,
            method=METHOD,
            proved=sure,
            certificate=proof if sure else None,
            status="" if sure else f"the bound was lost in row {found[0].lost_row}",
            seconds=self.budget.seconds(),
            stats={"cut": found[0].cut, "rounding": found[0].rounding},
        )

    def prove_marginals(self) -> Marginals | str:
        """Return marginals with proved ends, or why there are none."""
        if (grid := self.grid()) is None:
            return "no grid"
        with self.budget.watch("proof") as watched:
            found = prove_marginals(grid, self.proof_target, watched)
        if found.nodes is None or found.edges is None:
            lost = [str(proof.lost_row) for proof in found.proofs if proof.lost_row >= 0]
            return f"the bound was lost in row {lost[-1]}" if lost else "the bound was lost"
        off = [
            float(np.maximum(part.upper - part.value, part.value - part.lower).max(initial=0.0))
            for part in (found.nodes, found.edges)
        ]
        return Marginals(
            nodes=found.nodes.value,
            edges=found.edges.value,
            nodes_lower=found.nodes.lower,
            nodes_upper=found.nodes.upper,
            edges_lower=found.edges.lower,
            edges_upper=found.edges.upper,
            error=max(off),
            method=METHOD,
            proved=True,
            certificate=None if grid.is_row else boundary_states(grid, *found.proofs),
            # A single row was given another below it.
            log_partition=self.prove() if grid.is_row else self.proved_interval(*found.proofs),
            seconds=self.budget.seconds(),
        )

    def draw_exactly(self, count: int, rng: np.random.Generator) -> tuple[Accepted, LogPartition]:
        """Return exact samples and the interval around log Z that they rest on."""
        if (grid := self.grid()) is None:
            msg = "exact samples of a tensor network need an Ising grid; sample without `prove`"
            raise MethodError(msg)
        with self.budget.watch("proof") as watched, self.budget.required("nothing was proved"):
            found = prove(grid.arrays, self.proof_target, watched, keep=True, witness=False)
            if found is None:
                raise TimeoutError
        with self.budget.watch("samples") as watched:
            accepted = draw_exactly(
                cast("IsingModel", self.model), grid, found, count, rng, watched
            )
        return accepted, self.proved_interval(found)

    def marginals(self, values: list[Value]) -> Marginals:
        """Return the last marginals, with their change as the error."""
        nodes, edges = values[-1].nodes, values[-1].edges
        return Marginals(
            nodes=node_tables(self.network, nodes),
            edges=edge_tables(self.network, self.model, nodes, edges),
            error=min(SAFETY * max(moved(values), self.disagreement) + 64 * EPS, 1.0),
            method=METHOD,
            proved=False,
            log_partition=self.log_partition(values),
            seconds=self.budget.seconds(),
            stats=self.stats(values),
        )
