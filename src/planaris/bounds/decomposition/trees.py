"""Tree-reweighted upper bounds, over trees that are found as they are needed.

Message passing is the quick way to the optimum over trees. Messages u, at any time and for any
edge appearance probabilities ρ, split the model over trees T with E_T [e in T] = ρ_e: tree T gets
the coupling J_e / ρ_e on its edges and the field b_v - Σ_{w: vw in T} u_{w→v} on v, where
b_v = h_v + Σ_w ρ_vw u_{w→v}. The mean over trees is the model, so every stop gives a bound; at a
fixed point all trees have the same marginals, which is the optimum (Wainwright, Jaakkola, Willsky
2005).
"""

from __future__ import annotations

import math
import time

import numpy as np

from planaris.bounds.best_interval import out_of_time, trivial
from planaris.bounds.decomposition.results import bound_result
from planaris.bounds.labels.trees import label_trw
from planaris.budget import UNLIMITED, Budget, TimeLimit
from planaris.kernels.relaxations import sweep_spins
from planaris.models import IsingModel, MarkovRandomField
from planaris.result import LogPartition
from planaris.subgraphs.bias_model import BiasModel, as_bias_model
from planaris.subgraphs.convex_combination import Callback, Decomposition
from planaris.subgraphs.families import spanning_forest, tree_family
from planaris.typing import BoolArray, FloatArray, LongArray

MAX_DAMPING = 0.9

EDGES_AT_ONCE = 2**15
"""Edges whose information is computed between two checks of the deadline."""

MAX_ROUNDS = 150
"""Trees added; on lattices the bound is then within 1e-4 per spin of the best ρ's."""

LEAST_FALL = 3e-4
"""Rounds end when the best tree promises less than this, per spin (an upper bound on what all
further trees together could gain)."""


class TreeMixture:
    """Spanning trees, their weights, and the messages that split the model over them.

    Parameters
    ----------
    bare : BiasModel
        A model with fields: every spin is joined to the apex.
    budget : Budget
        Time for message passing; ``TimeoutError`` if it is over before
        there are trees.
    """

    def __init__(self, bare: BiasModel, *, budget: Budget = UNLIMITED) -> None:
        self.bare, self.budget = bare, budget
        field = bare.at_apex
        self.away, self.joined = np.flatnonzero(~field), np.flatnonzero(field)
        self.edges = np.ascontiguousarray(bare.edges[self.away], dtype=np.int32)
        ends = bare.edges[self.joined]
        self.field_spin = np.where(ends[:, 0] == bare.apex, ends[:, 1], ends[:, 0])
        self.fields = np.zeros(bare.num_spins)
        self.fields[self.field_spin] = bare.couplings[self.joined]
        self.trees = tree_family(bare, budget=budget)
        self.weights = np.full(len(self.trees), 1.0 / len(self.trees))
        self.rho = self._appearance()
        self.messages = np.zeros(2 * len(self.away))
        self.damping, self.change, self.sweeps = 0.0, math.inf, 0

    def _appearance(self) -> FloatArray:
        rho = np.zeros(self.bare.num_edges)
        for tree, weight in zip(self.trees, self.weights.tolist(), strict=True):
            self.budget.check()
            rho[tree] += weight
        return np.minimum(rho[self.away], 1.0)

    def sweep(self, max_sweeps: int, tolerance: float) -> bool:
        """Pass messages until they move less than ``tolerance``; return whether they do."""
        batch, last = min(20, max_sweeps), math.inf
        for _ in range(0, max_sweeps, batch):
            self.messages, count, self.change = sweep_spins(
                self.bare.num_spins,
                self.edges,
                self.bare.couplings[self.away] / self.rho,
                self.rho,
                self.fields,
                self.messages,
                max_sweeps=batch,
                tolerance=tolerance,
                damping=self.damping,
                budget=self.budget,
            )
            self.sweeps += count
            if self.change <= tolerance or self.budget.expired():
                break
            if self.change > 0.9 * last:  # it oscillates
                self.damping = min(MAX_DAMPING, 0.5 + 0.5 * self.damping)
            last = self.change
        return self.change <= tolerance

    def beliefs(self) -> FloatArray:
        """Return b of every spin."""
        towards = self.edges[:, ::-1].ravel()  # half-edge 2e goes to the second end
        weighted = np.repeat(self.rho, 2) * self.messages
        return np.asarray(self.fields + np.bincount(towards, weighted, self.bare.num_spins))

    def information(self) -> FloatArray:
        """Return the mutual information of every edge of the model, apex edges excepted.

        ``TimeoutError`` when the time is over before.
        """
        beliefs = self.beliefs()
        total = np.zeros(self.bare.num_edges)
        for first in range(0, len(self.away), EDGES_AT_ONCE):
            self.budget.check()
            part = slice(first, first + EDGES_AT_ONCE)
            total[self.away[part]] = self._information(part, beliefs)
        return total

    def _information(self, part: slice, beliefs: FloatArray) -> FloatArray:
        u, v = self.edges[part].T
        messages = self.messages.reshape(-1, 2)[part]
        a, b = beliefs[u] - messages[:, 1], beliefs[v] - messages[:, 0]
        J = self.bare.couplings[self.away[part]] / self.rho[part]
        # log of 4 P(s_u, s_v), up to a constant
        logs = np.stack([J + a + b, -J + a - b, -J - a + b, J - a - b])
        top = logs.max(0)
        joint = np.exp(logs - top)
        joint /= joint.sum(0)
        left = np.stack([joint[0] + joint[1]] * 2 + [joint[2] + joint[3]] * 2)
        right = np.stack([joint[0] + joint[2], joint[1] + joint[3]] * 2)
        tiny = 1e-300
        ratio = np.log(np.maximum(joint, tiny)) - np.log(np.maximum(left * right, tiny))
        return np.asarray(np.maximum((joint * ratio).sum(0), 0.0))

    def best_tree(self) -> tuple[float, LongArray]:
        """Return how fast the bound falls towards the tree of most information, and that tree.

        ``TimeoutError`` when the time is over before.
        """
        information = self.information()
        tree = spanning_forest(self.bare, information, self.budget)
        return float(information[tree].sum() - self.rho @ information[self.away]), tree

    def add(self, tree: LongArray, step: float) -> None:
        """Move ``step`` of the weight to a tree."""
        self.weights = np.append((1 - step) * self.weights, step)
        self.trees.append(tree)
        chosen = np.zeros(self.bare.num_edges)
        chosen[tree] = step
        self.rho = (1 - step) * self.rho + chosen[self.away]

    def decomposition(
        self, callback: Callback | None = None, finish: Budget = UNLIMITED
    ) -> Decomposition:
        """Return the split as a decomposition, evaluated; ``TimeoutError`` when it is late."""
        state = Decomposition(self.bare, self.trees, budget=finish, callback=callback)
        state.budget = self.budget
        is_field: BoolArray = self.bare.at_apex
        place = np.zeros(self.bare.num_edges, dtype=np.int64)
        place[self.away] = np.arange(len(self.away))
        place[self.joined] = self.field_spin
        couplings, beliefs = self.bare.couplings[self.away] / self.rho, self.beliefs()
        theta = np.empty(len(state.pieces.edge))
        for tree, own in zip(self.trees, np.split(theta, state.pieces.offsets[1:-1]), strict=True):
            finish.check()
            inner = ~is_field[tree]
            at, spin = place[tree[inner]], place[tree[~inner]]
            taken = np.zeros(self.bare.num_spins)
            for side in (0, 1):
                messages = self.messages[2 * at + 1 - side]
                taken += np.bincount(self.edges[at, side], messages, len(taken))
            own[inner] = couplings[at]
            own[~inner] = beliefs[spin] - taken[spin]
        state.y, state.logits = theta, np.log(self.weights)
        state.evaluate_start(finish)
        return state

    def evaluation_seconds(self) -> float:
        """Estimate the time that :meth:`decomposition` takes."""
        return 5e-7 * len(self.trees) * (self.bare.num_edges + 100)


def mix_trees(
    bare: BiasModel,
    *,
    max_rounds: int = MAX_ROUNDS,
    budget: Budget = UNLIMITED,
    callback: Callback | None = None,
) -> tuple[TreeMixture, str]:
    """Choose trees and weights by conditional gradient, messages being passed in between.

    Returns the mixture and why the search ended.
    """
    mixture = TreeMixture(bare, budget=budget)
    status = "max_iterations"
    for k in range(max_rounds):
        mixture.budget = budget.reserve(mixture.evaluation_seconds())
        mixture.sweep(4, 1e-3)
        if callback is not None:
            callback(mixture.decomposition().upper + bare.constant)
        if mixture.budget.expired():
            return mixture, "time_limit"
        try:
            fall, tree = mixture.best_tree()
        except TimeoutError:
            return mixture, "time_limit"
        if fall < LEAST_FALL * bare.num_spins:
            status = "optimal"
            break
        mixture.add(tree, 2.0 / (k + 4))
    if max_rounds > 0 and not mixture.sweep(1000, 1e-7):
        status = "time_limit" if mixture.budget.expired() else "not converged"
    mixture.budget = budget
    return mixture, status


LEAST_GAIN = 1e-4
"""Rounds end when a new tree has less than this much more information, per spin."""

MAX_GROWN = 12
"""Trees added by the safe optimiser."""

TREE_STEPS = 500
"""Default limit on the steps of the optimiser."""


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
    bare = as_bias_model(model)
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
        return out_of_time(model, "trw", time.monotonic() - started)
    return bound_result(model, state, "trw", status=status, seconds=time.monotonic() - started)


def tree_decomposition(
    bare: BiasModel,
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
    state = mixture.decomposition(callback, budget.to_finish())
    state.steps = len(mixture.trees)
    state.trace.append(state.upper + bare.constant)
    if status == "not converged":
        state = state.pruned(1e-3)
        status = state.minimise(max_iterations, tolerance)
    return state, status


def grow_trees(
    bare: BiasModel,
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
        try:
            information = edge_information(bare, state.moments, budget)
            tree = spanning_forest(bare, information, budget)
            away, chosen = ~bare.at_apex, np.zeros(bare.num_edges)
            chosen[tree] = 1.0
            gain = float(information[away] @ (chosen - state.appearance())[away])
            if gain < LEAST_GAIN * bare.num_spins:
                status = state.minimise(left, tolerance)
                break
            weight = 2.0 / (len(state.pieces) + 2)
            state = state.extended([tree], weight, budget)
        except TimeoutError:
            status = "time_limit"
            break
    # A search that was stopped right after a new tree may be worse than the one before.
    return min(best, state, key=lambda found: found.upper), status


def edge_information(
    bare: BiasModel, moments: FloatArray, budget: Budget = UNLIMITED
) -> FloatArray:
    """Return the mutual information of the ends of every edge that does not touch the apex.

    ``TimeoutError`` when the time is over before.
    """
    fields = bare.at_apex
    ends = bare.edges[fields]
    mean = np.zeros(bare.num_spins)
    mean[np.where(ends[:, 0] == bare.apex, ends[:, 1], ends[:, 0])] = moments[fields]
    u, v = bare.edges[:, 0], bare.edges[:, 1]
    total = np.zeros(bare.num_edges)
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            budget.check()
            joint = (1 + a * mean[u] + b * mean[v] + a * b * moments) / 4
            product = (1 + a * mean[u]) * (1 + b * mean[v]) / 4
            joint, product = np.maximum(joint, 1e-300), np.maximum(product, 1e-300)
            total += joint * np.log(joint / product)
    return np.where(fields, 0.0, np.maximum(total, 0.0))
