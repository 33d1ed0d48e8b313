"""Roof duality: lower bounds from flows, and spins that are certain (QPBO)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.kernels import cuts as kernel
from planaris.models import IsingModel, require_ising
from planaris.result import Flow, GroundState, Proof
from planaris.typing import FloatArray

LATE = "the minimum cut was not found"
"""Message of the error on timeout."""


@dataclass(frozen=True, eq=False)
class FlowCertificate(Proof):
    """Numbers ``|flow_e| <= |J_e|`` that prove a lower bound on the energy.

    For every edge, ``|J| (1 - sign(J) s_u s_v) >= flow (s_u - sign(J) s_v)``; adding this up
    leaves a linear function of the spins, whose minimum is

    ``-Σ|J| - Σ_v |h_v - Σ_{e out of v} flow_e + Σ_{e into v} sign(J_e) flow_e| - offset``.
    """

    flow: FloatArray

    def as_proof(self) -> Flow:
        """Return the proof as plain arrays, for :mod:`planaris.verify` and for files."""
        return Flow(self.flow)

    def lower_bound(self, model: IsingModel) -> float:
        """Recompute the bound that the flow proves for a model, rounded down."""
        strength = np.abs(model.couplings)
        flow = np.clip(self.flow, -strength, strength)
        rest = model.fields.copy()
        np.subtract.at(rest, model.edges[:, 0], flow)
        np.add.at(rest, model.edges[:, 1], np.sign(model.couplings) * flow)
        total = float(strength.sum() + np.abs(rest).sum())
        degree = float(np.bincount(model.edges.ravel()).max(initial=0))
        scale = float(2 * strength.sum() + np.abs(model.fields).sum()) + abs(model.offset)
        # Sums of k numbers: pairwise in NumPy, one after the other at each vertex.
        slack = (degree + 64.0) * float(np.finfo(float).eps) * scale
        return -(total + model.offset) - slack


def qpbo(
    model: IsingModel,
    *,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> GroundState:
    """Find spins that are the same in every ground state, by roof duality.

    Parameters
    ----------
    model : IsingModel
        Any couplings and fields.
    time_limit : float, optional
        Seconds, after which the work stops with a :class:`~planaris.errors.TimeLimitError`.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    GroundState
        ``certain`` marks the spins proved to take this value in every ground state (strong
        persistency); the others are filled in by local descent. ``lower`` is the roof dual
        bound and ``certificate`` the flow that proves it.

    Notes
    -----
    The doubled graph of Boros and Hammer: each spin and its opposite, tied by symmetric
    capacities. The vertices that a maximum flow leaves reachable from the source are labelled
    alike in every minimum (Hammer, Hansen and Simeone 1984). Without fields nothing is
    certain, by symmetry.

    Examples
    --------
    >>> model = IsingModel([(0, 1), (1, 2), (0, 2)], [-1.0, -1.0, -1.0], fields=[5.0, 0.0, 0.0])
    >>> found = qpbo(model)
    >>> found.certain.tolist(), found.spins[found.certain].tolist()
    ([True, False, False], [1])
    """
    require_ising(model)
    budget, started = Budget.of(time_limit, progress=progress), time.monotonic()
    n = model.num_spins
    u, v = model.edges[:, 0], model.edges[:, 1]
    swap = np.where(model.couplings < 0, n, 0).astype(np.int32)
    doubled = np.concatenate(
        [np.column_stack([u, v + swap]), np.column_stack([u + n, v + n - swap])]
    )
    strength = np.abs(model.couplings)
    with budget.watch("roof duality") as watched, budget.required(LATE):
        side, flow, rounding, bits = kernel.minimum_cut(
            np.ascontiguousarray(doubled, dtype=np.int32),
            np.concatenate([strength, strength]),
            np.concatenate([model.fields, -model.fields]),
            budget=watched,
        )
        # The smallest source side never holds a spin together with its opposite.
        certain = (side[:n] | side[n:]) if rounding == 0 else np.zeros(n, dtype=bool)
        start = np.where(side[:n], 1, np.where(side[n:], -1, np.sign(model.fields)))
        start = np.where(start == 0, 1, start).astype(np.int8)
        spins = kernel.descend_energy(
            model.edges, model.couplings, model.fields, certain, start, budget=watched
        )
    twice = flow[: len(strength)] - flow[len(strength) :]
    certificate = FlowCertificate(twice / 2)
    # Half of a subnormal number may be none: the flow as stated proves less then.
    proves_all = bool(certain.all()) and np.array_equal(2 * certificate.flow, twice)
    return GroundState.of(
        model,
        spins,
        math.inf if proves_all else certificate.lower_bound(model),  # no lower than its energy
        method="qpbo",
        seconds=time.monotonic() - started,
        certificate=certificate,
        certain=certain,
        stats={"certain": int(certain.sum()), "integer_bits": bits, "rounding": rounding},
    )
