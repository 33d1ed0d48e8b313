"""Noise estimates against enumerated likelihoods and known noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import planaris as pl
from helpers.recovery_cases import likelihoods
from planaris.errors import MethodError, NotPlanarError
from planaris.generate import random_regular_graph
from planaris.recover import Observations, as_graph, estimate_noise, noise_of, observe
from planaris.recover.noise_levels import maximum_likelihood as noise


def log_likelihood(seen, p: float, q: float) -> float:
    _, weights = likelihoods(seen, p, q)
    return float(np.log(weights.mean()))


def test_joint_estimate_maximises_the_enumerated_likelihood(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(3, 4)
    for _ in range(4):
        seen = observe(grid, rng.choice([-1, 1], 12), 0.15, 0.25, rng)
        found = estimate_noise(seen, method="joint")
        p, q = (min(max(x, 1e-6), 0.5) for x in (found.p, found.q))
        best = log_likelihood(seen, p, q)
        assert best == pytest.approx(found.log_likelihood, abs=1e-4)
        for dp, dq in ((0.02, 0), (-0.02, 0), (0, 0.02), (0, -0.02)):
            other = (min(max(p + dp, 1e-6), 0.5), min(max(q + dq, 1e-6), 0.5))
            assert log_likelihood(seen, *other) <= best + 1e-6


def test_no_other_noise_of_little_graphs_is_more_likely(rng: np.random.Generator) -> None:
    """Their likelihoods have several maxima, and saddles where a weight is zero."""
    scan = [1e-7, *np.linspace(0.02, 0.5, 13).tolist()]
    for _ in range(60):
        n = int(rng.integers(2, 7))
        pairs = list(itertools.combinations(range(n), 2))
        graph = as_graph((n, [pairs[k] for k in rng.permutation(len(pairs))[: 2 * n]]))
        edges = rng.choice([-1, 1], len(graph.edges)).astype(np.int8)
        seen = Observations(graph, edges, rng.choice([-1, 1], n).astype(np.int8))
        found = estimate_noise(seen, method="joint")
        for p, q in itertools.product(scan, repeat=2):
            assert log_likelihood(seen, p, q) <= found.log_likelihood + 1e-4


@pytest.mark.parametrize("method", ["joint", "edges"])
def test_groups_differ_where_one_noise_for_all_says_nothing(method: str) -> None:
    """A triangle that agrees and one that does not: together as likely as by chance."""
    graph = as_graph((6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]))
    edges = np.array([1, 1, 1, 1, 1, -1], dtype=np.int8)
    seen = Observations(graph, edges, np.zeros(6, dtype=np.int8))
    alike = estimate_noise(seen, q=0.5, method=method)  # 1 - (1 - 2p)^6: flat around 1/2
    assert alike.p == pytest.approx(0.5, abs=0.05)
    found = estimate_noise(seen, q=0.5, edge_groups=[0, 0, 0, 1, 1, 1], method=method)
    assert found.p == pytest.approx([0, 0, 0, 0.5, 0.5, 0.5], abs=1e-3)
    assert found.log_likelihood == pytest.approx(-5 * math.log(2), abs=1e-4)


def test_edge_estimate_lies_on_the_nishimori_line(rng: np.random.Generator) -> None:
    # Expected and assumed noise agree: Σ X <y y> = m (1 - 2p), with marginals by another route.
    grid = pl.generate.square_lattice(15)
    seen = observe(grid, 1, 0.08, 0.4, rng)
    found = estimate_noise(seen, q=0.4, method="edges")
    model = seen.edge_model(0.5 * math.log((1 - found.p) / found.p))
    edges = np.asarray(pl.marginals(model, "treewidth").edges)
    mean = float((seen.edges * (2 * edges - 1)).mean())
    assert mean == pytest.approx(1 - 2 * found.p, abs=2e-4)


def test_estimates_are_near_the_noise(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(60)
    truth = rng.choice([-1, 1], 3600)
    for p, q in ((0.03, 0.2), (0.08, 0.4)):
        found = estimate_noise(observe(grid, truth, p, q, rng), rng=rng)
        assert found.method == "edges"
        assert abs(found.p - p) < 5 * found.p_error < 0.05
        assert abs(found.q - q) < 5 * found.q_error < 0.1


def test_edges_and_joint_agree(rng: np.random.Generator) -> None:
    seen = observe(pl.generate.square_lattice(10, 60), 1, 0.05, 0.3, rng)
    joint, edges = (estimate_noise(seen, method=name, rng=rng) for name in ("joint", "edges"))
    assert abs(joint.p - edges.p) < joint.p_error
    assert abs(joint.q - edges.q) < joint.q_error


def test_estimated_likelihoods_are_climbed_like_exact_ones(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    groups = rng.integers(0, 2, 99)
    for p, q in ((0.05, 0.3), (0.12, 0.2)):
        seen = observe(pl.generate.square_lattice(11, 9), rng.choice([-1, 1], 99), p, q, rng)
        options = {"method": "joint", "node_groups": groups}
        exact = estimate_noise(seen, **options)
        monkeypatch.setattr(noise, "JOINT_SECONDS", {"auto": 0.0, "joint": 0.0})
        found = estimate_noise(seen, **options)
        monkeypatch.undo()
        assert (exact.exact, found.exact) == (True, False)
        assert found.p == pytest.approx(exact.p, abs=1e-6)
        assert found.q == pytest.approx(exact.q, abs=1e-6)
        assert found.q_error == pytest.approx(exact.q_error, rel=1e-3)
        assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-8)


def test_nodes_count_where_edges_leave_no_order(rng: np.random.Generator) -> None:
    # From the edges alone q is far off here: samples of the labels do not agree.
    seen = observe(pl.generate.square_lattice(30), 1, 0.12, 0.1, rng)
    found = estimate_noise(seen, rng=rng)
    assert (found.method, found.exact) == ("joint", False)
    assert abs(found.p - 0.12) < 4 * found.p_error < 0.05
    assert abs(found.q - 0.1) < 4 * found.q_error < 0.06


def test_large_graphs_are_sampled_on_a_part(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(noise, "SAMPLED_SPINS", 1500)
    seen = observe(pl.generate.square_lattice(60), -1, 0.08, 0.3, rng)
    found = estimate_noise(seen, rng=rng)
    assert abs(found.q - 0.3) < 5 * found.q_error
    assert found.q_error > 0.5 * (0.84 / 1500) ** 0.5  # that of the part, not of the whole


def test_trees_say_nothing_about_edge_noise(rng: np.random.Generator) -> None:
    path = (30, [(k, k + 1) for k in range(29)])
    found = estimate_noise(observe(path, 1, 0.1, 0.5, rng), q=0.5, method="edges")
    assert math.isinf(found.p_error)


def test_consistent_edges_have_no_noise(rng: np.random.Generator) -> None:
    found = estimate_noise(observe(pl.generate.square_lattice(30), 1, 0.0, 0.2, rng), rng=rng)
    assert found.p == 0.0
    assert abs(found.q - 0.2) < 0.08


def test_other_graphs_are_estimated_by_plugging_in(rng: np.random.Generator) -> None:
    graph = random_regular_graph(6, 300, rng)
    seen = observe(graph, 1, 0.03, 0.3, rng)
    found = estimate_noise(seen, rng=rng)
    assert (found.method, found.exact) == ("plug-in", False)
    assert abs(found.p - 0.03) < 0.03
    assert abs(found.q - 0.3) < 0.15
    with pytest.raises(NotPlanarError):
        estimate_noise(seen, method="edges")
    with pytest.raises(MethodError, match="joint likelihood"):
        estimate_noise(seen, method="joint")


def test_graphs_that_are_not_planar_are_climbed_along_a_sweep(rng: np.random.Generator) -> None:
    lattice = np.arange(25 * 25).reshape(25, 25)
    grid = pl.generate.square_lattice(25).edges
    crossed = [
        np.c_[lattice[:-1, :-1].ravel(), lattice[1:, 1:].ravel()],
        np.c_[lattice[:-1, 1:].ravel(), lattice[1:, :-1].ravel()],
    ]
    seen = observe((625, np.concatenate([grid, *crossed])), 1, 0.03, 0.3, rng)
    found = estimate_noise(seen, rng=rng)
    assert (found.method, found.exact) == ("joint", False)
    assert abs(found.p - 0.03) < 4 * found.p_error < 0.03
    assert abs(found.q - 0.3) < 4 * found.q_error < 0.08


def test_known_noise_is_kept() -> None:
    seen = observe(pl.generate.square_lattice(5), 1, 0.1, 0.2, np.random.default_rng(0))
    found = estimate_noise(seen, p=0.1, q=0.2)
    assert (found.p, found.q, found.p_error, found.q_error) == (0.1, 0.2, 0.0, 0.0)


def test_nothing_observed() -> None:
    found = estimate_noise(observe((0, []), 1, 0.1, 0.1, np.random.default_rng(0)))
    assert 0 <= found.p <= 0.5


def test_noise_of_is_monotone() -> None:
    weights = np.linspace(0, 400, 50)
    values = [noise_of(float(w)) for w in weights]
    assert values[0] == 0.5
    assert all(a >= b for a, b in itertools.pairwise(values))


@pytest.mark.parametrize("groups", [None, [0, 1, 0, 0, 1]])
def test_parallel_edges_are_separate_observations(groups) -> None:
    graph = as_graph((4, [(0, 1), (1, 2), (1, 0), (2, 0), (2, 3)]))
    seen = Observations(graph, edges=[1, 1, -1, 1, -1], nodes=[1, 1, -1, 1])
    for method in ("joint", "edges"):
        found = estimate_noise(seen, method=method, edge_groups=groups, q=0.2)
        p, q = np.broadcast_to(found.p, 5), 0.5 if method == "edges" else 0.2
        chances = []
        for y in itertools.product((-1, 1), repeat=4):
            edges = np.array([y[u] * y[v] for u, v in graph.edges.tolist()])
            right = np.where(edges == seen.edges, 1 - p, p).prod()
            chances.append(right * np.where(np.array(y) == seen.nodes, 1 - q, q).prod() / 16)
        value = math.log(math.fsum(chances)) + (4 * math.log(2) if method == "edges" else 0.0)
        assert found.log_likelihood == pytest.approx(value, abs=1e-6)
