"""How wide separators are, with and without coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.degenerate import path, ring, star
from planaris import IsingModel
from planaris.embed import embed
from planaris.embed.surfaces import torus_lattice
from planaris.generate.lattices import (
    honeycomb_lattice,
    random_planar_graph,
    random_triangulation,
    square_lattice,
    triangular_lattice,
)
from planaris.planar import Plan

RNG = np.random.default_rng(7)

LATTICES = {
    "square": square_lattice(60),
    "triangular": triangular_lattice(50),
    "honeycomb": honeycomb_lattice(60),
    "Delaunay": random_triangulation(3000, RNG),
    "roads": random_planar_graph(4000, 5200, RNG),
}


def eliminate(prepared: Plan) -> tuple[int, float, float]:
    rng = np.random.default_rng(1)
    return _summary(prepared.log_partition(rng.normal(size=prepared.num_edges) / 2, threads=1))


def _summary(found) -> tuple[int, float, float]:
    return found.stats["largest_front"], found.stats["multiplications"], found.value


@pytest.mark.parametrize("name", LATTICES)
def test_coordinates_are_hardly_missed(name):
    lattice = LATTICES[name]
    model = IsingModel(
        lattice.edges, 1.0, num_spins=len(lattice.positions), positions=lattice.positions
    )
    embedding = embed(model)
    front, work, value = eliminate(Plan(embedding, positions=lattice.positions))
    bare_front, bare_work, bare_value = eliminate(Plan(embedding))
    assert bare_value == pytest.approx(value, rel=1e-13)
    assert bare_front <= 1.4 * front
    assert bare_work <= 1.4 * work


def test_fronts_of_squares_are_as_wide_as_they_must_be():
    # A straight cut through an L × L square has L edges, two rows each.
    lattice = square_lattice(64)
    model = IsingModel(lattice.edges, 1.0, positions=lattice.positions)
    front, work, _ = eliminate(Plan(embed(model), positions=lattice.positions))
    assert front <= 2 * 64 + 40
    assert work <= 45 * 64**3  # a front of n rows costs n³ / 6


def test_fronts_of_tori():
    front, _, _ = eliminate(Plan(torus_lattice(48, 48)))
    assert front <= 1.35 * 4 * 48  # two straight cuts


@pytest.mark.parametrize("model", [path(20_000), star(20_000), ring(20_000)])
def test_trees_and_rings_have_narrow_fronts(model):
    front, work, _ = eliminate(Plan(embed(model)))
    assert front <= 60
    assert work <= 2000 * model.num_edges
