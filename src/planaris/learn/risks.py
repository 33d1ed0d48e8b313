"""Likelihood (SK08 eq. 13) and margin (eq. 14) of training data, with their gradients."""

from __future__ import annotations

import math
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


def likelihood(
    examples: Sequence[Example], weights: FloatArray, threads: int | None
) -> list[Plane]:
    """Return the tangents of -log P of the wanted labels (up to a global flip).

    ``E(y*) + ln Z`` with Z = Σ exp(-E): costs are E = features @ weights, couplings E / 2; the
    gradient is φ(y*) less its expectation. The examples are of one graph, and evaluated at once.
    """
    graph = examples[0].graph
    costs = np.array([example.features @ weights for example in examples])
    apart, log_z = graph.marginals(costs / 2, threads=threads)
    once = np.log(2.0) if graph.num_spins else 0.0
    planes = []
    for k, example in enumerate(examples):
        cut = example.cut
        value = float(costs[k, cut].sum() - costs[k].sum() / 2 + log_z[k] - once)
        gradient = example.features.T @ (cut - apart[k])
        planes.append(Plane(value - float(gradient @ weights), gradient))
    return planes


def margin(
    examples: Sequence[Example], weights: FloatArray, threads: int | None = None
) -> list[Plane]:
    """Return the planes of the worst violators: d(y, y*) + ⟨φ(y*) - φ(y), weights⟩.

    Each lies below ``max_y d(y, y*) + E(y*) - E(y)`` everywhere, and touches it at ``weights``.
    """
    return [_worst(example, weights) for example in examples]


def _worst(example: Example, weights: FloatArray) -> Plane:
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
        loss: Callable[[Sequence[Example], FloatArray, int | None], list[Plane]],
        examples: Sequence[Example],
        n_jobs: int | None = None,
    ) -> None:
        self.loss, self.n_jobs = loss, n_jobs
        self.shares = _shares(examples, n_jobs)

    def __call__(self, weights: FloatArray) -> Plane:
        """Return the sums of what the loss returns."""
        calls = [(examples, weights) for examples in self.shares]
        found = [plane for part in run_parallel(self._some, calls, self.n_jobs) for plane in part]
        return Plane(
            math.fsum(plane.offset for plane in found),
            np.sum([plane.slope for plane in found], axis=0),
        )

    def _some(
        self, examples: Sequence[Example], weights: FloatArray, threads: int | None
    ) -> list[Plane]:
        return self.loss(examples, weights, threads)


def _shares(examples: Sequence[Example], n_jobs: int | None) -> list[list[Example]]:
    """Return the examples of every graph together, in as many shares as there are workers."""
    from joblib import effective_n_jobs

    by_graph: dict[int, list[Example]] = {}
    for example in examples:
        by_graph.setdefault(id(example.graph), []).append(example)
    workers = effective_n_jobs(n_jobs) if n_jobs is not None else 1
    shares = []
    for group in by_graph.values():
        size = -(-len(group) // workers)
        shares += [group[k : k + size] for k in range(0, len(group), size)]
    return shares


def run_parallel(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> list[Any]:
    """Return ``function(*call, threads)`` of all calls; ``n_jobs=None`` leaves threads free."""
    from joblib import Parallel, delayed, effective_n_jobs

    if len(calls) == 1 or effective_n_jobs(n_jobs) == 1:
        return [function(*call, None if n_jobs is None else 1) for call in calls]
    work = (delayed(function)(*call, 1) for call in calls)
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(work))
