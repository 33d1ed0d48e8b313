"""Sums and maxima over all states of a binary pairwise model, with the table on a device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from planaris.budget import Budget
from planaris.gpu.device import import_torch
from planaris.gpu.engine import TOLERATED, Engine, Table, Told, UnderflowError
from planaris.gpu.program import CONTROL, EPS, NEW, SLOT, SMALLEST_LOG, Program, Step
from planaris.gpu.tables import BACKWARD, FORWARD
from planaris.typing import FloatArray, Int8Array

LN2 = 0.6931471805599453


@dataclass(frozen=True, eq=False)
class DeviceSum:
    """log Z, the bound on its error and, where asked for, marginals.

    ``nodes`` has P(label 1) of every spin, ``edges`` P(both labels 1) of every edge;
    ``additions`` is the length of the longest chain of additions in them.
    """

    log_partition: float
    error: float
    nodes: FloatArray
    edges: FloatArray
    additions: int = 0


def device_sum(
    program: Program, num_spins: int, num_edges: int, device: Any, spare: int, budget: Budget
) -> DeviceSum:
    """Return log Z and, where ``spare`` is not negative, marginals with that many checkpoints.

    Raises
    ------
    UnderflowError
        Where weights that count may have been lost.
    """
    told = Told(num_spins, num_edges)
    if not program.feasible:
        return DeviceSum(-math.inf, 0.0, told.nodes, told.edges)
    finite = np.where(np.isfinite(program.logs), program.logs, 0.0)
    if finite.min(initial=0.0) < SMALLEST_LOG:
        raise UnderflowError
    engine = Engine(program, device, budget, best=False)
    log_z = -math.inf
    if spare < 0:
        table = engine.start()
        engine.advance(table, 0, len(program))
        log_z = _checked_log(table, program)
    else:
        steps = program.fuse(0, len(program), BACKWARD)
        beta: list[Table] = []

        def visit(t: int, alpha: Table) -> None:
            nonlocal log_z
            if t == len(steps):
                log_z = _log_of(alpha, program)
                beta.append(engine.start())
            elif log_z > -math.inf:
                engine.backward(alpha, beta[0], steps[t], told)

        engine.reverse(steps, spare, visit)
    error = program.error + 2.0**TOLERATED + program.constant_error
    error += 4 * EPS * abs(log_z - program.log_constant) + EPS * abs(log_z)
    error = error if log_z > -math.inf else 0.0
    return DeviceSum(log_z, error, told.nodes, told.edges, told.additions)


def device_max(
    program: Program, num_spins: int, device: Any, spare: int, budget: Budget
) -> tuple[Int8Array, float, float]:
    """Return labels of largest weight, its logarithm as computed and a bound on its error."""
    labels = np.zeros(num_spins, dtype=np.int8)
    if not program.feasible:
        return labels, -math.inf, 0.0
    engine = Engine(program, device, budget, best=True)
    steps = program.fuse(0, len(program), FORWARD)
    best, index = -math.inf, 0

    def visit(t: int, alpha: Table) -> None:
        nonlocal best, index
        if t == len(steps):
            best = float(alpha.data[0])
        elif best > -math.inf:
            index = _descend(program, steps[t], alpha.data, index, labels)

    engine.reverse(steps, spare, visit)
    # All terms are <= 0, so no partial sum exceeds the whole.
    error = 4.0 * EPS * len(program) * abs(best) + program.constant_error
    return labels, best + program.log_constant, error if best > -math.inf else 0.0


def _descend(program: Program, step: Step, data: Any, index: int, labels: Int8Array) -> int:
    """Undo a step for one state: set labels of spins that entered, return the index before."""
    places = program.places[step.first : step.last]
    slot = int(places[0, SLOT])
    if step.kind == "push":
        labels[places[0, NEW]] = index >> slot & 1
        return index & ~(1 << slot)
    if step.kind == "pop":
        rest = index & ~(1 << slot) | (index >> slot & 1) << step.bits_after
        if slot == step.bits_after:
            rest = index
        return rest | int(float(data[rest | 1 << slot]) > float(data[rest])) << slot
    slots = sorted(set(places[:, SLOT].tolist()))
    base, row = index, 0
    for k, s in enumerate(slots):
        base &= ~(1 << s)
        row |= (index >> s & 1) << k
    rows = np.arange(1 << len(slots))
    indices = base | sum((rows >> k & 1) << s for k, s in enumerate(slots))
    torch = import_torch()
    history = [data[torch.as_tensor(indices, device=data.device)].cpu().numpy()]
    labels_of = [
        (indices >> control & 1) if control >= 0 else 0 * indices
        for control in places[:, CONTROL].tolist()
    ]
    bits = [slots.index(s) for s in places[:, SLOT].tolist()]
    logs = program.logs[step.first : step.last].reshape(-1, 2, 2, 2)
    for k in range(len(places) - 1):
        x, old = history[-1], rows & ~(1 << bits[k])
        label, c = rows >> bits[k] & 1, labels_of[k]
        zero, one = x[old] + logs[k, c, 0, label], x[old | 1 << bits[k]] + logs[k, c, 1, label]
        history.append(np.maximum(zero, one))
    for k in reversed(range(len(places))):
        bit, control = 1 << bits[k], int(labels_of[k][row])
        entered = int(row & bit > 0)
        if places[k, NEW] >= 0:
            labels[places[k, NEW]] = entered
        x, first = history[k], row & ~bit
        w = logs[k, control, :, entered]
        row = first | bit if x[first | bit] + w[1] > x[first] + w[0] else first
    return int(indices[row])


def _checked_log(last: Table, program: Program) -> float:
    """Return log Z; raise where underflow may have taken a share of it."""
    value = float(last.data[0])
    size = math.log2(value) + last.exponent if value > 0.0 else -math.inf
    if not last.lost - size < TOLERATED:
        raise UnderflowError
    return _log_of(last, program)


def _log_of(last: Table, program: Program) -> float:
    """Return log Z from the table of no spin."""
    value = float(last.data[0])
    if not 0.0 < value < math.inf:  # which of the two, exponents would tell
        raise UnderflowError
    mantissa, shift = math.frexp(value)
    return math.log(mantissa) + (last.exponent + shift) * LN2 + program.log_constant
