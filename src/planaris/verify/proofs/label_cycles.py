"""Rows of proofs about models with labels: cycle inequalities of projections, checked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from planaris.result import LabelCycles, LabelTreesOverCycles
from planaris.typing import Array, FloatArray
from planaris.verify.proof_arrays import indices, real_row, require, runs, whole_row


class Item(NamedTuple):
    """An edge of a cycle, whether it is marked, and a set of labels of each of its ends."""

    edge: int
    odd: bool
    labels: tuple[Array, Array]


def rows_of_cycles(
    proof: LabelCycles | LabelTreesOverCycles,
    edges: Sequence[tuple[int, int]],
    cards: Sequence[int],
) -> tuple[FloatArray, list[list[Item]]]:
    """Return the multipliers, which are >= 0, and the items of every row, or refuse them."""
    weights = real_row(proof.multipliers, "multipliers")
    edge = indices(proof.row_edges, "row_edges", len(edges)).tolist()
    odd = (whole_row(proof.odd, "odd") != 0).tolist()
    sets = whole_row(proof.sets, "sets")
    rows = runs(proof.row_offsets, "row_offsets", len(weights), len(edge)).tolist()
    begins = runs(proof.set_offsets, "set_offsets", 2 * len(edge), len(sets)).tolist()
    require(len(odd) == len(edge), "items are marked or not")
    require(bool(np.all(weights >= 0)), "multipliers are >= 0")
    labels = [sets[first:last] for first, last in pairwise(begins)]
    both = zip(labels[::2], labels[1::2], strict=True)
    items = [Item(*item) for item in zip(edge, odd, both, strict=True)]
    found = [items[first:last] for first, last in pairwise(rows)]
    for row in found:
        met: dict[tuple[int, frozenset[int]], int] = {}
        for item in row:
            for i, chosen in zip(edges[item.edge], item.labels, strict=True):
                inside = bool(np.all((chosen >= 0) & (chosen < cards[i])))
                key = i, frozenset(chosen.tolist())
                require(inside and len(key[1]) == len(chosen), "sets have labels, each once")
                met[key] = met.get(key, 0) + 1
        marks = sum(item.odd for item in row)
        require(marks % 2 == 1, "an odd number of items of a row is marked")
        require(all(times % 2 == 0 for times in met.values()), "a row meets every set evenly")
    return weights, found
