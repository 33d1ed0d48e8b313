"""Relations between models that hold at sizes no oracle reaches."""

from __future__ import annotations

import math

import numpy as np
import pytest

import planaris as pl
from planaris.bounds.intervals.clamping import clamp

SEEDS = range(3)


def triangulated(seed: int, beta: float = 1.0) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    return pl.generate.spin_glass(pl.generate.random_triangulation(250, rng), rng, beta=beta)


@pytest.mark.parametrize("beta", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_flipped_and_renumbered_spins(seed: int, beta: float) -> None:
    model, rng = triangulated(seed, beta), np.random.default_rng(seed)
    n, m = model.num_spins, model.num_edges
    flip, place, order = rng.choice([-1, 1], n), rng.permutation(n), rng.permutation(m)
    sign = flip[model.edges].prod(axis=1)
    turned = place[model.edges][order][:, ::-1]
    other = pl.IsingModel(turned, (sign * model.couplings)[order], num_spins=n)
    z = pl.log_partition(model).value
    assert pl.log_partition(other).value == pytest.approx(z, rel=1e-11)
    least = pl.ground_state(model).energy
    assert pl.ground_state(other).energy == pytest.approx(least, rel=1e-12)
    equal = np.asarray(pl.marginals(model).edges)
    expected = np.where(sign > 0, equal, 1 - equal)[order]
    np.testing.assert_allclose(pl.marginals(other).edges, expected, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_coupling_changed(seed: int) -> None:
    model, edge, step = triangulated(seed), 7 * seed, 0.6
    p = float(pl.marginals(model).edges[edge])
    couplings = np.array(model.couplings)
    couplings[edge] += step
    grown = math.log(p * math.exp(step) + (1 - p) * math.exp(-step))
    expected = pl.log_partition(model).value + grown
    found = pl.log_partition(model.with_couplings(couplings))
    assert found.value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_spin_held(seed: int) -> None:
    model = triangulated(seed)
    model = model.with_couplings(model.couplings, np.eye(1, 250, 5)[0])
    held = [clamp(model, 5, s) for s in (1, -1)]
    parts = [pl.log_partition(part).value for part in held]
    z = pl.log_partition(model).value
    assert np.logaddexp(*parts) == pytest.approx(z, rel=1e-11)
    assert pl.marginals(model).nodes[5] == pytest.approx(math.exp(parts[0] - z), abs=1e-8)
    least = min(pl.ground_state(part).energy for part in held) - math.log(2)
    assert least == pytest.approx(pl.ground_state(model).energy, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_pendant_spins_and_split_edges(seed: int) -> None:
    model = triangulated(seed)
    edges = np.vstack([model.edges, [[0, 250]], model.edges[3:4]])
    couplings = np.append(model.couplings, [0.7, 2.5])
    couplings[3] -= 2.5
    grown = pl.IsingModel(edges, couplings, num_spins=251)
    z = pl.log_partition(model).value + math.log(2 * math.cosh(0.7))
    assert pl.log_partition(grown).value == pytest.approx(z, rel=1e-11)
    least = pl.ground_state(model).energy - 0.7
    assert pl.ground_state(grown).energy == pytest.approx(least, rel=1e-12)
