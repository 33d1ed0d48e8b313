"""Ground states of submodular models by one minimum cut."""

from __future__ import annotations

import math
import time

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.cuts.roof_dual import LATE, FlowCertificate
from planaris.cuts.submodular import is_submodular
from planaris.errors import MethodError
from planaris.kernels import cuts as kernel
from planaris.models import IsingModel
from planaris.result import GroundState


def graph_cut(
    model: IsingModel,
    *,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> GroundState:
    """Find a ground state of a model without frustrated cycles, by a minimum cut.

    Parameters
    ----------
    model : IsingModel
        Any graph and fields; couplings positive, or positive after flipping some spins.
    time_limit : float, optional
        Seconds, after which the work stops with a :class:`~planaris.errors.TimeLimitError`.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    GroundState
        Exact: the cut is computed in integers that hold the weights exactly. ``certificate``
        is a flow that proves the bound in any other arithmetic. Only when weights span more
        than 120 bits is ``exact`` False, and ``lower`` leaves room for their rounding.

    Raises
    ------
    MethodError
        With ``frustrated_cycle``, the edges of a cycle that no flips can make positive.

    Notes
    -----
    ``E(s) = -Σ J - Σ |h| + 2 cut(s)``, where the source is tied to spins with ``h > 0`` and
    the sink to those with ``h < 0`` (Greig, Porteous and Seheult 1989).

    Examples
    --------
    >>> chain = IsingModel([(0, 1), (1, 2)], [1.0, 0.3], fields=[2.0, 0.0, -0.5])
    >>> best = graph_cut(chain)
    >>> best.spins.tolist(), best.exact
    ([1, 1, -1], True)
    """
    budget, started = Budget.of(time_limit, progress=progress), time.monotonic()
    evidence = is_submodular(model)
    if evidence.gauge is None:
        cycle = evidence.frustrated_cycle
        count = 0 if cycle is None else len(cycle)
        msg = (
            f"`graph_cut` needs a model without frustrated cycles, but {count} of its "
            f"{model.num_edges} edges form one (see `err.frustrated_cycle`); use "
            "planaris.ground_state(model, method='auto'), or method='qpbo' for part of the state"
        )
        raise MethodError(msg, frustrated_cycle=cycle)
    gauge = evidence.gauge
    strength = np.abs(model.couplings)
    with budget.watch("minimum cut") as watched, budget.required(LATE):
        side, flow, rounding, bits = kernel.minimum_cut(
            model.edges, strength, model.fields * gauge, budget=watched
        )
    spins = (np.where(side, 1, -1) * gauge).astype(np.int8)

    def lower(energy: float) -> float:
        # Rounding weights moves every energy by `rounding` at most: the optimum by twice that.
        below = math.nextafter(energy, -math.inf)  # where twice that is lost beside the energy
        return energy if rounding == 0 else min(energy - 2 * rounding, below)

    return GroundState.of(
        model,
        spins,
        lower,
        method="graph-cut",
        seconds=time.monotonic() - started,
        certificate=FlowCertificate(flow * gauge[model.edges[:, 0]]),
        stats={
            "integer_bits": bits,
            "rounding": rounding,
            "flipped": int(np.count_nonzero(gauge < 0)),
        },
    )
