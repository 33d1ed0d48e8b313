"""Named odd models that every solver must get right, and odd input it must refuse.

Use ``@pytest.mark.parametrize("name", SMALL)`` and ``SMALL[name]()``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planaris import IsingModel

K4 = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)]
K5 = [(u, v) for u in range(5) for v in range(u)]
K33 = [(u, v) for u in range(3) for v in range(3, 6)]
FOUR_TRIANGLES = [
    *(e for k in range(0, 12, 3) for e in ((k, k + 1), (k + 1, k + 2), (k, k + 2))),
    *((1, 3), (2, 6), (8, 9)),
]
"""Edges of 12 spins. With negative couplings of one size every triangle is frustrated, and what is
left after its weights have cancelled decides log Z."""


def path(num_spins: int, coupling: float = 1.0) -> IsingModel:
    spins = np.arange(num_spins)
    edges = np.column_stack([spins[:-1], spins[1:]])
    return IsingModel(edges, coupling, num_spins=num_spins)


def star(num_leaves: int, coupling: float = -1.0) -> IsingModel:
    edges = np.column_stack([np.zeros(num_leaves, dtype=int), np.arange(1, num_leaves + 1)])
    return IsingModel(edges, coupling, num_spins=num_leaves + 1)


def ring(num_spins: int, coupling: float = -1.0) -> IsingModel:
    spins = np.arange(num_spins)
    return IsingModel(np.column_stack([spins, np.roll(spins, -1)]), coupling)


SMALL: dict[str, Callable[[], IsingModel]] = {
    "no spins": lambda: IsingModel([], [], num_spins=0),
    "one spin": lambda: IsingModel([], [], num_spins=1),
    "one spin in a field": lambda: IsingModel([], [], [-2.0]),
    "two spins, no edge": lambda: IsingModel([], [], num_spins=2),
    "one edge": lambda: IsingModel([(0, 1)], [1.5]),
    "one negative edge": lambda: IsingModel([(1, 0)], [-1.5]),
    "one edge in a field": lambda: IsingModel([(0, 1)], [-1.0], [0.5, 0.0]),
    "offset only": lambda: IsingModel([], [], num_spins=2, offset=-3.0),
    "isolated spin": lambda: IsingModel([(0, 1), (1, 3), (0, 3)], [1.0, 1.0, -1.0], num_spins=4),
    "path": lambda: path(6, -0.5),
    "star": lambda: star(6),
    "bridge": lambda: IsingModel(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], [1, -1, 1, -2, 1, 1, -1]
    ),
    "two triangles at a vertex": lambda: IsingModel(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)], [1, -1, 1, -1, -1, -1]
    ),
    "two components": lambda: IsingModel([(0, 1), (1, 2), (0, 2), (3, 4)], [-1, -1, -1, 2]),
    "parallel edges": lambda: IsingModel([(0, 1), (1, 0), (1, 2)], [1.0, 2.0, -1.0]),
    "parallel edges that cancel": lambda: IsingModel([(0, 1), (0, 1), (1, 2)], [1.0, -1.0, 1.0]),
    "frustrated triangle": lambda: ring(3),
    "even ring, ties": lambda: ring(6).with_couplings([1, 1, 1, 1, 1, -1]),
    "all couplings zero": lambda: IsingModel(K4, 0.0),
    "frustrated K4": lambda: IsingModel(K4, -1.0),
    "huge and tiny": lambda: IsingModel(K4, [1e3, -1e3, 1e-300, -1e-300, 0.0, 1e3]),
    "very tiny": lambda: IsingModel(K4, 1e-308),
    "far apart": lambda: IsingModel(K4, [1e6, 1.0, 1e-6, -1e6, -1.0, -1e-6]),
    "field on a triangle": lambda: IsingModel(K4[:3], 1.0, [0.0, 1.0, -1.0, 0.5]),
}
"""At most eight spins: compare with brute force."""

NONPLANAR: dict[str, Callable[[], IsingModel]] = {
    "K5": lambda: IsingModel(K5, 1.0),
    "K33": lambda: IsingModel(K33, -1.0),
    "K5 and more": lambda: IsingModel([*K5, (4, 5), (5, 6)], 1.0, num_spins=8),
}

LARGE: dict[str, Callable[[], IsingModel]] = {
    "path of 100 000 spins": lambda: path(100_000, 0.5),
    "star of 100 000 leaves": lambda: star(100_000),
    "ring of 100 001 spins": lambda: ring(100_001),
}
"""Their answers: see the closed forms below."""


def path_log_partition(num_spins: int, coupling: float) -> float:
    """Of a path, a star, any tree: 2^n cosh(J)^(n - 1)."""
    return float(num_spins * np.log(2) + (num_spins - 1) * np.log(np.cosh(coupling)))


def ring_log_partition(num_spins: int, coupling: float) -> float:
    """Of a ring: (2 cosh J)^n + (2 sinh J)^n."""
    ratio = np.sign(coupling) ** num_spins * np.tanh(abs(coupling)) ** num_spins
    return float(num_spins * np.log(2 * np.cosh(coupling)) + np.log1p(ratio))


BAD: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "self-loop": (IsingModel, ([(0, 1), (2, 2)], [1.0, 1.0]), "self-loop"),
    "nan coupling": (IsingModel, ([(0, 1)], [np.nan]), "`couplings` must be finite"),
    "inf coupling": (IsingModel, ([(0, 1)], [np.inf]), "`couplings` must be finite"),
    "nan field": (IsingModel, ([(0, 1)], [1.0], [0.0, np.nan]), "`fields` must be finite"),
    "negative vertex": (IsingModel, ([(0, -1)], [1.0]), "edges"),
    "too many couplings": (IsingModel, ([(0, 1)], [1.0, 2.0]), "`couplings` must have shape"),
    "three ends": (IsingModel, ([(0, 1, 2)], [1.0]), "edges"),
}
"""(function, arguments, part of the message) that must raise a ModelError."""
