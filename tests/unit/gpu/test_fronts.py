"""Batches of planar models on a device: kernels compiled for this machine, and a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import planaris as pl
from helpers.degenerate import FOUR_TRIANGLES
from helpers.host_kernels import HostFrontKernels, needs_compiler
from planaris.errors import MethodError, ModelError, TooLargeError
from planaris.generate import square_lattice, triangular_lattice
from planaris.gpu.fronts import DeviceFronts
from planaris.gpu.gauge import colours
from planaris.gpu.schedule import SHARE
from planaris.interop.torch import evaluate, log_partition
from planaris.kernels.plane_models import tied_rows
from planaris.learn import PlanarCRF
from planaris.planar.pfaffian.on_device import evaluate_on_device
from planaris.reference import enumerate_states

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return HostFrontKernels(tmp_path_factory.mktemp("kernels"))


def plan_of(lattice):
    return pl.plan((lattice.num_vertices, lattice.edges), positions=lattice.positions)


def on_host(plan, kernels):
    evaluator = plan.evaluator
    return DeviceFronts(evaluator.elimination, plan.embedding.edges, plan.num_spins, CPU, kernels)


@needs_compiler
@pytest.mark.parametrize("lattice", [square_lattice(2, 2), triangular_lattice(3, 4)])
def test_kernels_agree_with_enumeration(lattice, kernels, rng):
    plan = plan_of(lattice)
    couplings = rng.standard_normal((3, plan.num_edges))
    fronts = on_host(plan, kernels)
    found = fronts.evaluate(torch.tensor(couplings), correlations=True)
    alone = fronts.evaluate(torch.tensor(couplings), correlations=False)
    assert found.sound.all()
    assert alone.sound.all()
    for k, row in enumerate(couplings):
        exact = enumerate_states(pl.IsingModel(lattice.edges, row))
        expected = pytest.approx(exact.log_partition - np.log(2.0), rel=1e-12)
        assert found.log_partition[k].item() == expected
        assert alone.log_partition[k].item() == expected
        np.testing.assert_allclose(found.correlations[k], 2 * exact.edges - 1, atol=1e-10)


@needs_compiler
@pytest.mark.parametrize(
    "graph",
    [
        (2, [(0, 1)]),
        (3, [(0, 1), (1, 2)]),
        (6, [(0, 1), (1, 2), (0, 2), (3, 4)]),
        (12, [(k, (k + 1) % 12) for k in range(12)]),
        (21, [(0, k) for k in range(1, 21)]),
    ],
)
def test_trees_rings_and_loose_parts(graph, kernels, rng):
    plan = pl.plan(graph)
    couplings = rng.standard_normal((40, plan.num_edges))
    found = on_host(plan, kernels).evaluate(torch.tensor(couplings), correlations=True)
    expected = plan.marginals(couplings)
    log_2 = plan.embedding.num_components * np.log(2.0)
    assert found.sound.all()
    np.testing.assert_allclose(found.log_partition + log_2, expected.log_z, rtol=1e-12)
    np.testing.assert_allclose(found.correlations, 2 * expected.edges - 1, atol=1e-10)


@needs_compiler
def test_rows_that_lose_digits_are_recognised(kernels, rng):
    plan = plan_of(square_lattice(8, 8))
    scale = np.geomspace(0.1, 200.0, 50)[:, None]
    couplings = scale * rng.standard_normal((50, plan.num_edges))
    fronts = on_host(plan, kernels)
    expected = plan.marginals(couplings)
    for correlations in (False, True):
        found = fronts.evaluate(torch.tensor(couplings), correlations=correlations)
        sound = found.sound.numpy()
        assert 10 < sound.sum() < 50
        value = found.log_partition.numpy() + np.log(2.0)
        np.testing.assert_allclose(value[sound], expected.log_z[sound], rtol=1e-10)
        if correlations:
            got = found.correlations.numpy()[sound]
            np.testing.assert_allclose(got, (2 * expected.edges - 1)[sound], atol=1e-7)
    single = fronts.evaluate(torch.tensor(couplings), correlations=True, precision="single")
    sound = single.sound.numpy()
    value = single.log_partition.numpy() + np.log(2.0)
    np.testing.assert_allclose(value[sound], expected.log_z[sound], rtol=1e-4)


@needs_compiler
@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_couplings_of_one_size_hide_no_rounding(spread, kernels, rng):
    """Weights of frustrated triangles cancel: single precision shows it where legs are scaled."""
    edges = FOUR_TRIANGLES
    plan = pl.plan((12, edges))
    couplings = -rng.uniform(2, 12, (128, 1)) * (
        1 + spread * rng.standard_normal((128, len(edges)))
    )
    fronts = on_host(plan, kernels)
    alone = fronts.evaluate(torch.tensor(couplings), correlations=False)
    found = fronts.evaluate(torch.tensor(couplings), correlations=True)
    assert alone.sound.sum() > 10
    for k, row in enumerate(couplings):
        truth = enumerate_states(pl.IsingModel(edges, row, num_spins=12))
        size = 1e-15 * np.abs(row).sum()
        if alone.sound[k]:
            apart = abs(alone.log_partition[k].item() + np.log(2.0) - truth.log_partition)
            assert apart <= 16 * alone.error[k].item() + size
        if found.sound[k]:
            apart = np.abs(found.correlations[k].numpy() - (2 * truth.edges - 1)).max()
            assert apart <= 8 * found.error[k].item() + 1e-14


@needs_compiler
def test_couplings_of_nearly_one_size_are_those_of_the_core(kernels, rng):
    """The rule stands twice, for tensors and in the core: both refuse the same rows."""
    plan = plan_of(square_lattice(5))
    shape = (400, plan.num_edges)
    spread = 10.0 ** rng.uniform(-6, -1, (400, 1))
    rows = rng.uniform(2, 8, (400, 1)) * (1 + spread * rng.standard_normal(shape))
    rows *= np.where(rng.random(shape) < rng.random((400, 1)), rng.uniform(0.1, 1, shape), 1.0)
    expected = tied_rows(rows)
    assert 40 < expected.sum() < 360
    columns = torch.tensor(rows.T)
    found = on_host(plan, kernels).tied(columns, columns.abs().amax(0))
    np.testing.assert_array_equal(found.numpy(), expected)


@needs_compiler
def test_errors_do_not_depend_on_the_batch(kernels, rng):
    """Models that need more draws are gathered, and their changes put back in place."""
    plan = plan_of(square_lattice(6))
    rows = rng.uniform(0.2, 3.5, (70, 1)) * rng.standard_normal((70, plan.num_edges))
    fronts = on_host(plan, kernels)
    for correlations in (False, True):
        together = fronts.evaluate(torch.tensor(rows), correlations=correlations)
        for k in range(0, 70, 3):
            alone = fronts.evaluate(torch.tensor(rows[k : k + 1]), correlations=correlations)
            assert alone.error.item() == together.error[k].item()
            assert alone.sound.item() == together.sound[k].item()


def energies(plan, couplings, spins):
    u, v = np.asarray(plan.embedding.edges).T
    s = np.asarray(spins, dtype=float)
    return -(couplings * s[:, u] * s[:, v]).sum(1)


@needs_compiler
def test_annealed_states_are_nearly_ground_states(kernels, rng):
    plan = plan_of(triangular_lattice(7, 9))
    couplings = rng.standard_normal((40, plan.num_edges))
    couplings[0] = 0.0
    couplings[1] *= 1e-200
    gauges = on_host(plan, kernels)._gauges
    lowest = plan.ground_states(couplings).energies
    flips, annealed = (
        energies(plan, couplings, find(torch.tensor(couplings)))
        for find in (gauges.by_flips, gauges.by_annealing)
    )
    assert (annealed >= lowest - 1e-12 * np.abs(lowest)).all()
    assert (annealed <= 0.9 * lowest).all()
    assert lowest.sum() <= annealed.sum() <= 0.98 * lowest.sum()
    assert annealed.sum() < flips.sum()


@needs_compiler
def test_a_planted_state_is_found(kernels, rng):
    plan = plan_of(square_lattice(9, 9))
    planted = rng.choice([-1.0, 1.0], (5, plan.num_spins))
    u, v = plan.embedding.edges.T
    couplings = planted[:, u] * planted[:, v] * rng.uniform(0.5, 2.0, (5, plan.num_edges))
    spins = on_host(plan, kernels)._gauges.by_annealing(torch.tensor(couplings)).numpy()
    assert (spins * planted == spins[:, :1] * planted[:, :1]).all()


def test_no_two_neighbours_share_a_colour():
    lattice = triangular_lattice(5, 6)
    edges = np.concatenate([lattice.edges, [[3, 3], [0, 1]]])  # a loop, and an edge twice
    found = colours(edges, lattice.num_vertices)
    colour = np.searchsorted(found.begin, found.place, side="right")
    u, v = edges[edges[:, 0] != edges[:, 1]].T
    assert (colour[u] != colour[v]).all()
    assert np.array_equal(np.sort(found.place), np.arange(lattice.num_vertices))
    assert len(found.heads) == len(found.edge_of) == found.first[-1] == 2 * len(u)
    tails = np.repeat(np.arange(lattice.num_vertices), np.diff(found.first))
    ends = found.place[edges[found.edge_of]]
    assert np.array_equal(np.sort(ends), np.sort(np.stack([tails, found.heads], axis=1)))


@needs_compiler
@pytest.mark.parametrize("correlations", [False, True])
def test_ground_states_help_rows_that_lose_digits(correlations, kernels, rng, monkeypatch):
    plan = plan_of(square_lattice(10, 10))
    couplings = torch.tensor(10.0 * rng.standard_normal((10, plan.num_edges)))
    fronts = on_host(plan, kernels)
    monkeypatch.setattr(fronts._gauges, "by_annealing", fronts._gauges.by_flips)
    plan.evaluator._on_devices["cpu"] = fronts
    alone = fronts.evaluate(couplings, correlations=correlations)
    helped = evaluate_on_device(plan, couplings, correlations=correlations)
    assert helped.sound.sum() > alone.sound.sum()
    expected = plan.marginals(couplings.numpy())
    np.testing.assert_allclose(helped.log_partition, expected.log_z, rtol=1e-12)
    if correlations:
        np.testing.assert_allclose(helped.correlations, 2 * expected.edges - 1, atol=1e-9)


@needs_compiler
def test_batches_are_cut_to_the_memory(kernels, rng, monkeypatch):
    plan = plan_of(square_lattice(4, 5))
    couplings = torch.tensor(rng.standard_normal((100, plan.num_edges)))
    whole = on_host(plan, kernels).evaluate(couplings, correlations=True)
    monkeypatch.setattr("planaris.gpu.schedule.free_bytes", lambda device: 1)
    with pytest.raises(TooLargeError, match=r"32 models of \d+ edges need \d+ bytes") as caught:
        on_host(plan, kernels).evaluate(couplings, correlations=True)
    enough = int(caught.value.bytes_needed / SHARE) + 10
    monkeypatch.setattr("planaris.gpu.schedule.free_bytes", lambda device: enough)
    parts = on_host(plan, kernels).evaluate(couplings, correlations=True)
    assert torch.equal(whole.log_partition, parts.log_partition)
    assert torch.equal(whole.correlations, parts.correlations)


def test_evaluation_on_the_cpu_says_so(rng):
    plan = plan_of(square_lattice(3, 3))
    couplings = torch.tensor(rng.standard_normal((2, 3, plan.num_edges)))
    found = evaluate(couplings, plan)
    assert found.on_cpu.all()
    assert found.on_cpu.shape == found.log_partition.shape == (2, 3)
    assert found.correlations.shape == couplings.shape
    assert evaluate(couplings, plan, correlations=False).correlations is None
    with pytest.raises(ModelError, match="`precision` must be"):
        log_partition(couplings, plan, precision="half")


@pytest.mark.gpu
def test_gradients_on_a_gpu(rng):
    plan = plan_of(triangular_lattice(4, 4))
    values = torch.tensor(rng.standard_normal((3, plan.num_edges)), device="cuda")
    values.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda J: log_partition(J, plan), (values,), atol=1e-6)
    single = values.detach().float().requires_grad_(True)
    log_partition(single, plan).sum().backward()
    assert single.grad.dtype == torch.float32
    assert single.grad.is_cuda


@pytest.mark.gpu
@pytest.mark.parametrize("size", [5, 21, 50])
def test_a_gpu_agrees_with_the_core(size, rng):
    plan = pl.plan(pl.generate.spin_glass(size, rng))
    scale = np.linspace(0.1, 3.0, 200)[:, None]
    couplings = scale * rng.standard_normal((200, plan.num_edges))
    expected = plan.marginals(couplings)
    given = torch.tensor(couplings, device="cuda")
    for correlations in (False, True):
        found = evaluate(given, plan, correlations=correlations)
        assert found.log_partition.is_cuda
        np.testing.assert_allclose(found.log_partition.cpu(), expected.log_z, rtol=1e-10)
    np.testing.assert_allclose(found.correlations.cpu(), 2 * expected.edges - 1, atol=1e-7)
    assert not found.on_cpu[:50].any()


def images(rng):
    masks = [pl.generate.shape_mask((8, 9), rng) for _ in range(3)]
    return [pl.generate.noisy_mask(mask, 2.0, rng) for mask in masks], masks


@pytest.mark.gpu
def test_a_crf_learns_the_same_on_a_gpu(rng):
    given, masks = images(rng)
    crf = PlanarCRF().fit(given, masks)
    other = PlanarCRF(device="cuda").fit(given, masks)
    np.testing.assert_allclose(other.coef_, crf.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        other.predict_boundary(given)[0], crf.predict_boundary(given)[0], atol=1e-6
    )


def test_a_crf_refuses_a_device_before_it_learns(rng, monkeypatch):
    given, masks = images(rng)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MethodError, match="`device='cuda'` cannot be used"):
        PlanarCRF(device="cuda").fit(given, masks)
    same = PlanarCRF(device="cpu", max_iter=3).fit(given, masks)
    np.testing.assert_array_equal(same.coef_, PlanarCRF(max_iter=3).fit(given, masks).coef_)
