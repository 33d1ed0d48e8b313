"""Planar decomposition bounds (GJ06)."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from planaris.bounds.best_interval import solve_easy
from planaris.bounds.decomposition.encoded import encoded_bound
from planaris.bounds.decomposition.results import bound_result
from planaris.bounds.decomposition.trees import trw
from planaris.budget import Budget, TimeLimit
from planaris.errors import MethodError
from planaris.models import IsingModel, MarkovRandomField, lift_log_partition, mrf2ising
from planaris.result import LogPartition
from planaris.subgraphs.bias_model import as_bias_model
from planaris.subgraphs.convex_combination import Callback, Decomposition
from planaris.subgraphs.families import planar_subgraphs
from planaris.typing import ArrayLike

PLANAR_STEPS = 300
"""Default limit on the steps of the optimiser."""


def pdc(
    model: IsingModel | MarkovRandomField,
    *,
    subgraphs: str | list[ArrayLike] = "auto",
    encoding: str = "order",
    penalty: float | None = None,
    max_iterations: int = PLANAR_STEPS,
    tolerance: float = 2e-7,
    time_limit: TimeLimit = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> LogPartition:
    """Bound log Z from above by a convex combination of planar subgraphs (GJ06).

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any model. Fields are edges to one more spin, counted after those of the model, one per
        spin; a model that is planar with them is solved exactly. A pairwise Markov random field
        with labels becomes spins first.
    subgraphs : {"auto", "lattice", "components", "planar"} or list of array_like of int
        Square lattices: GJ06's pairs of rows and columns with the star, cut into components as
        published (``"components"``) or with one bridge left across every cut, which is tighter
        (``"lattice"``); and outerplanar strips that keep all fields besides (``"auto"``). Other
        graphs: maximal planar subgraphs that cover every edge (``"planar"``). Or the edges of
        every subgraph.
    encoding : {"order", "one-hot"}
        Spins for k labels: k - 1 that say ``x > i``, or k of which one is up. Constraints are
        finite penalties, so log Z of the spins is a little larger. The order encoding's are
        planar and in every subgraph, which keeps the bound finite however large they are; those
        of one-hot are not from four labels on.
    penalty : float, optional
        Strength of the constraints; default: the better of two.
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

    Three variables of three labels each that prefer to be alike; log Z is 4.7465.

    >>> alike = np.exp(np.eye(3))
    >>> potts = MarkovRandomField([3] * 3, [((u, v), alike) for u, v in ((0, 1), (1, 2), (0, 2))])
    >>> bool(4.7465 < pdc(potts).upper < 5.2)
    True
    """
    started = time.monotonic()
    budget = Budget.of(time_limit)
    if isinstance(model, MarkovRandomField):
        options = {"max_iterations": max_iterations, "tolerance": tolerance, "callback": callback}
        if model.is_ising:
            ising, inverse = mrf2ising(model)
            spins = pdc(ising, subgraphs=subgraphs, rng=rng, time_limit=budget, **options)  # type: ignore[arg-type]
            return lift_log_partition(spins, inverse)
        if subgraphs != "auto":
            msg = "`subgraphs` are edges of spins; with labels they are found, use 'auto'"
            raise MethodError(msg)
        return encoded_bound(
            model,
            lambda ising, family, mine: pdc(ising, subgraphs=family, time_limit=mine, **options),  # type: ignore[arg-type]
            encoding=encoding,
            penalty=penalty,
            rng=rng,
            budget=budget,
        )
    bare = as_bias_model(model)
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
