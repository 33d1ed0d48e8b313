"""Pseudo-costs: how much branching on an edge has raised the bound so far."""

from __future__ import annotations

import numpy as np

from planaris.typing import FloatArray, IntArray


class PseudoCosts:
    """Mean rise of the bound per unit when an edge was branched on, per side."""

    def __init__(self, count: int) -> None:
        self.sum = np.zeros((2, count))
        self.tries = np.zeros((2, count))

    def learn(self, edge: int, value: int, x: float, rise: float) -> None:
        """Note that fixing ``edge`` at ``value`` raised the bound by ``rise``."""
        move = x if value == 0 else 1 - x
        self.sum[value, edge] += max(rise, 0.0) / max(move, 1e-3)
        self.tries[value, edge] += 1

    def score(self, edges: IntArray, x: FloatArray) -> FloatArray:
        """Return the product of the expected rises of both sides."""
        seen = self.tries > 0
        usual = self.sum[seen].sum() / max(self.tries[seen].sum(), 1.0) if seen.any() else 1.0
        rate = np.where(seen, self.sum / np.maximum(self.tries, 1), usual)[:, edges]
        return np.asarray(
            np.maximum(rate[0] * x[edges], 1e-9) * np.maximum(rate[1] * (1 - x[edges]), 1e-9)
        )
