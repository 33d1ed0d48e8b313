"""Planar zero-field models: the cycle relaxation is tight and equals the matching."""

from __future__ import annotations

import numpy as np
import pytest

from planaris import planar
from planaris.models import IsingModel
from planaris.relax import cycle_lp


@pytest.mark.parametrize("kind", ["normal", "signs"])
@pytest.mark.parametrize("size", [3, 8, 15])
def test_cycle_relaxation_equals_matching(rng, size, kind):
    shapes = (size, size - 1), (size - 1, size)
    right, down = (
        rng.normal(size=s) if kind == "normal" else rng.choice([-1.0, 1.0], s) for s in shapes
    )
    model = IsingModel.from_image(np.zeros((size, size)), right, down)
    matching, relaxed = planar.ground_state(model), cycle_lp(model)
    assert matching.exact
    assert relaxed.exact
    assert relaxed.energy == pytest.approx(matching.energy, abs=1e-9)
    assert relaxed.lower <= matching.energy + 1e-9
