"""Elimination of many models of one plane graph on a device, along the fronts of its plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planaris.gpu.device import import_torch, within_memory
from planaris.gpu.gauge import CudaGaugeKernels, GaugeKernels, GaugeStates
from planaris.gpu.schedule import (
    EPS,
    LANES,
    SINGLE_TO_DOUBLE,
    CudaFrontKernels,
    FrontKernels,
    FrontSchedule,
)
from planaris.kernels.pfaffian import Elimination
from planaris.typing import IntArray

FIRST_DRAWS, DRAWS = 2, 4
"""Eliminations in single precision, and those of models in which rounding is felt; see
docs/theory/pfaffian.md."""

WEAK = 1.5
"""Models without larger couplings lose too little for a second elimination to matter."""

MOST_UNSATISFIED = 16.0
"""Weights of couplings that a state leaves so unsatisfied may raise what single precision loses."""

STRONG, NEAR = 4.0, 1e-4
"""Models with many larger couplings of nearly one size are for the CPU: what cancels in few
operations often does so in single precision as well."""

CHANGE_SAFETY, MARGINAL_GROWTH = 4.0, 3.5
LEAST_PIVOT = {"double": 1.0 - 1e-6, "single": 1.0 - 1e-3}
MOST_FLIPPED, MOST_ANNEALED = 8.0, 300.0
"""Couplings up to which flips find a gauge, and better states do; exponentials of larger ones leave
the range, and the CPU has to find another order."""

MARGINAL_ERROR = {"double": 1e-9, "single": 1e-3}


class Kernels(FrontKernels, GaugeKernels, Protocol):
    """The compiled kernels of fronts.cu and gauge.cu."""


class CudaKernels(CudaFrontKernels, CudaGaugeKernels):
    """Kernels on a GPU."""

    def __init__(self, device: Any) -> None:
        CudaFrontKernels.__init__(self, device)
        CudaGaugeKernels.__init__(self, device)


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """What was found for every model of a batch, on the device.

    Attributes
    ----------
    log_partition : Tensor, shape (k,)
        log Z without log 2 for every component.
    correlations : Tensor, shape (k, m), or None
        ⟨s_u s_v⟩ of every edge.
    error : Tensor
        Estimated error of log Z; with correlations, of these.
    sound : Tensor
        False where pivots or residuals say that digits were lost: these rows are for the CPU.
    """

    log_partition: Any
    correlations: Any
    error: Any
    sound: Any

    def put(self, rows: Any, other: DeviceRows) -> None:
        """Replace some rows."""
        for name in FIELDS:
            if getattr(self, name) is not None:
                getattr(self, name)[rows] = getattr(other, name)


FIELDS = ("log_partition", "correlations", "error", "sound")


@dataclass(frozen=True)
class _Task:
    correlations: bool
    precision: str
    blocks: int


class DeviceFronts:
    """The schedule of an elimination on a device, for any number of models.

    Parameters
    ----------
    elimination : Elimination
        Of the graph with chords.
    edges : numpy.ndarray, shape (m, 2)
        Without chords.
    num_vertices : int
        Number of spins.
    device : torch.device
        Where couplings are.
    kernels : Kernels, optional
        Default: those of the GPU.
    """

    def __init__(
        self,
        elimination: Elimination,
        edges: IntArray,
        num_vertices: int,
        device: Any,
        kernels: Kernels | None = None,
    ) -> None:
        torch = import_torch()
        self._torch, self.device = torch, device
        found = kernels or CudaKernels(device)
        self.num_edges, self.num_all = len(edges), len(elimination.signs)
        self.num_vertices = num_vertices
        self._ends = torch.as_tensor(np.ascontiguousarray(edges), device=device).long()
        self._schedule = FrontSchedule(elimination.tree, elimination.signs, device, found)
        self._gauges = GaugeStates(edges, num_vertices, device, found)

    def evaluate(
        self, couplings: Any, *, correlations: bool, precision: str = "double", spins: Any = None
    ) -> DeviceRows:
        """Evaluate every row of couplings, as many at a time as fit.

        ``spins`` are states of low energy, a row of int8 each; the device finds its own otherwise.
        """
        torch = self._torch
        values = couplings.to(torch.float64)
        size = self._schedule.fit(
            len(values),
            8 * (15 * self.num_all + 2 * self.num_vertices),
            correlations=correlations,
            single=precision == "single",
        )
        task = _Task(correlations, precision, size.blocks)
        with within_memory(self.device):
            parts = []
            for first in range(0, len(values), size.models):
                rows = slice(first, first + size.models)
                if spins is None:
                    parts.append(self._part(values[rows], task))
                else:
                    parts.append(self._attempt(values[rows], task, spins[rows], MOST_ANNEALED))
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else torch.cat(found)

        return DeviceRows(*(joined(name) for name in FIELDS))

    def _part(self, values: Any, task: _Task) -> DeviceRows:
        """Evaluate rows relative to states that flips find; what fails, to better states."""
        found = self._attempt(values, task, self._gauges.by_flips(values), MOST_FLIPPED)
        again = (~found.sound).nonzero().ravel()
        if len(again):
            some = values[again]
            found.put(
                again, self._attempt(some, task, self._gauges.by_annealing(some), MOST_ANNEALED)
            )
        return found

    def _columns(self, rows: Any, fill: float) -> Any:
        """Return rows as columns, filled up to whole groups of models."""
        models = -(-len(rows) // LANES) * LANES
        shape = (rows.shape[1], models)
        columns = self._torch.full(shape, fill, dtype=rows.dtype, device=self.device)
        columns[:, : len(rows)] = rows.T
        return columns

    def _attempt(self, values: Any, task: _Task, states: Any, most_allowed: float) -> DeviceRows:
        torch, rows, precision = self._torch, len(values), task.precision
        columns, spins = self._columns(values, 0.0), self._columns(states, 1)
        models = columns.shape[1]
        agree = spins[self._ends[:, 0]] * spins[self._ends[:, 1]]
        gauged = columns * agree
        weight = torch.ones((self.num_all, models), dtype=torch.float64, device=self.device)
        torch.exp(-gauged, out=weight[: self.num_edges])
        constant, most = gauged.sum(0), gauged.abs().amax(0)
        single, blocks = precision == "single", task.blocks
        real = self._schedule.legs(weight) if single else weight
        pivots, uncut, residual = self._schedule.eliminate(
            real, blocks, correlations=task.correlations
        )
        sound = (pivots.amin(0) > LEAST_PIVOT[precision]) & (pivots.amax(0) < 1e30)
        sound &= (most <= most_allowed) & (gauged.amin(0) >= -MOST_UNSATISFIED)
        log_sum = pivots.double().log().sum(0)
        found, share, change = None, uncut[: self.num_edges] if task.correlations else None, 0.0
        if single:
            error = torch.full_like(log_sum, 2.0**-23 * self.num_all)
        else:
            sound &= ~self._tied(columns, most)
            deviation, change = self._compare(weight, pivots, blocks, share, most)
            error = deviation + EPS * self.num_all
            enough = 1e-13 * ((log_sum + constant).abs() + self.num_edges) + 1e-12
            sound &= error <= (
                enough if share is None else enough.clamp(min=MARGINAL_ERROR[precision])
            )
        sound &= torch.isfinite(log_sum) & (log_sum >= -error - 1e-9 * self.num_edges)
        if share is not None:
            least = EPS * torch.exp(MARGINAL_GROWTH * most.clamp(max=STRONG))
            error = residual.double() + CHANGE_SAFETY * change + least + EPS * most
            sound &= error <= MARGINAL_ERROR[precision]
            found = ((2.0 * share.double().clamp(0.0, 1.0) - 1.0) * agree).T[:rows]
        return DeviceRows((log_sum + constant)[:rows], found, error[:rows], sound[:rows])

    def _tied(self, columns: Any, most: Any) -> Any:
        """Return which models have many large couplings of nearly one size."""
        sizes = columns.abs()
        near = (sizes[1:] - sizes[:-1]).abs() <= NEAR * sizes[1:]
        return (most > STRONG) & (16 * near.sum(0) > self.num_edges)

    def _compare(
        self, weight: Any, pivots: Any, blocks: int, uncut: Any, most: Any
    ) -> tuple[Any, Any]:
        """Estimate what rounding did: in single precision numbers move 2^29 times as far.

        One elimination in single precision may hide it by luck: the largest of several counts
        where couplings are not small, and of more where rounding is felt.
        """
        torch = self._torch
        deviation, change = self._schedule.changes(weight, pivots, blocks, 0, uncut)

        def draw_again(where: Any, draws: range, uncut: Any) -> None:
            rows = where.nonzero().ravel()
            count = -(-len(rows) // LANES) * LANES
            some = rows[torch.arange(count, device=self.device) % max(len(rows), 1)]
            probabilities = None if uncut is None else uncut[:, some]
            for draw in draws if count else ():
                moved, apart = self._schedule.changes(
                    weight[:, some], pivots[:, some], blocks, draw, probabilities
                )
                deviation[some] = torch.maximum(deviation[some], moved)
                if apart is not None:
                    change[some] = torch.maximum(change[some], apart)

        strong = most > STRONG
        if uncut is None:
            draw_again(most > WEAK, range(1, FIRST_DRAWS), None)
        else:
            draw_again(strong, range(1, DRAWS), uncut)
        felt = SINGLE_TO_DOUBLE * deviation > EPS * self.num_all
        if uncut is not None:
            felt &= ~strong  # they had all draws
        draw_again(felt, range(FIRST_DRAWS, DRAWS), None)
        return SINGLE_TO_DOUBLE * deviation, None if change is None else SINGLE_TO_DOUBLE * change
