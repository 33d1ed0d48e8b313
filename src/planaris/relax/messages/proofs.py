"""Message passing that keeps its proof: the messages at every leaf of its tree of labels."""

from __future__ import annotations

import numpy as np

from planaris.budget import UNLIMITED, Budget
from planaris.relax.label_form import LabelForm
from planaris.relax.messages.message_passing import Domains, MessageSolver
from planaris.result import LabelTree
from planaris.typing import FloatArray

Leaf = tuple[float, FloatArray]
"""A bound and the messages that prove it."""


class ProvingMessages(MessageSolver):
    """Message passing with a certificate; no label goes but by branching."""

    def __init__(self, form: LabelForm, budget: Budget = UNLIMITED) -> None:
        super().__init__(form, budget)
        self.variable, self.label, self.child = [-1], [-1], [[-1, -1]]
        self.leaf: list[Leaf | None] = [None]  # triplets come before branching: none for the root

    def forbid(self, bound: float) -> float:
        """Forbid nothing: that would need the best energy as a premise."""
        return bound

    def finish_node(self, node: int) -> None:
        """Keep the present messages if their bound is the best of the node."""
        now, before = (self.bound(), self.engine.messages()), self.leaf[node]
        if before is None or now[0] > before[0]:
            self.leaf[node] = now

    def split_node(self, node: int, split: Domains) -> tuple[int, int]:
        """Give both halves the messages of the whole until they find better ones."""
        first = len(self.leaf)
        self.variable[node], self.label[node] = split.variable, split.label
        self.child[node] = [first, first + 1]
        self.variable += [-1, -1]
        self.label += [-1, -1]
        self.child += [[-1, -1], [-1, -1]]
        self.leaf += [self.leaf[node], self.leaf[node]]
        return first, first + 1

    def proved(self) -> float:
        """Return the least bound of the leaves: what their messages prove."""
        if self.leaf[0] is None:
            self.finish_node(0)
        kept = [
            leaf[0]
            for leaf, variable in zip(self.leaf, self.variable, strict=True)
            if variable < 0 and leaf is not None
        ]
        return self.form.lower_end(self.state, self.energy, min(self.lower, *kept))

    def proof(self) -> LabelTree:
        """Return the tree with the messages at its leaves."""
        if self.leaf[0] is None:
            self.finish_node(0)
        messages = [
            leaf[1] if variable < 0 and leaf is not None else np.zeros(0)
            for leaf, variable in zip(self.leaf, self.variable, strict=True)
        ]
        return LabelTree(
            edges=self.engine.edges(),
            triplets=self.engine.triplets(),
            branch_variable=np.array(self.variable),
            branch_label=np.array(self.label),
            child=np.array(self.child),
            message_offsets=np.cumsum([0, *map(len, messages)]),
            messages=np.concatenate(messages),
        )
