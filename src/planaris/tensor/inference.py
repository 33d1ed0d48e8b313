"""Estimates by boundary matrix product states: log Z, marginals and samples, with their errors."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.errors import PrecisionError
from planaris.models import IsingModel
from planaris.models.arrays import as_count, as_rng
from planaris.result import LogPartition, Marginals, Stats
from planaris.tensor.network import Model
from planaris.tensor.run import MARGINAL_TOLERANCE, MAX_BOND, Run
from planaris.tensor.sweeps import Sweep
from planaris.typing import Array, FloatArray, Rng

MOST_OFF = 0.1
"""Samples whose log probabilities are off by more are refused."""


class Draws(NamedTuple):
    """Samples and what is known of them.

    Attributes
    ----------
    states : numpy.ndarray
        One state per row: int8 spins of an Ising model, int32 labels of a Markov random field.
    log_probabilities : numpy.ndarray
        Logarithm of the probability with which each was drawn.
    error : float
        Largest difference, over the samples, of that and of log weight - log Z as estimated; of
        exact samples, how far ``log_probabilities`` may be off.
    stats : dict
        Bond dimension, times.
    proved : bool
        Whether the samples are exact.
    num_proposals : int
        How many were drawn until as many as asked for were accepted.
    """

    states: Array
    log_probabilities: FloatArray
    error: float
    stats: Stats
    proved: bool = False
    num_proposals: int = 0


def log_partition(
    model: Model,
    *,
    tolerance: float | None = None,
    max_bond: int = MAX_BOND,
    prove: bool = False,
    threads: int | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
    sweep: Sweep | None = None,
) -> LogPartition:
    """Estimate log Z by a boundary matrix product state.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        A pairwise model whose graph a short line can be swept across: a grid, a plane drawing.
    tolerance : float, optional
        Bonds are cut at ever smaller pivots, a hundredth of those before, until log Z changes by
        less; default 1e-12 per variable, at least 1e-11.
    max_bond : int
        Largest bond dimension.
    prove : bool
        Bound the error of a contraction by a proof (Ising grids; docs/theory/tensor-network.md).
        Where couplings are too strong for it, the estimate is returned and ``stats`` says so.
    threads : int, optional
        One sweep from either end: at most two are of use. Default: the processors there are.
    memory_limit : int, optional
        Bytes for the state on the line; default half of the machine's memory.
    time_limit : float or Budget, optional
        Seconds, after which the last finished estimate is returned, or
        :class:`~planaris.errors.TimeLimitError` is raised when there is none.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.
    sweep : Sweep, optional
        The sweep of this model, if it has been planned before (:func:`plan_sweep`).

    Returns
    -------
    LogPartition
        An estimate: ``lower`` and ``upper`` are the value minus and plus the stated error, four
        times the change between the last two contractions. With ``prove``, a proved interval
        where there is one: then ``proved`` is True.

    Raises
    ------
    PrecisionError
        When an edge's weights differ by more than the range of doubles, or no contraction gave
        a positive sum.

    Examples
    --------
    >>> import planaris as pl
    >>> model = pl.IsingModel.from_image(np.full((6, 6), 0.1), 0.4, 0.4)
    >>> found = log_partition(model)
    >>> abs(found.value - pl.log_partition(model, "treewidth").value) < 1e-11
    True
    >>> sure = log_partition(model, prove=True)
    >>> sure.proved, sure.gap < 1e-10
    (True, True)
    """
    budget = Budget.of(time_limit, memory_limit=memory_limit, threads=threads, progress=progress)
    run = Run(model, tolerance, max_bond, budget, sweep)
    found = run.prove() if prove else None
    if found is not None and found.proved:
        return found
    with budget.watch("tensor network") as watched:
        values = run.converge(watched)
    estimate = run.log_partition(values)
    if not prove:
        return estimate
    why = "no grid" if found is None else found.status
    return replace(estimate, status=f"not proved: {why}")


def marginals(
    model: Model,
    *,
    tolerance: float | None = None,
    max_bond: int = MAX_BOND,
    prove: bool = False,
    threads: int | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
    sweep: Sweep | None = None,
) -> Marginals:
    """Estimate all marginals of variables and edges by boundary matrix product states.

    One state comes from either end of the sweep; where they meet, both together give the
    marginals.

    Parameters
    ----------
    model, max_bond, threads, memory_limit, time_limit, progress, sweep
        As for :func:`log_partition`. What does not fit into the memory is computed twice.
    tolerance : float, optional
        Pivots get smaller until no probability changes by more; default 1e-9.
    prove : bool
        Bound all errors by a proof (Ising grids; docs/theory/tensor-network.md). Where couplings
        are too strong for it, estimates are returned and ``status`` says so.

    Returns
    -------
    Marginals
        Estimates; ``error`` is the stated error of every probability: four times the largest
        change between contractions with two bond dimensions. With ``prove``, where there is a
        proof, ``nodes_lower``, ``nodes_upper``, ``edges_lower`` and ``edges_upper`` hold and
        ``proved`` is True.

    Examples
    --------
    >>> import planaris as pl
    >>> model = pl.IsingModel.from_image(np.full((5, 5), 0.3), 0.4, -0.4)
    >>> exact = pl.marginals(model, "treewidth")
    >>> bool(np.abs(marginals(model).nodes - exact.nodes).max() < 1e-10)
    True
    >>> sure = marginals(model, prove=True)
    >>> sure.proved, sure.error < 1e-10, bool((sure.nodes_lower <= exact.nodes).all())
    (True, True, True)
    """
    budget = Budget.of(time_limit, memory_limit=memory_limit, threads=threads, progress=progress)
    run = Run(model, tolerance, max_bond, budget, sweep)
    run.tolerance = MARGINAL_TOLERANCE if tolerance is None else run.tolerance
    sure = run.prove_marginals() if prove else ""
    if isinstance(sure, Marginals):
        return sure
    with budget.watch("tensor network") as watched:
        values = run.converge_marginals(watched)
    run.require_weight(values, "marginals")
    found = run.marginals(values)
    return replace(found, status=f"not proved: {sure}") if prove else found


def sample(
    model: Model,
    num_samples: int,
    rng: Rng = None,
    *,
    tolerance: float | None = None,
    max_bond: int = MAX_BOND,
    prove: bool = False,
    threads: int | None = None,
    memory_limit: int | None = None,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
    sweep: Sweep | None = None,
) -> Draws:
    """Draw independent samples from a boundary matrix product state.

    Variables are drawn one after the other, each given those that the line passed later. The
    samples come from a distribution that is very close to the model's, not from the model's:
    ``error`` says how close their probabilities are. With ``prove`` they are exact: proposals of
    a proved contraction, a few of which are rejected.

    Parameters
    ----------
    model, tolerance, max_bond, threads, memory_limit, time_limit, progress, sweep
        As for :func:`log_partition`.
    num_samples : int
        How many.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.
    prove : bool
        Draw exact samples (Ising grids; docs/theory/tensor-network.md).

    Returns
    -------
    Draws
        States, the log probabilities they were drawn with, and their largest error.

    Raises
    ------
    PrecisionError
        At temperatures so low that log probabilities are off by more than .1; with ``prove``,
        where couplings are too strong for a proof.

    Examples
    --------
    >>> import planaris as pl
    >>> model = pl.IsingModel.from_image(np.full((4, 4), 9.0), 1.0, 1.0)
    >>> sample(model, 2, 7).states.min()
    np.int8(1)
    >>> exact = sample(model, 2, 7, prove=True)
    >>> exact.proved, exact.states.min(), exact.num_proposals
    (True, np.int8(1), 2)
    """
    num_samples = as_count("num_samples", num_samples)
    budget = Budget.of(time_limit, memory_limit=memory_limit, threads=threads, progress=progress)
    run = Run(model, tolerance, max_bond, budget, sweep)
    if prove:
        return _exact_draws(run, num_samples, as_rng(rng))
    seed = int(as_rng(rng).integers(0, 2**63))
    with budget.watch("tensor network") as watched:
        values = run.converge(watched)
        run.require_weight(values, "samples")
        labels, logs = run.draw(num_samples, seed, values, watched)
    states = (2 * labels - 1).astype(np.int8) if isinstance(model, IsingModel) else labels
    value = run.network.log_partition(values[-1].found.log_partition)
    error = float(np.abs(model.log_weight(states) - value - logs).max(initial=0.0))
    if not error <= MOST_OFF:
        msg = (
            f"log probabilities of samples of the tensor network are off by {error:.2g}: the "
            'temperature is too low; use `method="treewidth"`'
        )
        raise PrecisionError(msg)
    return Draws(states, logs, error, run.stats(values))


def _exact_draws(run: Run, num_samples: int, rng: np.random.Generator) -> Draws:
    found, interval = run.draw_exactly(num_samples, rng)
    return Draws(
        found.states,
        found.log_weights + (run.network.constant - interval.value),
        interval.gap,
        {**interval.stats, "least_acceptance": found.least_rate},
        proved=True,
        num_proposals=found.num_proposals,
    )
