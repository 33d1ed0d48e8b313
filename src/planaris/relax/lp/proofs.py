"""Cutting planes that keep their proof: which cycles, with which multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.kernels.relaxations import CycleCuts
from planaris.relax.cut_form import CutForm
from planaris.relax.lp.cycle_polytope import CycleRelaxation
from planaris.result import CutTree
from planaris.typing import Array, BoolArray, FloatArray, LongArray

Multipliers = tuple[LongArray, FloatArray]
"""Numbers of cycles in the ledger, and their multipliers."""

NOTHING: Multipliers = (np.zeros(0, dtype=np.int64), np.zeros(0))


class Ledger(CycleRelaxation):
    """A relaxation that remembers every cycle it added and the multipliers of its best bound."""

    def __init__(self, form: CutForm, **options: Any) -> None:
        super().__init__(form, **options)
        self.cycles: list[tuple[Array, Array]] = []
        self.cycle_of_row: LongArray = np.zeros(0, dtype=np.int64)
        self.best: tuple[float, Multipliers] = (-np.inf, NOTHING)

    def add(self, cuts: CycleCuts) -> None:
        """Add cycle inequalities and write them down."""
        first = len(self.cycles)
        for k in range(len(cuts)):
            run = slice(int(cuts.offsets[k]), int(cuts.offsets[k + 1]))
            self.cycles.append((np.array(cuts.edges[run]), np.array(cuts.odd[run])))
        self.cycle_of_row = np.append(self.cycle_of_row, np.arange(first, len(self.cycles)))
        super().add(cuts)

    def drop_rows(self, drop: BoolArray) -> None:
        """Remove rows from the program; the ledger keeps them."""
        super().drop_rows(drop)
        self.cycle_of_row = self.cycle_of_row[~drop]

    def bound(self) -> float:
        """Return the safe bound of the last solve, and keep its multipliers if it is the best."""
        found = super().bound()
        if found > self.best[0]:
            multipliers, _, _ = self.lp.reduced_costs()
            used = np.flatnonzero(multipliers > 0)
            self.best = (found, (self.cycle_of_row[used], multipliers[used]))
        return found

    def tree(self, branch_edge: Array, child: Array, leaves: list[Multipliers]) -> CutTree:
        """Return the certificate of a tree; cycles that no leaf uses are left out."""
        used, rows = np.unique(
            np.concatenate([NOTHING[0], *(ids for ids, _ in leaves)]), return_inverse=True
        )
        cycles = [self.cycles[k] for k in used.tolist()]
        empty = [np.zeros(0, dtype=np.int64)]
        return CutTree(
            offsets=np.cumsum([0, *(len(edges) for edges, _ in cycles)]),
            edges=np.concatenate([*empty, *(edges for edges, _ in cycles)]),
            odd=np.concatenate([*empty, *(odd for _, odd in cycles)]).astype(np.int64),
            branch_edge=branch_edge,
            child=child,
            row_offsets=np.cumsum([0, *(len(ids) for ids, _ in leaves)]),
            rows=rows,
            multipliers=np.concatenate([NOTHING[1], *(values for _, values in leaves)]),
        )


class ProvingRelaxation(Ledger):
    """The cycle relaxation with a certificate: a tree of one leaf."""

    def proof(self) -> CutTree:
        """Return the multipliers of the best bound."""
        return self.tree(np.array([-1]), np.array([[-1, -1]]), [self.best[1]])
