"""Proved intervals around log Z of Ising grids."""

from __future__ import annotations

import math

import numpy as np

from planaris.budget import Budget
from planaris.kernels import tensor
from planaris.models import IsingModel
from planaris.tensor.network import grid_shape
from planaris.typing import FloatArray

BONDS = (48, 64)
"""Bond dimensions that a proof is tried with, until it holds."""


def grid_arrays(model: IsingModel) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return fields, couplings to the right and down of a grid no wider than high, or None.

    Missing edges have coupling zero.

    Examples
    --------
    >>> model = IsingModel.from_image([[0.0, 1.0, 2.0]], [[3.0, 4.0]], np.zeros((0, 3)))
    >>> [x.tolist() for x in grid_arrays(model)]
    [[[0.0], [1.0], [2.0]], [[], [], []], [[3.0], [4.0]]]
    """
    shape = grid_shape(model.num_spins, model.edges)
    if shape is None:
        return None
    rows, columns = shape
    right, down = np.zeros((rows, columns)), np.zeros((rows, columns))
    low = model.edges.min(1)
    beside = np.abs(model.edges[:, 0] - model.edges[:, 1]) == 1
    beside &= columns > 1
    right.flat[low[beside]] = model.couplings[beside]
    down.flat[low[~beside]] = model.couplings[~beside]
    fields = model.fields.reshape(shape)
    if rows < columns:
        fields, right, down = fields.T, down.T, right.T
    return fields.copy(), right[:, :-1].copy(), down[:-1].copy()


def prove(model: IsingModel, target: float, budget: Budget) -> tensor.ProvedGrid | None:
    """Return a proved contraction, the best of several bonds; None if the model is no grid.

    ``half_width`` is infinite when no bond gave a bound.
    """
    arrays = grid_arrays(model)
    if arrays is None or not keeps_range(arrays):
        return None
    best: tensor.ProvedGrid | None = None
    for bond in BONDS:
        try:
            found = tensor.prove_grid(
                *arrays,
                max_bond=bond,
                target=target / len(arrays[0]),
                threads=budget.workers(),
                budget=budget,
            )
        except (OverflowError, TimeoutError):
            break
        if best is None or found.half_width < best.half_width:
            best = found
        if math.isfinite(best.half_width):
            break
    return best


def keeps_range(arrays: tuple[FloatArray, FloatArray, FloatArray]) -> bool:
    """Return whether all weights are within the range that the proof takes."""
    return all(float(np.abs(x).max(initial=0.0)) < 300 for x in arrays)
