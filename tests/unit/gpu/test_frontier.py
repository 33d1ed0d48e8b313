"""Elimination on a device: views of torch, kernels compiled for this machine, and a GPU."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

import planaris as pl
from helpers.degenerate import SMALL
from helpers.host_kernels import HostUpdates, needs_compiler
from helpers.mrfs import any_mrf, list_all
from planaris.budget import UNLIMITED
from planaris.errors import InfeasibleError, MethodError, PrecisionError, TooLargeError
from planaris.generate import spin_glass
from planaris.gpu import engine, frontier
from planaris.gpu.device import find_device
from planaris.gpu.program import Program, Shape
from planaris.reference import enumerate_states
from planaris.treewidth import plan_elimination

VERBS = [pl.log_partition, pl.marginals, pl.ground_state]


def glass(size, rng, scale=1.0):
    model = spin_glass(size, rng)
    fields = rng.standard_normal(model.num_spins)
    return pl.IsingModel(model.edges, scale * model.couplings, scale * fields, offset=0.25)


def dense(num_spins, share, rng):
    pairs = [(u, v) for u in range(num_spins) for v in range(u) if rng.random() < share]
    return pl.IsingModel(
        pairs, rng.standard_normal(len(pairs)), rng.standard_normal(num_spins), num_spins=num_spins
    )


def check(model, device, **options):
    """Compare all verbs on a device with the compiled core."""
    options = {"method": "treewidth", **options}
    found = pl.log_partition(model, device=device, **options)
    expected = pl.log_partition(model, method="treewidth")
    assert found.value == pytest.approx(expected.value, rel=1e-13, abs=1e-13)
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    assert found.exact
    shares, others = pl.marginals(model, device=device, **options), pl.marginals(model, "treewidth")
    np.testing.assert_allclose(shares.nodes, others.nodes, atol=1e-13)
    np.testing.assert_allclose(shares.edges, others.edges, atol=1e-13)
    assert shares.exact
    assert shares.proved
    best = pl.ground_state(model, device=device, **options)
    assert best.energy == pytest.approx(pl.ground_state(model, "treewidth").energy, rel=1e-13)
    assert best.exact


@pytest.mark.parametrize("name", SMALL)
def test_odd_models(name):
    model = SMALL[name]()
    if np.abs(model.couplings).max(initial=0.0) > 1e6:
        pytest.skip("its numbers are left to clusters")
    exact = enumerate_states(model)
    options = {"method": "treewidth", "device": "cpu"}
    log_z = pl.log_partition(model, **options)
    assert log_z.value == pytest.approx(exact.log_partition, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(pl.marginals(model, **options).nodes, exact.nodes, atol=1e-10)
    np.testing.assert_allclose(pl.marginals(model, **options).edges, exact.edges, atol=1e-10)
    state = pl.ground_state(model, **options)
    assert state.energy == pytest.approx(exact.energy, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("seed", range(40))
def test_binary_factor_graphs(seed):
    mrf = any_mrf(np.random.default_rng(seed), max_arity=2, binary=True)
    options = {"method": "treewidth", "device": "cpu"}
    exact = list_all(mrf)
    found = pl.log_partition(mrf, **options)
    if exact.log_partition == -math.inf:
        assert found.value == -math.inf
        with pytest.raises(InfeasibleError):
            pl.marginals(mrf, **options)
        return
    assert found.value == pytest.approx(exact.log_partition, rel=1e-12, abs=1e-12)
    shares = pl.marginals(mrf, **options)
    for v, got in enumerate(shares.nodes):
        np.testing.assert_allclose(got, exact.table(mrf, np.array([v])), atol=1e-9)
    scopes = np.split(mrf.scopes, mrf.scope_offsets[1:-1])
    for scope, got in zip(scopes, shares.edges, strict=bool(mrf.num_factors)):
        np.testing.assert_allclose(got, exact.table(mrf, scope), atol=1e-9)
    best = pl.ground_state(mrf, **options)
    assert -best.energy == pytest.approx(exact.best, rel=1e-12, abs=1e-12)


def test_grids_and_other_graphs_agree_with_the_core(rng):
    check(glass(9, rng), "cpu")
    check(dense(16, 0.4, rng), "cpu")
    check(glass(5, rng, scale=20.0), "cpu")


@pytest.mark.parametrize("spare", [0, 1, 5])
def test_checkpoints_change_nothing(spare, rng):
    model = glass(7, rng)
    plan = plan_elimination(model, kind="frontier")
    program = Program(plan.pairwise.arrays, plan.order, 40)
    found = frontier.device_sum(program, 49, model.num_edges, "cpu", spare, UNLIMITED)
    many = frontier.device_sum(program, 49, model.num_edges, "cpu", 30, UNLIMITED)
    assert found.log_partition == many.log_partition
    np.testing.assert_array_equal(found.nodes, many.nodes)
    np.testing.assert_array_equal(found.edges, many.edges)


def test_passes_keep_every_update_in_order(rng):
    model = dense(20, 0.4, rng)
    plan = plan_elimination(model, kind="frontier")
    program = Program(plan.pairwise.arrays, plan.order, 40)
    for shape in (Shape(12, 8, 16, 4), Shape(11, 7, 7, 3), Shape(5, 1, 1, 1)):
        steps = program.fuse(0, len(program), shape)
        ends = [0, *(step.last for step in steps)]
        assert [step.first for step in steps] == ends[:-1]
        assert ends[-1] == len(program)
        for step in steps:
            slots = set(program.places[step.first : step.last, 1].tolist())
            assert len(slots) <= shape.slots
            assert step.last - step.first <= shape.ops


@needs_compiler
def test_kernels_compiled_for_this_machine(monkeypatch, rng, tmp_path):
    made = []

    def updates(program, best):
        made.append(HostUpdates(program, best, tmp_path))
        return made[-1]

    monkeypatch.setattr(engine, "ViewUpdates", updates)
    check(glass(14, rng), "cpu")
    check(dense(34, 0.22, rng), "cpu")
    assert min(each.passes for each in made) > 0


@pytest.mark.parametrize("verb", VERBS)
def test_refusals_are_one_line(verb, rng):
    model = glass(6, rng)
    with pytest.raises(TooLargeError, match=r"needs \d+ bytes .* on cpu, because .* width 6"):
        verb(model, method="treewidth", device="cpu", memory_limit=512)
    with pytest.raises(MethodError, match=r"`device` needs a method .*'treewidth', got 'auto'"):
        verb(model, device="cpu")
    with pytest.raises(MethodError, match="`device` must be 'cpu', 'cuda'"):
        verb(model, method="treewidth", device="abacus")


def test_a_device_without_a_gpu_is_refused_in_one_line(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MethodError) as caught:
        pl.log_partition(spin_glass(3, 1), method="treewidth", device="cuda")
    assert "cannot be used" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_old_driver_is_named(monkeypatch):
    import torch

    def old():
        warnings.warn("The NVIDIA driver on your system is too old. Update it", stacklevel=1)
        return False

    monkeypatch.setattr(torch.cuda, "is_available", old)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    with pytest.raises(MethodError, match="driver on your system is too old; use 'cpu'"):
        find_device("cuda:0")


def test_memory_that_others_took_is_one_line(monkeypatch, rng):
    import torch

    def full(*arguments, **options):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.\nTried to allocate 8.00 GiB.")

    monkeypatch.setattr(torch, "empty", full)
    with pytest.raises(TooLargeError, match=r"^cpu has run out of memory: \d+ bytes .* now$"):
        pl.log_partition(glass(3, rng), method="treewidth", device="cpu")


def test_torch_is_imported_for_a_device_only():
    code = (
        "import sys, planaris as pl; m = pl.generate.spin_glass(4, 1); pl.log_partition(m);"
        "pl.marginals(m, 'treewidth'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cold_models_are_left_to_the_cpu(rng, monkeypatch):
    model = glass(6, rng, scale=300.0)
    found = pl.log_partition(model, method="treewidth", device="cpu")
    expected = pl.log_partition(model, method="treewidth")
    assert found.value == pytest.approx(expected.value, rel=1e-14)
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    monkeypatch.setattr("planaris.treewidth.plan.default_memory_limit", lambda: 100)
    with pytest.raises(PrecisionError, match="range of doubles"):
        pl.log_partition(model, method="treewidth", device="cpu")


@pytest.mark.parametrize(("field", "fits"), [(2.0, True), (42.5, False), (60.0, False)])
def test_what_underflow_takes_is_noticed(field, fits):
    # Twelve spins in a field, all in the table; then their partners, in a larger field the other
    # way: the states that count most in the end are the smallest numbers of the table.
    n = 12
    pairs = [(k, n + k) for k in range(n)]
    fields = np.repeat([field, -field - 1.0], n)
    model = pl.IsingModel(pairs, np.full(n, 2 * field), fields)
    plan = plan_elimination(model, kind="frontier", order=np.arange(2 * n))
    program = Program(plan.pairwise.arrays, plan.order, 40)
    for spare in (-1, 3):
        if not fits:
            with pytest.raises(engine.UnderflowError):
                frontier.device_sum(program, 2 * n, n, "cpu", spare, UNLIMITED)
            continue
        found = frontier.device_sum(program, 2 * n, n, "cpu", spare, UNLIMITED)
        exact = n * pl.log_partition(pl.IsingModel([(0, 1)], [2 * field], fields[[0, n]])).value
        assert found.log_partition == pytest.approx(exact, rel=1e-13)


@pytest.mark.gpu
def test_gpu_agrees_with_the_core(rng):
    for size in (4, 11, 12, 16, 20):
        check(glass(size, rng), "cuda")
    check(dense(40, 0.22, rng), "cuda")
    check(glass(14, rng, scale=20.0), "cuda")
