"""Tensor networks: log Z, marginals and samples of lattices too wide for elimination.

A line is swept across the drawing of a pairwise model. The sums over everything behind it, one
number per state of the variables on the line, are kept as a matrix product state (docs/theory/
tensor-network.md). Results are estimates with a stated error.
"""

from __future__ import annotations

from planaris.tensor.inference import Draws, log_partition, marginals, sample
from planaris.tensor.sweeps import Sweep, plan_sweep
from planaris.tensor.temperatures import Estimate, TemperatureSweep
from planaris.tensor.warm_start import WarmStart

__all__ = [
    "Draws",
    "Estimate",
    "Sweep",
    "TemperatureSweep",
    "WarmStart",
    "log_partition",
    "marginals",
    "plan_sweep",
    "sample",
]
