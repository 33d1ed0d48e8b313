"""What one verb knows, the others use: ground states bound log Z, whatever the route."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from helpers.exact_models import ball_log_partition, random_model, rational_logs
from planaris import IsingModel
from planaris.bounds.best_interval import from_ground_state, intersect, is_cold
from planaris.budget import Budget
from planaris.embed import Embedding, torus_lattice
from planaris.errors import InfeasibleError
from planaris.methods.bounds import with_ground_state
from planaris.verify.proofs.log_partition.partition_bounds import check_interval


def random_torus(side: int, beta: float, seed: int) -> tuple[IsingModel, Embedding]:
    embedding = torus_lattice(side, side)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], embedding.num_edges)
    return IsingModel(embedding.edges, beta * signs, num_spins=side * side), embedding


@pytest.mark.parametrize("seed", range(40))
def test_ground_states_bound_log_partitions(seed: int) -> None:
    model = random_model(seed)
    truth = ball_log_partition(rational_logs(model))
    for method in ("auto", "mplp", "treewidth"):
        try:
            lower, upper, _ = from_ground_state(model, pl.ground_state(model, method))
        except InfeasibleError:
            continue
        assert lower <= truth <= upper


@pytest.mark.parametrize("beta", [0.5, 10.0, 1e3, 1e6])
def test_an_embedding_never_makes_the_interval_wider(beta: float) -> None:
    model, embedding = random_torus(6, beta, 3)
    with_it = pl.log_partition(model, embedding=embedding)
    without = pl.log_partition(model)
    # Elimination of 6 x 6 spins is exact, so both are, to a few steps of their ends.
    room = 1e-6 + 64 * float(np.spacing(abs(without.value)))
    assert with_it.upper - with_it.lower <= without.upper - without.lower + room
    assert max(with_it.lower, without.lower) <= min(with_it.upper, without.upper)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_cold_models_are_cut_by_their_ground_states(seed: int) -> None:
    embedding = torus_lattice(6, 6)
    weights = np.round(1e4 * np.random.default_rng(seed).normal(size=embedding.num_edges))
    model = IsingModel(embedding.edges, weights)
    assert is_cold(model)
    best = pl.ground_state(model)
    found = with_ground_state(model, Budget(), lambda: pl.bounds.mean_field(model))
    assert best.lower == best.energy
    # log 2 for the flipped state, n log 2 for all of them.
    assert found.lower == pytest.approx(math.log(2.0) - best.energy, abs=1e-6)
    assert found.upper == pytest.approx(36 * math.log(2.0) - best.energy, abs=1e-6)
    assert found.lower <= found.value <= found.upper
    assert found.lower <= pl.log_partition(model).value <= found.upper


def test_a_cut_interval_is_checked_by_its_proofs() -> None:
    model, _ = random_torus(4, 30.0, 1)
    wide = pl.bounds.mean_field(model)
    state = pl.ground_state(model, "branch-and-cut", prove=True)
    lower, upper, proof = from_ground_state(model, state)
    cut = intersect(wide, lower, upper, proof=proof, by="ground-state")
    assert cut.method == "ground-state+mean-field"
    assert wide.lower <= cut.lower <= cut.value <= cut.upper <= wide.upper
    for finding in check_interval(model, cut):
        assert finding.status == "proved", finding


def test_intervals_that_do_not_meet_are_an_error() -> None:
    found = pl.bounds.mean_field(IsingModel([(0, 1)], [1.0]))
    with pytest.raises(AssertionError, match="do not meet"):
        intersect(replace(found, upper=2.0), 3.0, 4.0, by="nothing")
