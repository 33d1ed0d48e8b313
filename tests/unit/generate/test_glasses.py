"""Spin glasses on what users have at hand: sizes, lattices, surfaces."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from planaris.embed import torus_lattice
from planaris.errors import ModelError
from planaris.generate import spin_glass, square_lattice, triangular_lattice


def test_a_glass_on_a_torus_is_solved_on_its_surface():
    torus = torus_lattice(3, 4)
    glass = spin_glass(torus, 5)
    assert glass.edges.tolist() == torus.edges.tolist()
    on_surface = pl.log_partition(glass, "planar", embedding=torus)
    by_elimination = pl.log_partition(glass, "treewidth")
    assert on_surface.value == pytest.approx(by_elimination.value, rel=1e-12)


@pytest.mark.parametrize("size", [4, np.int64(4)])
def test_a_size_is_an_open_square(size):
    assert spin_glass(size, 1).edges.tolist() == square_lattice(4).edges.tolist()


def test_two_sizes_are_rows_and_columns():
    assert spin_glass((4, 5), 1).edges.tolist() == square_lattice(4, 5).edges.tolist()


@pytest.mark.parametrize("wrong", [(4, 5, 6), (4.0, 5), "4", 4.0, None])
def test_other_lattices_are_refused_with_the_way_to_make_one(wrong):
    with pytest.raises(ModelError, match=r"`lattice`.*square_lattice\(rows, columns\)"):
        spin_glass(wrong, 1)


@pytest.mark.parametrize("lattice", [square_lattice(4), triangular_lattice(3, 4)])
def test_a_lattice_has_a_plan_like_its_models(lattice, rng):
    couplings = rng.normal(size=len(lattice.edges))
    model = pl.IsingModel(lattice.edges, couplings)
    found = pl.plan(lattice).log_partition(couplings)
    assert found.value == pytest.approx(pl.log_partition(model, "treewidth").value, rel=1e-12)
    assert pl.embed.embed(lattice).genus == 0


@pytest.mark.parametrize("negative", [-0.1, 1.5, np.nan, "half"])
def test_the_share_of_negative_couplings_is_a_probability(negative):
    with pytest.raises(ModelError, match="negative"):
        pl.generate.spin_glass(3, 1, disorder="bimodal", negative=negative)


def test_gaussian_couplings_have_no_share_of_negative_ones():
    with pytest.raises(ModelError, match="'bimodal'"):
        pl.generate.spin_glass(3, 1, negative=0.1)
    assert pl.generate.spin_glass(3, 1, disorder="bimodal", negative=0).couplings.min() == 1.0
