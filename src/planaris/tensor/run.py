"""Contractions of one model with growing bonds, and the answers that come out of them."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np

from planaris.budget import Budget
from planaris.errors import InfeasibleError, MethodError, PrecisionError, TimeLimitError
from planaris.kernels import tensor
from planaris.kernels.tensor import Accuracy, Contraction, Program, ProvedGrid
from planaris.models import IsingModel
from planaris.result import LogPartition, Marginals, Proof, Stats
from planaris.tensor import convergence
from planaris.tensor.convergence import (
    Value,
    change_of,
    is_stuck,
    keeps_components,
    kept_by_one,
    kept_once,
    moved,
)
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
    prove_either_way,
    prove_marginals,
)
from planaris.tensor.rejection import Accepted, draw_exactly
from planaris.tensor.sweeps import Sweep, plan_sweep
from planaris.typing import Array, FloatArray

METHOD = "tensor-network"

MAX_BOND = 128
"""Default limit on the bond dimension."""

SAFETY = 4.0
"""Stated error of an estimate, in units of the change between the last two contractions."""

LARGEST_CHANGE = (0.1, 1e-6)
"""Changes of log Z, in all and per variable: a larger change than both is refused."""

MARGINAL_TOLERANCE = 1e-9
"""Largest change of a probability at which bonds stop growing."""

LEAST_LEVELS = 3
"""Contractions before agreement counts: the first ones are too coarse."""

MOST_TURNS = 2.0
"""Largest sum of the ranges of log weights of the edges of a variable, in units of the logarithm of
the smallest pivot, at which contractions of a torus that agree are believed: of colder ones one in
some hundreds lost the same weights in both directions."""

HISTORY = 0.6
"""Share of the memory for tensors of a contraction that the way back needs."""

EPS = float(np.finfo(np.float64).eps)


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
        with budget.required("no line across the model was planned"):
            self.network: Network = to_network(model, budget)
            self.sweep = plan_sweep(model, self.network, budget) if sweep is None else sweep
        self.first_level = 0
        self.sharper: dict[int, Accuracy] = {}  # than the ladder says, by number
        self.wide_pivot = 0.0  # of contractions in pairs or quads of doubles; 0: in doubles
        n = self.network.num_variables
        self.proof_target = None if tolerance is None else float(tolerance)
        self.tolerance = max(1e-11, 1e-12 * n) if tolerance is None else float(tolerance)
        if not (self.tolerance >= 0 and max_bond >= 1):
            msg = f"`tolerance` must be >= 0 and `max_bond` >= 1, got {tolerance} and {max_bond}"
            raise MethodError(msg)
        labels = int(self.network.arrays.cardinalities.max(initial=1))
        per_bond = 2 * max(self.sweep.longest, 1) * labels * 8.0  # times the bond squared: a state
        budget.check_memory(
            per_bond * min(convergence.FIRST_BOND, max_bond) ** 2,
            "the state on the line",
            "raise the limit",
        )
        self.max_bond = int(min(max_bond, math.sqrt(budget.bytes() / per_bond)))

    # -- contractions -----------------------------------------------------------------------

    def contract(self, accuracy: Accuracy, budget: Budget, program: Program) -> Contraction:
        """Return log Z without the constant."""
        return tensor.contract(
            self.network.arrays,
            program,
            accuracy,
            threads=budget.workers(),
            budget=budget,
        )

    @property
    def in_pairs(self) -> bool:
        """Whether contractions are in pairs or quads of doubles."""
        return self.wide_pivot > 0

    def turns(self) -> Iterator[tuple[Accuracy, Program]]:
        """Yield the accuracy and the steps of one contraction after the other.

        Lattices are crossed in either direction in turn: at low temperatures and in strong fields
        weights get lost that doubles cannot hold side by side, at any accuracy. Which ones depends
        on the direction.
        """
        if self.in_pairs:
            accuracies = convergence.in_pairs(self.max_bond, self.wide_pivot)
        else:
            levels = convergence.in_doubles(self.max_bond, self.first_level)
            accuracies = (self.sharper.get(k, x) for k, x in enumerate(levels))
        return zip(accuracies, itertools.cycle(self.sweep.programs), strict=False)

    def converge(self, budget: Budget) -> list[Value]:
        """Contract ever more accurately until log Z changes by less than the tolerance."""

        def contract(accuracy: Accuracy, program: Program) -> Value:
            return Value(accuracy, self.contract(accuracy, budget, program), program)

        return self._with_digits(lambda: self._grow(contract, change_of, []), change_of)

    def _grow(
        self,
        contract: Callable[[Accuracy, Program], Value],
        change: Callable[[list[Value]], float],
        values: list[Value],
    ) -> list[Value]:
        for accuracy, program in itertools.islice(self.turns(), len(values), None):
            try:
                values = [*values, contract(accuracy, program)]
            except TimeoutError:
                if len(values) >= 2 and values[-1].found.log_partition > -math.inf:
                    break
                with self.budget.required("no two contractions ended"):
                    raise
            if self.done(values, change(values)):
                break
        return values

    def _with_digits(
        self, grow: Callable[[], list[Value]], change: Callable[[list[Value]], float]
    ) -> list[Value]:
        """Contract in doubles, and again in pairs or quads where digits and not bonds are short."""
        values = grow()
        for pivot in (convergence.PAIR_PIVOT, convergence.QUAD_PIVOT):
            off = change(values)
            settled = off <= self.tolerance or not self._lacks_digits(values, off)
            slow = self.sweep.is_lattice and self.in_pairs  # quads would take minutes
            if settled and (slow or self._keeps_components(values)):
                break
            self.wide_pivot = pivot
            with contextlib.suppress(TimeoutError, TimeLimitError):
                values = grow()
        return self.checked(values)

    def _keeps_components(self, values: list[Value]) -> bool:
        """Return whether the last contractions did not lose weights that both may have lost.

        They cross a lattice in either direction and lose different ones: it is enough that both
        agree. In the cold, if energies are few or the line is closed, one has to keep all.
        """
        if not self.sweep.is_lattice:
            return keeps_components(values)
        if not self._is_beyond(convergence.LAST_PIVOT):
            return True
        if self.sweep.kind != "torus" and self.network.has_many_energies:
            return True
        return kept_by_one(values) and not self._is_beyond(
            self.wide_pivot or convergence.LAST_PIVOT
        )

    def _is_beyond(self, pivot: float) -> bool:
        """Return whether log weights around a variable spread more than those of such pivots."""
        arrays, most = self.network.arrays, np.zeros(self.network.num_variables)
        np.add.at(most, arrays.edges, edge_ranges(arrays)[:, None])
        return float(most.max(initial=0.0)) > -MOST_TURNS * math.log(pivot)

    def _lacks_digits(self, values: list[Value], off: float) -> bool:
        """Return whether contractions are off by more than what was cut accounts for."""
        return off > values[-1].found.largest_residual * self.network.num_variables

    def done(self, values: list[Value], change: float) -> bool:
        """Return whether the last change is small enough, or nothing finer can be done."""
        if values[-1].found.log_partition == -math.inf:  # what was cut may have been all there is
            return convergence.is_last(values[-1], self.max_bond)
        if len(values) < 2 or len(values[-2].nodes) < len(values[-1].nodes):
            return False
        levels = LEAST_LEVELS if self.in_pairs else self.first_level + len(values)
        small = change <= self.tolerance and levels >= LEAST_LEVELS
        return (small and self._keeps_components(values)) or self.at_limit(values)

    def at_limit(self, values: list[Value]) -> bool:
        """Return whether no later contraction cuts bonds less than the last ones did."""
        stuck = is_stuck(values) and values[-1].accuracy.max_rank == self.max_bond
        return stuck or convergence.is_last(values[-1], self.max_bond)

    def checked(self, values: list[Value]) -> list[Value]:
        """Refuse sums that lost their sign, and zeros that no weight accounts for."""
        last = values[-1].found.log_partition
        if math.isnan(last) or (last == -math.inf and not self.network.has_zeros):
            msg = (
                "the tensor network lost all digits (a sum of weights is not positive): the "
                'temperature is too low; use `method="treewidth"` or `method="interval"`'
            )
            raise PrecisionError(msg)
        change = change_of(values)
        if change > max(LARGEST_CHANGE[0], LARGEST_CHANGE[1] * self.network.num_variables):
            msg = (
                f"contractions of the tensor network differ by {change:.2g}: the "
                "temperature is too low for doubles, or `max_bond` too small; use "
                '`method="treewidth"` or `method="interval"`'
            )
            raise PrecisionError(msg)
        kept = self._keeps_components(values)
        if not (kept or (not self.sweep.is_lattice and kept_once(values))):
            msg = (
                "the tensor network lost weights of configurations that may matter: the "
                'temperature is too low; use `method="treewidth"` or `method="interval"`'
            )
            raise PrecisionError(msg)
        return values

    def require_weight(self, values: list[Value], what: str) -> None:
        """Refuse a model that no state has weight in."""
        if values[-1].found.log_partition + self.network.constant == -math.inf:
            msg = f"the model has no {what}: every state violates a hard constraint"
            raise InfeasibleError(msg)

    def converge_marginals(self, budget: Budget) -> list[Value]:
        """Contract ever more accurately until no probability changes by more than the tolerance."""

        def contract(accuracy: Accuracy, program: Program) -> Value:
            found = tensor.contract_marginals(
                self.network.arrays,
                program,
                accuracy,
                threads=budget.workers(),
                history_bytes=HISTORY * budget.bytes(),
                budget=budget,
            )
            return Value(accuracy, found[0], program, *found[1:])

        return self._with_digits(
            lambda: self._grow(contract, moved, self._coarse(budget)), self._marginals_off
        )

    def _marginals_off(self, values: list[Value]) -> float:
        """Return how far marginals are off, as their change and the one of log Z say."""
        by_log = convergence.off_by(change_of(values), self.network.num_variables)
        return max(moved(values), by_log)

    def _coarse(self, budget: Budget) -> list[Value]:
        """Contract the first levels for log Z only, as far as their marginals are not needed.

        Those of the last two levels are: the first of the two should be off by no more than the
        tolerance. With a time limit all have them: any may be the last.
        """
        if self.in_pairs or self.first_level > 0 or budget.remaining() < math.inf:
            return []
        found: list[Value] = []
        for accuracy, program in self.turns():
            found.append(Value(accuracy, self.contract(accuracy, budget, program), program))
            if len(found) < LEAST_LEVELS - 1:
                continue
            off = convergence.off_by(change_of(found[-2:]), self.network.num_variables)
            if off <= self.tolerance:
                return found[:-1]
            off *= convergence.PIVOT_STEP
            if off <= self.tolerance or self.at_limit(found):
                following = next(itertools.islice(self.turns(), len(found), None))[0]
                self.sharper[len(found)] = convergence.sharpened(following, self.tolerance / off)
                return found
        raise AssertionError

    def draw(
        self, count: int, seed: int, values: list[Value], budget: Budget
    ) -> tuple[Array, FloatArray]:
        """Return labels of samples and their log probabilities.

        They are drawn in the direction that lost less of the weights of configurations.
        """
        better = min(reversed(values[-2:]), key=lambda value: value.found.component_error)
        with budget.required("the samples were not drawn"):
            labels, logs, _ = tensor.draw(
                self.network.arrays,
                better.program,
                count,
                seed,
                values[-1].accuracy,
                threads=budget.workers(),
                history_bytes=HISTORY * budget.bytes(),
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
            "contractions": [
                (v.accuracy.max_rank, self.network.log_partition(v.found.log_partition))
                for v in values
            ],
        }

    def log_partition(self, values: list[Value]) -> LogPartition:
        """Return the last value, with the change since the one before as its error."""
        value = self.network.log_partition(values[-1].found.log_partition)
        rounding = self.network.rounding(values[-1].found.log_partition)
        change = change_of(values)
        error = 0.0 if value == -math.inf else SAFETY * change + rounding
        return LogPartition.around(
            value,
            error,
            num_variables=self.network.num_variables,
            method=METHOD,
            proved=False,
            estimate=True,
            rounds=len(values),
            seconds=self.budget.seconds(),
            stats={**self.stats(values), "error": error},
        )

    def prove(self) -> LogPartition | None:
        """Return a proved interval of an Ising grid, an unproved one where it was lost."""
        if not isinstance(self.model, IsingModel):
            return None
        with self.budget.watch("proof") as watched:
            found = prove_either_way(self.model, self.proof_target, watched)
        return None if found is None else self.proved_interval(found[1], proof=certificate(*found))

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
            edges=edge_tables(self.network, nodes, edges),
            error=min(SAFETY * moved(values) + 64 * EPS, 1.0),
            method=METHOD,
            proved=False,
            estimate=True,
            log_partition=self.log_partition(values),
            seconds=self.budget.seconds(),
            stats=self.stats(values),
        )
