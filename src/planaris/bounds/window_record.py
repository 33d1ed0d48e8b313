"""The windows and domains that ends of marginals come from, kept for a proof."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planaris.kernels.frontier import Ends, WindowTrace
from planaris.result import MarginalWindows
from planaris.typing import Array


@dataclass(eq=False)
class WindowRecord:
    """Windows in the order in which they were found, and which of them every end comes from.

    Windows of one round see the ends that were known before it. A window needs those that the
    ends of its walls come from.
    """

    by: dict[str, Array]
    sides: list[int] = field(default_factory=list)
    spins: list[Array] = field(default_factory=list)
    walls: list[Array] = field(default_factory=list)
    needs: list[Array] = field(default_factory=list)

    @classmethod
    def empty(cls, num_spins: int, num_edges: int) -> WindowRecord:
        """Return a record of no windows."""
        counts = (num_spins,) * 2 + (num_edges,) * 4
        fresh = (np.full(count, -1, dtype=np.int64) for count in counts)
        return cls(dict(zip(Ends._fields, fresh, strict=True)))

    def add(self, trace: WindowTrace) -> None:
        """Add the windows of a round."""
        first = len(self.sides)
        sides = trace.sides.tolist()
        self.sides += sides
        self.spins += np.split(trace.spins, trace.spin_offsets[1:-1])[: len(sides)]
        walls = np.split(trace.walls, trace.wall_offsets[1:-1])[: len(sides)]
        self.walls += walls
        above, below = self.by["nodes_upper"], self.by["nodes_lower"]
        self.needs += [
            np.unique((above if side > 0 else below)[some])
            for side, some in zip(sides, walls, strict=True)
        ]
        for name, known in self.by.items():
            new = getattr(trace, name)
            at = np.flatnonzero(new >= 0)
            known[at] = first + new[at]

    def proof(self, signs: Array) -> MarginalWindows:
        """Return the windows that the ends need, in order."""
        needed = np.zeros(len(self.sides) + 1, dtype=bool)  # the last one stands for none
        for known in self.by.values():
            needed[known] = True
        for k in range(len(self.sides) - 1, -1, -1):
            if needed[k]:
                needed[self.needs[k]] = True
        kept = np.flatnonzero(needed[:-1]).tolist()
        return MarginalWindows(
            signs=np.asarray(signs, dtype=np.int64),
            sides=np.array([self.sides[k] for k in kept], dtype=np.int64),
            **_joined("spin", [self.spins[k] for k in kept]),
            **_joined("wall", [self.walls[k] for k in kept]),
        )


def _joined(name: str, parts: list[Array]) -> dict[str, Array]:
    offsets = np.cumsum([0, *map(len, parts)])
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)
    return {f"{name}_offsets": offsets, f"{name}s": flat}
