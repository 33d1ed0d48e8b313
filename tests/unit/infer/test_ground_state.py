from __future__ import annotations

import itertools

import numpy as np
import pytest

import planaris as pl
from helpers.degenerate import K5, LARGE, NONPLANAR, SMALL, path
from planaris import planar
from planaris.embed.surfaces import torus_lattice
from planaris.errors import EmbeddingError, MethodError, NotPlanarError, TooLargeError
from planaris.reference import enumerate_states
from planaris.verify import check_certificate

METHODS = ["auto", "planar", "treewidth", "cycle-lp", "branch-and-cut", "brute-force"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SMALL)
def test_degenerate_models(name, method):
    model = SMALL[name]()
    result = pl.ground_state(model, method)
    best = enumerate_states(model).energy
    assert result.energy == pytest.approx(best, rel=1e-15, abs=1e-300)
    assert result.lower <= best <= result.upper == result.energy
    assert result.spins.dtype == np.int8
    assert result.spins.shape == (model.num_spins,)


@pytest.mark.parametrize("name", LARGE)
def test_long_and_wide_models(name):
    model = LARGE[name]()
    result = pl.ground_state(model)
    unsatisfied = 1 if name.startswith("ring") else 0  # an odd ring of negative couplings
    total = np.abs(model.couplings).sum()
    assert result.exact
    assert result.energy == pytest.approx(-total + 2 * unsatisfied, rel=1e-15)


def test_a_path_of_a_million_spins():
    result = pl.ground_state(path(10**6, -1.0))
    assert result.exact
    assert np.array_equal(result.spins, np.tile([1, -1], 500_000))


@pytest.mark.parametrize("name", NONPLANAR)
def test_non_planar_models_are_solved_in_parts(name):
    model = NONPLANAR[name]()
    result = pl.ground_state(model)
    assert result.exact
    assert result.energy == enumerate_states(model).energy


def test_each_part_by_what_fits_it(rng):
    # K5 (not planar) and a glass (planar) joined at one spin, with fields on the K5.
    glass = pl.generate.spin_glass(4, rng)
    edges = np.concatenate([glass.edges, np.array(K5) + 15])
    couplings = np.concatenate([glass.couplings, rng.standard_normal(10)])
    model = pl.IsingModel(edges, couplings, np.r_[np.zeros(18), 1.0, -0.5])
    result = pl.ground_state(model)
    assert result.exact
    assert result.energy == pytest.approx(enumerate_states(model).energy, rel=1e-15)
    assert [part["planar"] for part in result.stats["parts"]] == [True, False]


def test_planar_refuses_with_a_kuratowski_subgraph():
    with pytest.raises(NotPlanarError, match="K5") as refusal:
        pl.ground_state(pl.IsingModel(K5, 1.0), "planar")
    assert len(refusal.value.kuratowski_edges) == 10


def test_planar_refuses_fields_that_lie_on_no_common_face():
    grid = pl.generate.image_grid(np.ones((3, 3)), data=1.0)
    with pytest.raises(NotPlanarError, match="on one face"):
        pl.ground_state(grid, "planar")


def test_unknown_method_lists_the_known_ones():
    with pytest.raises(MethodError, match=r"'auto', .*'planar'"):
        pl.ground_state(path(2), "magic")


def test_brute_force_refuses_before_it_allocates():
    # On a machine with little memory that is the reason.
    with pytest.raises(TooLargeError, match=r"at most 24 spins|over 30 spins needs"):
        pl.ground_state(path(30), "brute-force")


def test_embedding_of_another_graph_is_refused():
    other = pl.Embedding.from_graph([(0, 1), (1, 2)], num_vertices=3)
    with pytest.raises(EmbeddingError, match="same order"):
        pl.ground_state(path(4), embedding=other)


def test_positions_that_cross_do_not_matter():
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    crossed = pl.IsingModel(square, -1.0, positions=[(0, 0), (1, 1), (1, 0), (0, 1)])
    assert pl.ground_state(crossed).energy == -4.0


@pytest.mark.parametrize("seed", range(30))
def test_torus_is_exact_or_an_interval(seed):
    rng = np.random.default_rng(seed)
    torus = torus_lattice(3, 4)
    model = pl.IsingModel(torus.edges, rng.standard_normal(torus.num_edges))
    result = pl.ground_state(model, "planar", embedding=torus)
    best = enumerate_states(model).energy
    assert result.lower <= best + 1e-12
    assert best <= result.upper + 1e-12
    if result.exact:
        assert result.energy == pytest.approx(best, rel=1e-14)


def test_certain_relations_hold_in_every_ground_state_of_a_torus():
    torus = torus_lattice(4, 4)
    u, v = torus.edges.T
    marked = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = pl.IsingModel(torus.edges, rng.integers(-3, 4, torus.num_edges).astype(float))
        result = planar.ground_state(model, embedding=torus)
        if result.exact:
            continue
        states = enumerate_states(model).ground_states
        certain = result.stats["certain_edges"]
        satisfied = model.couplings * states[:, u] * states[:, v] >= 0
        assert satisfied[:, certain].all()
        relative = states[:, result.certain] * states[:, result.certain][:, :1]
        assert (relative == relative[:1]).all()
        marked += int(np.count_nonzero(certain))
    assert marked > 0


def test_both_outcomes_happen_on_tori():
    outcomes = set()
    torus = torus_lattice(3, 4)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        model = pl.IsingModel(torus.edges, rng.standard_normal(torus.num_edges))
        outcomes.add(pl.ground_state(model, "planar", embedding=torus).exact)
    assert outcomes == {True, False}


def test_markov_random_fields(rng):
    cards = [2, 2, 2, 2]
    factors = [((u, v), rng.random((2, 2)) + 0.1) for u, v in itertools.combinations(range(4), 2)]
    mrf = pl.MarkovRandomField(cards, factors)
    result = pl.ground_state(mrf)
    everything = list(itertools.product(*map(range, cards)))
    assert result.energy == pytest.approx(mrf.energy(everything).min(), rel=1e-14)
    assert float(mrf.energy(result.assignment)) == result.energy
    wide = pl.MarkovRandomField([3, 2], [((0, 1), [[1, 0], [5, 2], [0, 6]])])
    assert pl.ground_state(wide).assignment.tolist() == [2, 1]


@pytest.mark.usefixtures("ticking")
def test_a_plane_glass_keeps_its_interval_when_time_is_over(rng):
    model = pl.generate.spin_glass(120, rng)
    best = pl.ground_state(model)
    late = pl.ground_state(model, time_limit=1e-3)
    assert not late.exact
    assert late.lower < best.energy < late.upper == late.energy
    assert late.energy == pytest.approx(float(model.energy(late.spins)))
    assert late.lower > 1.5 * best.energy  # better than -Σ |J| over all edges by far
    assert check_certificate(model, late)  # of the bound


def test_ferromagnets_in_mixed_fields_go_to_max_flow(rng: np.random.Generator) -> None:
    grid = pl.generate.square_lattice(30)
    model = pl.IsingModel(grid.edges, rng.random(len(grid.edges)), rng.normal(size=900))
    found = pl.ground_state(model)
    assert found.exact
    assert found.method == "graph-cut"
    small = pl.IsingModel(pl.generate.square_lattice(4).edges, 0.7, rng.normal(size=16))
    assert pl.ground_state(small).energy == pytest.approx(
        pl.ground_state(small, "brute-force").energy, abs=1e-12
    )
