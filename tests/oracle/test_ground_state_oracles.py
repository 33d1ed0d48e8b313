"""Ground states beyond brute force, against matching as published and transfer matrices."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.embed import embed
from planaris.generate import random_planar_graph, square_lattice, triangular_lattice
from planaris.planar import sk08
from planaris.reference import solve_strip
from planaris.verify import check_ground_state


def draw(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "integer":
        return rng.integers(-5, 6, count).astype(float)
    if kind == "wide":
        return rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, count)
    return rng.normal(size=count)


@pytest.mark.parametrize("kind", ["normal", "integer", "wide"])
@pytest.mark.parametrize("trial", range(4))
def test_expanded_dual_agrees(kind, trial, rng):
    lattices = [
        square_lattice(6 + trial, 7),
        triangular_lattice(5, 5 + trial),
        random_planar_graph(40, 70 - 10 * trial, rng),
    ]
    for edges, positions in lattices:
        model = pl.IsingModel(edges, draw(kind, len(edges), rng), positions=positions)
        second = sk08.ground_state(model, embed(model))
        first = pl.ground_state(model, "planar")
        check_ground_state(model, first)
        check_ground_state(model, second)
        assert first.energy == pytest.approx(second.energy, rel=1e-14)
        assert first.lower <= second.energy


@pytest.mark.parametrize("shape", [(1, 12), (5, 9), (12, 12), (30, 6)])
@pytest.mark.parametrize("whole", [True, False])
def test_strips_with_fields_on_the_rim(shape, whole, rng):
    rows, columns = shape
    fields = rng.normal(size=shape) * 2
    fields[1:-1, 1:-1] = 0.0
    arrays = [
        fields,
        rng.normal(size=(rows, columns - 1)) * 2,
        rng.normal(size=(rows - 1, columns)),
    ]
    if whole:
        arrays = [np.rint(3 * a) for a in arrays]
    model = pl.IsingModel.from_image(*arrays)
    found = pl.ground_state(model, "planar")
    check_ground_state(model, found)
    truth = solve_strip(*arrays).energy
    assert found.energy == (truth if whole else pytest.approx(truth, rel=1e-14))
