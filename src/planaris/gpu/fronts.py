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
    Draw,
    FrontKernels,
    FrontSchedule,
)
from planaris.kernels.pfaffian import Elimination
from planaris.kernels.plane_models import BATCH_LIMITS as LIMITS
from planaris.typing import IntArray

LEAST_PIVOT = {"double": 1.0 - 1e-6, "single": 1.0 - 1e-3}
MARGINAL_ERROR = {"double": LIMITS.marginal_error, "single": 1e-3}


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
        self._ends = torch.as_tensor(np.array(edges), device=device).long()
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
            8 * (20 * self.num_all + 2 * self.num_vertices),
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
                    parts.append(
                        self._attempt(values[rows], task, spins[rows], LIMITS.most_in_lanes)
                    )
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else torch.cat(found)

        return DeviceRows(*(joined(name) for name in FIELDS))

    def _part(self, values: Any, task: _Task) -> DeviceRows:
        """Evaluate rows relative to states that flips find; what fails, to better states."""
        found = self._attempt(values, task, self._gauges.by_flips(values), LIMITS.most_flipped)
        again = (~found.sound).nonzero().ravel()
        if len(again):
            some = values[again]
            found.put(
                again,
                self._attempt(some, task, self._gauges.by_annealing(some), LIMITS.most_in_lanes),
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
        sound &= (most <= most_allowed) & (gauged.amin(0) >= -LIMITS.most_unsatisfied)
        log_sum = pivots.double().log().sum(0)
        found, share, change = None, uncut[: self.num_edges] if task.correlations else None, 0.0
        if single:
            error = torch.full_like(log_sum, 2.0**-23 * self.num_all)
        else:
            sound &= ~self.tied(columns, most)
            all_draws = most > LIMITS.strong
            if share is not None:
                all_draws |= self._has_ties(columns) & (most > LIMITS.calm)
            deviation, change = self._compare(weight, pivots, blocks, share, most, all_draws)
            error = deviation + EPS * self.num_all
            enough = 1e-13 * ((log_sum + constant).abs() + self.num_edges) + 1e-12
            sound &= error <= (
                enough if share is None else enough.clamp(min=MARGINAL_ERROR[precision])
            )
        sound &= torch.isfinite(log_sum) & (log_sum >= -error - 1e-9 * self.num_edges)
        if share is not None:
            least = EPS * torch.exp(LIMITS.marginal_growth * most.clamp(max=LIMITS.strong))
            error = LIMITS.change_safety * (residual.double() + change) + least + EPS * most
            sound &= error <= MARGINAL_ERROR[precision]
            found = ((2.0 * share.double().clamp(0.0, 1.0) - 1.0) * agree).T[:rows]
        return DeviceRows((log_sum + constant)[:rows], found, error[:rows], sound[:rows])

    def tied(self, columns: Any, most: Any) -> Any:
        """Return which models have many large couplings of nearly one size: ``tied_rows``."""
        return (most > LIMITS.strong) & self._has_ties(columns)

    def _has_ties(self, columns: Any) -> Any:
        sizes = columns.abs()
        near = (sizes[1:] - sizes[:-1]).abs() <= LIMITS.near * sizes[1:]
        return 16 * near.sum(0) > self.num_edges

    def _compare(
        self, weight: Any, pivots: Any, blocks: int, uncut: Any, most: Any, all_draws: Any
    ) -> tuple[Any, Any]:
        """Estimate what rounding did: in single precision numbers move 2^29 times as far.

        One elimination in single precision may hide it by luck: the largest of several counts
        where couplings are not small, and of more where rounding is felt. ``all_draws`` tells which
        models have them all at once, for marginals.
        """
        draws: list[Draw] = [(0, None)]
        if uncut is None:
            draws += self._drawn(most > LIMITS.weak, range(1, LIMITS.first_draws))
        else:
            draws += self._drawn(most > LIMITS.calm, range(1, LIMITS.first_draws))
            draws += self._drawn(all_draws, range(LIMITS.first_draws, LIMITS.draws))
        first, *others = self._schedule.changes(weight, pivots, blocks, draws, uncut)
        deviation, change = first
        self._raise(first, draws[1:], others)
        felt = SINGLE_TO_DOUBLE * deviation > EPS * self.num_all
        if uncut is not None:
            felt &= ~all_draws
        draws = self._drawn(felt, range(LIMITS.first_draws, LIMITS.draws))
        if draws:
            self._raise(
                (deviation, None), draws, self._schedule.changes(weight, pivots, blocks, draws)
            )
        return SINGLE_TO_DOUBLE * deviation, None if change is None else SINGLE_TO_DOUBLE * change

    def _drawn(self, where: Any, draws: range) -> list[Draw]:
        """Return draws for some models, the last group of which is filled up with any of them."""
        rows = where.nonzero().ravel()
        if len(rows) == len(where):
            return [(draw, None) for draw in draws]
        count = -(-len(rows) // LANES) * LANES
        some = rows[self._torch.arange(count, device=self.device) % max(len(rows), 1)]
        return [(draw, some) for draw in draws] if count else []

    def _raise(
        self, largest: tuple[Any, Any], draws: list[Draw], found: list[tuple[Any, Any]]
    ) -> None:
        """Raise changes, in place, to those of further draws."""
        for (_, rows), moved in zip(draws, found, strict=True):
            at = slice(None) if rows is None else rows
            for one, other in zip(largest, moved, strict=True):
                if one is not None and other is not None:
                    one[at] = self._torch.maximum(one[at], other)
