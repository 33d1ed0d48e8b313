"""Results that claim anything at all, for what must judge them."""

import math

import numpy as np

from planaris.result import GroundState, LogPartition, Marginals


def claimed_state(spins, energy, lower, upper, exact, method, stats=None, certificate=None):
    spins = np.asarray(spins, dtype=np.int8)
    return GroundState(
        spins=spins,
        assignment=(spins > 0).astype(np.int32),
        energy=energy,
        lower=lower,
        upper=upper,
        tolerance=max(upper - lower, 0.0) if exact else 0.0,
        method=method,
        stats=stats or {},
        certificate=certificate,
    )


def claimed_log_partition(value, lower, upper, exact, method, stats=None, certificate=None):
    return LogPartition(
        value=value,
        lower=lower,
        upper=upper,
        tolerance=max(upper - lower, 0.0) if exact else -1.0,
        method=method,
        stats=stats or {},
        certificate=certificate,
    )


def claimed_marginals(nodes, edges, exact, method):
    return Marginals(nodes=nodes, edges=edges, error=0.0 if exact else math.inf, method=method)
