"""Elimination against enumeration of all states."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from degenerate import SMALL
from planaris import IsingModel
from planaris.planar import Plan, plan
from planaris.reference import enumerate_states
from strategies import PlaneGraph, plane_models


@settings(max_examples=400)
@given(plane_models(max_vertices=9))
def test_log_partition_equals_enumeration(drawn: tuple[IsingModel, PlaneGraph]) -> None:
    model, _ = drawn
    found = plan(model).log_partition(model.couplings)
    expected = enumerate_states(model).log_partition
    assert found.value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.exact
    assert found.lower <= expected + 1e-15 * abs(expected)
    assert expected - 1e-15 * abs(expected) <= found.upper


def test_a_thousand_random_models(rng: np.random.Generator) -> None:
    from planaris.generate.lattices import random_triangulation

    for _ in range(1000):
        n = int(rng.integers(3, 12))
        full = random_triangulation(n, rng)
        kept = rng.random(len(full.edges)) < rng.uniform(0.3, 1.0)
        couplings = rng.normal(size=int(kept.sum())) * rng.choice([0.1, 1.0, 5.0])
        model = IsingModel(full.edges[kept], couplings, num_spins=n, positions=full.positions)
        found = plan(model).log_partition(model.couplings, threads=1).value
        assert found == pytest.approx(enumerate_states(model).log_partition, rel=1e-12)


@pytest.mark.parametrize("name", [k for k, v in SMALL.items() if not v().has_fields])
def test_odd_models(name: str) -> None:
    model = SMALL[name]()
    found = plan(model).log_partition(model.couplings)
    expected = enumerate_states(model).log_partition - model.offset
    assert found.value == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_double_double_agrees(rng: np.random.Generator) -> None:
    from planaris.generate import spin_glass

    model = spin_glass(5, rng, beta=2.0)
    p = plan(model)
    entries = p._scaled(p._entries(model.couplings, p._gauge(model.couplings, None)), None)
    values = [
        p._elimination.log_pfaffian(entries.face, entries.scale, entries.signs, wide=wide).log_magnitude
        for wide in (False, True)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_a_plan_without_positions_gives_the_same(rng: np.random.Generator) -> None:
    from planaris.generate import spin_glass

    model = spin_glass(12, rng)
    with_positions = plan(model).log_partition(model.couplings)
    without = Plan(plan(model).embedding).log_partition(model.couplings)
    assert with_positions.value == pytest.approx(without.value, rel=1e-13)
