"""Exact samples of models without frustrated cycles, in any fields, by coupling from the past.

Couplings that are not negative make heat-bath updates monotone: chains started with all spins up
and all spins down, fed with the same random numbers, enclose every other chain. Where the two have
met, all chains have (Propp and Wilson 1996). Random numbers are read once, in the order of time
(Wilson 2000).
"""

from __future__ import annotations

import numpy as np

from planaris.budget import Budget, ProgressOption, TimeLimit
from planaris.errors import MethodError, ModelError
from planaris.kernels.cuts import balance_signs
from planaris.kernels.sampling import bound_from_the_past, sample_read_once
from planaris.models import IsingModel, require_ising
from planaris.models.arrays import as_count, as_rng
from planaris.typing import FloatArray, Int8Array, IntArray, Rng

SECONDS = 60.0
"""After which chains that have not met are given up, where no limit is given."""


def sample(
    model: IsingModel,
    num_samples: int,
    rng: Rng = None,
    *,
    time_limit: TimeLimit = None,
    threads: int | None = None,
    progress: ProgressOption = None,
) -> Int8Array:
    """Draw exact samples of a model without frustrated cycles, on any graph and in any fields.

    Parameters
    ----------
    model : IsingModel
        Flipping some of its spins must make all couplings positive.
    num_samples : int
        How many.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.
    time_limit : float, optional
        Seconds; default a minute. How long chains take to meet grows fast below a critical
        temperature.
    threads : int, optional
        Threads; the samples do not depend on them.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    numpy.ndarray, shape (num_samples, n)
        Spins. All samples are drawn or none: the time that a sample takes depends on it, so that
        keeping those that were quick would prefer some states.

    Raises
    ------
    MethodError
        When a cycle is frustrated; its edges are ``frustrated_cycle``.
    TimeLimitError
        When the chains do not meet in time.

    Examples
    --------
    >>> ferromagnet = IsingModel([(0, 1), (1, 2), (2, 0)], 1.0, fields=[30.0, 30.0, 30.0])
    >>> sample(ferromagnet, 2, 5).tolist()
    [[1, 1, 1], [1, 1, 1]]
    """
    budget = Budget.of(time_limit, threads=threads, progress=progress).or_within(SECONDS)
    count, generator = as_count("num_samples", num_samples), as_rng(rng)
    signs, edges, couplings = _attractive(model)
    seed = int(generator.integers(0, 2**64, dtype=np.uint64))
    what = (
        "chains started with all spins up and all spins down did not meet: the model is too cold "
        "for coupling from the past; raise the temperature or the limit, or take "
        "method='tensor-network' for samples of an estimate; this"
    )
    fields = np.ascontiguousarray(model.fields * signs)
    with budget.required(what), budget.watch("coupling from the past") as watched:
        found, _, _ = sample_read_once(edges, couplings, fields, count, seed, budget=watched)
    return found * signs


def _attractive(model: IsingModel) -> tuple[Int8Array, IntArray, FloatArray]:
    """Return signs of spins, edges and couplings, which are positive for spins times signs."""
    require_ising(model)
    kept = np.flatnonzero(model.couplings)
    edges, couplings = np.ascontiguousarray(model.edges[kept]), model.couplings[kept]
    signs, cycle = balance_signs(model.num_spins, edges, couplings)
    if len(cycle):
        msg = (
            "coupling from the past needs a model without frustrated cycles, but "
            f"{len(cycle)} of its {model.num_edges} edges form one (see `err.frustrated_cycle`); "
            "use 'planar', 'treewidth', or 'tensor-network' for samples of an estimate"
        )
        raise MethodError(msg, frustrated_cycle=kept[cycle])
    return signs, edges, np.abs(couplings)


def bound_probabilities(
    model: IsingModel,
    *,
    num_samples: int = 16,
    max_sweeps: int = 128,
    seed: int = 0,
    time_limit: TimeLimit = None,
    progress: ProgressOption = None,
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the share of exact samples in which each spin is +1.

    Parameters
    ----------
    model : IsingModel
        No coupling may be negative.
    num_samples : int
        Independent samples; the share has a standard error of at most ``0.5 / sqrt`` of it.
    max_sweeps : int
        How far into the past to start at most.
    seed : int
        The result is a function of it.
    time_limit : float, optional
        Seconds, after which ``TimeoutError`` is raised.
    progress : bool or callable, optional
        See :data:`planaris.budget.ProgressOption`.

    Returns
    -------
    lower, upper : numpy.ndarray
        Equal where all samples are decided.

    Examples
    --------
    >>> low, high = bound_probabilities(IsingModel([(0, 1)], [9.0], fields=[9.0, 0.0]))
    >>> low.tolist(), high.tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """
    require_ising(model)
    if np.any(model.couplings < 0):
        msg = "couplings must not be negative: updates would not be monotone"
        raise ModelError(msg)
    budget = Budget.of(time_limit, progress=progress)
    with budget.watch("coupling from the past") as watched:
        low, high = bound_from_the_past(
            model.edges,
            model.couplings,
            model.fields,
            num_samples,
            max_sweeps,
            as_count("seed", seed) % 2**64,
            budget=watched,
        )
    return low / num_samples, high / num_samples
