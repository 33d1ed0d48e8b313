"""Upper bounds on log Z against enumeration, and their derivatives against differences."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import planaris as pl
from planaris.bounds.entropy.appearance import uniform_tree_probabilities
from planaris.bounds.entropy.entropies import LogDetEntropy, TreeEntropy
from planaris.errors import MethodError, ModelError, TooLargeError
from planaris.models import IsingModel, MarkovRandomField
from planaris.reference.brute_force import enumerate_states
from planaris.relax import entropy_bound
from planaris.subgraphs.families import heaviest_forest
from planaris.verify import check_result

KINDS = list(itertools.product(["trw", "log-det"], ["local", "psd", "cycle", "marginal"]))


def random_model(rng, n, strength, density=1.0):
    pairs = np.array(list(itertools.combinations(range(n), 2))).reshape(-1, 2)
    pairs = pairs[rng.random(len(pairs)) < density]
    couplings = rng.uniform(-strength, strength, len(pairs))
    return IsingModel(pairs, couplings, rng.uniform(-1, 1, n), offset=float(rng.normal()))


def test_bounds_hold_are_tighter_on_smaller_polytopes_and_the_gap_is_respected(rng):
    for k in range(4):
        n = int(rng.integers(2, 8))
        model = random_model(rng, n, 2.0, density=1.0 if k % 2 else 0.6)
        truth = enumerate_states(model)
        upper = {}
        for entropy, polytope in KINDS:
            found = entropy_bound(model, entropy=entropy, polytope=polytope, tolerance=1e-4)
            assert found.upper >= truth.log_partition - 1e-9
            assert found.lower <= truth.log_partition + 1e-9
            assert found.stats["gap"] <= 1e-4
            upper[entropy, polytope] = found.upper
        for entropy in ("trw", "log-det"):
            local, psd, cycle, exact = (upper[entropy, p] for _, p in KINDS[:4])
            assert psd <= local + 1e-3
            assert exact <= cycle + 1e-3 <= local + 2e-3
            assert exact <= psd + 1e-3


def test_tree_reweighting_is_exact_on_trees(rng):
    tree = nx.random_labeled_tree(9, seed=3)
    model = IsingModel(np.array(tree.edges), rng.normal(size=8), rng.normal(size=9))
    truth = enumerate_states(model)
    found = entropy_bound(model, polytope="local", tolerance=1e-7)
    assert found.upper == pytest.approx(truth.log_partition, abs=1e-5)
    np.testing.assert_allclose(found.stats["nodes"], truth.nodes, atol=1e-3)
    np.testing.assert_allclose(found.stats["rho"], 1.0)


def test_derivatives_match_differences(rng):
    n = 5
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int32)
    z = rng.uniform(-0.15, 0.15, n + len(pairs))
    rho = uniform_tree_probabilities(n, pairs)
    for entropy in (TreeEntropy(n, pairs, rho), LogDetEntropy(n, pairs)):
        _, gradient, hessian = entropy(z)
        dense = hessian if isinstance(hessian, np.ndarray) else hessian.toarray()
        for k in range(len(z)):
            step = np.zeros(len(z))
            step[k] = 1e-5
            (up, gu, _), (down, gd, _) = entropy(z + step), entropy(z - step)
            assert (up - down) / 2e-5 == pytest.approx(gradient[k], abs=1e-7)
            np.testing.assert_allclose((gu - gd) / 2e-5, dense[k], atol=1e-5)


def test_edge_appearance_probabilities():
    # All 16 spanning trees of K4 have 3 of its 6 edges.
    pairs = np.array(list(itertools.combinations(range(4), 2)), dtype=np.int32)
    np.testing.assert_allclose(uniform_tree_probabilities(4, pairs), 0.5)
    # A triangle with a tail, and a second component: bridges are in every forest.
    pairs = np.array([[0, 1], [1, 2], [0, 2], [2, 3], [4, 5]], dtype=np.int32)
    expected = [2 / 3, 2 / 3, 2 / 3, 1, 1]
    np.testing.assert_allclose(uniform_tree_probabilities(7, pairs), expected)
    chosen = heaviest_forest(7, pairs, np.array([3.0, 1.0, 2.0, 0.0, 0.0]))
    np.testing.assert_array_equal(chosen, [0, 2, 3, 4])


def test_optimised_rho_is_no_worse_and_stays_in_the_spanning_tree_polytope(rng):
    model = random_model(rng, 7, 1.0, density=0.7)
    uniform = entropy_bound(model, polytope="local")
    best = entropy_bound(model, polytope="local", rho="optimal", max_rounds=12)
    assert best.upper <= uniform.upper + 1e-9
    assert best.upper >= enumerate_states(model).log_partition - 1e-9
    graph = nx.Graph(model.edges.tolist())
    forest = model.num_spins - nx.number_connected_components(graph)
    forest -= model.num_spins - graph.number_of_nodes()
    assert best.stats["rho"].sum() == pytest.approx(forest)


def test_grids_need_few_rounds(rng):
    model = IsingModel.from_image(
        rng.uniform(-1, 1, (6, 6)), rng.uniform(-4, 4, (6, 5)), rng.uniform(-4, 4, (5, 6))
    )
    found = entropy_bound(model, tolerance=1e-3)
    assert found.stats["status"] == "optimal"
    assert found.stats["rounds"] <= 10
    uppers = [line["upper"] for line in found.stats["trace"]]
    assert np.all(np.diff(uppers) <= 1e-9)


def test_degenerate_models():
    assert entropy_bound(IsingModel([], [], num_spins=0)).upper == pytest.approx(0.0, abs=1e-9)
    alone = entropy_bound(IsingModel([], [], [0.7, 0.0]), tolerance=1e-8)
    assert alone.upper == pytest.approx(np.log(2 * np.cosh(0.7)) + np.log(2), abs=1e-6)
    with pytest.raises(MethodError, match="`polytope` must be one of"):
        entropy_bound(IsingModel([(0, 1)], [1.0]), polytope="cut")
    with pytest.raises(TooLargeError, match="lists all states"):
        entropy_bound(IsingModel([(0, 20)], [1.0]), polytope="marginal")
    with pytest.raises(TooLargeError, match="moment matrix"):
        entropy_bound(IsingModel([(0, 100)], [1.0]), entropy="log-det")


@pytest.mark.usefixtures("ticking")
def test_couplings_of_many_sizes_leave_no_singular_system() -> None:
    rng = np.random.default_rng(4)
    n, edges = pl.generate.random_regular_graph(3, 84, rng)
    couplings = rng.choice([-1e3, 1e3], len(edges)) * 10.0 ** rng.uniform(-12, 4, len(edges))
    model = pl.IsingModel(edges, couplings, num_spins=n)
    truth = pl.log_partition(model, "treewidth")
    found = pl.log_partition(model, "trw+cycle", time_limit=2.0)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper <= truth.upper + 100


def test_errors_of_the_search_for_cuts_are_raised(monkeypatch, rng):
    def fails(*_arguments, **_options):
        msg = "Buffer dtype mismatch"  # as SciPy says it
        raise ValueError(msg)

    monkeypatch.setattr("planaris.bounds.entropy.spin_program.shortest_cycles", fails)
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        entropy_bound(random_model(rng, 5, 3.0), cuts="shortest")


@pytest.mark.parametrize("size", [1e17, 1e150, 1e300])
def test_numbers_too_large_for_newton_leave_a_bound_that_holds(size):
    edges = list(itertools.combinations(range(4), 2))
    model = IsingModel(edges, [size, -size, 1.0, size, 0.0, -1.0], [size, 1.0, -size, 0.0])
    truth = enumerate_states(model).log_partition
    for entropy, polytope in KINDS:
        found = entropy_bound(model, entropy=entropy, polytope=polytope)
        assert found.lower <= truth <= found.upper


@pytest.mark.parametrize("entropy", ["trw", "log-det"])
def test_bounds_on_labels_hold_where_spins_lose_digits(entropy):
    # Fields beside 1e17 are rounded to multiples of 4 when labels become spins.
    for a, b in [(1.808, 6.52), (-3.519, -6.327), (-0.643, 6.832), (3.92, 7.467)]:
        factors = [((0,), [0.0, a]), ((1,), [0.0, b]), ((0, 1), [[0.0, 0.0], [0.0, -0.7e17]])]
        found = entropy_bound(pl.MarkovRandomField([2, 2], factors, log=True), entropy=entropy)
        assert found.lower <= np.log(1 + np.exp(a) + np.exp(b)) <= found.upper


# -- given appearance probabilities ---------------------------------------------------------------

K4 = [(u, v) for u in range(4) for v in range(u)]


def _glass(seed):
    rng = np.random.default_rng(seed)
    return IsingModel(K4, rng.normal(size=6), rng.normal(size=4))


@pytest.mark.parametrize("rho", [np.ones(6), np.full(6, 3.0), np.full(6, 0.1), np.arange(6.0) / 5])
@pytest.mark.parametrize("polytope", ["local", "cycle", "psd", "marginal"])
def test_any_given_probabilities_bound_log_z(rho, polytope):
    """Outside the spanning tree polytope they bounded nothing: ends below log Z, said proved."""
    for seed in range(5):
        model = _glass(seed)
        found = entropy_bound(model, rho=rho, polytope=polytope)
        assert found.upper >= enumerate_states(model).log_partition - 1e-12
        check_result(model, found)


@pytest.mark.parametrize(
    "rho",
    [
        (np.array([0.5]), [[0, 1]]),
        (np.array([1.5, -0.5]), [[0, 1], [2]]),
        (np.array([1.0]), [[0, 0]]),
        (np.array([1.0]), [[0, 1, 2]]),
        (np.array([1.0]), [[6]]),
        (np.array([1.0]), [[0.5]]),
        (np.array([1.0, 0.0]), [[0, 1]]),
        np.ones(5),
        np.full(6, np.nan),
    ],
)
def test_what_is_no_mixture_of_forests_is_refused(rho):
    for model in (_glass(0), MarkovRandomField([3] * 4, [(edge, np.eye(3) + 1) for edge in K4])):
        with pytest.raises(ModelError, match="rho"):
            entropy_bound(model, rho=rho, polytope="local")


def test_a_forest_may_be_empty():
    model = _glass(1)
    found = entropy_bound(model, rho=(np.array([0.5, 0.5]), [[0, 1, 3], []]))
    assert found.upper >= enumerate_states(model).log_partition
    check_result(model, found)


@pytest.mark.parametrize("families", [("psd",), ("wheels", "psd")])
def test_bounds_over_the_moments_of_all_pairs_can_be_checked(families):
    """The checker took the uniform trees of all pairs, and refused a bound that holds."""
    lattice, rng = pl.generate.square_lattice(3, 4), np.random.default_rng(0)
    model = IsingModel(lattice.edges, rng.choice([-1.0, 1.0], 17), 0.1 * rng.normal(size=12))
    check_result(model, entropy_bound(model, families=families, max_rounds=2))
