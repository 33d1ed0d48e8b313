"""Boundary matrix product states of pairwise models, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from planaris import _core
from planaris.budget import Budget, control
from planaris.typing import FloatArray, Int8Array, IntArray, LongArray

Program = _core.SweepProgram
Contraction = _core.Contraction
ProvedGrid = _core.ProvedGrid
ProofTerms = _core.ProofTerms
bounded_exp = _core.bounded_exp

EFFORT = ((4, 8), (4, 14), (8, 24), (16, 48), (16, 128), (16, 384))
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
    more : int
        How many smaller pivots are kept as well, as far as doubles resolve them.
    """

    max_rank: int
    tolerance: float = 1e-14
    relative: float = 0.5
    more: int = 0


def sweep_program(
    network: NetworkArrays, order: IntArray, heights: FloatArray, budget: Budget
) -> Program:
    """Return the steps of a line that passes the variables in this order."""
    arrays = (network.cardinalities, network.edges, order, heights)
    return _core.sweep_program(*arrays, *control(budget))


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
    tolerance: float = 1e-16,
    effort: Sequence[tuple[int, int]] = EFFORT,
    enough: Sequence[float] = (),
    target: float = 1e-11,
    terms: ProofTerms | None = None,
    threads: int = 1,
    keep: bool = False,
    witness: bool = False,
    budget: Budget | None = None,
) -> ProvedGrid:
    """Return log Z of an Ising grid and a proved bound of its error, infinite when it was lost.

    Rows are tried with the efforts in turn until their bounds are below ``target``, or below
    ``enough`` times that (one number per effort, 1 where there is none). ``keep``: the states after
    all rows stay in memory, for marginals and samples. ``witness``: what a check by another program
    needs is kept.
    ``OverflowError`` when weights are out of the range of doubles.
    """
    efforts = [
        (boxes, words, enough[k] if k < len(enough) else 1.0)
        for k, (boxes, words) in enumerate(effort)
    ]
    return _core.prove_grid(
        np.ascontiguousarray(fields),
        np.ascontiguousarray(right),
        np.ascontiguousarray(down),
        max_bond,
        tolerance,
        efforts,
        target,
        ProofTerms() if terms is None else terms,
        threads,
        keep,
        witness,
        *control(budget),
    )


Grid = tuple[FloatArray, FloatArray, FloatArray]
"""Fields, couplings to the right and couplings down of an Ising grid."""


class Ends(NamedTuple):
    """Probabilities and ends that hold for them."""

    value: FloatArray
    lower: FloatArray
    upper: FloatArray


class GridMarginals(NamedTuple):
    """Probabilities of spins, of edges to the right and of edges down, shaped like the grid."""

    nodes: Ends
    right: Ends
    down: Ends


def proved_marginals(
    grid: Grid,
    above: ProvedGrid,
    below: ProvedGrid,
    *,
    threads: int = 1,
    budget: Budget | None = None,
) -> GridMarginals | None:
    """Return marginals with proved ends; None when the bound was lost.

    ``above`` and ``below`` are proofs of the grid and of the grid upside down, with their states.
    The grid needs two rows.
    """
    proved, *found, _ = _core.proved_marginals(*grid, above, below, threads, *control(budget))
    if not proved:
        return None
    shaped = [
        Ends(*(x.reshape(part.shape) for x in ends)) for ends, part in zip(found, grid, strict=True)
    ]
    return GridMarginals(*shaped)


def proposal_excess(grid: Grid, proof: ProvedGrid) -> float:
    """Return how far log(weight / proposal) may be above log Z of the proof."""
    return _core.proposal_excess(*grid, proof)


def propose_samples(
    grid: Grid,
    proof: ProvedGrid,
    count: int,
    seed: int,
    *,
    threads: int = 1,
    budget: Budget | None = None,
) -> tuple[Int8Array, FloatArray] | None:
    """Return spins (count × spins), and how each was drawn; None when the bound was lost.

    A number p > 0 is the probability of that choice, a number -p < 0 says that it was 1 - p.
    """
    proved, spins, choices = _core.propose_samples(
        *grid, proof, count, seed, threads, *control(budget)
    )
    return (spins, choices) if proved else None
