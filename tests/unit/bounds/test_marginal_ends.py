"""Ends of marginals against sums over all states and elimination."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import TickClock
from planaris.bounds import MarginalEnds, marginal_ends
from planaris.budget import Budget, use_clock
from planaris.kernels.frontier import Ends, WindowSizes, narrow_by_windows
from planaris.reference import enumerate_states


def image_model(rng: np.random.Generator, side: int, coupling: float, spread: float) -> Any:
    right, down = (np.full(s, coupling) for s in ((side, side - 1), (side - 1, side)))
    model = pl.IsingModel.from_image(spread * rng.normal(size=(side, side)), right, down)
    signs = rng.choice([-1, 1], model.num_spins)
    turned = model.couplings * signs[model.edges[:, 0]] * signs[model.edges[:, 1]]
    return pl.IsingModel(model.edges, turned, model.fields)


def assert_inside(ends: Any, nodes: np.ndarray, edges: np.ndarray, slack: float = 1e-13) -> None:
    assert np.all(ends.nodes_lower <= nodes + slack)
    assert np.all(nodes <= ends.nodes_upper + slack)
    assert np.all(ends.edges_lower <= edges + slack)
    assert np.all(edges <= ends.edges_upper + slack)


@pytest.mark.parametrize("seed", range(20))
def test_ends_hold_for_any_small_model(seed: int) -> None:
    """Balanced or not, in parts, with parallel edges, zeros and strong fields."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    edges = np.array([rng.choice(n, 2, replace=False) for _ in range(int(rng.integers(12)))])
    edges = edges.reshape(-1, 2) if n > 1 else np.zeros((0, 2), dtype=np.int32)
    signs = rng.choice([-1, 1], n)
    couplings = 10.0 ** rng.uniform(-3, 1.5, len(edges))
    couplings *= signs[edges[:, 0]] * signs[edges[:, 1]] if seed % 3 else 1 - 2.0 * (seed % 2)
    fields = rng.normal(size=n) * rng.choice([0.0, 1.0, 30.0]) if seed % 4 else np.zeros(n)
    model = pl.IsingModel(edges, couplings, fields)
    truth = enumerate_states(model)
    assert_inside(marginal_ends(model), truth.nodes, truth.edges, 4 * truth.error)


def test_they_close_where_a_window_holds_the_whole_graph(rng: np.random.Generator) -> None:
    model = image_model(rng, 7, 0.8, 0.7)
    ends = marginal_ends(model)
    assert np.max(ends.nodes_upper - ends.nodes_lower) < 1e-9
    assert np.max(ends.edges_upper - ends.edges_lower) < 1e-9
    exact = pl.marginals(model, "treewidth")
    assert_inside(ends, exact.nodes, exact.edges, exact.error)


def test_ends_hold_wherever_time_is_up_and_narrow_with_it(rng: np.random.Generator) -> None:
    model = image_model(rng, 14, 0.6, 1.0)
    exact = pl.marginals(model, "treewidth")
    widths = []
    for polls in (0, 1, 3, 10, 30, 100, 300, 1000, 3000):
        with use_clock(TickClock(1.0)):  # one thread: others work on while the clock is read
            ends = marginal_ends(model, time_limit=Budget.of(polls + 0.5, threads=1))
        assert_inside(ends, exact.nodes, exact.edges, exact.error)
        widths.append(float(np.mean(ends.nodes_upper - ends.nodes_lower)))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.1 * widths[0]


@pytest.mark.parametrize("seed", range(6))
def test_ends_between_walls_hold_in_every_round(seed: int) -> None:
    """Cold, in random fields: most spins are all but decided, and bound the windows of others."""
    rng = np.random.default_rng(seed)
    side = 13
    edges = pl.generate.square_lattice(side).edges
    scale = (0.5, 1.0, 2.0)[seed % 3]
    couplings = scale * rng.uniform(0.2, 1.5, len(edges))
    model = pl.IsingModel(edges, couplings, scale * rng.normal(0, 1.5, side * side))
    exact = pl.marginals(model, "treewidth")
    zeros, ones = np.zeros(model.num_edges), np.ones(model.num_edges)
    for wall in (1e-6, 1e-3, 0.05, 0.3):
        ends = Ends(np.zeros(side**2), np.ones(side**2), zeros, ones)
        width = 1.0
        for bits in (2, 4, 4, 6, 6):
            sizes = WindowSizes(bits, bits // 2, 3 * bits**2, bits, 1e-6, wall)
            ends, in_time = narrow_by_windows(
                model.edges, model.couplings, model.fields, ends, sizes
            )
            assert in_time
            assert_inside(MarginalEnds(*ends), exact.nodes, exact.edges, exact.error)
            assert np.mean(ends.nodes_upper - ends.nodes_lower) <= width
            width = float(np.mean(ends.nodes_upper - ends.nodes_lower))


def test_cold_models_in_random_fields_are_decided_by_walls() -> None:
    side = 30
    edges = pl.generate.square_lattice(side).edges
    fields = np.random.default_rng(1).normal(0, 4.0, side**2)
    with use_clock(TickClock(1.0)):
        limit = Budget.of(100_000.0, threads=1)
        ends = marginal_ends(pl.IsingModel(edges, 1.5, fields), time_limit=limit)
    assert np.mean(ends.nodes_upper - ends.nodes_lower) < 1e-3


def test_estimates_of_wide_models_come_with_ends(ticking: Any, rng: np.random.Generator) -> None:
    model = image_model(rng, 30, 0.4, 1.0)
    found = pl.marginals(model, time_limit=20.0)
    assert found.nodes_lower is not None
    assert np.all(found.nodes_lower <= found.nodes)
    assert np.all(found.nodes <= found.nodes_upper)
    assert np.all(found.edges_lower <= found.edges)
    assert np.all(found.edges <= found.edges_upper)
    assert not found.exact


def test_without_fields_spins_are_up_half_of_the_time() -> None:
    glass = pl.generate.spin_glass(4, np.random.default_rng(1))
    ends = marginal_ends(glass)
    np.testing.assert_array_equal(ends.nodes_lower, 0.5)
    np.testing.assert_array_equal(ends.nodes_upper, 0.5)
