"""Branch and cut that keeps its proof: the multipliers of the cycles at every leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from planaris.relax.branching.branch_and_cut import BranchAndCut, Fixings, Node
from planaris.relax.cut_form import CutForm
from planaris.relax.lp.proofs import NOTHING, Ledger, Multipliers
from planaris.result import CutTree


class ProvingSearch(BranchAndCut, Ledger):
    """Branch and cut with a certificate; nothing is fixed but by branching."""

    def __init__(self, form: CutForm, **options: Any) -> None:
        super().__init__(form, **options)
        self.number: dict[Fixings, int] = {(): 0}
        self.branch_edge = [-1]
        self.child = [[-1, -1]]
        self.leaf: list[tuple[float, Multipliers]] = [(-np.inf, NOTHING)]

    def fix_by_reduced_cost(self) -> Fixings:
        """Fix nothing: that would need the best energy as a premise at every leaf."""
        return ()

    def process(self, node: Node) -> Node | None:
        """Bound and branch; keep the multipliers of the node's best bound."""
        number = self.number[node.fixings]
        self.best = self.leaf[number]
        following = super().process(node)
        if self.branch_edge[number] < 0:
            self.leaf[number] = self.best
        return following

    def branch(self, node: Node, bound: float) -> Node | None:
        """Split a node; both sides inherit its multipliers until they find better ones."""
        number = self.number[node.fixings]
        near = super().branch(node, bound)
        if near is None:  # one state: its energy is its bound
            self.best = (np.inf, NOTHING)
            return None
        edge = near.fixings[-1][0]
        self.branch_edge[number] = edge
        for value in (0, 1):
            self.number[(*node.fixings, (edge, value))] = len(self.branch_edge)
            self.child[number][value] = len(self.branch_edge)
            self.branch_edge.append(-1)
            self.child.append([-1, -1])
            self.leaf.append(self.best)
        self.leaf[number] = (-np.inf, NOTHING)
        return near

    def proof(self) -> CutTree:
        """Return the tree with the multipliers at its leaves."""
        leaves = [multipliers for _, multipliers in self.leaf]
        return self.tree(np.array(self.branch_edge), np.array(self.child), leaves)
