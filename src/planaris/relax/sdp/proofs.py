"""Semidefinite branch and bound that keeps its proof: the multipliers of every leaf."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planaris.relax.cut_form import CutForm
from planaris.relax.sdp.cliques import Cliques
from planaris.relax.sdp.sdp_branch_and_bound import DenseNode, DenseSearch
from planaris.relax.sdp.semidefinite_bound import SemidefiniteBound
from planaris.result import SemidefiniteTree
from planaris.typing import FloatArray


@dataclass(eq=False)
class Record:
    """What is known of a node: its own bound, its multipliers, its pair and its children."""

    bound: float = -np.inf
    diagonal: FloatArray = field(default_factory=lambda: np.zeros(0))
    cliques: Cliques = field(default_factory=Cliques.none)
    pair: tuple[int, int] = (-1, -1)
    children: tuple[int, ...] = ()


class ProvingDenseSearch(DenseSearch):
    """A search with a certificate."""

    def __init__(self, form: CutForm, **options: Any) -> None:
        super().__init__(form, **options)
        self.records: dict[int, Record] = {}

    def keep(self, node: DenseNode, engine: SemidefiniteBound, bound: float) -> None:
        """Write down the multipliers of a node's bound."""
        diagonal, cliques = engine.best
        used = cliques.kept(cliques.weight > 0)
        used.weight = self.unit * used.weight
        self.records[node.order] = Record(bound, self.unit * diagonal, used)

    def keep_child(self, node: DenseNode, pair: tuple[int, int], child: DenseNode) -> None:
        """Write down the two parts of a node: first that with equal groups."""
        record = self.records[node.order]
        record.pair = pair
        record.children = (*record.children, child.order)

    def proof(self) -> SemidefiniteTree:
        """Return the tree, cut back where the parts of a node are bounded no better than it."""
        order = self._nodes()
        number = {key: at for at, key in enumerate(order)}
        records = [self.records[key] for key in order]
        leaves = [record if not record.children else Record() for record in records]
        spins = np.concatenate([leaf.cliques.spins for leaf in leaves])
        signs = np.concatenate([leaf.cliques.signs for leaf in leaves])
        width = max(3, int((spins >= 0).sum(1).max(initial=0)))
        return SemidefiniteTree(
            pair=np.array([record.pair for record in records]),
            child=np.array([[number[key] for key in r.children] or [-1, -1] for r in records]),
            diagonal_offsets=np.cumsum([0, *(len(leaf.diagonal) for leaf in leaves)]),
            diagonal=np.concatenate([leaf.diagonal for leaf in leaves]),
            triangle_offsets=np.cumsum([0, *(leaf.cliques.size for leaf in leaves)]),
            triangles=spins[:, :width],
            signs=signs[:, :width],
            multipliers=np.concatenate([leaf.cliques.weight for leaf in leaves]),
        )

    def _nodes(self) -> list[int]:
        """Return the nodes that prove something, the root first; forget the children of others."""
        proved: dict[int, float] = {}
        for key in sorted(self.records, reverse=True):  # children come after their parents
            record = self.records[key]
            below = min((proved.get(child, -np.inf) for child in record.children), default=-np.inf)
            if below <= record.bound:
                record.children, record.pair = (), (-1, -1)
            proved[key] = max(record.bound, below)
        kept, order = [min(self.records)], []
        while kept:
            order.append(kept.pop())
            kept += self.records[order[-1]].children
        return order
