"""log Z and marginals by determinants: against enumeration, closed forms and wrong claims."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import planaris as pl
from helpers.degenerate import SMALL, star
from planaris.errors import VerificationError
from planaris.reference import enumerate_states, onsager_log_partition, solve_strip
from planaris.selftest.models import _planar
from planaris.verify import check_result
from planaris.verify.conversions import BareModel
from planaris.verify.recompute import determinant
from planaris.verify.recompute.determinant import (
    edge_sum_by_determinant,
    log_partition_by_determinant,
)


def glass(size: int, beta: float = 1.0, seed: int = 0) -> pl.IsingModel:
    plain = pl.generate.spin_glass(size, np.random.default_rng(seed))
    return pl.IsingModel(plain.edges, beta * plain.couplings, num_spins=plain.num_spins)


def boundary_field(size: int, seed: int = 0) -> pl.IsingModel:
    rng = np.random.default_rng(seed)
    lattice = pl.generate.square_lattice(size, size)
    row, column = np.divmod(np.arange(size * size), size)
    outside = (row % (size - 1) == 0) | (column % (size - 1) == 0)
    fields = np.where(outside, rng.normal(size=size * size), 0.0)
    return pl.IsingModel(lattice.edges, rng.normal(size=len(lattice.edges)), fields)


@pytest.mark.parametrize("seed", range(40))
def test_enumeration_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, edges, _ = _planar(rng)  # bridges and several components among them
    couplings = rng.normal(size=len(edges)) * rng.choice([0.0, 1e-9, 0.5, 1.0, 2.0], len(edges))
    fields = np.zeros(n)
    fields[: seed % 3] = rng.normal(size=min(n, seed % 3))
    model = pl.IsingModel(edges, couplings, fields, num_spins=n, offset=-3.5)
    truth, found = enumerate_states(model), log_partition_by_determinant(model)
    if found is None:  # two fields may make it non-planar
        with pytest.raises(pl.errors.NotPlanarError):
            pl.ground_state(model, "planar")
        return
    assert abs(found.value - truth.log_partition) <= found.slack + 1e-12 * (1 + n)
    assert found.slack <= 1e-9 * (1 + n)
    bare = BareModel.of(model)
    weights = rng.normal(size=len(bare.edges))
    likely = np.concatenate([truth.edges, truth.nodes[model.fields != 0]])
    total = edge_sum_by_determinant(bare, weights)
    assert total is not None
    assert abs(total.value - weights @ (2 * likely - 1)) <= total.slack + 1e-12 * (1 + n)


@pytest.mark.parametrize("name", SMALL)
def test_odd_models_are_right_or_not_judged(name: str) -> None:
    model = SMALL[name]()
    found = log_partition_by_determinant(model)
    if found is not None:
        truth = enumerate_states(model).log_partition
        assert abs(found.value - truth) <= found.slack + 1e-12 * (1 + abs(truth))


@pytest.mark.parametrize("seed", range(10))
def test_parallel_edges_count_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = rng.permutation(np.repeat([(0, 1), (1, 2), (2, 0), (2, 3)], [3, 2, 1, 2], axis=0))
    model = pl.IsingModel(edges, couplings := rng.normal(size=len(edges)))
    weights = rng.normal(size=len(edges))
    found = edge_sum_by_determinant(BareModel(4, edges, couplings), weights)
    truth = enumerate_states(model)
    same = {tuple(sorted(e)): p for e, p in zip(model.edges.tolist(), truth.edges, strict=True)}
    means = np.array([2 * same[tuple(sorted(edge))] - 1 for edge in edges.tolist()])
    assert found is not None
    assert found.value == pytest.approx(weights @ means, abs=1e-12)


@pytest.mark.parametrize("leaves", [12, 13, 25, 3000])
def test_vertices_of_large_degree_are_split(leaves: int) -> None:
    found = log_partition_by_determinant(star(leaves, 0.7))
    assert found is not None
    assert found.value == pytest.approx(math.log(2) + leaves * math.log(2 * math.cosh(0.7)))
    rng = np.random.default_rng(leaves)
    wheel = [*star(leaves).edges.tolist(), *((v, v + 1) for v in range(1, leaves))]
    model = pl.IsingModel(wheel, rng.normal(size=len(wheel)))
    found = log_partition_by_determinant(model)
    assert found is not None
    assert abs(found.value - pl.log_partition(model, "treewidth").value) <= 1e-12 * leaves


def test_transfer_matrices_agree_on_strips() -> None:
    rng = np.random.default_rng(1)
    right, down = rng.normal(size=(40, 9)), rng.normal(size=(39, 10))
    strip = solve_strip(np.zeros((40, 10)), right, down)
    spin = np.arange(400).reshape(40, 10)
    across = np.column_stack([spin[:, :-1].ravel(), spin[:, 1:].ravel()])
    along = np.column_stack([spin[:-1].ravel(), spin[1:].ravel()])
    couplings = np.concatenate([right.ravel(), down.ravel()])
    found = log_partition_by_determinant(pl.IsingModel(np.vstack([across, along]), couplings))
    assert found is not None
    assert found.value == pytest.approx(strip.log_partition, rel=1e-13)


@pytest.mark.parametrize("coupling", [0.25, 0.7])
def test_the_bulk_of_a_lattice_is_onsagers(coupling: float) -> None:
    def value(rows: int, columns: int) -> float:
        lattice = pl.generate.square_lattice(rows, columns)
        found = log_partition_by_determinant(pl.IsingModel(lattice.edges, coupling))
        assert found is not None
        return found.value

    # One spin more in both directions, boundaries taken off.
    bulk = value(71, 71) - value(71, 70) - value(70, 71) + value(70, 70)
    assert bulk == pytest.approx(onsager_log_partition(coupling), abs=1e-10)


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0, 4.0, 8.0, 100.0])
def test_the_error_is_no_less_than_what_goes_wrong(beta: float, monkeypatch) -> None:
    monkeypatch.setattr(determinant, "ACCURACY", np.inf)
    model = glass(24, beta)
    found = log_partition_by_determinant(model)
    if found is not None:
        assert abs(found.value - pl.log_partition(model).value) <= found.slack
    monkeypatch.setattr(determinant, "ACCURACY", 1e-9)
    assert (log_partition_by_determinant(model) is None) == (beta > 4)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("beta", [3.0, 3.5, 4.0])
def test_where_estimates_do_not_suffice_eliminations_are_compared(beta: float, seed: int) -> None:
    model = glass(24, beta, seed)
    found = log_partition_by_determinant(model)
    if found is not None:
        assert abs(found.value - pl.log_partition(model).value) <= found.slack / 4
        assert found.slack <= 1e-9 * (1 + 576 + model.num_edges + np.abs(model.couplings).sum())


@pytest.mark.parametrize("model", [glass(30), boundary_field(30)], ids=["glass", "boundary"])
def test_wide_planar_results_are_recomputed_and_wrong_ones_refused(model: pl.IsingModel) -> None:
    found = pl.log_partition(model)
    report = check_result(model, found)
    assert report.proved
    assert report.findings[0].detail.startswith("a determinant, to ")
    for by in (1e-6, -1e-6):
        ends = {name: getattr(found, name) + by for name in ("value", "lower", "upper")}
        with pytest.raises(VerificationError, match="is claimed to lie"):
            check_result(model, replace(found, **ends))


@pytest.mark.parametrize("model", [glass(30), boundary_field(30)], ids=["glass", "boundary"])
def test_wide_planar_marginals_are_recomputed_and_wrong_ones_refused(model) -> None:
    found = pl.marginals(model)
    report = check_result(model, found)
    assert report.findings[0].status == "recomputed"
    assert report.proved == (not model.has_fields)
    rng = np.random.default_rng(0)
    for edge in rng.choice(model.num_edges, 6):
        edges = np.array(found.edges)
        edges[edge] += 1e-4 if edges[edge] < 0.5 else -1e-4
        with pytest.raises(VerificationError, match="random sum"):
            check_result(model, replace(found, edges=edges))
    nodes = np.array(found.nodes)
    nodes[0] += 1e-4
    with pytest.raises(VerificationError, match=r"random sum|must be 1/2"):
        check_result(model, replace(found, nodes=nodes))


def test_fields_of_two_labels_are_recomputed() -> None:
    field = pl.MarkovRandomField.from_ising(glass(30))
    assert check_result(field, pl.log_partition(field)).proved
    found = pl.marginals(field)
    assert check_result(field, found).proved
    tables = [np.array(table) for table in found.edges]
    at = next(k for k, table in enumerate(tables) if table.shape == (2, 2))
    tables[at] = tables[at] + np.array([[1, -1], [-1, 1]]) * 1e-4
    with pytest.raises(VerificationError, match="random sum"):
        check_result(field, replace(found, edges=tables))


def test_marginals_that_do_not_fit_together_are_refused() -> None:
    model = boundary_field(30)
    found = pl.marginals(model)
    nodes = np.array(found.nodes)
    nodes[435] = 0.999
    with pytest.raises(VerificationError, match="fit together"):
        check_result(model, replace(found, nodes=nodes))
    with pytest.raises(VerificationError, match="probabilities"):
        check_result(model, replace(found, edges=found.edges + 1))
    with pytest.raises(VerificationError, match="entries"):
        check_result(model, replace(found, edges=found.edges[1:]))
