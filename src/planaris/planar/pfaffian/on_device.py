"""Batches of planar models on a GPU; those that lose digits there are done again on the CPU."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from planaris.errors import MethodError, ModelError
from planaris.gpu.device import import_torch
from planaris.gpu.fronts import DeviceRows
from planaris.planar.plan import Plan
from planaris.typing import FloatArray


def evaluate_on_device(
    plan: Plan, couplings: Any, *, correlations: bool, precision: str = "double"
) -> DeviceRows:
    """Return log Z and correlations of every row of a tensor on a GPU.

    ``sound`` says which rows the device computed; the CPU has replaced the others.
    """
    torch = import_torch()
    fronts = plan.evaluator.on_device(couplings.device)
    assert fronts is not None, "the graph is plane and has edges"
    if not torch.isfinite(couplings).all():
        row, edge = (~torch.isfinite(couplings)).nonzero()[0].tolist()
        msg = f"`couplings` must be finite, got {couplings[row, edge]} at edge {edge} of row {row}"
        raise ModelError(msg, index=edge, row=row)
    evaluate = partial(fronts.evaluate, correlations=correlations, precision=precision)
    found = evaluate(couplings)
    again = (~found.sound).nonzero().ravel()
    if len(again):  # digits are lost where a state of much lower energy exists
        values = couplings[again].to("cpu", torch.float64).numpy()
        spins = torch.as_tensor(plan.ground_states(values).spins, device=couplings.device)
        found.put(again, evaluate(couplings[again], spins=spins.to(torch.int8)))
    log_z = found.log_partition + plan.embedding.num_components * math.log(2.0)
    again = (~found.sound).nonzero().ravel()
    if len(again):
        values = couplings[again].to("cpu", torch.float64).numpy()
        some, slopes = evaluate_on_cpu(plan, values, correlations=correlations)
        log_z[again] = torch.from_numpy(some).to(log_z)
        if slopes is not None:
            found.correlations[again] = torch.from_numpy(slopes).to(log_z)
    return replace(found, log_partition=log_z)


def evaluate_on_cpu(
    plan: Plan, couplings: FloatArray, *, correlations: bool
) -> tuple[FloatArray, FloatArray | None]:
    """Return log Z (...) and the correlations (..., m), or None where nobody asks for them.

    >>> from planaris.planar import plan
    >>> log_z, slopes = evaluate_on_cpu(plan((2, [(0, 1)])), np.zeros((3, 1)), correlations=True)
    >>> log_z.round(6).tolist(), slopes.ravel().tolist()
    ([1.386294, 1.386294, 1.386294], [0.0, 0.0, 0.0])
    """
    rows = couplings.reshape(-1, plan.num_edges) if couplings.size else couplings
    shape = couplings.shape[:-1]
    if plan.num_edges == 0:
        log_z = np.full(shape, plan.num_spins * np.log(2.0))
        return log_z, np.zeros(couplings.shape) if correlations else None
    if couplings.size == 0:
        return np.zeros(shape), np.zeros(couplings.shape) if correlations else None
    if not correlations:
        found = plan.log_partition(rows)
        if not found.exact.all():
            msg = "log Z of these couplings cannot be computed to double precision"
            raise MethodError(msg, rows=np.flatnonzero(~found.exact))
        return found.values.reshape(shape), None
    marginals = plan.marginals(rows)
    agree = marginals.edges.reshape(couplings.shape)
    return marginals.log_z.reshape(shape), 2.0 * agree - 1.0
