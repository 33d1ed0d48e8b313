"""Ends of marginals of ferromagnets by elimination around open spins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planaris as pl
from helpers.trials import seeds
from planaris.bounds import attractive_parts
from planaris.bounds.attractive_parts import PartsSearch
from planaris.budget import Budget
from planaris.kernels.frontier import Ends


def enumerated(model: pl.IsingModel) -> Ends:
    """Return P(+), P(++) and P(--), each as both of its ends, from all states."""
    states = np.array(list(itertools.product((-1, 1), repeat=model.num_spins)))
    u, v = model.edges.T
    logs = (states[:, u] * states[:, v]) @ model.couplings + states @ model.fields
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    nodes = weights @ (states > 0)
    up = weights @ ((states[:, u] > 0) & (states[:, v] > 0))
    down = weights @ ((states[:, u] < 0) & (states[:, v] < 0))
    return Ends(nodes, nodes, up, up, down, down)


def widened(exact: Ends, rng: np.random.Generator) -> Ends:
    """Return ends of spins that are valid: some next to the truth, some far from it."""
    n, zeros, ones = len(exact.nodes_lower), *(np.full_like(exact.up_lower, k) for k in (0, 1))
    below, above = (10.0 ** rng.uniform(-9, 0, n) for _ in range(2))
    low = np.clip(exact.nodes_lower - below, 0.0, 1.0)
    high = np.clip(exact.nodes_lower + above, 0.0, 1.0)
    return Ends(low, high, zeros, ones, zeros, ones)


def random_model(rng: np.random.Generator) -> pl.IsingModel:
    n = int(rng.integers(1, 12))
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < rng.uniform(0.1, 0.7)]
    couplings = rng.exponential(rng.choice([0.2, 1.0, 3.0]), len(edges))
    return pl.IsingModel(edges, couplings, rng.normal(0, rng.choice([0.3, 2.0, 6.0]), n))


def assert_hold(ends: Ends, exact: Ends) -> None:
    for name in ("nodes", "up", "down"):
        lower, upper = getattr(ends, f"{name}_lower"), getattr(ends, f"{name}_upper")
        truth = getattr(exact, f"{name}_lower")
        assert np.all(lower <= truth + 1e-12)
        assert np.all(truth <= upper + 1e-12)


@pytest.mark.parametrize("seed", seeds(60, 2000))
def test_ends_hold_whatever_is_held(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    exact = enumerated(model)
    known = widened(exact, rng)
    guess = rng.choice([exact.nodes_lower, 1 - exact.nodes_lower, rng.random(model.num_spins)])
    monkeypatch.setattr(attractive_parts, "PART", int(rng.integers(1, 6)))
    monkeypatch.setattr(attractive_parts, "AROUND", int(rng.integers(1, 8)))
    monkeypatch.setattr(attractive_parts, "RADII", (1, 2))
    monkeypatch.setattr(attractive_parts, "WALL", 0.2)
    search = PartsSearch(model)
    for _ in range(3):
        ends = search.narrow(known, guess, Budget.of(None))
        assert_hold(ends, exact)
        for name in Ends._fields:
            sign = -1 if name.endswith("upper") else 1
            assert np.all(sign * getattr(ends, name) >= sign * getattr(known, name))
        known = ends
        search.forget()


def test_walls_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain between a spin that is nearly up and one that is nearly down."""
    model = pl.IsingModel([(0, 1), (1, 2)], 1.0, [3.0, 0.1, -3.0])
    exact = enumerated(model)
    p = exact.nodes_lower
    low, high = p - np.array([0, 0.5, 0]), p + np.array([0, 0.4, 0])
    known = Ends(low, high, *(np.full(2, float(k % 2)) for k in range(4)))
    monkeypatch.setattr(attractive_parts, "WALL", 0.1)
    ends = PartsSearch(model).narrow(known, p, Budget.of(None))
    # Held there, the spin in the middle would be up with probability 1 / (1 + exp(-.2)).
    free = 1 / (1 + np.exp(-0.2))
    assert ends.nodes_upper[1] == pytest.approx(free + (1 - free) * p[2])
    assert ends.nodes_lower[1] == pytest.approx(free - free * (1 - p[0]))


def test_a_domain_of_open_sign_is_closed() -> None:
    rng = np.random.default_rng(3)
    model = pl.IsingModel(pl.generate.square_lattice(14).edges, 1.5, rng.normal(0, 2, 196))
    exact = pl.marginals(model, "treewidth")
    p = np.asarray(exact.nodes)
    known = Ends(
        np.where(p > 0.999, p - 1e-6, 0.0),
        np.where(p < 0.001, p + 1e-6, 1.0),
        *(np.full(model.num_edges, float(k % 2)) for k in range(4)),
    )
    ends = PartsSearch(model).narrow(known, p, Budget.of(None))
    assert np.all(ends.nodes_lower <= p + exact.error)
    assert np.all(p <= ends.nodes_upper + exact.error)
    before, after = (np.mean(some.nodes_upper - some.nodes_lower) for some in (known, ends))
    assert after < 0.05 * before


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(5)
    model = pl.IsingModel(pl.generate.square_lattice(20).edges, 1.0, rng.normal(0, 2, 400))
    zeros, ones = np.zeros(model.num_edges), np.ones(model.num_edges)
    known = Ends(np.zeros(400), np.ones(400), zeros, ones, zeros, ones)
    found = []
    for threads in (1, 2):
        search = PartsSearch(model)
        search.seconds = 0.01  # parts have to be halved
        budget = Budget.of(None, threads=threads)
        first = search.narrow(known, np.full(400, 0.5), budget)
        found.append(search.narrow(first, np.full(400, 0.5), budget))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_time_ends_stay_what_they_are() -> None:
    model = pl.IsingModel([(0, 1)], 0.5, [0.3, 0.1])
    low, zeros, ones = np.array([0.3, 0.1]), np.zeros(1), np.ones(1)
    assert 1 - (1 - low[0]) != low[0]  # turning over rounds
    known = Ends(low, np.array([0.9, 0.8]), zeros, ones, zeros, ones)
    for name, ends in zip(
        Ends._fields, PartsSearch(model).narrow(known, low, Budget.of(0.0)), strict=True
    ):
        np.testing.assert_array_equal(ends, getattr(known, name))
    search = PartsSearch(model)
    search.seconds = 0.0  # nothing fits
    np.testing.assert_array_equal(search.narrow(known, low, Budget.of(None)).nodes_lower, low)
