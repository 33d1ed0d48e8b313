"""Boundary matrix product states of pairwise models, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from planaris import _core
from planaris.budget import Budget, control
from planaris.typing import FloatArray, IntArray, LongArray

Program = _core.SweepProgram
Contraction = _core.Contraction
ProvedGrid = _core.ProvedGrid
ProofTerms = _core.ProofTerms
bounded_exp = _core.bounded_exp

EFFORT = ((4, 8), (8, 24), (16, 48))
"""(boxes, words) that a row of a proof is tried with, in turn."""


class NetworkArrays(NamedTuple):
    """A pairwise model as flat arrays of logarithms, laid out as in ``PairwiseView``."""

    cardinalities: IntArray
    node_logs: FloatArray
    node_offsets: LongArray
    edges: IntArray
    edge_logs: FloatArray
    edge_offsets: LongArray


class Accuracy(NamedTuple):
    """Where bonds are cut.

    Attributes
    ----------
    max_rank : int
        Largest bond dimension.
    tolerance : float
        Smallest pivot that is kept, relative to the first.
    relative : float
        Power of the scales of rows and columns by which values are divided first: 0 bounds
        absolute errors, 1 relative ones.
    """

    max_rank: int
    tolerance: float = 1e-14
    relative: float = 0.5


def sweep_program(network: NetworkArrays, order: IntArray, heights: FloatArray) -> Program:
    """Return the steps of a line that passes the variables in this order."""
    return _core.sweep_program(network.cardinalities, network.edges, order, heights)


def contract(
    network: NetworkArrays,
    program: Program,
    accuracy: Accuracy,
    *,
    threads: int = 1,
    budget: Budget | None = None,
) -> Contraction:
    """Return log Z (NaN when accuracy was lost) and the bonds that it took."""
    return _core.contract_network(*network, program, *accuracy, threads, *control(budget))


def contract_marginals(
    network: NetworkArrays,
    program: Program,
    accuracy: Accuracy,
    *,
    threads: int = 1,
    history_bytes: float = 1e9,
    budget: Budget | None = None,
) -> tuple[Contraction, FloatArray, FloatArray]:
    """Return the contraction, node tables and edge tables, laid out as the network's."""
    return _core.contract_network_marginals(
        *network, program, *accuracy, threads, history_bytes, *control(budget)
    )


def draw(
    network: NetworkArrays,
    program: Program,
    num_samples: int,
    seed: int,
    accuracy: Accuracy,
    *,
    threads: int = 1,
    history_bytes: float = 1e9,
    budget: Budget | None = None,
) -> tuple[IntArray, FloatArray, int]:
    """Return samples, the log probabilities they were drawn with, and how often one was clipped."""
    return _core.sample_network(
        *network,
        program,
        num_samples,
        seed,
        *accuracy,
        threads,
        history_bytes,
        *control(budget),
    )


def prove_grid(
    fields: FloatArray,
    right: FloatArray,
    down: FloatArray,
    *,
    max_bond: int = 48,
    tolerance: float = 1e-15,
    effort: Sequence[tuple[int, int]] = EFFORT,
    target: float = 1e-11,
    terms: ProofTerms | None = None,
    threads: int = 1,
    budget: Budget | None = None,
) -> ProvedGrid:
    """Return log Z of an Ising grid and a proved bound of its error, infinite when it was lost.

    ``OverflowError`` when weights are out of the range of doubles.
    """
    return _core.prove_grid(
        np.ascontiguousarray(fields),
        np.ascontiguousarray(right),
        np.ascontiguousarray(down),
        max_bond,
        tolerance,
        list(effort),
        target,
        ProofTerms() if terms is None else terms,
        threads,
        *control(budget),
    )
