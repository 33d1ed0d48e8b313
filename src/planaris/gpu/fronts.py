"""Elimination of many models of one plane graph on a device, along the fronts of its plan."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planaris.budget import readable
from planaris.errors import TooLargeError
from planaris.gpu.compiler import compile_module, find_kernel
from planaris.gpu.device import free_bytes, import_torch, within_memory
from planaris.kernels.pfaffian import Elimination
from planaris.typing import Array, IntArray

LANES, PANEL, THREADS, GAUGE_THREADS = 32, 16, 256, 32
BLOCKS = 3
"""Blocks that share a multiprocessor."""

SHARE = 0.8
"""Of the memory that is free, which a batch may take."""

EPS = 2.0**-52
SINGLE_TO_DOUBLE = 2.0**-29
DRAWS = 4
LEAST_PIVOT = {"double": 1.0 - 1e-6, "single": 1.0 - 1e-3}
MOST_COUPLING = 8.0
"""Larger couplings need a ground state for a gauge, which the CPU finds."""

MARGINAL_ERROR = {"double": 1e-9, "single": 1e-3}


class Kernels(Protocol):
    """The compiled kernels of fronts.cu."""

    def eliminate(self, blocks: int, tree: bytes, batch: bytes, single: bool) -> None:
        """Eliminate all models of a batch."""

    def lower_energy(self, graph: bytes, couplings: Any, spins: Any, field: Any) -> None:
        """Find gauge states; the arrays have a column for each model."""


class CudaKernels:
    """Kernels on a GPU."""

    def __init__(self, device: Any) -> None:
        self._index = device.index
        import_torch().cuda.set_device(device)
        gauge = compile_module("fronts.cu", device.index, GAUGE=1, THREADS=GAUGE_THREADS)
        self._gauge = find_kernel(gauge, "lower_energy", GAUGE_THREADS, 0)

    def eliminate(self, blocks: int, tree: bytes, batch: bytes, single: bool) -> None:
        """Launch; one block takes 32 models after the other."""
        real = "float" if single else "double"
        module = compile_module("fronts.cu", self._index, REAL=real, THREADS=THREADS)
        find_kernel(module, "eliminate", THREADS, 8 * THREADS)(blocks, tree, batch)

    def lower_energy(self, graph: bytes, couplings: Any, spins: Any, field: Any) -> None:
        """Launch; one thread for each model."""
        models = couplings.shape[1]
        self._gauge(-(-models // GAUGE_THREADS), graph, couplings, spins, field, models)


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
        self._kernels = kernels or CudaKernels(device)
        tree = elimination.tree
        self.num_edges, self.num_all = len(edges), len(elimination.signs)
        self._ends = torch.as_tensor(np.ascontiguousarray(edges), device=device).long()
        places = _Places(tree)
        self.rows, self.stack, self.factors = places.rows, places.stack, places.factors
        named = [
            *(tree.left, tree.right, tree.own, tree.boundary, tree.place, tree.edge_order),
            *(tree.leaf_faces, tree.face_begin, tree.face_legs, tree.face_rows),
            *(elimination.signs, places.up, places.down),
        ]
        arrays = [torch.as_tensor(np.asarray(x, dtype=np.int32), device=device) for x in named]
        arrays.append(torch.as_tensor(places.factor_at, device=device))
        self._held = arrays  # keeps the memory that the structs point to
        pointers = [x.data_ptr() for x in arrays]
        self._tree = struct.pack("14Q2iq", *pointers, len(tree.left), self.rows, self.stack)
        offsets, heads, of = _neighbours(edges, num_vertices)
        ends = np.asarray(edges, dtype=np.int32).ravel()
        beside = [torch.as_tensor(x, device=device) for x in (offsets, heads, of, ends)]
        self._held += beside
        links = [x.data_ptr() for x in beside]
        self._graph = struct.pack("4Q2i", *links, num_vertices, len(edges))
        self.num_vertices = num_vertices

    def evaluate(
        self, couplings: Any, *, correlations: bool, precision: str = "double"
    ) -> DeviceRows:
        """Evaluate every row of couplings, as many at a time as fit."""
        torch = self._torch
        values = couplings.to(torch.float64)
        room = int(SHARE * free_bytes(self.device))
        size = 4 if precision == "single" else 8
        block = size * LANES * self._numbers(correlations)
        each = 8 * (9 * self.num_all + 2 * self.num_vertices)
        least = block + LANES * each
        if least > room:
            msg = (
                f"{LANES} models of {self.num_vertices} spins need {least} bytes "
                f"({readable(least)}) on {self.device}, {room} bytes ({readable(room)}) are free"
            )
            raise TooLargeError(msg, bytes_needed=least)
        many = 1
        if self.device.type == "cuda":
            processors = torch.cuda.get_device_properties(self.device).multi_processor_count
            many = BLOCKS * processors
        blocks = max(1, min(many, room // 2 // block, -(-len(values) // LANES)))
        count = (room - blocks * block) // each // LANES * LANES
        with within_memory(self.device):
            parts = [
                self._part(values[k : k + count], correlations, precision, blocks)
                for k in range(0, len(values), count)
            ]
        if len(parts) == 1:
            return parts[0]

        def joined(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else torch.cat(found)

        names = ("log_partition", "correlations", "error", "sound")
        return DeviceRows(*(joined(name) for name in names))

    def _numbers(self, correlations: bool) -> int:
        """Return the numbers per model that a block takes for its own."""
        front = self.rows * (self.rows + PANEL) + self.stack
        return front + (self.factors if correlations else 0)

    def _part(self, values: Any, correlations: bool, precision: str, blocks: int) -> DeviceRows:
        torch = self._torch
        rows, models = len(values), -(-len(values) // LANES) * LANES
        columns = torch.zeros((self.num_edges, models), dtype=torch.float64, device=self.device)
        columns[:, :rows] = values.T
        spins = torch.empty((self.num_vertices, models), dtype=torch.int8, device=self.device)
        field = torch.empty((self.num_vertices, models), dtype=torch.float64, device=self.device)
        self._kernels.lower_energy(self._graph, columns, spins, field)
        del field
        agree = spins[self._ends[:, 0]] * spins[self._ends[:, 1]]
        gauged = columns * agree
        weight = torch.ones((self.num_all, models), dtype=torch.float64, device=self.device)
        torch.exp(-gauged, out=weight[: self.num_edges])
        constant, most = gauged.sum(0), gauged.abs().amax(0)
        single = precision == "single"
        real = weight.float() if single else weight
        pivots, uncut, residual = self._eliminate(real, correlations, blocks)
        least = pivots.amin(0) > LEAST_PIVOT[precision]
        sound = least & (pivots.amax(0) < 1e30) & (most <= MOST_COUPLING)
        log_sum = pivots.double().log().sum(0)
        found = None
        if correlations:
            error = residual.double() + EPS * most
            sound &= error <= MARGINAL_ERROR[precision]
            share = uncut[: self.num_edges].double().clamp(0.0, 1.0)
            found = ((2.0 * share - 1.0) * agree).T[:rows]
        elif single:
            error = torch.full_like(log_sum, 2.0**-23 * self.num_all)
        else:
            error = self._compare(weight, pivots, blocks) + EPS * self.num_all
            size = (log_sum + constant).abs() + self.num_edges
            sound &= error <= 1e-13 * size + 1e-12
        sound &= torch.isfinite(log_sum) & (log_sum >= -error - 1e-9 * self.num_edges)
        return DeviceRows((log_sum + constant)[:rows], found, error[:rows], sound[:rows])

    def _eliminate(self, weight: Any, correlations: bool, blocks: int) -> tuple[Any, Any, Any]:
        torch = self._torch
        single, models = weight.dtype == torch.float32, weight.shape[1]
        pivots = torch.empty_like(weight)
        uncut = torch.empty_like(weight) if correlations else pivots
        residual = torch.zeros(models, dtype=weight.dtype, device=self.device)
        numbers = LANES * self._numbers(correlations)
        blocks = min(blocks, models // LANES)
        scratch = torch.empty(blocks * numbers, dtype=weight.dtype, device=self.device)
        arrays = (weight, pivots, uncut, residual, scratch)
        pointers = [x.data_ptr() for x in arrays]
        batch = struct.pack("5Q2qi4x", *pointers, numbers, models, int(correlations))
        self._kernels.eliminate(blocks, self._tree, batch, single)
        return pivots, uncut, residual

    def _compare(self, weight: Any, pivots: Any, blocks: int) -> Any:
        """Estimate what rounding did: pivots in single precision move 2^29 times as far.

        Where that is felt, one elimination in single precision may hide it by luck: then the
        largest of several, with weights moved by their last digit, counts.
        """
        torch = self._torch
        deviation = self._deviation(weight, pivots, blocks)
        felt = SINGLE_TO_DOUBLE * deviation > EPS * self.num_all
        where = felt.nonzero().ravel()
        if not len(where):
            return SINGLE_TO_DOUBLE * deviation
        count = -(-len(where) // LANES) * LANES
        some = where[torch.arange(count, device=self.device) % len(where)]
        generator = torch.Generator().manual_seed(0)
        most = deviation[some]
        for _ in range(1, DRAWS):
            digits = torch.randint(-1, 2, (self.num_all, 1), generator=generator)
            moved = 1.0 + 2.0**-23 * digits.to(weight)
            most = torch.maximum(
                most, self._deviation(weight[:, some] * moved, pivots[:, some], blocks)
            )
        deviation[some] = most
        return SINGLE_TO_DOUBLE * deviation

    def _deviation(self, weight: Any, pivots: Any, blocks: int) -> Any:
        single, _, _ = self._eliminate(weight.float(), False, blocks)
        return (single.double() - pivots).div_(pivots).abs_().sum(0)


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


def _neighbours(edges: IntArray, num_vertices: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return offsets, neighbours and edges of every vertex; loops are left out."""
    u, v = np.asarray(edges, dtype=np.int32).reshape(-1, 2).T
    tails, heads = np.concatenate([u, v]), np.concatenate([v, u])
    of = np.tile(np.arange(len(u), dtype=np.int32), 2)
    order = np.argsort(tails, kind="stable")
    offsets = np.searchsorted(tails[order], np.arange(num_vertices + 1)).astype(np.int32)
    return offsets, heads[order], of[order]
