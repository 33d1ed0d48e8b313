"""⟨s_bias s_v⟩ of every spin of a model in parts: products of correlations along the parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from planaris.kernels.graph import connected_components
from planaris.planar.pfaffian.correlations import ACCURACY
from planaris.reductions.parts import Part, Split
from planaris.typing import FloatArray, LongArray

FromRoot = Callable[[Part, int], FloatArray]
"""Correlations of one spin of a part with every spin of its component."""


def correlations_with_bias(split: Split, from_root: FromRoot) -> tuple[FloatArray, float]:
    """Return the correlation of every spin with the bias spin, the last one, and its error.

    Two pieces (connected components of parts) share one spin at most, and pieces hang together
    like a tree. Given that spin its two sides are independent, so correlations multiply.
    """
    n = split.bare.num_spins
    pieces = _pieces(split.parts)
    at_spin = _pieces_of_shared_spins(pieces, n)
    result = np.zeros(n)
    result[n - 1] = 1.0
    done = [False] * len(pieces)
    queue = deque([n - 1])
    while queue:
        root = queue.popleft()
        for k in at_spin.get(root, []):
            if done[k]:
                continue
            done[k] = True
            part, members = pieces[k]
            local = int(members[np.flatnonzero(part.spins[members] == root)[0]])
            result[part.spins[members]] = result[root] * from_root(part, local)[members]
            queue.extend(v for v in part.spins[members].tolist() if v != root and v in at_spin)
    # Each piece may be off by what correlations are accepted with, and errors add along a chain.
    return result, ACCURACY * sum(done)


def _pieces(parts: list[Part]) -> list[tuple[Part, LongArray]]:
    """Return the parts with the members of each of their connected components."""
    pieces = []
    for part in parts:
        edges = np.ascontiguousarray(part.model.edges)
        component = connected_components(part.model.num_spins, edges)
        order = np.argsort(component, kind="stable")
        cuts = np.flatnonzero(np.diff(component[order])) + 1
        pieces += [(part, members) for members in np.split(order, cuts) if len(members)]
    return pieces


def _pieces_of_shared_spins(
    pieces: list[tuple[Part, LongArray]], num_spins: int
) -> dict[int, list[int]]:
    """Return the pieces of the bias spin and of every spin that lies in more than one."""
    if not pieces:
        return {}
    spins = np.concatenate([part.spins[members] for part, members in pieces])
    piece = np.repeat(np.arange(len(pieces)), [len(members) for _, members in pieces])
    shared = np.bincount(spins, minlength=num_spins) > 1
    shared[num_spins - 1] = True
    found: dict[int, list[int]] = {}
    for v, k in zip(spins[shared[spins]].tolist(), piece[shared[spins]].tolist(), strict=True):
        found.setdefault(v, []).append(k)
    return found
