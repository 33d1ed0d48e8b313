"""Planar decomposition bounds (GJ06)."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from planaris.bounds.decomposition.results import bound_result, solve_easy
from planaris.bounds.decomposition.trees import trw
from planaris.budget import Budget, TimeLimit
from planaris.models import IsingModel
from planaris.result import LogPartition
from planaris.subgraphs.bias_model import as_bias_model
from planaris.subgraphs.convex_combination import Callback, Decomposition
from planaris.subgraphs.families import planar_subgraphs
from planaris.typing import ArrayLike

PLANAR_STEPS = 300
"""Most steps of the optimiser, unless told."""


def pdc(
    model: IsingModel,
    *,
    subgraphs: str | list[ArrayLike] = "auto",
    max_iterations: int = PLANAR_STEPS,
    tolerance: float = 2e-7,
    time_limit: TimeLimit = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> LogPartition:
    """Bound log Z from above by a convex combination of planar subgraphs (GJ06).

    Parameters
    ----------
    model : IsingModel
        Any model. Fields are edges to one more spin, counted after those of the model, one per
        spin; a model that is planar with them is solved exactly.
    subgraphs : {"auto", "lattice", "planar"} or list of array_like of int
        Square lattices: GJ06's pairs of rows and columns with the star (``"lattice"``), and
        outerplanar strips that keep all fields (``"auto"``). Other graphs: maximal planar
        subgraphs that cover every edge (``"planar"``). Or the edges of every subgraph.
    max_iterations : int
        Most steps of the optimiser.
    tolerance : float
        Relative gain over ten steps below which to stop.
    time_limit : float, optional
        Seconds; the bound reached by then is returned.
    rng : numpy.random.Generator, optional
        For generated subgraphs; default seeded.
    callback : callable, optional
        Receives the upper bound after every step.

    Returns
    -------
    LogPartition
        ``upper`` holds at any stop. ``stats`` as for :func:`planaris.bounds.trw`, with
        ``subgraphs`` and their ``weights``.

    Examples
    --------
    >>> k5 = [(u, v) for u in range(5) for v in range(u)]
    >>> bound = pdc(IsingModel(k5, 0.5))
    >>> bool(5.0 < bound.lower < 5.803226 < bound.upper < 5.82)
    True
    """
    started = time.monotonic()
    bare = as_bias_model(model)
    budget = Budget.of(time_limit)
    if (found := solve_easy(model, bare, "pdc", budget=budget)) is not None:
        return found
    # Preparing subgraphs may take all the time: trees, which are quick, then stand in.
    half = budget.share(0.6)
    try:
        family = planar_subgraphs(bare, subgraphs, rng, budget=half)
        state = Decomposition(bare, family, budget=half, callback=callback)
        state.pieces.evaluate(state.couplings(state.y, state.rho()), budget=half)
        state.budget = budget
        status = state.minimise(max_iterations, tolerance)
    except TimeoutError:
        found = trw(model, time_limit=budget)
        return replace(found, method="pdc", status="time_limit")
    return bound_result(model, state, "pdc", status=status, seconds=time.monotonic() - started)
