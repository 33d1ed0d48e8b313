"""log Z of random models against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import planaris as pl
from helpers.degenerate import K5, LARGE, NONPLANAR, SMALL, path_log_partition, ring_log_partition
from helpers.strategies import plane_models
from helpers.trials import examples
from planaris.reference import enumerate_states

RELATIVE = 1e-12


@pytest.mark.parametrize("method", ["auto", "planar", "treewidth", "brute-force"])
@pytest.mark.parametrize("name", SMALL)
def test_degenerate_models(name, method):
    model = SMALL[name]()
    truth = enumerate_states(model).log_partition
    result = pl.log_partition(model, method)
    assert result.exact
    assert result.value == pytest.approx(truth, rel=RELATIVE, abs=RELATIVE)
    slack = 1e-14 * (1 + abs(truth))  # the rounding of the enumeration
    assert result.lower - slack <= truth <= result.upper + slack


@examples(400)
@given(plane_models(max_vertices=11, fields=True))
def test_plane_models(case):
    model, _ = case
    truth = enumerate_states(model).log_partition
    for method in ("auto", "planar"):
        result = pl.log_partition(model, method)
        assert result.exact
        assert result.value == pytest.approx(truth, rel=RELATIVE, abs=RELATIVE)
        slack = 1e-14 * (1 + abs(truth))
        assert result.lower - slack <= truth <= result.upper + slack


@pytest.mark.parametrize("name", NONPLANAR)
def test_non_planar_models(name):
    model = NONPLANAR[name]()
    truth = enumerate_states(model).log_partition
    assert pl.log_partition(model).value == pytest.approx(truth, rel=RELATIVE)


def test_parts_add_up(rng):
    glass = pl.generate.spin_glass(3, rng)
    edges = np.concatenate([glass.edges, np.array(K5) + 8, [(13, 14)]])
    couplings = np.concatenate([glass.couplings, rng.standard_normal(11)])
    fields = np.r_[np.zeros(9), rng.standard_normal(3), 0, 0, 0.5, 0]
    model = pl.IsingModel(edges, couplings, fields, offset=1.5)
    from planaris.budget import Budget
    from planaris.methods.auto import log_partition_by_parts
    from planaris.reductions.parts import split_model

    split = split_model(model)
    assert len(split.parts) == 2
    result = log_partition_by_parts(split, Budget())
    truth = enumerate_states(model).log_partition
    assert result.value == pytest.approx(truth, rel=RELATIVE)
    assert result.lower <= truth + 1e-13 <= result.upper + 2e-13


@pytest.mark.parametrize("name", LARGE)
def test_long_and_wide_models(name):
    model = LARGE[name]()
    closed = ring_log_partition if name.startswith("ring") else path_log_partition
    truth = closed(model.num_spins, float(model.couplings[0]))
    for method in ("auto", "planar"):
        assert pl.log_partition(model, method).value == pytest.approx(truth, rel=RELATIVE)


@pytest.mark.usefixtures("ticking")
def test_bounds_contain_the_truth_when_nothing_fits(rng):
    edges = [(u, v) for u in range(12) for v in range(u)]
    model = pl.IsingModel(edges, rng.standard_normal(len(edges)), rng.standard_normal(12))
    truth = enumerate_states(model).log_partition
    result = pl.log_partition(model, memory_limit=1000, time_limit=2.0)
    assert result.lower <= truth <= result.upper


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize(
    "method", ["interval", "trw", "pdc", "planar+tree", "logdet", "mean-field"]
)
def test_forced_bounds(method, rng):
    edges = [(u, v) for u in range(8) for v in range(u)]
    model = pl.IsingModel(edges, rng.standard_normal(len(edges)), rng.standard_normal(8))
    truth = enumerate_states(model).log_partition
    result = pl.log_partition(model, method, time_limit=2.0)
    assert result.lower <= truth <= result.upper


@pytest.mark.parametrize("disorder", ["gaussian", "bimodal"])
def test_planes_and_tables_agree_when_weights_underflow(disorder, rng):
    # exp(-2βJ) leaves the range of doubles from β of about 350 on.
    for size in range(2, 11):
        for beta in (100.0, 400.0, 600.0, 1000.0):
            model = pl.generate.spin_glass(size, rng, disorder=disorder, beta=beta)
            by_planes, by_tables = (pl.log_partition(model, m) for m in ("planar", "treewidth"))
            assert by_planes.lower <= by_tables.upper
            assert by_tables.lower <= by_planes.upper


@pytest.mark.parametrize("seed", [1054, 1101, 1686])
def test_underflow_that_two_eliminations_lose_alike(seed):
    rng = np.random.default_rng(seed)
    lattice = pl.generate.random_planar_graph(40, 70, rng)
    model = pl.generate.spin_glass(lattice, rng, beta=700.0)
    by_planes, by_tables = (pl.log_partition(model, m) for m in ("planar", "treewidth"))
    assert by_planes.lower <= by_tables.upper
    assert by_tables.lower <= by_planes.upper


def honeycomb_glass(seed: int, rows: int, columns: int) -> tuple[int, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lattice = pl.generate.honeycomb_lattice(rows, columns)
    values = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0], len(lattice.edges))
    return rows * columns, lattice.edges, values


@pytest.mark.parametrize("seed", range(6))
def test_no_temperature_lies_between_the_ranges_of_numbers(seed):
    spins, edges, values = honeycomb_glass(seed, 5, 7)
    for beta in range(60, 420, 20):
        model = pl.IsingModel(edges, beta * values, num_spins=spins)
        found = pl.log_partition(model, "planar")
        expected = pl.log_partition(model, "treewidth")
        assert found.exact
        assert found.value == pytest.approx(expected.value, abs=1e-9), beta


@pytest.mark.parametrize("beta", [5.0, 20.0, 100.0, 700.0])
def test_bridges_within_faces_of_cold_glasses(beta, rng):
    lattice = pl.generate.square_lattice(6)
    couplings = beta * rng.choice([-1.0, 1.0], len(lattice.edges))
    core = pl.plan((36, lattice.edges)).log_partition(couplings)
    hanging = [(int(v), 36 + k) for k, v in enumerate(rng.integers(0, 36, 12))]
    strengths = beta * rng.choice([-1.0, 1.0], 12)
    whole = pl.plan((48, np.vstack([lattice.edges, hanging])))
    found = whole.log_partition(np.append(couplings, strengths))
    assert core.exact
    assert found.exact
    pendant = np.logaddexp(strengths, -strengths).sum()
    assert found.value == pytest.approx(core.value + pendant, rel=1e-13)
