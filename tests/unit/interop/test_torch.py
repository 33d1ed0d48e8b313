"""The gradient of log Z that torch sees, against differences and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import planaris as pl
from planaris.errors import MethodError, ModelError
from planaris.generate import square_lattice, triangular_lattice
from planaris.interop.torch import evaluate, log_partition
from planaris.reference import enumerate_states


def plan_of(lattice):
    return pl.plan((lattice.num_vertices, lattice.edges), positions=lattice.positions)


@pytest.mark.parametrize("lattice", [square_lattice(3, 4), triangular_lattice(3, 3)])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 2)])
def test_gradcheck(lattice, batch, rng):
    plan = plan_of(lattice)
    values = torch.tensor(rng.standard_normal((*batch, plan.num_edges)), requires_grad=True)
    found = log_partition(values, plan)
    assert found.shape == batch
    assert torch.autograd.gradcheck(lambda J: log_partition(J, plan), (values,), atol=1e-6)


def test_values_and_gradients_agree_with_enumeration(rng):
    lattice = triangular_lattice(3, 4)
    plan = plan_of(lattice)
    couplings = torch.tensor(rng.standard_normal((2, plan.num_edges)), requires_grad=True)
    found = log_partition(couplings, plan)
    (2.0 * found[0] - 3.0 * found[1]).backward()
    for k, factor in enumerate((2.0, -3.0)):
        exact = enumerate_states(pl.IsingModel(lattice.edges, couplings[k].detach().numpy()))
        assert found[k].item() == pytest.approx(exact.log_partition, rel=1e-12)
        np.testing.assert_allclose(couplings.grad[k], factor * (2 * exact.edges - 1), atol=1e-9)


def test_without_gradient_no_marginals_are_computed(monkeypatch, rng):
    plan = plan_of(square_lattice(4, 4))
    couplings = torch.tensor(rng.standard_normal(plan.num_edges), requires_grad=True)
    with_gradient = log_partition(couplings, plan)
    monkeypatch.setattr(pl.Plan, "marginals", None)
    with torch.no_grad():
        without = log_partition(couplings, plan)
    assert not without.requires_grad
    assert without.item() == pytest.approx(with_gradient.item(), rel=1e-13)


def test_dtype_is_kept_and_low_temperature_is_exact(rng):
    plan = plan_of(square_lattice(4, 4))
    single = torch.tensor(rng.standard_normal(24), dtype=torch.float32, requires_grad=True)
    found = log_partition(single, plan)
    assert found.dtype == torch.float32
    found.backward()
    assert single.grad.dtype == torch.float32
    cold = torch.full((24,), 200.0, dtype=torch.float64, requires_grad=True)
    value = log_partition(cold, plan)
    value.backward()
    assert value.item() == pytest.approx(24 * 200 + np.log(2.0), rel=1e-14)
    np.testing.assert_allclose(cold.grad, 1.0)


def test_degenerate_graphs_and_batches():
    nothing = pl.plan((3, []))
    empty = torch.zeros((2, 0), dtype=torch.float64, requires_grad=True)
    found = log_partition(empty, nothing)
    np.testing.assert_allclose(found.detach(), 3 * np.log(2))
    found.sum().backward()
    assert empty.grad.shape == (2, 0)
    pair = pl.plan((2, [(0, 1)]))
    assert log_partition(torch.zeros((0, 1)), pair).shape == (0,)
    assert log_partition(torch.zeros(1), (2, [(0, 1)])).item() == pytest.approx(np.log(4))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (0, 2, 3)])
def test_batches_without_rows(shape):
    triangle = pl.plan((3, [(0, 1), (1, 2), (0, 2)]))
    couplings = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    assert log_partition(couplings, triangle).shape == shape[:-1]
    assert evaluate(couplings, triangle).correlations.shape == shape


def test_second_derivatives_are_refused():
    pair = pl.plan((2, [(0, 1)]))
    J = torch.ones(1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(log_partition(J, pair), J, create_graph=True)
    with pytest.raises(MethodError, match="once"):
        slope.sum().backward()


@pytest.mark.parametrize("bad", [torch.zeros(3), torch.tensor(1.0), torch.zeros(1, dtype=int), [1]])
def test_what_is_refused(bad):
    with pytest.raises(ModelError, match="couplings"):
        log_partition(bad, pl.plan((2, [(0, 1)])))


def test_function_transforms_agree_with_backward(rng):
    plan = plan_of(square_lattice(3, 4))
    rows = torch.tensor(rng.standard_normal((5, plan.num_edges)))
    known = rows.clone().requires_grad_()
    values = log_partition(known, plan)
    values.sum().backward()

    def log_z(couplings):
        return log_partition(couplings, plan)

    grad, vmap = torch.func.grad, torch.func.vmap
    assert torch.equal(vmap(log_z)(rows), values.detach())
    assert torch.equal(vmap(log_z, in_dims=1)(rows.T), values.detach())
    for slopes in (
        torch.stack([grad(log_z)(row) for row in rows]),
        vmap(grad(log_z))(rows),
        grad(lambda some: vmap(log_z)(some).sum())(rows),
    ):
        assert torch.allclose(slopes, known.grad, atol=1e-12)
    with pytest.raises(MethodError, match="once, not twice"):
        grad(lambda row: grad(log_z)(row).sum())(rows[0])


def test_couplings_that_are_no_floats_are_refused_by_their_type():
    plan = plan_of(square_lattice(2))
    with pytest.raises(ModelError, match=r"got torch\.int64"):
        log_partition(torch.ones(4, dtype=torch.int64), plan)
