"""Rigid edges: relative signs that all ground states share.

Each round solves the model once more, with every edge in question changed by a small ε in favour
of the other relative sign. For any state s that turns k of the U edges in question

    E(s) - 2 ε k = E'(s) - ε U >= L' - ε U

with L' a lower bound on the changed energies (where a change is rounded, ε is the least of all
changes). A minimum that turns edges at no cost shows that
they are loose. Where nothing is turned, all edges in question are rigid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from planaris.budget import Budget, TimeLimit
from planaris.embed import Embedding
from planaris.errors import ModelError
from planaris.infer.domain_wall import most_above
from planaris.infer.verbs import ground_state, verb_budget
from planaris.kernels.graph import connected_components
from planaris.models import IsingModel
from planaris.notebook import Shown
from planaris.relax.cut_form import energy_quantum
from planaris.result import GroundState
from planaris.typing import BoolArray, FloatArray, Int8Array, IntArray

FIRST_CHANGE = 2.0**-6
"""First change of real couplings, in units of their median size."""

FALL = 2.0**-4
"""Factor of the change after it preferred an excited state."""


@dataclass(frozen=True, eq=False, repr=False)
class RigidEdges(Shown):
    """Which edges have the same relative sign in all ground states.

    Attributes
    ----------
    rigid : numpy.ndarray
        bool: edges whose ends have the same relative sign in every ground state.
    loose : numpy.ndarray
        bool: edges of which another ground state turns the relative sign.
    rigid_fields : numpy.ndarray
        bool: spins with an external field that have the same value in every ground state.
    clusters : numpy.ndarray
        int: spins with the same number are joined by rigid edges (or are rigid themselves).
    certain : numpy.ndarray
        bool: the largest cluster. Its spins are known up to a common flip.
    exact : bool
        Whether every edge and field is decided; False when the time was over.
    rounds : int
        Ground states computed.
    state : GroundState
        One ground state.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("rigid", "loose", "certain", "exact", "rounds")
    rigid: BoolArray
    loose: BoolArray
    rigid_fields: BoolArray
    clusters: IntArray
    certain: BoolArray
    exact: bool
    rounds: int
    state: GroundState


def rigid_edges(
    model: IsingModel,
    method: str = "auto",
    *,
    embedding: Embedding | None = None,
    time_limit: TimeLimit = None,
    threads: int | None = None,
) -> RigidEdges:
    """Return the relative signs of neighbours that all ground states share.

    Parameters
    ----------
    model : IsingModel
        Any model whose ground states can be found exactly: planar graphs, tori, …
    method : str
        As for :func:`planaris.ground_state`.
    embedding : Embedding, optional
        As for :func:`planaris.ground_state`.
    time_limit : float, optional
        Seconds; then edges that are neither rigid nor loose are undecided.
    threads : int, optional
        As for :func:`planaris.ground_state`.

    Returns
    -------
    RigidEdges
        With real couplings, states within ``model.energy_tolerance`` of the least energy count as
        ground states.

    Examples
    --------
    >>> import planaris as pl
    >>> square = pl.IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], [3.0, 1.0, -1.0, 2.0])
    >>> found = pl.rigid_edges(square)  # either of the weak edges may be unsatisfied
    >>> found.rigid.tolist(), found.certain.tolist(), found.exact
    ([True, False, False, True], [True, True, False, True], True)
    """
    given: object = model
    if not isinstance(given, IsingModel):
        msg = f"`model` must be an IsingModel, got {type(model).__name__}"
        raise ModelError(msg)
    budget = verb_budget(time_limit, None, threads, None)
    model = model.without_offset()  # it would only cost digits
    first = ground_state(model, method, embedding=embedding, time_limit=budget)
    search = _Search(model, first, method, embedding)
    while first.exact and search.unknown.any() and not budget.expired():
        if not search.step(budget):
            break
    return search.result()


class _Search:
    """Edges, then fields that are not zero, as entries of one array."""

    def __init__(
        self, model: IsingModel, first: GroundState, method: str, embedding: Embedding | None
    ) -> None:
        self.model, self.first, self.method, self.embedding = model, first, method, embedding
        self.at_field = np.flatnonzero(model.fields)
        self.signs = self.relative(first.spins)
        count = len(self.signs)
        self.unknown = np.ones(count, dtype=bool)
        self.rigid, self.loose = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.rounds = 1
        self.quantum = energy_quantum(model)
        sizes = np.abs(np.concatenate([model.couplings, model.fields]))
        sizes = sizes[sizes > 0]
        self.change = FIRST_CHANGE * float(np.median(sizes)) if len(sizes) else 1.0

    def relative(self, spins: Int8Array) -> FloatArray:
        """Return the relative sign along every edge, and the spins with fields."""
        u, v = self.model.edges.T
        values = spins.astype(np.float64)
        return np.concatenate([values[u] * values[v], values[self.at_field]])

    def step(self, budget: Budget) -> bool:
        """Solve the changed model once; return whether that told anything."""
        model, count = self.model, int(self.unknown.sum())
        if self.quantum > 0:  # all changes together are smaller than the spacing of energies
            self.change = math.ldexp(1.0, math.frexp(self.quantum / (4 * count))[1] - 1)
        change = self.change
        # In units of the change where that keeps whole numbers whole.
        unit = change if self.quantum > 0 else 1.0
        turned = np.where(self.unknown, -change * self.signs, 0.0)
        fields = np.array(model.fields)
        fields[self.at_field] += turned[model.num_edges :]
        couplings = model.couplings + turned[: model.num_edges]
        changed = model.with_couplings(couplings / unit, fields / unit)
        found = ground_state(changed, self.method, embedding=self.embedding, time_limit=budget)
        self.rounds += 1
        slack = unit * changed.energy_tolerance + model.energy_tolerance
        # Beside a large coupling the change is rounded; what was not changed is not decided.
        done = np.concatenate([couplings - model.couplings, (fields - model.fields)[self.at_field]])
        least = float((-self.signs * done)[self.unknown].min()) * (1 - 1e-12)
        gained = changed.energy_above(self.first.spins, changed.energy_terms(found.spins))
        if unit * (gained + most_above(found)) + slack < 2 * least:  # nothing can be turned
            self.rigid |= self.unknown
            self.unknown[:] = False
            return True
        excess = model.energy_above(found.spins, model.energy_terms(self.first.spins))
        told = self.unknown & (self.relative(found.spins) != self.signs)
        if excess <= model.energy_tolerance and told.any():
            self.loose |= told
            self.unknown &= ~told
            return True
        self.change *= FALL  # it preferred an excited state
        return self.quantum == 0 and found.exact and self.change > 4 * slack

    def result(self) -> RigidEdges:
        model, edges = self.model, self.model.num_edges
        rigid, fixed = self.rigid[:edges], self.at_field[self.rigid[edges:]]
        # Spins that are rigid themselves are joined through one more vertex.
        bias = np.full(len(fixed), model.num_spins)
        joined = np.concatenate([model.edges[rigid], np.column_stack([fixed, bias])])
        clusters = connected_components(
            model.num_spins + 1, np.ascontiguousarray(joined, dtype=np.int32)
        )[: model.num_spins]
        sizes = np.bincount(clusters) if len(clusters) else np.zeros(1)
        rigid_fields = np.zeros(model.num_spins, dtype=bool)
        rigid_fields[fixed] = True
        return RigidEdges(
            rigid,
            self.loose[:edges],
            rigid_fields,
            clusters,
            np.asarray(clusters == sizes.argmax()),
            not bool(self.unknown.any()),
            self.rounds,
            self.first,
        )
