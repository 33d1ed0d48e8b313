"""Proved contractions of Ising grids: log Z, and marginals with ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planaris.budget import Budget
from planaris.kernels import tensor
from planaris.kernels.tensor import Ends, Grid
from planaris.models import IsingModel
from planaris.result import BoundaryStates, Contraction
from planaris.tensor.sweeps import grid_shape
from planaris.typing import BoolArray, FloatArray, Int8Array, LongArray

BONDS = (48, 64)
"""Bond dimensions that a proof is tried with, until it holds."""


def enough(num_spins: int) -> tuple[float, ...]:
    """Return, per effort, how many times the target is good enough, where couplings are strong.

    The third effort is the last for most rows then; the fifth and the sixth are for those that are
    far above the target, or lost otherwise.

    >>> enough(2500)
    (1.0, 1.0, 60.0, 60000.0, 600000.0)
    """
    most = max(1.0, 60.0 * (num_spins / 2500) ** 2)
    return (1.0, 1.0, most, 1e3 * most, 1e4 * most)


def target_width(num_spins: int) -> float:
    """Return the half-width of log Z that proofs aim at: 8e-11 at 20², 1e-8 at 100².

    >>> target_width(400), target_width(10_000)
    (8e-11, 1e-08)
    """
    return max(1e-11, 1e-14 * num_spins * math.sqrt(num_spins))


@dataclass(frozen=True, eq=False)
class GridModel:
    """An Ising model as a grid, no wider than high if not asked. Missing edges have coupling zero.

    Attributes
    ----------
    arrays : tuple of numpy.ndarray
        Fields, couplings to the right and down.
    shape : tuple of int
        Rows and columns of the model.
    turned : bool
        Whether columns of the model are rows of the grid.
    beside : numpy.ndarray
        True at edges of the model that are in a row of it.
    low : numpy.ndarray
        Lower end of every edge of the model.

    Examples
    --------
    >>> model = IsingModel.from_image([[0.0, 1.0, 2.0]], [[3.0, 4.0]], np.zeros((0, 3)))
    >>> grid = GridModel.of(model)
    >>> [x.tolist() for x in grid.arrays]
    [[[0.0], [1.0], [2.0]], [[], [], []], [[3.0], [4.0]]]
    >>> grid.of_edges(*grid.arrays[1:]).tolist(), grid.of_spins(grid.arrays[0]).tolist()
    ([3.0, 4.0], [0.0, 1.0, 2.0])
    """

    arrays: Grid
    shape: tuple[int, int]
    turned: bool
    beside: BoolArray
    low: LongArray

    @classmethod
    def of(cls, model: IsingModel, *, other_way: bool = False) -> GridModel | None:
        """Return the grid of a model; None if it is none, or its weights are out of range.

        ``other_way``: a grid no higher than wide; of a square one, with columns as rows.
        """
        shape = grid_shape(model.num_spins, model.edges)
        if shape is None:
            return None
        rows, columns = shape
        right, down = np.zeros((rows, columns)), np.zeros((rows, columns))
        low = model.edges.min(1).astype(np.int64)
        beside = np.abs(model.edges[:, 0] - model.edges[:, 1]) == 1
        beside &= columns > 1
        right.flat[low[beside]] = model.couplings[beside]
        down.flat[low[~beside]] = model.couplings[~beside]
        fields = model.fields.reshape(shape)
        turned = (rows < columns) != other_way
        if turned:
            fields, right, down = fields.T, down.T, right.T
        arrays = (fields.copy(), right[:, :-1].copy(), down[:-1].copy())
        return cls(arrays, shape, turned, beside, low) if keeps_range(arrays) else None

    @property
    def is_row(self) -> bool:
        """Whether the grid has one row only."""
        return len(self.arrays[0]) == 1

    def of_spins(self, values: FloatArray) -> FloatArray:
        """Return values of the grid's spins, in the order of the model's."""
        return (values.T if self.turned else values).ravel()

    def of_states(self, states: Int8Array) -> Int8Array:
        """Return states (count × spins) of the grid in the order of the model's spins."""
        if not self.turned:
            return states
        cut: Int8Array = states.reshape(-1, *self.shape[::-1]).transpose(0, 2, 1)
        return cut.reshape(len(states), -1)

    def of_edges(self, right: FloatArray, down: FloatArray) -> FloatArray:
        """Return values of the grid's edges, in the order of the model's."""
        wide = (*self.shape[::-1],) if self.turned else self.shape
        full = [np.zeros(wide), np.zeros(wide)]
        full[0][:, : wide[1] - 1] = right
        full[1][: wide[0] - 1] = down
        if self.turned:
            full = [full[1].T, full[0].T]
        found: FloatArray = np.where(self.beside, *(part.ravel()[self.low] for part in full))
        return found


def certificate(grid: GridModel, found: tensor.ProvedGrid) -> Contraction:
    """Return what a check of a proved contraction needs: bonds, and trees of words."""
    other_way = grid.turned != (grid.shape[0] < grid.shape[1])
    return Contraction(grid.shape[1], *found.witness, other_way=int(other_way))


def boundary_states(
    grid: GridModel, above: tensor.ProvedGrid, below: tensor.ProvedGrid
) -> BoundaryStates:
    """Return what a check of proved marginals needs: how to contract from either side."""
    return BoundaryStates(certificate(grid, above), certificate(grid, below))


def checked_width(found: tensor.ProvedGrid, num_spins: int) -> float:
    """Return a half-width of log Z with room for a check by other sums in another order."""
    return 1.05 * found.half_width + 2e-15 * (abs(found.log_partition) + num_spins)


def checked_ends(ends: Ends, columns: int) -> Ends:
    """Return ends of probabilities with room for a check by other sums in another order."""
    room = 2e-15 * (columns + 8)
    lower = ends.lower - 0.05 * (ends.value - ends.lower) - room
    upper = ends.upper + 0.05 * (ends.upper - ends.value) + room
    return Ends(ends.value, np.maximum(lower, 0.0), np.minimum(upper, 1.0))


def keeps_range(arrays: Grid) -> bool:
    """Return whether all weights are within the range that the proof takes."""
    return all(float(np.abs(x).max(initial=0.0)) < 300 for x in arrays)


def prove(
    arrays: Grid,
    target: float | None,
    budget: Budget,
    *,
    keep: bool = False,
    witness: bool = True,
) -> tensor.ProvedGrid | None:
    """Return a proved contraction, the best of several bonds; None when there was no time.

    ``half_width`` is infinite when no bond gave a bound. ``target`` is the half-width of log Z to
    aim at; None: what takes little time (:func:`target_width`, :func:`enough`). ``keep``: with the
    states of all rows. ``witness``: with what a check needs.
    """
    found = _first_proved([arrays], target, budget, keep=keep, witness=witness)
    return None if found is None else found[1]


def prove_either_way(
    model: IsingModel, target: float | None, budget: Budget
) -> tuple[GridModel, tensor.ProvedGrid] | None:
    """Return a grid and its proved contraction, as :func:`prove` does, of squares either way.

    Whether strong couplings leave a bound depends on the side from which they are met.
    """
    if (grid := GridModel.of(model)) is None:
        return None
    grids = [grid]
    if grid.shape[0] == grid.shape[1] and (other := GridModel.of(model, other_way=True)):
        grids.append(other)
    found = _first_proved([grid.arrays for grid in grids], target, budget)
    return None if found is None else (grids[found[0]], found[1])


def _first_proved(
    ways: Sequence[Grid],
    target: float | None,
    budget: Budget,
    *,
    keep: bool = False,
    witness: bool = True,
) -> tuple[int, tensor.ProvedGrid] | None:
    """Return the first contraction with a bound, and which of the ways it went."""
    best: tuple[int, tensor.ProvedGrid] | None = None
    for bond, (way, arrays) in itertools.product(BONDS, enumerate(ways)):
        size, rows = arrays[0].size, len(arrays[0])
        if keep:
            budget.check_memory(size * 16.0 * bond**2, "the states of all rows", "raise the limit")
        try:
            found = tensor.prove_grid(
                *arrays,
                max_bond=bond,
                target=(target_width(size) if target is None else target) / rows,
                enough=enough(size) if target is None else (),
                threads=budget.workers(),
                keep=keep,
                witness=witness,
                budget=budget,
            )
        except (OverflowError, TimeoutError):
            break
        if best is None or found.half_width < best[1].half_width:
            best = (way, found)
        if math.isfinite(found.half_width):
            break
    return best


@dataclass(frozen=True, eq=False)
class SureMarginals:
    """Marginals of spins and edges with ends, and the proofs from above and below.

    ``nodes`` is None when a bound was lost.
    """

    nodes: Ends | None
    edges: Ends | None
    proofs: tuple[tensor.ProvedGrid, ...]


def prove_marginals(grid: GridModel, target: float | None, budget: Budget) -> SureMarginals:
    """Return marginals of a grid with proved ends."""
    arrays = grid.arrays
    if grid.is_row:  # states need a row below them
        fields, right, _ = arrays
        arrays = (
            np.vstack([fields, np.zeros_like(fields)]),
            np.vstack([right, np.zeros_like(right)]),
            np.zeros_like(fields),
        )
    above = prove(arrays, target, budget, keep=True)
    if above is None or not math.isfinite(above.half_width):
        return SureMarginals(None, None, () if above is None else (above,))
    upside_down: Grid = (arrays[0][::-1].copy(), arrays[1][::-1].copy(), arrays[2][::-1].copy())
    below = prove(upside_down, target, budget, keep=True)
    if below is None:
        return SureMarginals(None, None, (above,))
    try:
        found = tensor.proved_marginals(
            arrays, above, below, threads=budget.workers(), budget=budget
        )
    except TimeoutError:
        found = None
    if found is None:
        return SureMarginals(None, None, (above, below))
    rows = len(grid.arrays[0])
    nodes = Ends(*(grid.of_spins(x[:rows]) for x in found.nodes))
    edges = Ends(
        *(
            grid.of_edges(right[:rows], down[: rows - 1])
            for right, down in zip(found.right, found.down, strict=True)
        )
    )
    columns = arrays[0].shape[1]
    nodes, edges = checked_ends(nodes, columns), checked_ends(edges, columns)
    return SureMarginals(nodes, edges, (above, below))
