"""A GPU against the processor cores beside it: decoding, and random models of every temperature.

python benchmarks/bench_device.py [--device cuda] [--quick]

The first table has wall time per shot, the second 10^4 glasses of each size with β drawn from 0 to
3: how many rows the device hands back, and how far log Z is from the CPU's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from bench_decoding import repetition, surface

from planaris.generate import spin_glass
from planaris.gpu.device import find_device
from planaris.interop.stim import Decoder
from planaris.machine import processors
from planaris.planar import plan
from planaris.planar.pfaffian.on_device import evaluate_on_device

CODES = {
    "surface 21, p=.08": (lambda: surface(21, 0.08), 65_536),
    "surface 31, p=.08": (lambda: surface(31, 0.08), 65_536),
    "surface 51, p=.08": (lambda: surface(51, 0.08), 32_768),
    "repetition 25x25, p=.008": (lambda: repetition(25, 25, 0.008), 32_768),
}
SIZES = (21, 50, 100)


def timed(work: Callable[[], Any], device: Any) -> tuple[float, Any]:
    """Return wall time, the device's included."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    wait()
    started = time.perf_counter()
    found = work()
    wait()
    return time.perf_counter() - started, found


def measure_code(name: str, device: Any, quick: bool) -> None:
    make, count = CODES[name]
    count = 4096 if quick else count
    dem = make()
    bits = dem.compile_sampler(seed=1).sample(count, bit_packed=True)[0]
    here, there = Decoder(dem), Decoder(dem, device=str(device))
    matching = Decoder(dem, method="matching")
    for decoder in (here, there, matching):
        decoder.decode(bits[:2048], bit_packed=True)
    cpu, own = timed(lambda: here.evaluate(bits, bit_packed=True), device)
    gpu, found = min(
        (timed(lambda: there.evaluate(bits, bit_packed=True), device) for _ in range(3)),
        key=lambda pair: pair[0],
    )
    match, _ = timed(lambda: matching.decode(bits, bit_packed=True), device)
    apart = float(np.abs(found.posterior - own.posterior).max())
    cpu, gpu, match = (1e6 * t / count for t in (cpu, gpu, match))
    print(
        f"{name:26s} {count} shots, µs per shot: device {gpu:8.2f}, "
        f"{processors()} cores {cpu:8.2f} ({cpu / gpu:.1f}x), "
        f"lightest errors alone {match:8.2f}; on the CPU {found.on_cpu.mean():.2g}, "
        f"posteriors apart {apart:.1e}",
        flush=True,
    )


def measure_glasses(size: int, device: Any, count: int) -> None:
    rng = np.random.default_rng(size)
    prepared = plan(spin_glass(size, rng))
    scale = rng.uniform(0.0, 3.0, (count, 1))
    couplings = scale * rng.standard_normal((count, prepared.num_edges))
    given = torch.as_tensor(couplings, device=device)
    fronts = prepared.evaluator.on_device(device)
    assert fronts is not None, "lattices are plane"
    evaluate_on_device(prepared, given[:32], correlations=False)
    flips = fronts._gauges.by_flips(given)
    first = fronts.evaluate(given, correlations=False, spins=flips)
    alone, second = timed(lambda: fronts.evaluate(given, correlations=False), device)
    whole, found = timed(lambda: evaluate_on_device(prepared, given, correlations=False), device)
    both, slopes = timed(lambda: evaluate_on_device(prepared, given, correlations=True), device)
    cpu, expected = timed(lambda: prepared.log_partition(couplings).values, device)
    apart = np.abs(found.log_partition.cpu().numpy() / expected - 1.0)
    there = np.abs(slopes.log_partition.cpu().numpy() / expected - 1.0)
    lost = [float((~rows.sound).double().mean()) for rows in (first, second, found, slopes)]
    print(
        f"{size}² {count} models, β ≤ 3: not sound by flips {lost[0]:.4f}, after annealing "
        f"{lost[1]:.4f}, done by the CPU {lost[2]:.4f} (with correlations {lost[3]:.4f}); "
        f"device {alone:.2f} s, with ground states {whole:.2f} s, with correlations {both:.2f} s, "
        f"{processors()} cores {cpu:.2f} s; apart {apart.max():.1e}, {there.max():.1e}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--codes", default="")
    chosen = parser.parse_args()
    where = find_device(chosen.device)
    for each in CODES:
        if chosen.codes in each:
            measure_code(each, where, chosen.quick)
    for number in chosen.sizes:
        measure_glasses(number, where, 256 if chosen.quick else 10_000)
