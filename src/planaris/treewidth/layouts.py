"""Linear layouts of binary pairwise models."""

from __future__ import annotations

import numpy as np

from planaris.budget import Budget
from planaris.kernels import frontier
from planaris.kernels.graph import breadth_first_order
from planaris.models import IsingModel
from planaris.treewidth.flatten import Model, PairwiseForm, num_variables
from planaris.typing import IntArray


def best_layout(model: Model, form: PairwiseForm, budget: Budget) -> IntArray:
    """Return the layout of smallest frontier: rows, columns, diagonals, or a greedy one.

    Of those with equally many spins in the largest table the one with the least work: diagonals of
    a square fill it only in the middle.
    """
    n = num_variables(model)
    edges = form.arrays.edges
    layouts = [np.arange(n, dtype=np.int32), frontier.greedy_layout(edges, n, budget=budget)]
    layouts += [breadth_first_order(n, edges, root) for root in layouts[1][:1].tolist()]
    positions = model.positions if isinstance(model, IsingModel) else None
    if positions is not None:
        x, y = positions.T
        for first, second in ((x, y), (y, x), (x + y, x), (x - y, x)):
            layouts.append(np.lexsort((second, first)).astype(np.int32))
    widths: list[int] = []
    for layout in layouts:
        widths.append(frontier.frontier_width(edges, layout, min([*widths, n])))
    best = min(widths)
    layouts = [layout for layout, width in zip(layouts, widths, strict=True) if width == best]
    if len(layouts) == 1 or best > frontier.MAX_BITS:
        return layouts[0]
    return min(layouts, key=lambda layout: frontier.frontier_cost(edges, layout)[1])
