"""Dissections of large drawings: other separators, the same log Z."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl


@pytest.mark.parametrize("shape", [(370, 360), (1400, 95)])
def test_log_z_of_large_lattices_does_not_depend_on_separators(shape, rng):
    lattice = pl.generate.square_lattice(*shape)
    couplings = rng.standard_normal(len(lattice.edges))
    crumpled = lattice.positions + rng.normal(scale=1.5, size=lattice.positions.shape)
    values = [
        pl.plan(pl.plan(lattice).embedding, positions=positions).log_partition(couplings)
        for positions in (lattice.positions, crumpled, None)
    ]
    assert all(found.exact for found in values)
    for other in values[1:]:
        assert other.value == pytest.approx(values[0].value, rel=1e-13)
    assert len({found.stats["multiplications"] for found in values}) == 3


def test_threads_share_both_eliminations_of_a_large_model(rng):
    lattice = pl.generate.square_lattice(370, 360)
    plan = pl.plan(lattice)
    couplings = rng.standard_normal(plan.num_edges)
    one, two, many = (plan.log_partition(couplings, threads=k) for k in (1, 2, 5))
    assert not plan.evaluator.in_batches
    for other in (two, many):
        assert (other.value, other.lower, other.upper) == (one.value, one.lower, one.upper)
        assert other.excess == one.excess


def test_positions_far_apart_and_in_one_place_still_dissect():
    lattice = pl.generate.square_lattice(370, 360)
    couplings = np.full(len(lattice.edges), 0.25)
    embedding = pl.plan(lattice).embedding
    straight = pl.plan(lattice).log_partition(couplings)
    one_place = np.zeros((lattice.num_vertices, 2))
    one_place[0] = 1e300
    found = pl.plan(embedding, positions=one_place).log_partition(couplings)
    assert found.value == pytest.approx(straight.value, rel=1e-13)
