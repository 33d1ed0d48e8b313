"""Weights of logical classes of many syndromes on a device, the logical edge eliminated last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planaris.gpu.device import import_torch
from planaris.gpu.schedule import (
    LANES,
    SINGLE_TO_DOUBLE,
    BatchSize,
    CudaFrontKernels,
    FrontKernels,
    FrontSchedule,
)
from planaris.kernels.decoding import LaneCosets
from planaris.typing import Array, BoolArray, FloatArray

LEAST_PIVOT = 1.0 - 1e-6
IN_FLIGHT = 2
"""Batches on the device at a time: one is eliminated while the next is matched."""


@dataclass(frozen=True, eq=False)
class CosetRows:
    """What was found for every syndrome of a batch.

    Attributes
    ----------
    log_sum : numpy.ndarray
        log of the sum over both classes, relative to the reference error.
    other : numpy.ndarray
        P(class that the reference error is not of).
    sound : numpy.ndarray
        bool: False where pivots say that digits were lost.
    """

    log_sum: FloatArray
    other: FloatArray
    sound: BoolArray


class PendingRows:
    """A batch that the device may still be at work on."""

    def __init__(self, rows: Any, count: int) -> None:
        self._rows, self._count = rows, count

    def wait(self) -> CosetRows:
        """Return what was found, as soon as it is."""
        log_sum, other, sound = self._rows[:, : self._count].cpu().numpy()
        return CosetRows(log_sum, other, sound != 0.0)


class DeviceCosets:
    """Sparse elimination of many syndromes on a device: one elimination weighs both classes.

    Parameters
    ----------
    lanes : LaneCosets
        Fronts, signs, and weights without a syndrome.
    device : torch.device
        What eliminates.
    kernels : FrontKernels, optional
        Default: those of the GPU.
    """

    def __init__(self, lanes: LaneCosets, device: Any, kernels: FrontKernels | None = None) -> None:
        torch = import_torch()
        self.device = device
        self._schedule = FrontSchedule(
            lanes.tree, lanes.signs, device, kernels or CudaFrontKernels(device)
        )
        self._weight = torch.as_tensor(lanes.weight, device=device)

    def fit(self, count: int) -> BatchSize:
        """Return how many syndromes fit into the memory at a time.

        Raises
        ------
        TooLargeError
            Not even a few do.
        """
        each = IN_FLIGHT * 8 * 9 * self._schedule.num_edges
        return self._schedule.fit(count, each, correlations=False, single=False)

    def weigh(
        self, count: int, flipped: tuple[Array, Array], erased: tuple[Array, Array], blocks: int
    ) -> PendingRows:
        """Begin to weigh syndromes; returns before the device has finished.

        Parameters
        ----------
        count : int
            Number of syndromes.
        flipped, erased : pair of numpy.ndarray
            Edges of reference errors, edges of odds one, and the syndromes that they belong to.
        blocks : int
            Of :meth:`fit`.
        """
        torch, weight = import_torch(), self._weight
        models = -(-count // LANES) * LANES
        columns = weight[:, None].expand(-1, models).contiguous()
        edges, shots = (torch.as_tensor(x, device=self.device).long() for x in flipped)
        columns[edges, shots] = 1.0 / weight[edges]
        edges, shots = (torch.as_tensor(x, device=self.device).long() for x in erased)
        columns[edges, shots] = 1.0
        pivots, _, _ = self._schedule.eliminate(columns, blocks)
        ((deviation, _),) = self._schedule.changes(columns, pivots, blocks, [(0, None)])
        last = pivots[-1]
        sound = (pivots.amin(0) > LEAST_PIVOT) & (last < 1e300)
        # As the core has it: what rounding to single precision changes, 2^29 times as much.
        sound &= SINGLE_TO_DOUBLE * deviation <= 1e-13 * len(weight) + 1e-12
        rows = torch.stack([pivots.log().sum(0), 1.0 - 1.0 / last, sound.double()])
        return PendingRows(rows, count)
