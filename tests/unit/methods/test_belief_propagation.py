"""Loopy belief propagation against trees, enumeration and the theorem for attractive models."""

import numpy as np
import pytest

import planaris as pl
from planaris.budget import Budget
from planaris.methods.belief_propagation import bethe_value, pass_messages
from planaris.reference import enumerate_states


def random_tree(rng, n):
    edges = [(int(rng.integers(v)), v) for v in range(1, n)]
    return pl.IsingModel(edges, rng.normal(size=n - 1), rng.normal(size=n), num_spins=n)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12])
def test_trees_are_exact(rng, n):
    for _ in range(5):
        model = random_tree(rng, n)
        truth = enumerate_states(model)
        found = pl.marginals(model, "bp")
        assert found.status == "settled"
        np.testing.assert_allclose(found.nodes, truth.nodes, atol=1e-10)
        np.testing.assert_allclose(found.edges, truth.edges, atol=1e-10)
        assert found.log_partition.stats["bethe"] == pytest.approx(truth.log_partition, abs=1e-9)
        assert not found.exact
        assert not found.proved


def attractive(rng, n, scale):
    pairs = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.6]
    model = pl.IsingModel(pairs, rng.exponential(scale, len(pairs)), num_spins=n)
    gauge = rng.choice([-1, 1], n)
    u, v = model.edges.T
    return model.with_couplings(
        model.couplings * gauge[u] * gauge[v], scale * rng.normal(size=n) * rng.integers(0, 2)
    )


def test_no_point_of_the_local_polytope_exceeds_log_z_without_frustration(rng):
    for _ in range(150):
        model = attractive(rng, int(rng.integers(2, 10)), float(rng.choice([0.1, 0.5, 2.0, 30.0])))
        truth = enumerate_states(model).log_partition
        found = pl.log_partition(model, "bp")
        assert found.stats["lower_bound"]
        assert found.lower <= truth <= found.upper
        # Any consistent beliefs, not only those at a fixed point.
        nodes = rng.random(model.num_spins)
        p, q = nodes[model.edges[:, 0]], nodes[model.edges[:, 1]]
        low, high = np.maximum(p + q - 1, 0), np.minimum(p, q)
        both = low + rng.random(len(p)) * (high - low)
        value, slack = bethe_value(model, nodes, both)
        assert value - slack <= truth


def test_with_frustration_the_value_is_an_estimate_inside_an_interval_that_holds(rng):
    beyond = 0
    for _ in range(100):
        n = int(rng.integers(3, 9))
        pairs = [(u, v) for v in range(n) for u in range(v)]
        model = pl.IsingModel(pairs, rng.normal(size=len(pairs)), 0.3 * rng.normal(size=n))
        truth = enumerate_states(model).log_partition
        found = pl.log_partition(model, "bp")
        assert found.lower <= truth <= found.upper
        assert found.lower <= found.value <= found.upper
        beyond += found.stats["bethe"] > truth
    assert beyond > 0  # so the theorem may not be used here


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e3, 1e12, 1e300])
def test_any_scale(scale):
    model = pl.IsingModel([(0, 1), (1, 2), (2, 0)], [scale, -scale, scale], [scale, 0.0, 0.0])
    found = pl.log_partition(model, "bp")
    truth = pl.log_partition(model, "treewidth")
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower
    assert np.all(np.isfinite(found.pseudomarginals.nodes))


def test_the_budget_ends_the_messages():
    glass = pl.generate.spin_glass(30, np.random.default_rng(0))
    model = glass.with_couplings(glass.couplings, np.full(900, 0.3))
    assert pass_messages(model, Budget(0.0)).rounds == 0
    assert pass_messages(model, Budget(), max_rounds=3).rounds == 3
