"""log Z, marginals, correlations and samples on planes and surfaces against other ways to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

import planaris as pl
from helpers.trials import trials
from planaris import IsingModel
from planaris.embed import Embedding
from planaris.embed.surfaces import torus_lattice
from planaris.errors import MethodError
from planaris.generate.lattices import random_triangulation
from planaris.models import bias2fields
from planaris.planar import Plan
from planaris.reference import enumerate_states
from planaris.reference.brute_force import all_states
from planaris.reference.kaufman import kaufman_log_partition

CRITICAL = math.log1p(math.sqrt(2)) / 2


def brute_force(embedding: Embedding, couplings: np.ndarray) -> np.ndarray:
    """log Z of every row of couplings by all states, the last spin held (it counts twice)."""
    states = all_states(embedding.num_vertices - 1).astype(np.float64)
    states = np.column_stack([states, np.ones(len(states))])
    u, v = embedding.edges.T
    return np.asarray(logsumexp((states[:, u] * states[:, v]) @ couplings.T, axis=0)) + math.log(2)


def random_torus(rng: np.random.Generator) -> Embedding:
    """A torus lattice without some of its edges; its genus may drop to zero."""
    shapes = [(r, c) for r in range(2, 9) for c in range(2, 9) if 4 <= r * c <= 16]
    rows, columns = shapes[rng.integers(len(shapes))]
    full = torus_lattice(rows, columns, str(rng.choice(["square", "triangular"])))
    kept = rng.random(full.num_edges) < rng.uniform(0.75, 1.1)
    number = np.cumsum(kept) - 1
    rotation = full.rotation[kept[full.rotation >> 1]]
    return Embedding.from_rotation(
        full.edges[kept],
        2 * number[rotation >> 1] + (rotation & 1),
        num_vertices=full.num_vertices,
    )


def random_plane(rng: np.random.Generator) -> Embedding:
    n = int(rng.integers(3, 17))
    edges = random_triangulation(n, rng).edges
    kept = rng.random(len(edges)) < rng.uniform(0.3, 1.1)
    return Embedding.from_graph(edges[kept], num_vertices=n)


@pytest.mark.parametrize("surface", [random_plane, random_torus])
def test_random_models_against_all_states(surface, rng):
    genera = set()
    for _ in range(trials(40, 125)):
        embedding = surface(rng)
        genera.add(embedding.genus)
        couplings = rng.normal(size=(8, embedding.num_edges))
        couplings *= rng.choice([0.1, 0.5, 1.0], size=(8, 1))
        couplings[0] *= 5.0
        found = Plan(embedding).log_partition(couplings, threads=1)
        expected = brute_force(embedding, couplings)
        assert all(z.exact for z in found)
        np.testing.assert_allclose([z.value for z in found], expected, rtol=1e-12)
    assert max(genera) == (0 if surface is random_plane else 1)


@pytest.mark.parametrize("beta", [2.0, 5.0, 10.0, 20.0])
@pytest.mark.parametrize("disorder", ["gaussian", "bimodal"])
def test_cold_tori_are_exact_where_signed_sums_cancel(beta, disorder):
    exact = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        torus = torus_lattice(int(rng.integers(4, 9)), int(rng.integers(4, 11)))
        model = pl.generate.spin_glass(torus, rng, disorder=disorder, beta=beta)
        found = pl.log_partition(model, "planar", embedding=torus)
        truth = pl.log_partition(model, "treewidth")
        assert found.lower <= truth.upper
        assert truth.lower <= found.upper
        exact += found.exact
    assert exact >= (12 if beta < 10 else 9)


def test_good_pivots_do_not_hide_what_cancels_on_a_torus():
    """Nothing was rescaled here and no pivot was small, but 2e-9 of log Z was lost."""
    torus = torus_lattice(8, 8)
    rng = np.random.default_rng(0)
    model = pl.generate.spin_glass(torus, rng, disorder="bimodal", beta=5.0)
    found = pl.log_partition(model, "planar", embedding=torus)
    truth = pl.log_partition(model, "treewidth")
    assert found.exact
    assert abs(found.value - truth.value) <= 1e-11
    likely = pl.marginals(model, "planar", embedding=torus)
    np.testing.assert_allclose(likely.edges, pl.marginals(model, "treewidth").edges, atol=1e-9)


def check_kaufman(sizes) -> None:
    for size in sizes:
        prepared = Plan(torus_lattice(size, size))
        for coupling in (0.1, CRITICAL, 0.6, 2.0):
            found = prepared.log_partition(coupling, threads=1)
            assert found.exact
            expected = kaufman_log_partition(size, size, coupling)
            assert found.value == pytest.approx(expected, rel=1e-10), (size, coupling)


def test_torus_ferromagnets():
    check_kaufman([2, 3, *range(4, 65, 12)])


@pytest.mark.slow
def test_all_torus_ferromagnets():
    check_kaufman(range(2, 65))


def test_relabelling_gauge_flips_and_components(rng):
    torus = torus_lattice(4, 5)
    couplings = 0.8 * rng.normal(size=torus.num_edges)
    value = Plan(torus).log_partition(couplings).value
    order = rng.permutation(20)
    of_vertex = np.argsort(order)
    rotation = np.concatenate(
        [torus.rotation[torus.offsets[v] : torus.offsets[v + 1]] for v in of_vertex]
    )
    relabelled = Embedding.from_rotation(order[torus.edges], rotation, num_vertices=20)
    assert relabelled.genus == 1
    same = pytest.approx(value, rel=1e-12)
    assert Plan(relabelled).log_partition(couplings).value == same
    s = rng.choice([-1, 1], 20)
    u, v = torus.edges.T
    assert Plan(torus).log_partition(couplings * s[u] * s[v]).value == same
    twice = Embedding.from_rotation(
        np.concatenate([torus.edges, torus.edges + 20]),
        np.concatenate([torus.rotation, torus.rotation + 2 * torus.num_edges]),
        num_vertices=40,
    )
    assert twice.genus == 2
    both = Plan(twice).log_partition(np.tile(couplings, 2)).value
    assert both == pytest.approx(2 * value, rel=1e-12)


def test_marginals_are_derivatives(rng):
    torus = torus_lattice(5, 6, "triangular")
    prepared, step = Plan(torus), 1e-4
    couplings = 0.5 * rng.normal(size=torus.num_edges)
    edges = prepared.marginals(couplings).edges
    for e in rng.choice(torus.num_edges, 5, replace=False):
        shift = step * (np.arange(torus.num_edges) == e)
        up, down = (
            float(z) for z in prepared.log_partition([couplings + shift, couplings - shift])
        )
        assert 2 * edges[e] - 1 == pytest.approx((up - down) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("coupling", [0.0, 1e-300, -1e-300, CRITICAL, 1e3])
def test_extreme_couplings(coupling):
    torus = torus_lattice(3, 4)
    couplings = np.full(torus.num_edges, coupling)
    model = IsingModel(torus.edges, couplings)
    expected = enumerate_states(model)
    prepared = Plan(torus)
    found = prepared.log_partition(couplings)
    assert found.exact
    assert found.value == pytest.approx(expected.log_partition, rel=1e-12)
    np.testing.assert_allclose(prepared.marginals(couplings).edges, expected.edges, atol=1e-9)
    spins = all_states(12).astype(float)
    exact = spins.T @ (spins[:, 5] * expected.probabilities)
    np.testing.assert_allclose(prepared.spin_correlations(couplings, 5), exact, atol=1e-9)


def test_cold_tori_are_right_or_refused():
    refused, count = 0, trials(40, 120)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        torus = torus_lattice(int(rng.integers(4, 8)), 4)
        signs = np.where(rng.random(torus.num_edges) < rng.choice([0.1, 0.5]), -1.0, 1.0)
        couplings = signs * float(rng.choice([100.0, 300.0, 1000.0]))
        model = IsingModel(torus.edges, couplings)
        expected = pl.marginals(model, "treewidth").edges
        try:
            found = Plan(torus).marginals(couplings).edges
        except MethodError:
            refused += 1
        else:
            np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=str(seed))
    assert refused < 2 / 3 * count


def test_what_cancels_is_an_interval():
    # Every state leaves many edges unsatisfied, walls of other classes fewer: signed sums cancel.
    torus = torus_lattice(3, 3)
    couplings = np.full(18, -1000.0)
    found = Plan(torus).log_partition(couplings)
    truth = enumerate_states(IsingModel(torus.edges, couplings)).log_partition
    assert not found.exact
    assert found.lower <= truth <= found.upper
    with pytest.raises(MethodError):
        Plan(torus).marginals(couplings)
    with pytest.raises(MethodError):
        Plan(torus).sample(couplings, 1, np.random.default_rng(0))
    with pytest.raises(MethodError):
        Plan(torus).spin_correlations(couplings, 0)
    model = IsingModel(torus.edges, couplings)
    states = pl.sample(model, 3, 1, embedding=torus)  # by elimination
    assert model.energy(states) == pytest.approx(np.full(3, model.energy(states[0])))


# -- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns", "kind", "scale"),
    [
        (2, 2, "square", 0.5),
        (3, 3, "square", 0.4),
        (3, 3, "triangular", 1.0),
        (2, 4, "square", 2.0),
        (3, 3, "square", -1.0),
    ],
)
def test_sampled_frequencies(rows, columns, kind, scale, rng):
    torus = torus_lattice(rows, columns, kind)
    n = rows * columns
    couplings = rng.normal(size=torus.num_edges) * scale if scale > 0 else scale + np.zeros(18)
    states = Plan(torus).sample(couplings, 2000, rng)
    codes = (states > 0) @ (1 << np.arange(n - 1, -1, -1))
    model = IsingModel(torus.edges, couplings, num_spins=n)
    expected = enumerate_states(model).probabilities * len(states)
    seen, common = np.bincount(codes, minlength=2**n), expected >= 5
    e = np.append(expected[common], expected[~common].sum() + 1e-9)
    o = np.append(seen[common], seen[~common].sum())
    assert ((o - e) ** 2 / e).sum() < chi2.ppf(1 - 1e-6, len(e) - 1)


def test_samples_of_genus_two_and_in_a_field(rng):
    n, edges = 6, [(u, v) for u in range(6) for v in range(u)]
    angle = 2 * np.pi * np.arange(n) / n + 0.1 * rng.random(n)
    from planaris.embed.handles import embedding_with_handles

    embedding = embedding_with_handles(edges, np.column_stack([np.cos(angle), np.sin(angle)]))
    model = IsingModel(edges, 0.5 * rng.normal(size=15))
    states = Plan(embedding).sample(model.couplings, 1500, rng)
    agree = (states[:, model.edges[:, 0]] == states[:, model.edges[:, 1]]).mean(0)
    exact = enumerate_states(model).edges
    assert np.abs((agree - exact) / np.sqrt(exact * (1 - exact) / 1500)).max() < 5
    # The last vertex as a bias spin: marginals of nodes come from correlations with it.
    found = pl.marginals(bias2fields(model)[0], "treewidth").nodes
    by_path = Plan(embedding).spin_correlations(model.couplings, 5)[:5]
    np.testing.assert_allclose((1 + by_path) / 2, found, atol=1e-10)


def test_samples_follow_the_generator_and_have_the_right_mean():
    torus = torus_lattice(12, 12)
    prepared = Plan(torus)
    rng = np.random.default_rng(4)
    couplings = 0.7 * rng.normal(size=torus.num_edges)
    first, again = (prepared.sample(couplings, 2, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    states = prepared.sample(couplings, 300, rng)
    u, v = torus.edges.T
    agree, exact = (states[:, u] == states[:, v]).mean(0), prepared.marginals(couplings).edges
    spread = np.sqrt(np.maximum(exact * (1 - exact), 1e-3) / len(states))
    assert np.abs((agree - exact) / spread).max() < 5.5


@pytest.mark.parametrize("size", [1e9, 1e12, 1e16])
def test_sizes_of_billions_of_bits_are_not_written_out(size, rng):
    torus = torus_lattice(3, 4)
    couplings = size * rng.choice([-1.0, 1.0], (8, torus.num_edges))
    for row, value in zip(couplings, brute_force(torus, couplings), strict=True):
        found = Plan(torus).log_partition(row)
        assert found.lower - 1e-12 * size <= value <= found.upper + 1e-12 * size


@pytest.mark.parametrize("seed", [1, 2, 21, 48, 104])
def test_errors_of_weak_marginals_hold_on_tori(seed):
    """One of four Pfaffians is nearly zero there, and its inverse large."""
    torus, rng = torus_lattice(3, 4), np.random.default_rng(seed)
    couplings = 10.0 ** rng.uniform(-2, -1) * rng.normal(size=torus.num_edges)
    states = all_states(torus.num_vertices).astype(np.float64)
    same = states[:, torus.edges[:, 0]] * states[:, torus.edges[:, 1]]
    weights = np.exp(same @ couplings)
    alike = [math.fsum(weights[column > 0].tolist()) for column in same.T]
    found = Plan(torus).marginals(couplings)
    assert np.abs(found.edges - np.array(alike) / math.fsum(weights.tolist())).max() <= found.error
