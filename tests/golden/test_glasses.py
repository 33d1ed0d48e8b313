"""Stored values of glasses.json against routes that did not make them."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers import glasses
from planaris.embed import embed
from planaris.planar import Plan
from planaris.reference import ball, dense, solve_strip
from planaris.verify import check_ground_state

SMALL = [glass for glass in glasses.GLASSES if glass.size == 10]


def test_everything_promised_is_there():
    betas = {(g.size, g.kind): set(g.log_partition) for g in glasses.GLASSES}
    for kind in ("gaussian", "bimodal"):
        assert betas[10, kind] == {1, 3, 10, 20, 50, 100, 300, 1000}
        assert betas[16, kind] == {1, 3, 10, 20, 50, 100}


@pytest.mark.parametrize("glass", SMALL, ids=lambda g: g.name)
def test_transfer_matrix_in_floating_point(glass):
    for beta in (1, 20, 1000):
        strip = solve_strip(*glass.image(beta))
        assert strip.log_partition == pytest.approx(glass.log_partition[beta], rel=1e-14)
    assert strip.energy / 1000 == pytest.approx(glass.energy, rel=1e-14)
    if glass.kind == "bimodal":
        entropy = glass.log_partition[1000] + 1000 * glass.energy
        assert entropy == pytest.approx(np.log(glass.num_ground_states), abs=1e-10)


@pytest.mark.parametrize("glass", [g for g in SMALL if g.seed == 0], ids=lambda g: g.name)
def test_determinant(glass):
    embedding = embed(glass.model())
    enclosed = ball.log_partition(embedding, glass.model().couplings, digits=16, bits=256)
    assert enclosed.lower <= glass.log_partition[1] <= enclosed.upper
    plain = dense.log_partition(embedding, glass.model().couplings)
    assert plain.lower <= glass.log_partition[1] <= plain.upper
    assert plain.value == pytest.approx(glass.log_partition[1], rel=1e-10)


@pytest.mark.parametrize("glass", glasses.GLASSES, ids=lambda g: g.name)
def test_ground_energy(glass):
    found = pl.ground_state(glass.model())
    check_ground_state(glass.model(), found)
    assert found.exact
    assert found.energy == pytest.approx(glass.energy, rel=1e-14)
    if glass.kind == "bimodal":
        assert found.energy == glass.energy


@pytest.mark.parametrize("glass", glasses.GLASSES, ids=lambda g: g.name)
def test_plan_at_all_temperatures(glass):
    plan = Plan(embed(glass.model()))
    for beta, truth in glass.log_partition.items():
        found = plan.log_partition(glass.model(beta).couplings)
        assert found.exact
        assert found.lower <= truth <= found.upper
        assert found.value == pytest.approx(truth, rel=1e-12)
