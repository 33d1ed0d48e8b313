"""Orders of strips: as narrow as they are, however their variables are numbered."""

from __future__ import annotations

import numpy as np
import pytest

from planaris.models import MarkovRandomField
from planaris.treewidth import plan_elimination


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(8, 64), (6, 200), (3, 2000)])
def test_a_strip_is_planned_along_it_without_a_search(rows, columns, shuffled) -> None:
    rng = np.random.default_rng(rows)
    names = np.arange(rows * columns)
    place = (rng.permutation(names) if shuffled else names).reshape(rows, columns)
    down = np.column_stack([place[:-1].ravel(), place[1:].ravel()])
    right = np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()])
    factors = [(pair, np.ones((4, 4))) for pair in np.concatenate([down, right]).tolist()]
    plan = plan_elimination(MarkovRandomField([4] * len(names), factors), search_seconds=0.0)
    assert plan.width <= rows + 2
