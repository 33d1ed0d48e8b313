"""Message passing that keeps its proof: the messages of its bound."""

from __future__ import annotations

import numpy as np

from planaris.relax.messages.message_passing import MessageSolver
from planaris.result import LabelTree


class ProvingMessages(MessageSolver):
    """Message passing with a certificate; no label goes."""

    def forbid(self, bound: float) -> float:
        """Forbid nothing: that would need the best energy as a premise."""
        return bound

    def proved(self) -> float:
        """Return the bound of the present messages, which the proof holds."""
        return self.form.lower_end(self.state, self.energy, min(self.lower, self.bound()))

    def proof(self) -> LabelTree:
        """Return the present messages as a tree of one leaf."""
        messages = self.engine.messages()
        return LabelTree(
            edges=self.engine.edges(),
            triplets=self.engine.triplets(),
            branch_variable=np.array([-1]),
            branch_label=np.array([-1]),
            child=np.array([[-1, -1]]),
            message_offsets=np.array([0, len(messages)]),
            messages=messages,
        )
