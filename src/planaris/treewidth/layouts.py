"""Linear layouts of binary pairwise models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planaris.budget import Budget
from planaris.kernels import frontier
from planaris.kernels.graph import breadth_first_order
from planaris.models import IsingModel
from planaris.treewidth.flatten import Model, PairwiseForm, num_variables
from planaris.typing import IntArray

Cost = tuple[int, float, int]
"""Spins in the table, updates of entries, checkpoints wanted."""


def layout_cost(edges: IntArray, layout: IntArray) -> Cost | None:
    """Return what a layout costs, None if its table is too large."""
    wide = frontier.frontier_width(edges, layout, frontier.MAX_BITS) > frontier.MAX_BITS
    return None if wide else frontier.frontier_cost(edges, layout)


def best_layout(model: Model, form: PairwiseForm, budget: Budget) -> tuple[IntArray, Cost | None]:
    """Return the layout of smallest frontier: rows, columns, diagonals, or a greedy one.

    Of those with equally many spins in the largest table the one with the least work: diagonals of
    a square fill it only in the middle. Once the time is over no more of them are tried. The cost
    comes with it, None if the table is too large.
    """
    n, edges = num_variables(model), form.arrays.edges
    layouts: list[IntArray] = []
    widths: list[int] = []
    for layout in _layouts(model, edges, n, budget):
        layouts.append(layout)
        widths.append(frontier.frontier_width(edges, layout, min([*widths, n])))
        if budget.expired():
            break
    best = min(widths)
    layouts = [layout for layout, width in zip(layouts, widths, strict=True) if width == best]
    if best > frontier.MAX_BITS:
        return layouts[0], None
    costs = [frontier.frontier_cost(edges, layout) for layout in layouts]
    cheapest = min(range(len(layouts)), key=lambda k: costs[k][1])
    return layouts[cheapest], costs[cheapest]


def _layouts(model: Model, edges: IntArray, n: int, budget: Budget) -> Iterator[IntArray]:
    yield np.arange(n, dtype=np.int32)
    greedy = frontier.greedy_layout(edges, n, budget=budget)
    yield greedy
    for root in greedy[:1].tolist():
        yield breadth_first_order(n, edges, root)
    positions = model.positions if isinstance(model, IsingModel) else None
    if positions is not None:
        x, y = positions.T
        for first, second in ((x, y), (y, x), (x + y, x), (x - y, x)):
            yield np.lexsort((second, first)).astype(np.int32)
