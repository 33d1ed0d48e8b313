"""Elimination with the table of a frontier on a device of torch."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.errors import PrecisionError, TooLargeError
from planaris.gpu.device import find_device, free_bytes
from planaris.gpu.engine import UnderflowError
from planaris.gpu.frontier import device_max, device_sum
from planaris.gpu.program import Program
from planaris.gpu.tables import BACKWARD, FORWARD
from planaris.kernels.frontier import MAX_BITS
from planaris.machine import readable
from planaris.models import IsingModel
from planaris.treewidth.flatten import Model, PairwiseForm, factor_marginals
from planaris.treewidth.plan import EliminationPlan, Task, plan_elimination, refuse_if_too_large
from planaris.treewidth.rounding import EPS, Total
from planaris.treewidth.run import Run
from planaris.typing import FloatArray, IntArray

VIEW_TABLES = {"log_partition": 2, "marginals": 10, "ground_state": 2}
"""Tables besides, where updates are operations of torch one by one."""


class DeviceRun(Run):
    """An elimination on a device; on the CPU where doubles of one exponent do not suffice."""

    def __init__(
        self,
        model: Model,
        task: Task,
        plan: EliminationPlan | None,
        budget: Budget,
        device: Any,
    ) -> None:
        started = time.monotonic()
        self.model, self.task, self.budget = model, task, budget
        self.device = find_device(device)
        order = None if plan is None or plan.kind != "frontier" else plan.order
        with budget.required("no elimination order was found"):
            self.plan = plan_elimination(
                model, task=task, kind="frontier", order=order, time_limit=budget
            )
        limit = budget.memory_limit or free_bytes(self.device)
        table = 8 << self.plan.width
        besides = VIEW_TABLES[task] if self.device.type == "cpu" else 0
        fixed = {"log_partition": 1, "marginals": 2, "ground_state": 1}[task] + besides
        small = table // 8 if task != "log_partition" else 0  # checkpoints of small tables
        self._refuse(fixed * table + small, limit)
        assert self.plan.pairwise is not None
        self.program = Program(self.plan.pairwise.arrays, self.plan.order, MAX_BITS)
        shape = BACKWARD if task == "marginals" else FORWARD
        steps = len(self.program.fuse(0, len(self.program), shape)) if self.program.feasible else 0
        spare = min((limit - small) // table - fixed, checkpoints(steps))
        self.spare = -1 if task == "log_partition" else int(spare)
        self.taken, self.additions = math.nan, 0
        self.offset = model.offset if isinstance(model, IsingModel) else 0.0
        self.stats = {
            "kind": "frontier",
            "device": str(self.device),
            "width": self.plan.width,
            "bytes": (fixed + max(self.spare, 0)) * table + small,
            "checkpoints": max(self.spare, 0),
            "plan_seconds": time.monotonic() - started,
        }

    def _refuse(self, needed: int, limit: int) -> None:
        if needed <= limit:
            return
        width = self.plan.width
        msg = (
            f"elimination needs {needed} bytes ({readable(needed)}) on {self.device}, because its "
            f"best order has width {width}; {limit} bytes ({readable(limit)}) may be taken there"
        )
        raise TooLargeError(msg, bytes_needed=needed, width=width, order=self.plan.order)

    def again(self, model: Model) -> DeviceRun:
        """Return the same work for another model."""
        return DeviceRun(model, self.task, self.plan, self.budget, self.device)

    def sum(self, budget: Budget, *, marginals: bool) -> tuple[Total, FloatArray, FloatArray]:
        """Return log Z and marginals laid out as ``plan.arrays`` are."""
        form = self.plan.pairwise
        assert form is not None
        num_spins, num_edges = len(form.arrays.singles) // 2, len(form.arrays.edges)
        try:
            found = device_sum(self.program, num_spins, num_edges, self.device, self.spare, budget)
        except UnderflowError:
            return self._sum_on_cpu(budget, marginals=marginals)
        self.additions = found.additions
        total = Total((found.log_partition, *form.constants), found.error + form.error)
        if not marginals or total.value == -math.inf:
            return total, np.zeros(0), np.zeros(0)
        nodes, pairs = _tables(form, found.nodes, found.edges)
        if not isinstance(self.model, IsingModel):
            pairs = factor_marginals(form, nodes, pairs)
        return total, nodes, pairs

    def marginal_error(self, total: Total) -> float:
        """Bound the error of a probability: four sums that were divided and subtracted."""
        return min(4 * (2 * total.error + EPS * (self.additions + 4)), 1.0)

    def _sum_on_cpu(
        self, budget: Budget, *, marginals: bool
    ) -> tuple[Total, FloatArray, FloatArray]:
        """Sum where every entry needs an exponent of its own."""
        self.stats |= {"device": "cpu"}
        try:
            refuse_if_too_large(self.plan, None)
        except TooLargeError as error:
            msg = (
                f"weights of this model leave the range of doubles on {self.device}, and the CPU, "
                f"which gives every entry an exponent, refuses: {error}"
            )
            raise PrecisionError(msg) from error
        return super().sum(budget, marginals=marginals)

    def max(self, budget: Budget, *, wide: bool = False) -> tuple[IntArray, Total]:
        """Return the best assignment and its log weight as computed."""
        form = self.plan.pairwise
        assert form is not None
        num_spins = len(form.arrays.singles) // 2
        labels, value, error = device_max(self.program, num_spins, self.device, self.spare, budget)
        return labels.astype(np.int32), Total((value, *form.constants), error + form.error)


def checkpoints(steps: int) -> int:
    """Return the checkpoints with which every step is done at most twice.

    >>> checkpoints(100)
    12
    """
    spare = 0
    while math.comb(spare + 3, 2) < steps + 1:
        spare += 1
    return spare


def _tables(
    form: PairwiseForm, nodes: FloatArray, both: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return flat tables of spins and edges from P(label 1) and P(both labels 1)."""
    u, v = form.arrays.edges.reshape(-1, 2).T
    one_u, one_v = nodes[u] - both, nodes[v] - both
    pairs = np.stack([1.0 - nodes[u] - one_v, one_v, one_u, both], axis=1)
    singles = np.stack([1.0 - nodes, nodes], axis=1)
    return np.clip(singles, 0.0, 1.0).ravel(), np.clip(pairs, 0.0, 1.0).ravel()
