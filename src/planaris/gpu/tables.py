"""Tables of 2^bits numbers on a device of torch, and the updates of a frontier programme."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from planaris.gpu.compiler import Kernel, compile_module, find_kernel
from planaris.gpu.device import import_torch
from planaris.gpu.program import CONTROL, SLOT, Program, Shape, Step
from planaris.typing import Array, FloatArray

FORWARD = Shape(tile_bits=13, slots=9, ops=16, stages=4, threads=512)
"""A tile of 64 KiB: two blocks share a multiprocessor."""

BACKWARD = Shape(tile_bits=11, slots=7, ops=7, stages=3, stage_ops=3)
"""Three tiles of alpha and one of beta, 16 KiB each, and the sums of every thread."""

SUMS = 3 * BACKWARD.ops + 1
CHUNK = 2**28
"""Entries of one product of vectors."""


class Updates(Protocol):
    """Updates of a table; ``data`` holds 2^bits numbers from its start on."""

    def forward(self, data: Any, step: Step, factor: float) -> None:
        """Multiply by ``factor`` and do the updates of a group."""

    def backward(
        self, alpha: Any, beta: Any, step: Step, factor: float
    ) -> tuple[FloatArray, float]:
        """Undo a group in ``beta``; return three sums per update, and that of all.

        The sums are of alpha × weight × beta where the new label is 1: all of them, those with
        old label 1, those with label 1 of the control.
        """

    def forget(self) -> None:
        """Take note that a table was changed by something else."""

    def top(self, data: Any, bits: int) -> float:
        """Return the largest entry of the table that was updated last."""

    def additions(self, bits: int) -> int:
        """Return how many numbers were added up one after the other for a sum of ``backward``."""


class ViewUpdates:
    """Updates by operations of torch on views of the table, one after the other."""

    def __init__(self, program: Program, best: bool) -> None:
        self._program, self._best = program, best
        self._weights = program.logs if best else program.weights

    def forward(self, data: Any, step: Step, factor: float) -> None:
        """Do the updates of a group."""
        if factor != 1.0:
            data[: 1 << step.bits_before] *= factor
        for at in range(step.first, step.last):
            self._update(data, step.bits_before, at)

    def _parts(self, data: Any, bits: int, at: int) -> Iterator[tuple[Any, Any, FloatArray, int]]:
        """Yield, for every label of the control, the halves of the table and the weights."""
        slot, control = self._program.places[at, [SLOT, CONTROL]].tolist()
        weights, table = self._weights[at], data[: 1 << bits]
        if control < 0:
            halves = table.view(-1, 2, 1 << slot)
            yield halves[:, 0], halves[:, 1], weights[:4], 0
            return
        low, high = min(slot, control), max(slot, control)
        cube = table.view(-1, 2, 1 << (high - low - 1), 2, 1 << low)
        for label in (0, 1):
            one = cube[:, label] if control > slot else cube[:, :, :, label]
            dim = 2 if control > slot else 1
            yield one.select(dim, 0), one.select(dim, 1), weights[4 * label : 4 * label + 4], label

    def _update(self, data: Any, bits: int, at: int, back: bool = False) -> None:
        torch = import_torch()
        for x, y, weights, _ in self._parts(data, bits, at):
            w00, w01, w10, w11 = weights.tolist()
            if back:
                w01, w10 = w10, w01
            if self._best:
                first, second = torch.maximum(x + w00, y + w10), torch.maximum(x + w01, y + w11)
            else:
                first, second = x * w00 + y * w10, x * w01 + y * w11
            x.copy_(first)
            y.copy_(second)

    def backward(
        self, alpha: Any, beta: Any, step: Step, factor: float
    ) -> tuple[FloatArray, float]:
        """Undo a group in ``beta``; return its sums."""
        bits, count = step.bits_before, step.last - step.first
        beta[: 1 << bits] *= factor
        history = [alpha[: 1 << bits]]
        for at in range(step.first, step.last - 1):
            history.append(history[-1].clone())
            self._update(history[-1], bits, at)
        sums = np.zeros((count, 3))
        for k in reversed(range(count)):
            at = step.first + k
            pairs = zip(self._parts(history[k], bits, at), self._parts(beta, bits, at), strict=True)
            for (x, y, weights, label), (_, after, _, _) in pairs:
                both = float((y * after).sum()) * weights[3]
                all_of = both + float((x * after).sum()) * weights[1]
                sums[k] += all_of, both, all_of * label
            self._update(beta, bits, at, back=True)
        return sums, dot(history[0], beta[: 1 << bits])

    def forget(self) -> None:
        """Do nothing: nothing is remembered."""

    def top(self, data: Any, bits: int) -> float:
        """Return the largest entry."""
        return float(data[: 1 << bits].max())

    def additions(self, bits: int) -> int:
        """Return the depth of a sum of torch, generously."""
        return 1 << min(bits, 12)


class CudaUpdates:
    """Updates by compiled kernels; tables smaller than a tile are left to views."""

    def __init__(self, program: Program, best: bool, device: Any) -> None:
        torch = import_torch()
        self._torch, self._program = torch, program
        self._views = ViewUpdates(program, best)
        self._weights = program.logs if best else program.weights
        torch.cuda.set_device(device)
        self._best, self._device = best, device
        self._blocks = torch.cuda.get_device_properties(device).multi_processor_count
        self._tops = torch.zeros(16 * self._blocks, dtype=torch.float64, device=device)
        self._sums = torch.zeros((2 * self._blocks, SUMS), dtype=torch.float64, device=device)
        self._fresh: Any = None
        self._passes: dict[tuple[Step, Shape], Array] = {}

    @cached_property
    def _forward(self) -> Kernel:
        macros = {"BEST": 1} if self._best else {"FORWARD": 1}
        return self._compile(FORWARD, "forward_pass", 8 << FORWARD.tile_bits, **macros)

    @cached_property
    def _backward(self) -> Kernel:
        shared = 8 * ((4 << BACKWARD.tile_bits) + SUMS * BACKWARD.threads)
        return self._compile(BACKWARD, "backward_pass", shared, BACKWARD=1)

    def _compile(self, shape: Shape, name: str, shared: int, **macros: int) -> Kernel:
        sizes = {"TILE_BITS": shape.tile_bits, "THREADS": shape.threads, "RESIDENT": 2}
        module = compile_module("frontier.cu", self._device.index, **sizes, **macros)
        return find_kernel(module, name, shape.threads, shared)

    def _pass(self, step: Step, shape: Shape, factor: float) -> Array:
        if (step, shape) not in self._passes:
            self._passes[step, shape] = self._program.as_pass(step, shape, self._weights)
        found = self._passes[step, shape]
        found["factor"] = factor
        return found

    def forward(self, data: Any, step: Step, factor: float) -> None:
        """Do the updates of a group in one pass."""
        self._fresh = None
        if step.bits_before < FORWARD.tile_bits:
            self._views.forward(data, step, factor)
            return
        found = self._pass(step, FORWARD, factor)
        blocks = int(min(found["tiles"], 14 * self._blocks))
        self._forward(blocks, data, self._tops, found.tobytes())
        self._fresh = self._tops[:blocks]

    def backward(
        self, alpha: Any, beta: Any, step: Step, factor: float
    ) -> tuple[FloatArray, float]:
        """Undo a group in one pass."""
        self._fresh = None
        if step.bits_before < BACKWARD.tile_bits:
            return self._views.backward(alpha, beta, step, factor)
        found = self._pass(step, BACKWARD, factor)
        blocks = int(min(found["tiles"], 2 * self._blocks))
        self._backward(blocks, alpha, beta, self._tops, self._sums, found.tobytes())
        self._fresh = self._tops[:blocks]
        sums = self._sums[:blocks].cpu().numpy().sum(0)
        return sums[: 3 * (step.last - step.first)].reshape(-1, 3), float(sums[-1])

    def forget(self) -> None:
        """Forget the largest entry that the last pass has found."""
        self._fresh = None

    def top(self, data: Any, bits: int) -> float:
        """Return the largest entry, which the last pass has found."""
        if self._fresh is None:
            return self._views.top(data, bits)
        return float(self._fresh.max())

    def additions(self, bits: int) -> int:
        """Return the length of the longest chain of a block, and of the sum over blocks."""
        blocks, threads = 2 * int(self._blocks), BACKWARD.threads
        return max((1 << bits) // (blocks * threads), 1 << BACKWARD.tile_bits) + threads + blocks


def dot(x: Any, y: Any) -> float:
    """Return Σ x y of long vectors, part by part.

    >>> torch = import_torch()
    >>> dot(torch.ones(8), torch.full((8,), 0.5))
    4.0
    """
    torch = import_torch()
    parts = [torch.dot(x[k : k + CHUNK], y[k : k + CHUNK]) for k in range(0, len(x), CHUNK)]
    return math.fsum(float(part) for part in parts)
