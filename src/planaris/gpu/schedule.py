"""The schedule of an elimination along the fronts of a plane graph, on a device."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planaris.errors import TooLargeError
from planaris.gpu.compiler import compile_module, find_kernel
from planaris.gpu.device import free_bytes, import_torch
from planaris.kernels.plane_models import BATCH_LIMITS as LIMITS
from planaris.machine import readable
from planaris.typing import Array, Int8Array

LANES, PANEL, THREADS = 32, 16, 256
BLOCKS = 3
"""Blocks that share a multiprocessor."""

SHARE = 0.8
"""Share of the free memory that a batch may take."""

EPS = 2.0**-52
SINGLE_TO_DOUBLE = 2.0**-29
"""Ratio of the rounding errors of double and single precision."""


class FrontKernels(Protocol):
    """The compiled kernels of fronts.cu."""

    def eliminate(self, blocks: int, tree: bytes, batch: bytes, single: bool) -> None:
        """Eliminate all models of a batch."""


class CudaFrontKernels:
    """Kernels on a GPU."""

    def __init__(self, device: Any) -> None:
        self._index = device.index
        import_torch().cuda.set_device(device)

    def eliminate(self, blocks: int, tree: bytes, batch: bytes, single: bool) -> None:
        """Launch; one block takes 32 models after the other."""
        real = "float" if single else "double"
        module = compile_module("fronts.cu", self._index, REAL=real, THREADS=THREADS)
        find_kernel(module, "eliminate", THREADS, 8 * THREADS)(blocks, tree, batch)


@dataclass(frozen=True)
class BatchSize:
    """How many models are eliminated at a time, and by how many blocks of threads."""

    models: int
    blocks: int


Draw = tuple[int, Any]
"""The number of a draw, and the models that it is made for (a multiple of LANES), or None: all."""


class FrontSchedule:
    """The fronts of a dissection on a device: no search for pivots, the same order for all.

    Parameters
    ----------
    tree : FrontTree
        Of the core.
    signs : numpy.ndarray
        Of every edge, chords included.
    device : torch.device
        Where weights are.
    kernels : FrontKernels
        What eliminates.
    """

    def __init__(self, tree: Any, signs: Int8Array, device: Any, kernels: FrontKernels) -> None:
        torch = import_torch()
        self.device, self._kernels = device, kernels
        self.num_edges = len(signs)
        self._scales: dict[int, Any] = {}  # by draw
        places = _Places(tree)
        self.rows, self.stack, self.factors = places.rows, places.stack, places.factors
        named = [
            *(tree.left, tree.right, tree.own, tree.boundary, tree.place, tree.edge_order),
            *(tree.leaf_faces, tree.face_begin, tree.face_legs, tree.face_rows),
            *(signs, places.up, places.down),
        ]
        arrays = [torch.as_tensor(np.asarray(x, dtype=np.int32), device=device) for x in named]
        arrays.append(torch.as_tensor(places.factor_at, device=device))
        self._held = arrays  # keeps the memory that the struct points to
        pointers = [x.data_ptr() for x in arrays]
        self._tree = struct.pack("14Q2iq", *pointers, len(tree.left), self.rows, self.stack)

    def fit(self, models: int, each: int, *, correlations: bool, single: bool) -> BatchSize:
        """Return how many models fit into the memory, if each takes so many bytes beside fronts."""
        room = int(SHARE * free_bytes(self.device))
        block = (4 if single else 8) * LANES * self._numbers(correlations)
        least = block + LANES * each
        if least > room:
            msg = (
                f"{LANES} models of {self.num_edges} edges need {least} bytes "
                f"({readable(least)}) on {self.device}, {room} bytes ({readable(room)}) are free"
            )
            raise TooLargeError(msg, bytes_needed=least)
        many = 1
        if self.device.type == "cuda":
            properties = import_torch().cuda.get_device_properties(self.device)
            many = BLOCKS * properties.multi_processor_count
        blocks = max(1, min(many, room // 2 // block, -(-models // LANES)))
        return BatchSize((room - blocks * block) // each // LANES * LANES, blocks)

    def _numbers(self, correlations: bool) -> int:
        """Return the numbers per model that a block takes for its own."""
        front = self.rows * (self.rows + PANEL) + self.stack
        return front + (self.factors if correlations else 0)

    def eliminate(
        self, weight: Any, blocks: int, *, correlations: bool = False
    ) -> tuple[Any, Any, Any]:
        """Eliminate columns of weights exp(-g), in their precision.

        In double precision there is one for every edge, in single precision one for every leg.

        Returns
        -------
        pivots : Tensor
            Relative to their joins, in the order of the tree.
        uncut : Tensor
            With correlations: P(ends of the edge agree), relative to the gauge state.
        residual : Tensor
            With correlations: by how much the inverse is none.
        """
        torch = import_torch()
        single, models = weight.dtype == torch.float32, weight.shape[1]
        pivots = torch.empty((self.num_edges, models), dtype=weight.dtype, device=self.device)
        uncut = torch.empty_like(pivots) if correlations else pivots
        residual = torch.zeros(models, dtype=weight.dtype, device=self.device)
        numbers = LANES * self._numbers(correlations)
        blocks = min(blocks, models // LANES)
        scratch = torch.empty(blocks * numbers, dtype=weight.dtype, device=self.device)
        arrays = (weight, pivots, uncut, residual, scratch)
        pointers = [x.data_ptr() for x in arrays]
        batch = struct.pack("5Q2qi4x", *pointers, numbers, models, int(correlations))
        self._kernels.eliminate(blocks, self._tree, batch, single)
        return pivots, uncut, residual

    def legs(self, weight: Any) -> Any:
        """Return weights in single precision, one for every leg."""
        return weight.float().repeat_interleave(2, dim=0)

    def _scale(self, draw: int) -> Any:
        """Return a number between 1 and 2 for every edge, the same whenever a draw is made."""
        torch = import_torch()
        if draw not in self._scales:
            random = torch.Generator().manual_seed(draw)
            scale = torch.ones((self.num_edges, 1), dtype=torch.float64)
            scale += torch.rand(scale.shape, generator=random)
            self._scales[draw] = scale.to(self.device)
        return self._scales[draw]

    def changes(
        self, weight: Any, pivots: Any, blocks: int, draws: list[Draw], uncut: Any = None
    ) -> list[tuple[Any, Any]]:
        """Return how far pivots move in single precision, relative and added up, for every draw.

        Then the largest change of probabilities, if those in double precision are given. In single
        precision one leg of every edge is scaled by a number between 1 and 2, the other by its
        inverse. That changes no pivot, but all roundings: what cancels exactly in double precision,
        as numbers of equal couplings do, leaves here what rounding leaves of it. All draws are one
        launch: a few models keep a device busy for as long as thousands do.
        """
        torch = import_torch()
        counts = [weight.shape[1] if rows is None else len(rows) for _, rows in draws]
        shape = 2 * self.num_edges, sum(counts)
        legs = torch.empty(shape, dtype=torch.float32, device=self.device)
        for part, (draw, rows) in zip(legs.split(counts, dim=1), draws, strict=True):
            some, scale = weight if rows is None else weight[:, rows], self._scale(draw)
            torch.mul(some, scale, out=part[0::2])
            torch.div(some, scale, out=part[1::2])
        with_uncut = uncut is not None
        single, again, _ = self.eliminate(legs, blocks, correlations=with_uncut)
        del legs
        found = []
        parts = zip(single.split(counts, dim=1), again.split(counts, dim=1), draws, strict=True)
        for narrow, probabilities, (_, rows) in parts:
            exact = pivots if rows is None else pivots[:, rows]
            moved = (narrow - exact).div_(exact).abs_()
            deviation = torch.where(moved < LIMITS.lost_pivot, moved, torch.inf).sum(0)
            change = None
            if with_uncut:
                exact = uncut if rows is None else uncut[:, rows]
                apart = (probabilities[: len(uncut)] - exact).abs_()
                change = torch.where(apart < LIMITS.lost_probability, apart, torch.inf).amax(0)
            found.append((deviation, change))
        return found


class _Places:
    """Where the nodes of a tree keep their numbers, and how much room they need."""

    def __init__(self, tree: Any) -> None:
        own, boundary = 2 * np.diff(tree.own).astype(np.int64), np.diff(tree.boundary)
        rows = own + boundary
        packed, square = boundary * (boundary - 1) // 2, boundary * boundary
        self.rows = int(rows.max(initial=2))
        sizes = rows * own
        self.factor_at: Array = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.factors = int(sizes.sum())
        nodes, left, right = len(own), tree.left.tolist(), tree.right.tolist()
        self.up, self.down = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
        top = most = 0
        for node in range(nodes):
            if left[node] >= 0:
                top = int(self.up[left[node]])
            self.up[node] = top
            top += int(packed[node])
            most = max(most, top)
        for node in reversed(range(nodes)):
            if left[node] >= 0:  # its own block is free again
                first = int(self.down[node])
                self.down[left[node]] = first
                self.down[right[node]] = first + int(square[left[node]])
                most = max(most, first + int(square[left[node]]) + int(square[right[node]]))
        self.stack = most
