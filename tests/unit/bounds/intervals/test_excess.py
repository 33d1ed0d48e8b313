"""Planar models under bounds: log Z above the weight of a ground state, with and without fields."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.models import fields2bias, lift_log_partition

TRIANGLES = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 2)]
WHEEL = [(0, v) for v in range(1, 9)] + [(v, v + 1) for v in range(1, 8)]


def _above(model):
    lowest = pl.ground_state(model, "brute-force").energy
    return pl.log_partition(model, "brute-force").value + lowest


@pytest.mark.parametrize("edges", [TRIANGLES, WHEEL])
@pytest.mark.parametrize("field", [0.0, 0.5])
@pytest.mark.parametrize("method", ["interval", "pdc", "planar+tree"])
def test_the_excess_does_not_count_the_bias_spin(edges, field, method):
    """With fields it was too large by log 2: the two values of the bias spin."""
    spins = 1 + max(max(edge) for edge in edges)
    fields = np.zeros(spins)
    fields[0] = field
    model = 20 * pl.IsingModel(edges, -1.0, fields, offset=3.0)
    found = pl.log_partition(model, method)
    assert found.excess == pytest.approx(_above(model), abs=1e-9)


def test_lifting_log_z_lifts_the_excess():
    model = 20 * pl.IsingModel(TRIANGLES, -1.0, [0.5, 0, 0, 0, 0])
    biased, inverse = fields2bias(model)
    found = pl.plan(biased).log_partition(biased.couplings)
    assert lift_log_partition(found, inverse).excess == pytest.approx(_above(model), abs=1e-9)
