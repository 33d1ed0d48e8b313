"""Correlations of one spin with all others, and node marginals in a field, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planaris as pl
from helpers.degenerate import K5, SMALL
from helpers.strategies import PlaneGraph, plane_models
from helpers.trials import examples
from planaris import IsingModel
from planaris.errors import ModelError
from planaris.generate import spin_glass
from planaris.generate.lattices import random_triangulation, square_lattice
from planaris.planar import Plan, plan
from planaris.reference import enumerate_states
from planaris.reference.brute_force import all_states


def correlations(model: IsingModel, spin: int) -> np.ndarray:
    states = all_states(model.num_spins).astype(np.float64)
    return states.T @ (states[:, spin] * enumerate_states(model).probabilities)


def without_fields(model: IsingModel) -> IsingModel:
    return in_fields(model, np.zeros(model.num_spins))


def in_fields(model: IsingModel, fields: np.ndarray) -> IsingModel:
    return IsingModel(model.edges, model.couplings, fields, positions=model.positions)


@examples(150)
@given(plane_models(max_vertices=9), st.data())
def test_plane_models(drawn: tuple[IsingModel, PlaneGraph], data: st.DataObject) -> None:
    model, _ = drawn
    if model.num_spins == 0:
        return
    spin = data.draw(st.integers(0, model.num_spins - 1))
    found = plan(model).spin_correlations(model.couplings, spin)
    np.testing.assert_allclose(found, correlations(model, spin), atol=1e-10)


@pytest.mark.parametrize("name", [n for n in SMALL if SMALL[n]().num_spins])
def test_odd_models(name: str) -> None:
    model = without_fields(SMALL[name]())
    found = plan(model).spin_correlations(model.couplings, 0)
    np.testing.assert_allclose(found, correlations(model, 0), atol=1e-10)


def test_random_triangulations(rng: np.random.Generator) -> None:
    # Large enough for several fronts on every way; with and without coordinates.
    for k in range(60):
        n = int(rng.integers(9, 15))
        full = random_triangulation(n, rng)
        kept = rng.random(len(full.edges)) < rng.uniform(0.4, 1.0)
        couplings = rng.normal(size=int(kept.sum())) * rng.choice([0.3, 1.0, 5.0])
        positions = full.positions if k % 2 else None
        model = IsingModel(full.edges[kept], couplings, num_spins=n, positions=positions)
        spin = int(rng.integers(n))
        found = plan(model).spin_correlations(couplings, spin)
        np.testing.assert_allclose(found, correlations(model, spin), atol=1e-10)


@pytest.mark.parametrize("beta", [0.5, 3.0, 30.0])
def test_edges_agree_with_marginals(beta: float, rng: np.random.Generator) -> None:
    model = spin_glass(24, rng, beta=beta)
    bare = Plan(pl.embed.embed(model))  # other fronts than with the coordinates
    spin = 24 * 11 + 7
    found = bare.spin_correlations(model.couplings, spin)
    u, v = model.edges.T
    beside = np.where(u == spin, v, u)[(u == spin) | (v == spin)]
    edges = plan(model).marginals(model.couplings).edges[(u == spin) | (v == spin)]
    np.testing.assert_allclose((1 + found[beside]) / 2, edges, atol=1e-9)
    # The same pair from either end, over other paths.
    far = 24 * 20 + 20
    back = plan(model).spin_correlations(model.couplings, far)
    assert found[far] == pytest.approx(back[spin], abs=1e-10)
    pairs = plan(model).correlations(model.couplings, [(spin, far), (far, 3), (3, spin)])
    np.testing.assert_allclose(pairs, [found[far], back[3], found[3]], atol=1e-10)


def test_threads_do_not_change_them(rng: np.random.Generator) -> None:
    model = spin_glass(60, rng)
    prepared = plan(model)
    one, three = (prepared.spin_correlations(model.couplings, 5, threads=k) for k in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_a_ring_inside_a_ring(rng: np.random.Generator) -> None:
    # Coordinates that make nodes with holes: paths must lead through the inside of a node.
    lattice = square_lattice(7, 7)
    centre = lattice.positions - lattice.positions.mean(0)
    radius = np.abs(centre).max(1)
    angle = np.arctan2(*centre.T)
    positions = np.column_stack([1e3 * radius, angle])  # cuts between rings come first
    couplings = rng.normal(size=len(lattice.edges))
    model = IsingModel(lattice.edges, couplings)
    embedding = pl.embed.embed(model.with_positions(lattice.positions))
    for spin in (0, 24, 16):
        found = Plan(embedding, positions=positions).spin_correlations(couplings, spin)
        other = Plan(embedding).spin_correlations(couplings, spin)
        np.testing.assert_allclose(found, other, atol=1e-11)


# -- node marginals in a field --------------------------------------------------------------------


def test_fields_on_one_face(rng: np.random.Generator) -> None:
    lattice = square_lattice(4, 4)
    fields = np.zeros(16)
    fields[[0, 1, 2, 3]] = rng.normal(size=4)
    model = IsingModel(lattice.edges, rng.normal(size=24), fields, positions=lattice.positions)
    expected = enumerate_states(model)
    found = pl.marginals(model, "planar")
    np.testing.assert_allclose(found.nodes, expected.nodes, atol=1e-11)
    np.testing.assert_allclose(found.edges, expected.edges, atol=1e-11)


def test_nodes_of_large_models_in_a_field(rng: np.random.Generator) -> None:
    size = 40
    model = spin_glass(size, rng)
    fields = np.zeros(size * size)
    fields[:size] = rng.normal(size=size)
    whole = pl.marginals(in_fields(model, fields), "planar")
    # Held by a field of its own, zero, a spin on the same face has an edge to the bias spin.
    step = 1e-5
    probe = 3 * size - 1  # on the outer face
    up, down = (
        pl.log_partition(in_fields(model, fields + h * (np.arange(size**2) == probe)), "planar")
        for h in (step, -step)
    )
    slope = (up.value - down.value) / (2 * step)
    assert 2 * whole.nodes[probe] - 1 == pytest.approx(slope, abs=1e-6)


def test_parts_of_all_kinds(rng: np.random.Generator) -> None:
    # A plane piece with the field, K5 behind it, a plane piece behind that, one more component.
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    edges = np.concatenate([square, np.array(K5) + 3, [(7, 8), (8, 9), (9, 7)], [(10, 11)]])
    fields = np.zeros(12)
    fields[0] = 0.7
    model = IsingModel(edges, rng.normal(size=len(edges)), fields)
    from planaris.budget import Budget
    from planaris.methods.auto import marginals_by_parts
    from planaris.reductions.parts import split_model

    found = marginals_by_parts(split_model(model), Budget())
    expected = enumerate_states(model)
    np.testing.assert_allclose(found.nodes, expected.nodes, atol=1e-11)
    np.testing.assert_allclose(found.edges, expected.edges, atol=1e-11)


def test_wrong_spins_are_refused() -> None:
    with pytest.raises(ModelError, match="`spin` must be one of 0 to 1"):
        plan((2, [(0, 1)])).spin_correlations([1.0], 2)
