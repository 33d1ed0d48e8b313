"""A frontier programme as arrays, and its updates fused into passes over the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from planaris.kernels.frontier import FrontierOps, PairwiseArrays, frontier_ops
from planaris.typing import Array, FloatArray, IntArray

REPLACE, PAIR, PUSH, POP = range(4)
KIND, SLOT, CONTROL, OLD, NEW, SPIN, EDGE, CONTROL_EDGE = range(8)

EPS = float(np.finfo(np.float64).eps)

SMALLEST_LOG = -700.0
"""Weights below it would be subnormal or zero."""

MAX_RUNS, MAX_STAGES, MAX_OPS, MAX_HELD = 14, 4, 16, 16

OP = np.dtype(
    [("target", "i4"), ("inside", "i4"), ("outside", "i4"), ("unused", "i4"), ("w", "f8", 8)]
)
STAGE = np.dtype([("bits", "i4", 3), ("first", "i4"), ("last", "i4"), ("place", "i4", 3)])
PASS = np.dtype(
    [
        ("tiles", "u8"),
        ("factor", "f8"),
        ("held", "u8", MAX_HELD),
        ("runs", "i4"),
        ("stages", "i4"),
        ("run_start", "i4", MAX_RUNS),
        ("run_length", "i4", MAX_RUNS),
        ("stage", STAGE, MAX_STAGES),
        ("op", OP, MAX_OPS),
    ],
    align=True,
)
"""The struct ``Pass`` of frontier.cu."""


@dataclass(frozen=True)
class Shape:
    """What one pass may hold.

    Attributes
    ----------
    tile_bits, threads : int
        Bits of a tile, and threads of the block that works on it.
    slots, ops, stages, stage_ops : int
        Bits that are updated; updates, in how many stages, and how many in one of them.
    """

    tile_bits: int
    slots: int
    ops: int
    stages: int
    stage_ops: int = 16
    threads: int = 256


@dataclass(frozen=True)
class Step:
    """Some updates in a row: one push, one pop, or a group that is done in one pass."""

    kind: Literal["push", "pop", "group"]
    first: int
    last: int
    bits_before: int
    bits_after: int


class Program:
    """The updates that take a table through a binary pairwise model.

    Parameters
    ----------
    arrays : PairwiseArrays
        The model.
    layout : numpy.ndarray
        Spins in the order in which they enter the table.
    max_bits : int
        Widest table that is allowed.
    """

    def __init__(self, arrays: PairwiseArrays, layout: IntArray, max_bits: int) -> None:
        found: FrontierOps = frontier_ops(arrays, layout, max_bits)
        self.log_constant, self.constant_error = found.log_constant, found.constant_error
        self.max_bits, self.feasible = found.max_bits, found.feasible
        self.places = found.places
        """Rows of kind, slot, control, old, new, spin, edge, control edge."""
        self.logs = _as_replacements(found)
        """Per update [control][old][new]; pairs keep the label: others have weight zero."""

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def bits(self) -> Array:
        """Bits of the table before every update, and after the last."""
        kind = self.places[:, KIND]
        change = (kind == PUSH).astype(np.int64) - (kind == POP)
        return np.concatenate([[0], np.cumsum(change)])

    @cached_property
    def weights(self) -> FloatArray:
        """The exponentials of :attr:`logs`."""
        return np.exp(self.logs)

    # -- how entries and their sums grow ------------------------------------------------------

    @cached_property
    def row_bits(self) -> FloatArray:
        """log₂ of how much the sum of all entries grows at most; of beta, the largest one."""
        return self._growth(axis=3, moves=self.places[:, NEW] >= 0)

    @cached_property
    def column_bits(self) -> FloatArray:
        """log₂ of how much the largest entry grows at most; of beta, the sum of all."""
        return self._growth(axis=2, moves=self.places[:, OLD] >= 0)

    def _growth(self, axis: int, moves: Array) -> FloatArray:
        sums = self.weights.reshape(-1, 2, 2, 2).sum(axis).reshape(-1, 4).max(1, initial=1.0)
        kind = self.places[:, KIND]
        inner = np.log2(sums) + 1e-12
        return np.asarray(np.where(moves, np.where(kind == REPLACE, inner, 1.0), 0.0))

    @cached_property
    def shrink_bits(self) -> FloatArray:
        """log₂ of how much the largest entry shrinks at most, forwards or backwards."""
        cube = self.logs.reshape(-1, 2, 2, 2)
        least = np.minimum(cube.max(3).min((1, 2)), cube.max(2).min((1, 2)))
        moved = self.places[:, KIND] <= PAIR
        return np.asarray(np.where(moved, -least / np.log(2.0), 0.0))

    @cached_property
    def growth_after(self) -> FloatArray:
        """log₂ of what the sum of alpha can grow by from before an update to the end."""
        return np.concatenate([np.cumsum(self.row_bits[::-1])[::-1], [0.0]])

    @cached_property
    def sizes(self) -> FloatArray:
        """Largest size of a finite logarithm of every update."""
        finite = np.where(np.isfinite(self.logs), np.abs(self.logs), 0.0)
        return np.asarray(finite.max(1, initial=0.0))

    @property
    def error(self) -> float:
        """Relative error of Z: three roundings per update, and those of the logarithms."""
        return EPS * (4.0 * len(self) + 2.0 * float(self.sizes.sum()))

    # -- passes -------------------------------------------------------------------------------

    def fuse(self, first: int, last: int, shape: Shape) -> list[Step]:
        """Return the updates from ``first`` to ``last`` as steps of at most that shape."""
        places, bits = self.places.tolist(), self.bits.tolist()
        steps: list[Step] = []
        begin, slots, stage, stages, in_stage = first, set[int](), set[int](), 1, 0

        def close(end: int) -> None:
            if end > begin:
                steps.append(Step("group", begin, end, bits[begin], bits[begin]))

        for at in range(first, last):
            kind, slot = places[at][KIND], places[at][SLOT]
            if kind >= PUSH:
                close(at)
                name: Literal["push", "pop"] = "push" if kind == PUSH else "pop"
                steps.append(Step(name, at, at + 1, bits[at], bits[at + 1]))
                begin, slots, stage, stages, in_stage = at + 1, set(), set(), 1, 0
                continue
            opens = len(stage | {slot}) > 3 or in_stage >= shape.stage_ops
            full = len(slots | {slot}) > shape.slots or at - begin >= shape.ops
            if full or stages + opens > shape.stages:
                close(at)
                begin, slots, stage, stages, opens, in_stage = at, set(), set(), 1, False, 0
            slots.add(slot)
            stage = {slot} if opens else stage | {slot}
            stages += opens
            in_stage = 1 if opens else in_stage + 1
        close(last)
        return steps

    def as_pass(self, step: Step, shape: Shape, weights: FloatArray) -> Array:
        """Return the struct that a kernel takes; ``factor`` is 1."""
        places = self.places[step.first : step.last]
        key = (step.bits_before, shape, places[:, [SLOT, CONTROL]].tobytes())
        if key not in self._layouts:
            self._layouts[key] = _layout(
                step.bits_before, shape, places[:, SLOT].tolist(), places[:, CONTROL].tolist()
            )
        found = self._layouts[key].copy()
        found["op"]["w"][: len(places)] = weights[step.first : step.last]
        return found

    @cached_property
    def _layouts(self) -> dict[Any, Array]:
        return {}


def _layout(bits: int, shape: Shape, slots: list[int], controls: list[int]) -> Array:
    """Return the struct of a pass, but for its weights."""
    own = sorted(set(slots))
    others = [b for b in range(bits) if b not in own]
    tile = sorted(own + others[: shape.tile_bits - len(own)])
    at = {slot: k for k, slot in enumerate(tile)}
    found = np.zeros((), dtype=PASS)
    found["tiles"], found["factor"] = 1 << (bits - shape.tile_bits), 1.0
    for start, length in _runs(tile):
        found["run_start"][found["runs"]] = start
        found["run_length"][found["runs"]] = length
        found["runs"] += 1
    held = np.arange((1 << shape.tile_bits) // shape.threads) * shape.threads
    for k, b in enumerate(tile):
        found["held"][: len(held)] |= ((held >> k & 1) << b).astype(np.uint64)
    for first, last, members in _stages(slots, shape.stage_ops):
        spare = [b for b in tile if b not in members]
        three = sorted([*members, *spare[len(spare) - 3 + len(members) :]])
        stage = found["stage"][found["stages"]]
        stage["bits"], stage["first"], stage["last"] = [at[b] for b in three], first, last
        stage["place"] = [_place(1 << at[b]) for b in three]
        found["stages"] += 1
        for k in range(first, last):
            op, control = found["op"][k], controls[k]
            inside = three.index(control) if control in three else -1
            op["target"], op["inside"] = three.index(slots[k]), inside
            op["outside"] = control if inside < 0 else -1
    return found


def _as_replacements(found: FrontierOps) -> FloatArray:
    """Return the logarithms of all updates as [control][old][new]."""
    logs, kind, control = found.logs.copy(), found.places[:, KIND], found.places[:, CONTROL]
    pairs = kind == PAIR
    diagonal = np.full((int(pairs.sum()), 2, 2, 2), -np.inf)
    for label in (0, 1):
        diagonal[:, :, label, label] = found.logs[pairs].reshape(-1, 8)[:, [label, 2 + label]]
    logs[pairs] = diagonal.reshape(-1, 8)
    alone = (kind == REPLACE) & (control < 0)
    logs[alone, 4:] = logs[alone, :4]
    pushes = kind == PUSH
    logs[pushes, 2:] = np.tile(logs[pushes, :2], 3)
    logs[kind == POP] = 0.0
    return logs


def _place(j: int) -> int:
    """Return where entry j of a tile lies in shared memory, as ``place`` of frontier.cu does."""
    return j ^ (j >> 4 & 15) ^ (j >> 8 & 15)


def _runs(bits: list[int]) -> list[tuple[int, int]]:
    """Return (start, length) of every run of consecutive numbers.

    >>> _runs([0, 1, 2, 7, 8, 11])
    [(0, 3), (7, 2), (11, 1)]
    """
    runs: list[tuple[int, int]] = []
    for b in bits:
        if runs and sum(runs[-1]) == b:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((b, 1))
    return runs


def _stages(slots: list[int], most: int) -> list[tuple[int, int, set[int]]]:
    """Return (first, last, slots) of runs of updates that touch at most three slots.

    >>> _stages([4, 5, 4, 6, 7], 16)
    [(0, 4, {4, 5, 6}), (4, 5, {7})]
    """
    found: list[tuple[int, int, set[int]]] = []
    for k, slot in enumerate(slots):
        fits = found and k - found[-1][0] < most
        if fits and len(found[-1][2] | {slot}) <= 3:
            found[-1] = (found[-1][0], k + 1, found[-1][2] | {slot})
        else:
            found.append((k, k + 1, {slot}))
    return found
