from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.planar_graphs import delaunay
from planaris import tensor
from planaris.tensor.network import to_network
from planaris.tensor.sweeps import Lattice, Sweep, plan_sweep, spectral_drawing


def lattice_edges(rows: int, columns: int, wraps: tuple[bool, bool]) -> np.ndarray:
    index = np.arange(rows * columns).reshape(rows, columns)
    pairs = [(index[:, :-1], index[:, 1:]), (index[:-1], index[1:])]
    if wraps[0]:
        pairs.append((index[-1], index[0]))
    if wraps[1]:
        pairs.append((index[:, -1], index[:, 0]))
    return np.concatenate([np.c_[u.ravel(), v.ravel()] for u, v in pairs]).astype(np.int32)


def random_model(edges: np.ndarray, n: int, rng: np.random.Generator, scale: float = 1.0):
    couplings = scale * rng.uniform(-1, 1, len(edges))
    return pl.IsingModel(edges, couplings, scale * rng.uniform(-0.5, 0.5, n))


@pytest.mark.parametrize("wraps", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (5, 5), (3, 8)])
def test_tori_and_cylinders_are_recognised_and_agree_with_elimination(shape, wraps):
    rng = np.random.default_rng(sum(shape))
    model = random_model(lattice_edges(*shape, wraps), shape[0] * shape[1], rng)
    assert Lattice.of(model.num_spins, model.edges) == Lattice(shape, wraps)
    network = to_network(model)
    planned = plan_sweep(model, network)
    assert planned.kind == ("torus" if any(wraps) else "grid")
    exact = pl.log_partition(model, "treewidth").value
    for program in planned.programs:
        sweep = Sweep(program, planned.kind, planned.order)
        assert tensor.log_partition(model, sweep=sweep).value == pytest.approx(exact, abs=1e-10)


def test_lattices_are_swept_in_both_directions():
    for rows, columns, widths in ((4, 7, {4, 7}), (2, 32, {2, 32}), (2, 34, {2, 34}), (1, 9, {1})):
        model = pl.IsingModel.from_image(np.zeros((rows, columns)), 1.0, 1.0)
        sweep = plan_sweep(model, to_network(model))
        assert {program.width for program in sweep.programs} == widths
        assert sweep.longest == max(widths)
        assert sweep.is_lattice == (columns <= 16 * rows)


def test_other_graphs_are_swept_in_two_directions():
    """Two programs of one order would lose the same weights."""
    rng = np.random.default_rng(3)
    plane = pl.generate.random_triangulation(60, rng)
    graphs = [
        (5, [(u, v) for u in range(5) for v in range(u)]),
        (40, [(k, k + d) for d in (1, 2, 3) for k in range(40 - d)]),
        (6000, [(k, k + d) for d in (1, 70, 71) for k in range(6000 - d)]),
        (60, plane.edges),
        (12, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (5, 6), (6, 7), (7, 4)]),
    ]
    for n, edges in graphs:
        model = pl.IsingModel(edges, np.ones(len(edges)), num_spins=n)
        sweep = plan_sweep(model, to_network(model))
        assert sweep.crossing is not None
        assert sorted(sweep.order.tolist()) == list(range(n))
        assert not sweep.is_lattice or sweep.kind == "rows"


def test_graphs_that_are_no_lattices():
    n, edges = 20, lattice_edges(4, 5, (True, True))
    for extra in ((0, 7), (0, 6), (0, 2), (4, 9 + 1), (0, 10)):
        assert Lattice.of(n, np.vstack([edges, [extra]]).astype(np.int32)) is None
    assert Lattice.of(0, np.zeros((0, 2), np.int32)) is None
    assert Lattice.of(5, np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]], np.int32)) is None


def test_lines_around_a_torus_are_short():
    model = random_model(lattice_edges(12, 8, (True, True)), 96, np.random.default_rng(0))
    assert plan_sweep(model, to_network(model)).width <= 16


def test_a_cold_torus_takes_pairs_of_doubles():
    rng = np.random.default_rng(1)
    model = random_model(lattice_edges(6, 6, (True, True)), 36, rng, scale=12.0)
    exact = pl.log_partition(model, "treewidth").value
    found = tensor.log_partition(model)
    assert found.lower <= exact <= found.upper
    assert abs(found.value - exact) < 1e-12 * exact


@pytest.mark.parametrize("drawn", [True, False])
def test_lines_across_drawings_are_short(drawn):
    for seed in range(3):
        edges, positions = delaunay(120, np.random.default_rng(seed))
        model = random_model(edges, 120, np.random.default_rng(seed))
        if drawn:
            model = pl.IsingModel(edges, model.couplings, model.fields, positions=positions)
        sweep = plan_sweep(model, to_network(model))
        assert sweep.kind in ("drawing", "spectral")
        assert sweep.width <= 20
        exact = pl.log_partition(model, "treewidth").value
        found = tensor.log_partition(model, sweep=sweep)
        assert found.value == pytest.approx(exact, abs=1e-9)


def test_components_and_lone_variables_are_drawn_beside_each_other():
    edges = np.array([[0, 1], [3, 4], [4, 5], [5, 3], [6, 7], [7, 8], [8, 9]], np.int32)
    along, across = spectral_drawing(11, edges)
    assert np.isfinite(along).all()
    assert np.isfinite(across).all()
    order = np.argsort(along)
    component = np.array([0, 0, 1, 2, 2, 2, 3, 3, 3, 3, 4])[order]
    assert (np.diff(component) >= 0).all()
    model = random_model(edges, 11, np.random.default_rng(2))
    exact = pl.log_partition(model, "brute-force").value
    assert tensor.log_partition(model).value == pytest.approx(exact, abs=1e-12)


def test_large_and_small_graphs_are_drawn_alike():
    path = np.c_[np.arange(999), np.arange(1, 1000)].astype(np.int32)
    along, _ = spectral_drawing(1000, path)
    places = np.argsort(along)
    assert places.tolist() in (list(range(1000)), list(range(999, -1, -1)))
