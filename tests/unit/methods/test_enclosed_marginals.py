"""Estimates between ends, whichever of them has the time: against elimination."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import TickClock
from planaris.budget import Budget, use_clock
from planaris.methods import enclosed_marginals as enclosed
from planaris.verify import check_result


@pytest.mark.parametrize("prove", [False, True])
@pytest.mark.parametrize(("good", "poor"), [(0.0, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("looks", [1, 300, 3000])
def test_ends_and_log_partition_hold(
    good: float, poor: float, looks: int, prove: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enclosed, "GOOD_ENDS", good)  # never good enough, or always
    monkeypatch.setattr(enclosed, "POOR_ENDS", poor)
    monkeypatch.setattr(enclosed, "tensor_marginals", lambda *_: None)
    monkeypatch.setattr(enclosed, "interval", lambda *asked: pl.bounds.trw(asked[0]))
    rng = np.random.default_rng(looks)
    edges = pl.generate.square_lattice(9).edges
    model = pl.IsingModel(edges, 1.2, 1.5 * rng.normal(size=81))
    exact = pl.marginals(model, "treewidth")
    log_z = pl.log_partition(model, "treewidth")
    with use_clock(TickClock(1.0)):
        found = enclosed.enclosed_marginals(model, Budget.of(looks + 0.5, threads=1, prove=prove))
    assert found.log_partition is not None
    assert found.log_partition.lower <= log_z.upper
    assert log_z.lower <= found.log_partition.upper
    for low, value, high, truth in (
        (found.nodes_lower, found.nodes, found.nodes_upper, exact.nodes),
        (found.edges_lower, found.edges, found.edges_upper, exact.edges),
    ):
        assert np.all((low <= value) & (value <= high))
        assert np.all((low <= truth + 1e-12) & (truth <= high + 1e-12))
    assert check_result(model, found, recompute=False).proved or not prove


def grid(side: int, seed: int = 0) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    edges = pl.generate.square_lattice(side).edges
    return pl.IsingModel(edges, rng.normal(size=len(edges)), rng.normal(size=side * side))


def test_a_proved_tensor_network_is_the_answer() -> None:
    model = grid(4)
    found = enclosed.enclosed_marginals(model, Budget.of(60.0, prove=True))
    assert found.proved
    assert np.allclose(found.nodes, pl.marginals(model, "treewidth").nodes, atol=1e-9)


def test_a_bound_that_is_exact_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enclosed, "tensor_marginals", lambda *_: None)
    model = grid(4)
    found = enclosed.enclosed_marginals(model, Budget.of(60.0))
    assert found.exact
    assert np.allclose(found.nodes, pl.marginals(model, "treewidth").nodes, atol=1e-9)


def test_an_estimate_keeps_the_interval_and_gets_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    model = grid(4)
    guess = pl.marginals(model, "bp")
    monkeypatch.setattr(enclosed, "tensor_marginals", lambda *_: guess)
    monkeypatch.setattr(enclosed, "interval", lambda *asked: pl.bounds.trw(asked[0]))
    found = enclosed.enclosed_marginals(model, Budget.of(60.0))
    assert found.log_partition is not None
    assert found.log_partition.method == "trw"
    assert found.method == "bp"
    assert np.array_equal(found.nodes, np.clip(guess.nodes, found.nodes_lower, found.nodes_upper))
