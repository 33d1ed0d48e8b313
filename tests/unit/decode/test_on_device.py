"""Shots weighed by a device: its kernels compiled for this machine, and a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import stim
import torch

import planaris.decode.coset as coset
import planaris.decode.decoder as decoder_module
import planaris.decode.on_device as on_device
import planaris.gpu.schedule as schedule
from helpers.codes import class_table, repetition, surface, syndromes, uneven
from helpers.host_kernels import HostFrontKernels, needs_compiler
from planaris.errors import ImpossibleShotError, MethodError
from planaris.gpu.cosets import DeviceCosets
from planaris.interop.stim import Decoder


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return HostFrontKernels(tmp_path_factory.mktemp("kernels"))


def spoil(schedule):
    """Let a pivot of every third model fall below its join."""
    plain = schedule.eliminate

    def eliminate(weight, blocks, **options):
        found = plain(weight, blocks, **options)
        found[0][5, ::3] = 0.5
        return found

    schedule.eliminate = eliminate


@pytest.fixture
def there(kernels, monkeypatch):
    """Return what makes a decoder whose device is this machine."""

    def on_host(model, device, budget):
        kept = model.__dict__.setdefault("_on_devices", {})
        if device not in kept and model._lanes(budget) is not None:
            kept[device] = DeviceCosets(model._lanes(budget), torch.device("cpu"), kernels)
        return kept.get(device)

    monkeypatch.setattr(decoder_module, "device_or_cpu", lambda device: torch.device("cuda:0"))
    monkeypatch.setattr(coset.CosetModel, "on_device", on_host)
    monkeypatch.setattr(coset, "LEAST_ON_DEVICE", 1)
    monkeypatch.setattr(on_device, "MOST", 70)
    return lambda dem: Decoder(dem, threads=1, device="cuda")


@needs_compiler
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(
    "dem", [lambda p: surface(3, p), lambda p: repetition(3, 3, p), lambda p: surface(5, p)]
)
def test_a_device_weighs_syndromes_as_the_sum_over_errors_does(dem, p, there):
    dem = uneven(dem(p), np.random.default_rng(2))
    detectors, table = class_table(dem)
    numbers = np.random.default_rng(3).choice(table.shape[1], 200)
    shots = syndromes(dem, detectors, numbers)
    decoder = there(dem)
    found = decoder.evaluate(shots)
    expected = table[1, numbers] / table[:, numbers].sum(0)
    assert np.abs(found.posterior[:, 0] - expected).max() <= 1e-12
    assert (decoder.posterior(shots) == found.posterior).all()
    assert (decoder.decode(shots) == found.predictions).all()
    assert (found.predictions == (found.posterior > 0.5))[np.abs(expected - 0.5) > 1e-12].all()
    assert not found.on_cpu.any()


@needs_compiler
def test_likelihoods_and_erasures_agree_with_the_core(there):
    dem = uneven(surface(5, 0.08), np.random.default_rng(4))
    shots = dem.compile_sampler(seed=3).sample(100)[0]
    erased = np.random.default_rng(5).random((100, dem.num_errors)) < 0.05
    plain, other = Decoder(dem, threads=1), there(dem)
    found = other.evaluate(shots, erasures=erased)
    assert not found.on_cpu.any()
    np.testing.assert_allclose(
        found.posterior, plain.posterior(shots, erasures=erased), rtol=0, atol=1e-12
    )
    likely = [
        next(d._classes(np.packbits(shots, axis=1, bitorder="little"), erased, budget, sharp=False))
        for d, budget in ((plain, coset.Budget(threads=1)), (other, coset.Budget(threads=1)))
    ]
    np.testing.assert_allclose(
        likely[1].log_probability, likely[0].log_probability, rtol=0, atol=1e-11
    )


@needs_compiler
def test_shots_that_lose_digits_go_to_the_cpu(there):
    dem = surface(3, 0.1)
    shots = dem.compile_sampler(seed=3).sample(100)[0]
    decoder, plain = there(dem), Decoder(dem, threads=1)
    assert plain.evaluate(shots).on_cpu.all()
    cosets = decoder._cosets[0].on_device("cuda:0", coset.Budget(threads=1))
    spoil(cosets._schedule)
    found = decoder.evaluate(shots)
    expected = (np.arange(100) % 70) % 3 == 0
    assert (found.on_cpu[:, 0] == expected).all()
    np.testing.assert_allclose(found.posterior, plain.posterior(shots), rtol=0, atol=1e-12)


@needs_compiler
def test_small_batches_stay_on_the_cpu(there, monkeypatch):
    monkeypatch.setattr(coset, "LEAST_ON_DEVICE", 50)
    dem = surface(3, 0.1)
    shots = dem.compile_sampler(seed=3).sample(50)[0]
    assert there(dem).evaluate(shots[:49]).on_cpu.all()
    assert not there(dem).evaluate(shots).on_cpu.any()


@needs_compiler
def test_a_device_without_memory_hands_its_shots_back(there, monkeypatch):
    dem = surface(3, 0.1)
    shots = dem.compile_sampler(seed=3).sample(50)[0]
    monkeypatch.setattr(schedule, "free_bytes", lambda device: 1)
    with pytest.warns(UserWarning, match=r"need \d+ bytes .* are free; the CPU is used"):
        found = there(dem).evaluate(shots)
    assert found.on_cpu.all()
    assert (found.posterior == Decoder(dem, threads=1).posterior(shots)).all()


@needs_compiler
def test_an_impossible_shot_of_a_later_batch_is_named(there):
    dem = "error(0.1) D0 D1\nerror(0.1) D2 L0\nerror(0.1) D2"
    dem = stim.DetectorErrorModel(dem)
    shots = np.zeros((100, 3), dtype=bool)
    shots[90] = [True, False, False]
    with pytest.raises(ImpossibleShotError) as refused:
        Decoder(dem, threads=1).decode(shots)
    with pytest.raises(ImpossibleShotError) as there_too:
        there(dem).decode(shots)
    assert str(there_too.value) == str(refused.value)
    assert "90" in str(refused.value)


def test_without_a_gpu_one_line_says_so_and_the_cpu_is_used(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    dem = surface(3, 0.1)
    shots = dem.compile_sampler(seed=3).sample(20)[0]
    with pytest.warns(UserWarning, match="`device='cuda'` cannot be used: .*; the CPU is used$"):
        decoder = Decoder(dem, threads=1, device="cuda")
    found = decoder.evaluate(shots)
    assert found.on_cpu.all()
    assert (found.posterior == Decoder(dem, threads=1).posterior(shots)).all()


def test_a_device_that_cannot_be_is_refused_at_once():
    with pytest.raises(MethodError, match="`device`"):
        Decoder(surface(3, 0.1), device="tpu")
    assert Decoder(surface(3, 0.1), device="cpu").device is None


@pytest.mark.gpu
@pytest.mark.parametrize("distance", [5, 21])
def test_a_gpu_agrees_with_the_core(distance):
    dem = uneven(surface(distance, 0.08), np.random.default_rng(4))
    shots = dem.compile_sampler(seed=3).sample(20_000)[0]
    plain, there = Decoder(dem), Decoder(dem, device="cuda")
    found = there.evaluate(shots)
    np.testing.assert_allclose(found.posterior, plain.posterior(shots), rtol=0, atol=1e-11)
    assert found.on_cpu.mean() < 0.01
