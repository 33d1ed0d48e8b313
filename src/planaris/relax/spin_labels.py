"""Ising models for solvers of pairwise energies of labels."""

from __future__ import annotations

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.models import IsingModel
from planaris.models.base import exact_sum
from planaris.relax.cut_form import UNIT, CutForm
from planaris.typing import FloatArray, IntArray, LongArray


class SpinLabels:
    """An Ising model for solvers of pairwise energies: label 0 is spin -1, 1 is +1.

    Reduced as a cut problem; the spin of most neighbours, as a rule the bias spin, is held
    at +1, which the symmetry under a global flip allows.
    """

    def __init__(self, model: IsingModel, budget: Budget = UNLIMITED) -> None:
        self.model = model
        self.cut = cut = CutForm.from_model(model, keep_zero_edges=False, budget=budget)
        budget.check()
        degree = np.bincount(cut.edges.ravel(), minlength=cut.num_spins)
        self.held = int(np.argmax(degree)) if cut.num_spins else 0
        self.base = cut.base + exact_sum(cut.couplings)
        self.error = cut.error + 2 * UNIT * abs(self.base)
        self.magnitude = float(np.abs(cut.couplings).sum())
        self.num_variables = model.num_spins

    def resolution(self, energy: float) -> float:
        """Return how close to the energy of the best state others count as equal."""
        return self.cut.resolution

    def energy_of(self, labels: LongArray) -> float:
        """Return the energy of labels of the model, above the level of the cut form."""
        return self.cut.energy_of((2 * labels - 1).astype(np.int8))

    def absolute(self, bound: float) -> float:
        """Return a bound on energies above the level as one on energies."""
        return self.cut.absolute(bound)

    def lower_end(self, labels: LongArray, energy: float, bound: float) -> float:
        """Return the lower end of the interval for a state and a bound, both above the level."""
        return self.cut.lower_end((2 * labels - 1).astype(np.int8), energy, bound)

    def arrays(
        self, budget: Budget = UNLIMITED
    ) -> tuple[LongArray, IntArray, FloatArray, IntArray, FloatArray]:
        """Return (variables, cardinalities, node energies, edges, edge energies)."""
        cut, held = self.cut, self.held
        others = np.flatnonzero(np.arange(cut.num_spins) != held)
        place = np.cumsum(np.arange(cut.num_spins) != held) - 1
        at_held = (cut.edges == held).any(1)
        field_of = cut.edges[at_held].sum(1) - held
        nodes = np.zeros((len(others), 2))
        nodes[place[field_of]] = np.outer(cut.couplings[at_held], [1.0, -1.0])
        budget.check()
        u, v = place[cut.edges[~at_held]].astype(np.int32).T
        edges = np.column_stack([np.minimum(u, v), np.maximum(u, v)])
        budget.check()
        tables = np.outer(cut.couplings[~at_held], [-1.0, 1.0, 1.0, -1.0])
        cards = np.full(len(others), 2, dtype=np.int32)
        return others, cards, nodes.ravel(), np.ascontiguousarray(edges), tables.ravel()

    def lift(self, state: IntArray) -> LongArray:
        """Return labels of the model from those of the reduced problem."""
        spins = np.insert(2 * state.astype(np.int8) - 1, self.held, 1).astype(np.int8)
        spins = spins[: self.cut.num_spins]
        return (self.cut.spins_of(np.ascontiguousarray(spins)) > 0).astype(np.int64)
