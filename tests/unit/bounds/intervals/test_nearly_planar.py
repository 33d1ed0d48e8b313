"""Planar models with a few edges more: the interval without them, and what it holds."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.clocks import TickClock
from planaris import IsingModel
from planaris.bounds import interval, leave_out
from planaris.bounds.intervals.nearly_planar import planar_rest
from planaris.budget import Budget, use_clock
from planaris.generate import square_lattice
from planaris.kernels.graph import is_planar
from planaris.reference import enumerate_states
from planaris.subgraphs.bias_model import as_bias_model
from planaris.verify import check_result


def with_added(
    rng: np.random.Generator, side: int, added: int, fields: int = 0, strength: float = 1.0
) -> IsingModel:
    """Return a lattice with edges between random spins that it does not join, in any order."""
    graph, n = square_lattice(side), side * side
    known = {tuple(sorted(e)) for e in graph.edges.tolist()}
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n) if (u, v) not in known]
    new = [pairs[k] for k in rng.choice(len(pairs), added, replace=False)]
    edges = np.concatenate([graph.edges, np.array(new, dtype=np.int32).reshape(-1, 2)])
    at = np.zeros(n)
    at[rng.choice(n, fields, replace=False)] = strength * rng.normal(size=fields)
    order = rng.permutation(len(edges))
    return IsingModel(edges[order], strength * rng.normal(size=len(edges)), at, offset=rng.normal())


@pytest.mark.parametrize("seed", range(40))
def test_intervals_hold_and_are_proved(seed: int) -> None:
    rng = np.random.default_rng([41, seed])
    strength = [0.1, 1.0, 3.0][seed % 3]
    model = with_added(rng, 4, int(rng.integers(1, 7)), int(rng.integers(0, 5)), strength)
    truth = enumerate_states(model).log_partition
    found = leave_out(model, max_handles=0 if seed % 2 else 3)
    slack = 1e-12 * (1 + abs(truth) + np.abs(model.couplings).sum())
    assert found.lower <= truth + slack
    assert found.upper >= truth - slack
    left = found.stats["left_out"]
    weight = np.abs(as_bias_model(model).couplings[left]).sum()
    assert found.gap <= 2 * weight + 1e-9
    if not found.exact and seed % 2:
        assert check_result(model, found).proved


@pytest.mark.parametrize("seed", range(5))
def test_few_edges_are_put_back_exactly(seed: int) -> None:
    rng = np.random.default_rng([42, seed])
    model = with_added(rng, 4, 2)
    found = leave_out(model)
    assert found.exact
    assert found.value == pytest.approx(enumerate_states(model).log_partition, abs=1e-9)


def test_means_of_edges_left_out_raise_the_lower_end(rng: np.random.Generator) -> None:
    model = with_added(rng, 5, 6)
    found = leave_out(model, max_handles=0)
    weight = np.abs(model.couplings[found.stats["left_out"]]).sum()
    assert found.gap < 2 * weight - 0.1
    assert check_result(model, found).proved


def test_added_edges_are_found_in_any_order(rng: np.random.Generator) -> None:
    """In a lattice every edge is in a square, and next to no edge between distant spins."""
    bare = as_bias_model(with_added(rng, 30, 12))
    kept, left = planar_rest(bare)
    assert is_planar(bare.num_spins, np.ascontiguousarray(bare.edges[kept]))
    assert 0 < len(left) <= 12
    assert np.array_equal(np.union1d(kept, left), np.arange(bare.num_edges))


def test_a_late_search_for_the_rest_still_gives_a_planar_one(rng: np.random.Generator) -> None:
    bare = as_bias_model(with_added(rng, 6, 9, 5))
    kept, left = planar_rest(bare, budget=Budget(0.0))
    assert is_planar(bare.num_spins, np.ascontiguousarray(bare.edges[kept]))
    assert np.array_equal(np.union1d(kept, left), np.flatnonzero(bare.couplings))


def test_everybody_has_it(rng: np.random.Generator) -> None:
    """A lattice out of reach of elimination: no wider than the couplings left out, or exact."""
    few, more = with_added(rng, 28, 2), with_added(rng, 28, 20, strength=0.3)
    assert interval(few, 1e6).exact  # ends when it is
    with use_clock(TickClock(7e-4)):
        found = interval(more, 3.0)
    by = [step["by"] for step in found.stats["trace"]]
    assert "edges left out" in by
    left = planar_rest(as_bias_model(more))[1]
    assert found.gap <= 2 * np.abs(more.couplings[left]).sum() + 1e-6


def test_degenerate_models() -> None:
    for model in (
        IsingModel([], [], num_spins=0),
        IsingModel([], [], [1.0, 0.0]),
        IsingModel([(0, 1)], [0.0]),
        IsingModel([(0, 1), (2, 3)], [1.0, -800.0], [0.0, 0.0, 0.0, 1e-300, 0.0, 0.0]),
    ):
        truth = enumerate_states(model).log_partition
        found = leave_out(model)
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9


@pytest.mark.parametrize("fields", [0, 3])
@pytest.mark.parametrize("max_handles", [0, 3])
def test_what_is_left_out_and_put_back_can_be_checked(fields, max_handles):
    """The certificate was about the edges in another order, and refused."""
    for seed in range(5):
        model = with_added(np.random.default_rng(seed), 3, 2, fields)
        found = leave_out(model, max_handles=max_handles)
        check_result(model, found)
        assert found.exact or max_handles == 0
