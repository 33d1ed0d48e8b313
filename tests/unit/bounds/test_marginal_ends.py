"""Ends of marginals against sums over all states and elimination."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import TickClock
from helpers.trials import seeds
from planaris.bounds import marginal_ends
from planaris.bounds.attractive_domains import Holding, narrow_by_domains
from planaris.budget import Budget, use_clock
from planaris.kernels.cuts import balance_signs
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


def nothing_known(model: Any) -> Ends:
    zeros, ones = np.zeros(model.num_edges), np.ones(model.num_edges)
    return Ends(np.zeros(model.num_spins), np.ones(model.num_spins), zeros, ones, zeros, ones)


def exact_pairs(model: Any, exact: Any) -> np.ndarray:
    """Return P(+1, +1) and P(-1, -1) of every edge."""
    u, v = exact.nodes[model.edges].T
    return np.stack([exact.edges + u + v - 1, exact.edges + 1 - u - v], axis=1) / 2


def assert_holds(ends: Ends, nodes: np.ndarray, both: np.ndarray, slack: float) -> None:
    assert np.all(ends.nodes_lower <= nodes + slack)
    assert np.all(nodes <= ends.nodes_upper + slack)
    assert np.all(ends.up_lower <= both[:, 0] + 4 * slack)
    assert np.all(both[:, 0] <= ends.up_upper + 4 * slack)
    assert np.all(ends.down_lower <= both[:, 1] + 4 * slack)
    assert np.all(both[:, 1] <= ends.down_upper + 4 * slack)


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
    both = exact_pairs(model, exact)
    for wall in (1e-6, 1e-3, 0.05, 0.3):
        ends = nothing_known(model)
        width = 1.0
        for bits in (2, 4, 4, 6, 6):
            sizes = WindowSizes(bits, bits // 2, 3 * bits**2, bits, 1e-6, wall, bits % 4 / 8)
            guess = (ends.nodes_lower + ends.nodes_upper) / 2
            ends, in_time = narrow_by_windows(
                model.edges, model.couplings, model.fields, ends, guess, sizes
            )
            assert in_time
            assert_holds(ends, exact.nodes, both, exact.error)
            assert np.mean(ends.nodes_upper - ends.nodes_lower) <= width
            width = float(np.mean(ends.nodes_upper - ends.nodes_lower))


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_ends_by_windows_and_domains_hold_whatever_is_guessed(seed: int) -> None:
    """Right guesses, wrong ones and noise; walls that are wrong by up to a third."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        side, scale = int(rng.integers(2, 12)), float(rng.choice([0.3, 1.0, 2.0]))
        edges = pl.generate.square_lattice(side).edges
        couplings = scale * rng.uniform(0.0, 1.5, len(edges))
        model = pl.IsingModel(edges, couplings, scale * rng.normal(0, 1.5, side * side))
        exact = pl.marginals(model, "treewidth")
        both, known = exact_pairs(model, exact), nothing_known(model)
        for _ in range(5):
            noise = rng.uniform(0, 1, side * side)
            guess = [exact.nodes, 1 - exact.nodes, noise][int(rng.integers(3))]
            wall, likely = float(rng.choice([0.0, 1e-3, 0.3])), float(rng.uniform(0, 0.5))
            bits = int(rng.integers(2, 8))
            if rng.random() < 0.5:
                holding = Holding(wall, likely)
                known = narrow_by_domains(model, known, guess, holding, Budget.of(None))
            else:
                sizes = WindowSizes(bits, bits, 4 * bits**2, bits, 1e-6, wall, likely)
                arrays = (model.edges, model.couplings, model.fields)
                known, _ = narrow_by_windows(*arrays, known, guess, sizes)
            assert_holds(known, exact.nodes, both, exact.error)


def test_domains_that_are_held_rightly_are_known_but_for_what_is_held() -> None:
    """Ends from the outside in: held spins cost what they are held wrongly, and no more."""
    rng = np.random.default_rng(4)
    model = image_model(rng, 12, 1.5, 2.5)
    signs, _ = balance_signs(model.num_spins, model.edges, model.couplings)
    model = pl.IsingModel(model.edges, np.abs(model.couplings), model.fields * signs)
    exact = pl.marginals(model, "treewidth")
    ends = narrow_by_domains(
        model, nothing_known(model), exact.nodes, Holding(0.0, 1e-3), Budget.of(None)
    )
    width = ends.nodes_upper - ends.nodes_lower
    inner = (exact.nodes > 1e-3) & (exact.nodes < 1 - 1e-3)
    assert np.sum(inner) > 20
    assert np.max(width[inner]) < 0.05
    # The ends of one side need nothing of the other: these are held, and their ends stay open.
    np.testing.assert_array_equal(ends.nodes_upper[exact.nodes > 1 - 1e-3], 1.0)


def test_domains_that_time_runs_out_for_keep_their_ends() -> None:
    model = image_model(np.random.default_rng(1), 10, 0.5, 1.0)
    positive = pl.IsingModel(model.edges, np.abs(model.couplings), model.fields)
    known = nothing_known(positive)
    with use_clock(TickClock(1.0)):
        late = Budget.of(0.5, threads=1)
        ends = narrow_by_domains(positive, known, np.full(100, 0.5), Holding(0.0, 0.1), late)
    np.testing.assert_array_equal(ends.nodes_upper, 1.0)


def test_cold_models_in_random_fields_are_decided_by_walls() -> None:
    side = 30
    edges = pl.generate.square_lattice(side).edges
    fields = np.random.default_rng(1).normal(0, 4.0, side**2)
    with use_clock(TickClock(1.0)):
        limit = Budget.of(25_000.0, threads=1)
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
