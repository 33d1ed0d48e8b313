"""Edges cut in two by a new spin each: e^(J s s') is a sum over a spin between the two ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planaris.models import IsingModel
from planaris.result import Proof, SplitEdges
from planaris.subgraphs.bias_model import EPSILON
from planaris.typing import FloatArray, LongArray


@dataclass(frozen=True, eq=False)
class SplitModel:
    """A model with spins in the middle of some edges, which has the same log Z.

    Attributes
    ----------
    model : IsingModel
        The spins of the model that was split, then the new ones.
    edges, first, second : numpy.ndarray
        The splits as in :class:`~planaris.result.SplitEdges`.
    slack : float
        By how much its log Z may be off, at most.
    """

    model: IsingModel
    edges: LongArray
    first: FloatArray
    second: FloatArray
    slack: float

    def below(self, lower: float) -> float:
        """Return a lower bound on log Z of the model that was split, from one of this model."""
        return math.nextafter(lower - self.slack, -math.inf)

    def above(self, upper: float) -> float:
        """Return an upper bound on log Z of the model that was split, from one of this model."""
        return math.nextafter(upper + self.slack, math.inf)

    def proof(self, inner: Proof) -> SplitEdges:
        """Return a proof about the model that was split, from one about this model."""
        return SplitEdges(self.edges, self.first, self.second, inner)


class Splitter:
    """Splits edges one after the other; those that come of a split may be split again.

    Examples
    --------
    >>> from planaris.reference import enumerate_states
    >>> model = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, -0.5, 0.3])
    >>> splitter = Splitter(model)
    >>> splitter.split(1), splitter.split(2, 1.3)  # the new spins
    (3, 4)
    >>> found = splitter.done()
    >>> found.model.edges.tolist()
    [[0, 1], [1, 3], [0, 4], [2, 3], [2, 4]]
    >>> logs = [enumerate_states(each).log_partition for each in (model, found.model)]
    >>> bool(abs(logs[0] - logs[1]) < 1e-12)
    True
    """

    def __init__(self, model: IsingModel) -> None:
        self.old = model
        # Ends and couplings of edges that were split, and of those that came of it.
        self.ends: dict[int, tuple[int, int]] = {}
        self.couplings: dict[int, float] = {}
        self.splits: list[tuple[int, float, float]] = []
        self.constants: list[float] = []
        self.missed: list[float] = []

    def split(self, edge: int, first: float | None = None) -> int:
        """Put a spin into an edge and return it.

        Parameters
        ----------
        edge : int
            It keeps its first end; the other end and the spin are joined by a new edge.
        first : float, optional
            The coupling of the first end, larger than that of the edge; both ends have the same
            one by default, but for the sign.
        """
        spin = self.old.num_spins + len(self.splits)
        if edge not in self.ends:
            u, v = self.old.edges[edge].tolist()
            coupling = float(self.old.couplings[edge])
        else:
            (u, v), coupling = self.ends[edge], self.couplings[edge]
        size = abs(coupling)
        if first is None:
            first = second = size + 0.5 * math.log1p(math.sqrt(-math.expm1(-4 * size)))
        else:
            near, far = math.expm1(-2 * (first - size)), math.expm1(-2 * (first + size))
            second = size + 0.5 * math.log(far / near)
        second = math.copysign(second, coupling)
        both, apart = _log_cosh(first + second), _log_cosh(first - second)
        self.constants.append((both + apart) / 2)
        self.missed.append(abs(coupling - (both - apart) / 2))
        self.missed.append(16 * EPSILON * (first + abs(second) + 1))
        self.splits.append((edge, first, second))
        self.ends[edge], self.couplings[edge] = (u, spin), first
        self.ends[self.last_edge], self.couplings[self.last_edge] = (v, spin), second
        return spin

    @property
    def last_edge(self) -> int:
        """The edge that came last."""
        return self.old.num_edges + len(self.splits) - 1

    def done(self) -> SplitModel:
        """Return the model with all new spins."""
        old, count = self.old, len(self.splits)
        constant = math.fsum(self.constants)
        ends = np.concatenate([old.edges, np.zeros((count, 2), old.edges.dtype)])
        couplings = np.concatenate([old.couplings, np.zeros(count)])
        if count:
            ends[list(self.ends)] = list(self.ends.values())
            couplings[list(self.couplings)] = list(self.couplings.values())
        model = IsingModel(
            ends,
            couplings,
            np.concatenate([old.fields, np.zeros(count)]),
            offset=old.offset - constant,
        )
        slack = math.fsum(self.missed) + 4 * EPSILON * (abs(constant) + abs(old.offset))
        edges, first, second = zip(*self.splits, strict=True) if count else ((), (), ())
        return SplitModel(
            model,
            np.array(edges, dtype=np.int64),
            np.array(first, dtype=np.float64),
            np.array(second, dtype=np.float64),
            slack,
        )


def _log_cosh(x: float) -> float:
    """Return log(2 cosh x)."""
    return abs(x) + math.log1p(math.exp(-2 * abs(x)))
