"""Takes tables of a frontier programme forwards and, with checkpoints, backwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.gpu.device import find_device, import_torch, within_memory
from planaris.gpu.program import CONTROL_EDGE, EDGE, NEW, SLOT, SPIN, Program, Step
from planaris.gpu.tables import FORWARD, CudaUpdates, Updates, ViewUpdates, dot
from planaris.typing import FloatArray

TOP = 400
"""log₂ of the largest entry of a table, within 40."""

TOLERATED = -56.0
"""log₂ of the share of Z that underflow may take."""

SMALL = 6
"""Tables with so many bits fewer than the largest cost no checkpoint."""


class UnderflowError(ArithmeticError):
    """Doubles may have lost weights that count: every entry needs an exponent of its own."""


@dataclass
class Table:
    """A table of 2^bits numbers, each times 2^exponent; sums only are scaled.

    ``low`` and ``high`` enclose log₂ of the largest entry; ``lost`` is log₂ of a bound on the
    weight lost to underflow, as it may grow until the last update.
    """

    data: Any
    bits: int = 0
    exponent: float = 0.0
    low: float = 0.0
    high: float = 0.0
    lost: float = -math.inf


class Engine:
    """Takes tables through a programme, forwards and, with checkpoints, backwards."""

    def __init__(self, program: Program, device: Any, budget: Budget, *, best: bool) -> None:
        self.program, self.best, self.budget = program, best, budget
        self.device = find_device(device)
        updates: Updates = (
            ViewUpdates(program, best)
            if self.device.type == "cpu"
            else CudaUpdates(program, best, self.device)
        )
        self.updates = updates
        self._pool: list[Any] = []
        self._fused: dict[tuple[int, int], list[Step]] = {}
        self._done = 0

    def start(self, *, room: bool = True) -> Table:
        """Return the table of no spin, with room for all of them or in a single number."""
        torch = import_torch()
        one = torch.ones(1, dtype=torch.float64, device=self.device)
        table = Table(self._take() if room else one)
        table.data[:1] = 0.0 if self.best else 1.0
        return table

    def _take(self) -> Any:
        if self._pool:
            return self._pool.pop()
        torch = import_torch()
        size = 1 << self.program.max_bits
        with within_memory(self.device):
            return torch.empty(size, dtype=torch.float64, device=self.device)

    def copy(self, table: Table) -> Table:
        """Return a copy in memory of its own."""
        data = self._take()
        data[: 1 << table.bits] = table.data[: 1 << table.bits]
        return Table(data, table.bits, table.exponent, table.low, table.high, table.lost)

    def is_small(self, bits: int) -> bool:
        """Whether tables are so small that as many as there are fit an eighth of the largest."""
        return bits <= self.program.max_bits - SMALL

    def _shrunk(self, table: Table) -> Table:
        """Return the table, a small one in memory of its own size."""
        if not self.is_small(table.bits) or len(table.data) < 1 << self.program.max_bits:
            return table
        data = table.data[: 1 << table.bits].clone()
        self.drop(table)
        return replace(table, data=data)

    def drop(self, table: Table) -> None:
        """Keep the memory of a table for the next one."""
        if len(table.data) == 1 << self.program.max_bits:
            self._pool.append(table.data)

    # -- forwards -----------------------------------------------------------------------------

    def advance(self, table: Table, first: int, last: int) -> None:
        """Do the updates from ``first`` to ``last``."""
        if (first, last) not in self._fused:
            self._fused[first, last] = self.program.fuse(first, last, FORWARD)
        for step in self._fused[first, last]:
            self.budget.poll()
            self._forward(table, step)

    def _forward(self, table: Table, step: Step) -> None:
        factor = self._rescale(table)
        if step.kind != "group":
            self.updates.forget()
        if step.kind == "push":
            self._push(table, step, factor)
        elif step.kind == "pop":
            self._pop(table, step, factor)
        else:
            self.updates.forward(table.data, step, factor)
        table.bits = step.bits_after
        if not self.best:
            p, ops = self.program, slice(step.first, step.last)
            _grow(table, p.column_bits[ops], p.shrink_bits[ops])
            self._note_loss(table, step, float(p.growth_after[step.last]))
            self._measure(table)

    def _rescale(self, table: Table) -> float:
        """Return the factor that brings the largest entry to about 2^400, if that is known."""
        if self.best or table.low != table.high or abs(table.high - TOP) <= 40:
            return 1.0
        shift = float(np.clip(TOP - math.floor(table.high), -1000, 1000))
        table.exponent -= shift
        table.low += shift
        table.high += shift
        return math.ldexp(1.0, int(shift))

    def _measure(self, table: Table) -> None:
        """Look at the largest entry where it may have become too large or too small."""
        if table.low > TOP - 150 and table.high < TOP + 50:
            return
        top = self.updates.top(table.data, table.bits)
        if not top < math.inf:
            raise UnderflowError
        table.low = table.high = math.log2(top) if top > 0.0 else TOP

    def _note_loss(self, table: Table, step: Step, growth: float) -> None:
        """Add what products may lose: 2^-1075 each, which grows as the sum of all entries."""
        ops, bits = step.last - step.first, max(step.bits_before, step.bits_after)
        lost = bits + ops + math.log2(6 * ops + 6) - 1074 + table.exponent + growth
        table.lost = _log2_add(table.lost, lost)

    def _push(self, table: Table, step: Step, factor: float) -> None:
        half = 1 << step.bits_before
        first, second = table.data[:half], table.data[half : 2 * half]
        logs = self.program.logs[step.first, :2]
        torch = import_torch()
        if self.best:
            torch.add(first, float(logs[1]), out=second)
            first += float(logs[0])
        else:
            w0, w1 = (factor * np.exp(logs)).tolist()
            torch.mul(first, w1, out=second)
            first *= w0

    def _pop(self, table: Table, step: Step, factor: float) -> None:
        """Sum over a slot; the spin of the last slot moves there."""
        slot, half = int(self.program.places[step.first, SLOT]), 1 << step.bits_after
        first, second = table.data[:half], table.data[half : 2 * half]
        torch = import_torch()
        join = torch.maximum if self.best else torch.add
        if slot == step.bits_after:
            join(first, second, out=first)
        else:
            low, high = first.view(-1, 2, 1 << slot), second.view(-1, 2, 1 << slot)
            join(low[:, 0], low[:, 1], out=low[:, 0])
            join(high[:, 0], high[:, 1], out=low[:, 1])
        if factor != 1.0:
            first *= factor

    # -- backwards ----------------------------------------------------------------------------

    def reverse(self, steps: list[Step], spare: int, visit: Callable[[int, Table], None]) -> None:
        """Call ``visit(t, table before step t)`` from the end on, t = len(steps) first.

        At most ``spare`` tables are kept as checkpoints (Griewank's binomial schedule), besides
        small ones.
        """
        begin = [step.first for step in steps] + [len(self.program)]
        small = [self.is_small(step.bits_before) for step in steps] + [True]
        large = np.flatnonzero(np.logical_not(small))
        stored: list[tuple[int, Table]] = [(0, self.start(room=False))]
        for t in range(len(steps), -1, -1):
            while stored[-1][0] < t:
                at = stored[-1][0]
                free = spare - sum(not small[k] for k, _ in stored)
                between = large[np.searchsorted(large, at, "right") :]
                to = _next_checkpoint(at, t, free, between[between <= t].tolist())
                if to is None:
                    break
                table = self.copy(stored[-1][1])
                self.advance(table, begin[at], begin[to])
                stored.append((to, self._shrunk(table)))
            if stored[-1][0] == t:
                table = stored.pop()[1]
            else:
                table = self.copy(stored[-1][1])
                self.advance(table, begin[stored[-1][0]], begin[t])
            visit(t, table)
            self.drop(table)
            self.budget.poll(1.0 - t / (len(steps) + 1))

    def backward(self, alpha: Table, beta: Table, step: Step, told: Told) -> None:
        """Turn beta after a step into beta before it, and add what follows for marginals."""
        p, ops = self.program, slice(step.first, step.last)
        factor = self._rescale(beta)
        before: float = beta.high
        total: float | None = None
        if step.kind != "group":
            self.updates.forget()
        if step.kind == "push":
            total = self._tell_push(alpha, beta, step, factor, told)
        elif step.kind == "pop":
            self._unpop(beta, step, factor)
        else:
            sums, total = self.updates.backward(alpha.data, beta.data, step, factor)
            if 0.0 < total < math.inf:
                told.note(p, step, sums / total)
                told.additions = max(told.additions, self.updates.additions(step.bits_before))
        beta.bits = step.bits_before
        _grow(beta, p.row_bits[ops], p.shrink_bits[ops])
        self._measure(beta)
        if total is not None:
            told.lose(self._share_lost(alpha, max(before, beta.high), step, total))

    def _share_lost(self, alpha: Table, beta_high: float, step: Step, total: float) -> float:
        """Bound, as log₂, the share of all sums that underflow around a step has taken.

        What alpha loses in an entry counts as much as that times beta does, and the other way
        round: each product loses 2^-1075, in the scale of its table. Tables between two steps are
        scaled otherwise, by no more than ``slack``.
        """
        if not 0.0 < total < math.inf:
            return math.inf
        ops, bits = step.last - step.first, max(step.bits_before, step.bits_after)
        each = bits + ops + math.log2(12 * ops + 12) - 1074 + self._slack
        return each + max(alpha.high, beta_high) - math.log2(total)

    @cached_property
    def _slack(self) -> float:
        p = self.program
        moved = np.concatenate([[0.0], np.cumsum(p.shrink_bits + p.row_bits + p.column_bits)])
        window = min(2 * FORWARD.ops, len(p))
        most = float((moved[window:] - moved[: len(moved) - window]).max(initial=0.0))
        return 250.0 + most

    def _tell_push(self, alpha: Table, beta: Table, step: Step, factor: float, told: Told) -> float:
        half = 1 << step.bits_before
        first, second = beta.data[:half], beta.data[half : 2 * half]
        w0, w1 = map(float, factor * np.exp(self.program.logs[step.first, :2]))
        zero, one = w0 * dot(alpha.data[:half], first), w1 * dot(alpha.data[:half], second)
        total = zero + one
        if total > 0.0:
            told.nodes[self.program.places[step.first, NEW]] = one / total
        first *= w0
        first.add_(second, alpha=w1)
        return total

    def _unpop(self, beta: Table, step: Step, factor: float) -> None:
        slot, half = int(self.program.places[step.first, SLOT]), 1 << step.bits_after
        first, second = beta.data[:half], beta.data[half : 2 * half]
        if factor != 1.0:
            first *= factor
        if slot == step.bits_after:
            second.copy_(first)
            return
        low, high = first.view(-1, 2, 1 << slot), second.view(-1, 2, 1 << slot)
        high[:, 0] = low[:, 1]
        high[:, 1] = low[:, 1]
        low[:, 1] = low[:, 0]


class Told:
    """Marginals as they become known."""

    def __init__(self, num_spins: int, num_edges: int) -> None:
        self.nodes, self.edges = np.zeros(num_spins), np.zeros(num_edges)
        self.additions, self.lost = 0, -math.inf

    def lose(self, share: float) -> None:
        """Add a share, as log₂, that underflow has taken; raise where it counts."""
        self.lost = _log2_add(self.lost, share)
        if not self.lost < TOLERATED:
            raise UnderflowError

    def note(self, program: Program, step: Step, shares: FloatArray) -> None:
        """Take what the updates of a group say: new label 1; also old, also control."""
        places = program.places[step.first : step.last]
        new, edge, other = places[:, NEW], places[:, EDGE], places[:, CONTROL_EDGE]
        self.nodes[new[new >= 0]] = shares[new >= 0, 0]
        pair = places[:, SPIN] >= 0
        self.edges[edge[pair]] = shares[pair, 2]
        old = ~pair & (edge >= 0)
        self.edges[edge[old]] = shares[old, 1]
        self.edges[other[other >= 0]] = shares[other >= 0, 2]


def _grow(table: Table, most: FloatArray, least: FloatArray) -> None:
    table.high += float(most.sum())
    table.low -= float(least.sum())


def _log2_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log2(1.0 + 2.0 ** max(low - high, -1000.0))


def _next_checkpoint(at: int, t: int, free: int, large: list[int]) -> int | None:
    """Return where to keep the next table on the way from ``at`` to ``t``, or None.

    ``large`` are the steps on this way whose tables count; ``free`` of them may be kept.
    """
    if not large:
        return at + 1
    if free > 0:
        return large[_checkpoint(len(large), free) - 1]
    return large[-1] + 1 if large[-1] < t else None


def _checkpoint(distance: int, free: int) -> int:
    """Return how far ahead the next checkpoint lies."""

    def reach(tables: int, sweeps: int) -> float:
        return float(math.comb(tables + sweeps, sweeps))

    sweeps = 1
    while reach(free + 1, sweeps) < distance + 1:
        sweeps += 1
    return int(np.clip(distance + 1 - reach(free, sweeps), 1, distance))
