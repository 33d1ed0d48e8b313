"""Tree-reweighted upper bounds, over trees that are found as they are needed."""

from __future__ import annotations

import time

import numpy as np

from planaris.bounds.decomposition.results import bound_result, out_of_time, trivial
from planaris.bounds.decomposition.tree_messages import MAX_ROUNDS, mix_trees
from planaris.bounds.labels.trees import label_trw
from planaris.budget import UNLIMITED, Budget, TimeLimit
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import LogPartition
from planaris.subgraphs.bias_model import Bare, as_bare
from planaris.subgraphs.convex_combination import Callback, Decomposition
from planaris.subgraphs.families import spanning_forest, tree_family
from planaris.typing import FloatArray

LEAST_GAIN = 1e-4
"""Rounds end when a new tree has less than this much more information, per spin."""

MAX_GROWN = 12
"""Trees added by the safe optimiser."""

TREE_STEPS = 500
"""Most steps of the optimiser, unless told."""


def trw(
    model: IsingModel | MarkovRandomField,
    *,
    max_iterations: int = TREE_STEPS,
    max_rounds: int = MAX_ROUNDS,
    tolerance: float = 2e-7,
    time_limit: TimeLimit = None,
    callback: Callback | None = None,
) -> LogPartition:
    """Bound log Z from above by a convex combination of spanning trees, all optimised.

    Parameters
    ----------
    model : IsingModel or MarkovRandomField
        Any Ising model, or a pairwise Markov random field with any number of labels.
    max_iterations : int
        Most steps: trees added, and steps of the optimiser where messages do not settle.
    max_rounds : int
        Most times that a tree is added: the one along which the bound falls fastest.
    tolerance : float
        Relative gain over ten steps of the optimiser below which it ends.
    time_limit : float, optional
        Seconds; the bound reached by then is returned.
    callback : callable, optional
        Receives the upper bound after every step.

    Returns
    -------
    LogPartition
        ``upper`` holds at any stop. ``stats`` has the pseudomarginals ``nodes`` (P(s = +1)) and
        ``edges`` (P(s_u = s_v)), the edge appearance probabilities ``rho``, and
        ``disagreement``, how far the trees differ on a shared marginal.

    Notes
    -----
    Wainwright, Jaakkola and Willsky (2005). The bound is Σ ρ_T log Z(θ^T) over explicit trees,
    exact on each, so it holds unconverged. Messages split the model over the trees; trees
    enter by conditional gradient on ρ (the heaviest tree by mutual information).

    Examples
    --------
    >>> triangle = IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    >>> bool(2.797846 <= trw(triangle).upper < 3.0)
    True
    """
    started = time.monotonic()
    if not isinstance(model, IsingModel):
        return label_trw(
            model,
            max_iterations=min(max_iterations, max_rounds),
            time_limit=time_limit,
            callback=callback,
        )
    bare = as_bare(model)
    if (found := trivial(model, bare, "trw")) is not None:
        return found
    budget = Budget.of(time_limit)
    try:
        state, status = tree_decomposition(
            bare,
            max_iterations=max_iterations,
            max_rounds=max_rounds,
            tolerance=tolerance,
            budget=budget,
            callback=callback,
        )
    except TimeoutError:
        return out_of_time(model, bare, "trw", started)
    return bound_result(model, state, "trw", status=status, seconds=time.monotonic() - started)


def tree_decomposition(
    bare: Bare,
    *,
    max_iterations: int = TREE_STEPS,
    max_rounds: int = MAX_ROUNDS,
    tolerance: float = 2e-7,
    budget: Budget = UNLIMITED,
    callback: Callback | None = None,
) -> tuple[Decomposition, str]:
    """Minimise over trees and their weights; return the state and why it ended.

    Message passing where every spin has a field, finished by the safe optimiser where messages
    do not settle; that optimiser alone for models without fields.
    """
    if bare.num_edges == bare.num_model_edges:
        return grow_trees(
            bare,
            max_iterations=max_iterations,
            max_rounds=min(max_rounds, MAX_GROWN),
            tolerance=tolerance,
            budget=budget,
            callback=callback,
        )
    mixture, status = mix_trees(
        bare, max_rounds=min(max_rounds, max_iterations), budget=budget, callback=callback
    )
    state = mixture.decomposition(callback)
    state.steps = len(mixture.trees)
    state.trace.append(state.upper + bare.constant)
    if status == "not converged":
        state = state.pruned(1e-3)
        status = state.minimise(max_iterations, tolerance)
    return state, status


def grow_trees(
    bare: Bare,
    *,
    max_iterations: int,
    max_rounds: int,
    tolerance: float,
    budget: Budget = UNLIMITED,
    callback: Callback | None = None,
) -> tuple[Decomposition, str]:
    """Minimise over trees by quasi-Newton steps, add the best tree, repeat."""
    family = tree_family(bare, budget=budget)
    state = Decomposition(bare, family, budget=budget, callback=callback)
    status, best = "optimal", state
    for rounds in range(max_rounds + 1):
        left = max_iterations - state.steps
        # Between trees a rough optimum is enough.
        status = state.minimise(left, tolerance if rounds == max_rounds else 10 * tolerance)
        best = min(best, state, key=lambda found: found.upper)
        if status != "optimal" or rounds == max_rounds:
            break
        information = edge_information(bare, state.moments)
        tree = spanning_forest(bare, information)
        rho = np.bincount(state.pieces.edge, state.rho()[state.pieces.piece], bare.num_edges)
        away = ~bare.at_apex
        chosen = np.zeros(bare.num_edges)
        chosen[tree] = 1.0
        gain = float(information[away] @ (chosen - rho)[away])
        if gain < LEAST_GAIN * bare.num_spins:
            status = state.minimise(left, tolerance)
            break
        state = state.extended([tree], weight=2.0 / (len(state.pieces) + 2))
    # A search that was stopped right after a new tree may be worse than the one before.
    return min(best, state, key=lambda found: found.upper), status


def edge_information(bare: Bare, moments: FloatArray) -> FloatArray:
    """Return the mutual information of the ends of every edge that does not touch the apex."""
    fields = bare.at_apex
    ends = bare.edges[fields]
    mean = np.zeros(bare.num_spins)
    mean[np.where(ends[:, 0] == bare.apex, ends[:, 1], ends[:, 0])] = moments[fields]
    u, v = bare.edges[:, 0], bare.edges[:, 1]
    total = np.zeros(bare.num_edges)
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            joint = (1 + a * mean[u] + b * mean[v] + a * b * moments) / 4
            product = (1 + a * mean[u]) * (1 + b * mean[v]) / 4
            joint, product = np.maximum(joint, 1e-300), np.maximum(product, 1e-300)
            total += joint * np.log(joint / product)
    return np.where(fields, 0.0, np.maximum(total, 0.0))
