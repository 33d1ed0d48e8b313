"""The log-determinant bound."""

from __future__ import annotations

from dataclasses import replace

from planaris.models import IsingModel
from planaris.result import LogPartition


def logdet(
    model: IsingModel, *, polytope: str = "cycle", time_limit: float | None = None
) -> LogPartition:
    """Bound log Z from above by the entropy of a Gaussian over a relaxed marginal polytope.

    Parameters
    ----------
    model : IsingModel
        Up to 60 spins: the moment matrix of all pairs is needed.
    polytope : {"local", "psd", "cycle", "marginal"}
        See :func:`planaris.relax.entropy_bound`.
    time_limit : float, optional
        Seconds; the bound found by then is returned.

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bool(2.797846 <= logdet(triangle).upper < 4.0)
    True
    """
    from planaris.relax import entropy_bound

    found = entropy_bound(model, entropy="log-det", polytope=polytope, time_limit=time_limit)
    return replace(found, method="logdet")
