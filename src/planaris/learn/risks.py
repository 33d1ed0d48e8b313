"""Likelihood (SK08 eq. 13) and margin (eq. 14) of training data, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from planaris.learn.tied import TiedGraph
from planaris.typing import BoolArray, FloatArray, Int8Array


@dataclass(frozen=True, eq=False)
class Example:
    """An instance with its labels: graph, features, wanted state, margin weights."""

    graph: TiedGraph
    features: FloatArray
    spins: Int8Array
    margin: FloatArray

    @property
    def cut(self) -> BoolArray:
        """Edges that the wanted state cuts."""
        return self.graph.cut(self.spins)


class Plane(NamedTuple):
    """A linear function of the weights that touches a risk and lies below it everywhere."""

    offset: float
    slope: FloatArray

    def at(self, weights: FloatArray) -> float:
        """Return ``offset + ⟨slope, weights⟩``."""
        return self.offset + float(self.slope @ weights)


def likelihood(example: Example, weights: FloatArray, threads: int | None) -> Plane:
    """Return the tangent of -log P of the wanted labels (up to a global flip).

    ``E(y*) + ln Z`` with Z = Σ exp(-E): costs are E = features @ weights, couplings E / 2; the
    gradient is φ(y*) less its expectation.
    """
    costs = example.features @ weights
    apart, log_z = example.graph.marginals(costs / 2, threads=threads)
    cut = example.cut
    once = np.log(2.0) if example.graph.num_spins else 0.0
    value = float(costs[cut].sum() - costs.sum() / 2 + log_z - once)
    gradient = example.features.T @ (cut - apart)
    return Plane(value - float(gradient @ weights), gradient)


def margin(example: Example, weights: FloatArray, threads: int | None = None) -> Plane:
    """Return the plane of the worst violator: d(y, y*) + ⟨φ(y*) - φ(y), weights⟩.

    It lies below ``max_y d(y, y*) + E(y*) - E(y)`` everywhere, and touches it at ``weights``.
    """
    couplings = example.features @ weights / 2
    spins, _ = example.graph.margin_violator(couplings, example.spins, example.margin)
    worst, wanted = example.graph.cut(spins), example.cut
    distance = float(example.margin[worst != wanted].sum())
    slope = example.features.T @ (wanted.astype(np.float64) - worst)
    return Plane(distance, slope)


class Risk:
    """The sum of a loss over examples, evaluated by several workers.

    Parameters
    ----------
    loss : callable
        :func:`likelihood` or :func:`margin`.
    examples : sequence of Example
        The training data.
    n_jobs : int, optional
        Workers of joblib; threads unless ``joblib.parallel_config`` says otherwise.
    """

    def __init__(
        self,
        loss: Callable[[Example, FloatArray, int | None], Plane],
        examples: Sequence[Example],
        n_jobs: int | None = None,
    ) -> None:
        self.loss, self.examples, self.n_jobs = loss, examples, n_jobs

    def __call__(self, weights: FloatArray) -> Plane:
        """Return the sums of what the loss returns."""
        found = run_parallel(self._one, [(e, weights) for e in self.examples], self.n_jobs)
        return Plane(
            float(np.sum([plane.offset for plane in found])),
            np.sum([plane.slope for plane in found], axis=0),
        )

    def _one(self, example: Example, weights: FloatArray, threads: int | None) -> Plane:
        return self.loss(example, weights, threads)


def run_parallel(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> list[Any]:
    """Return ``function(*call, threads)`` of all calls; ``n_jobs=None`` leaves threads free."""
    from joblib import Parallel, delayed, effective_n_jobs

    if len(calls) == 1 or effective_n_jobs(n_jobs) == 1:
        return [function(*call, None if n_jobs is None else 1) for call in calls]
    work = (delayed(function)(*call, 1) for call in calls)
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(work))
