"""Foreground inside a box: colour mixtures and exact minimum cuts, in turn (GrabCut)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from planaris.budget import ProgressCallback
from planaris.errors import ModelError
from planaris.infer import ground_state
from planaris.learn.grid import GridPotentials
from planaris.learn.segmentation.mixtures import fit_mixture
from planaris.result import GroundState
from planaris.typing import BoolArray, FloatArray

COMPONENTS = 5
"""Gaussians of the foreground and of the background, as in GrabCut."""

GAMMA = 15.0
"""Coupling of neighbours of the same colour; 50 as a cost in GrabCut, with eight neighbours."""

MOST_ROUNDS = 12
"""Rounds of fitting and cutting; they end earlier when the mask stays as it is."""

HELD = 1e4
"""Field of a pixel outside the box: far more than colours can say."""


SHIFTS = (-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
"""Added to the fields inside the box, to see which pixels change sides."""


class Boxed(NamedTuple):
    """What the last round had."""

    potentials: GridPotentials
    inside: BoolArray
    state: GroundState
    rounds: int

    def steadiness(self) -> FloatArray:
        """Return the share of cuts with each pixel in the foreground, under shifted fields.

        The cuts are nested. It is a measure of sensitivity, not a probability.
        """
        rows, columns = self.inside.shape
        total = np.zeros((rows, columns))
        for shift in SHIFTS:
            nodes = self.potentials.nodes + np.where(self.inside, shift, 0.0)
            model = GridPotentials(nodes, self.potentials.right, self.potentials.down).model
            total += (ground_state(model, "graph-cut").spins > 0).reshape(rows, columns)
        return total / len(SHIFTS)


def box_mask(box: Sequence[int], shape: tuple[int, ...]) -> BoolArray:
    """Return True inside a box (left, top, right, bottom), the last two exclusive.

    >>> box_mask((1, 0, 3, 2), (2, 4)).astype(int).tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0]]
    """
    sides = np.asarray(box)
    if sides.shape != (4,) or sides.dtype.kind not in "iu":
        msg = f"`box` must be four integers (left, top, right, bottom), got {box!r}"
        raise ModelError(msg)
    left, top, right, bottom = sides.tolist()
    rows, columns = shape[:2]
    if not (0 <= left < right <= columns and 0 <= top < bottom <= rows):
        msg = (
            "`box` must be (left, top, right, bottom) in pixels inside the image of "
            f"{columns} × {rows}, got {tuple(box)}"
        )
        raise ModelError(msg)
    inside = np.zeros((rows, columns), dtype=bool)
    inside[top:bottom, left:right] = True
    if inside.all():
        msg = "`box` must leave some of the image outside: that is what the background looks like"
        raise ModelError(msg)
    return inside


def cut_in_box(
    image: FloatArray,
    box: Sequence[int],
    *,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> Boxed:
    """Alternate between fitting colours to a mask and cutting the mask out by the colours.

    Every cut is a proved most probable mask for the colours of its round; the mixtures are only
    a local optimum, as in GrabCut.
    """
    inside = box_mask(box, image.shape)
    rows, columns = inside.shape
    colours = image.reshape(rows * columns, -1)
    right, down = _couplings(image)
    mask, before = inside.copy(), None
    best: Boxed | None = None
    for k in range(MOST_ROUNDS):
        rng = np.random.default_rng([seed, k])
        odds = np.zeros(colours.shape[0])
        for sign, chosen in ((1.0, mask), (-1.0, ~mask)):
            # Where nothing is left of one side, the colours of the box stand for it.
            seen = colours[(chosen if chosen.any() else inside).ravel()]
            odds += sign * fit_mixture(seen, COMPONENTS, rng).log_density(colours)
        fields = np.where(inside, odds.reshape(rows, columns) / 2, -HELD)
        potentials = GridPotentials(_rounded(fields), right, down)
        state = ground_state(potentials.model, "graph-cut")
        best = Boxed(potentials, inside, state, k + 1)
        mask = (state.spins > 0).reshape(rows, columns)
        if progress is not None:
            progress((k + 1) / MOST_ROUNDS)
        if before is not None and np.array_equal(before, mask):
            break
        before = mask
    assert best is not None, "there is at least one round"
    return best


def _couplings(image: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return couplings to the right and down: weak where the contrast is strong."""
    flat = image.reshape(*image.shape[:2], -1)
    squared = [(np.diff(flat, axis=axis) ** 2).sum(axis=2) for axis in (1, 0)]
    mean = float(np.concatenate([part.ravel() for part in squared]).mean())
    sharp = 0.0 if mean == 0 else 1.0 / (2.0 * mean)
    right, down = (_rounded(GAMMA * np.exp(-sharp * part)) for part in squared)
    return right, down


def _rounded(weights: FloatArray) -> FloatArray:
    """Round to 24 bits after the point: a minimum cut is exact on weights of few bits."""
    return np.rint(np.clip(weights, -HELD, HELD) * 2.0**24) / 2.0**24
