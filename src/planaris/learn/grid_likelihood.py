"""The likelihood of whole masks of a grid CRF, with gradients by tensor networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planaris.learn.logistic import evaluate_logistic
from planaris.models import IsingModel
from planaris.tensor import WarmStart
from planaris.typing import FloatArray, Int8Array

TOLERANCE = 1e-5
"""Change of a probability at which a tensor network is good enough for a gradient."""

RELATIVE_DECREASE = 1e-6
"""Decrease of the objective in a step, relative to it, at which training stops."""

MAX_EVALUATIONS = 100
"""Most values and gradients of all images."""


@dataclass(frozen=True, eq=False)
class GridExample:
    """Features and labels of an image.

    Attributes
    ----------
    nodes : numpy.ndarray
        Features of pixels (H, W, k).
    right, down : numpy.ndarray
        Features of edges to the right (H, W - 1, c) and down (H - 1, W, c).
    spins : numpy.ndarray
        Labels -1 and +1 (H, W).
    """

    nodes: FloatArray
    right: FloatArray
    down: FloatArray
    spins: Int8Array

    def pixels(self) -> tuple[FloatArray, Int8Array]:
        """Return the rows of all pixels, and their labels."""
        return _flat(self.nodes), self.spins.ravel()

    def pairs(self) -> list[tuple[FloatArray, Int8Array]]:
        """Return the rows of all edges, and whether their ends agree."""
        s = self.spins
        agree = (s[:, :-1] * s[:, 1:], s[:-1] * s[1:])
        return [(_flat(x), a.ravel()) for x, a in zip((self.right, self.down), agree, strict=True)]

    def given_neighbours(self) -> tuple[FloatArray, Int8Array]:
        """Return the rows of all pixels given the labels around them."""
        together = np.concatenate([self.nodes, self._around()], axis=-1)
        return _flat(together), self.spins.ravel()

    def _around(self) -> FloatArray:
        """Return Σ_u s_u · features_uv over the neighbours u of every pixel v."""
        total = np.zeros((*self.spins.shape, self.right.shape[-1]))
        s = self.spins[:, :, None]
        total[:, :-1] += self.right * s[:, 1:]
        total[:, 1:] += self.right * s[:, :-1]
        total[:-1] += self.down * s[1:]
        total[1:] += self.down * s[:-1]
        return total

    def model(self, weights: FloatArray) -> IsingModel:
        """Return the model of an image; weights of pixels come first."""
        count = self.nodes.shape[-1]
        fields, right, down = (
            x @ w
            for x, w in (
                (self.nodes, weights[:count]),
                (self.right, weights[count:]),
                (self.down, weights[count:]),
            )
        )
        return IsingModel.from_image(fields, right, down)


def maximise_likelihood(
    examples: Sequence[GridExample], start: FloatArray, regularization: float
) -> FloatArray:
    """Return weights of least ``-Σ log P(mask | image) + ½ regularization ‖w‖²``.

    log Z and the expected features are estimated by tensor networks.

    Parameters
    ----------
    examples : sequence of GridExample
        The training data.
    start : numpy.ndarray
        First weights: those of pixels, then those of edges.
    regularization : float
        Above zero.

    Examples
    --------
    >>> spins = np.where(np.arange(6) < 3, -1, 1).astype(np.int8) * np.ones((5, 1), np.int8)
    >>> one = np.ones((5, 6, 1))
    >>> example = GridExample(spins[:, :, None] * one, one[:, 1:], one[1:], spins)
    >>> weights = maximise_likelihood([example], np.zeros(2), 1.0)
    >>> bool((weights > 0.5).all())
    True
    """
    from scipy.optimize import minimize

    starts = {shape: WarmStart(tolerance=TOLERANCE) for shape in {x.spins.shape for x in examples}}

    given = [example.given_neighbours() for example in examples]
    _, _, curvature = evaluate_logistic(given, start, regularization)
    # Steps are measured by the curvature of the pseudo-likelihood: features differ in size.
    unit = np.linalg.inv(np.linalg.cholesky(curvature)).T

    def objective(step: FloatArray) -> tuple[float, FloatArray]:
        weights = start + unit @ step
        value = regularization * float(weights @ weights) / 2
        slope = regularization * weights
        for example in examples:
            loss, gradient = _tangent(example, weights, starts[example.spins.shape])
            value, slope = value + loss, slope + gradient
        return value, unit.T @ slope

    found = minimize(
        objective,
        np.zeros(len(start)),
        jac=True,
        method="L-BFGS-B",
        options={"maxfun": MAX_EVALUATIONS, "ftol": RELATIVE_DECREASE, "gtol": 0.0},
    )
    return np.asarray(start + unit @ found.x)


def _tangent(
    example: GridExample, weights: FloatArray, warm: WarmStart
) -> tuple[float, FloatArray]:
    """Return -log P of the mask at these weights, and its gradient."""
    model = example.model(weights)
    found = warm.marginals(model)
    assert found.log_partition is not None, "tensor networks estimate it"
    value = found.log_partition.value - float(model.log_weight(example.spins.ravel()))
    (pixels, spins), pairs = example.pixels(), example.pairs()
    expected = 2 * np.asarray(found.edges) - 1
    split = len(pairs[0][1])
    edges = np.zeros(example.right.shape[-1])
    for (rows, agree), mean in zip(pairs, (expected[:split], expected[split:]), strict=True):
        edges += rows.T @ (mean - agree)
    nodes = pixels.T @ (2 * np.asarray(found.nodes) - 1 - spins)
    return value, np.concatenate([nodes, edges])


def _flat(rows: FloatArray) -> FloatArray:
    return rows.reshape(-1, rows.shape[-1])
