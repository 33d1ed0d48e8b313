"""Decoding against PyMatching, in one run and on one thread: microseconds per shot.

python benchmarks/bench_decoding.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pymatching
import stim

from planaris.budget import Budget
from planaris.interop.stim import Decoder


def surface(distance: int, p: float) -> stim.DetectorErrorModel:
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z",
        distance=distance,
        rounds=1,
        before_round_data_depolarization=1.5 * p,
    )
    return circuit.detector_error_model()


def repetition(distance: int, rounds: int, p: float) -> stim.DetectorErrorModel:
    circuit = stim.Circuit.generated(
        "repetition_code:memory",
        distance=distance,
        rounds=rounds,
        after_clifford_depolarization=p,
        before_measure_flip_probability=p,
        after_reset_flip_probability=p,
        before_round_data_depolarization=p,
    )
    return circuit.detector_error_model()


CASES = {
    "surface 11, p=.02": (lambda: surface(11, 0.02), 10_000),
    "surface 11, p=.08": (lambda: surface(11, 0.08), 10_000),
    "surface 21, p=.02": (lambda: surface(21, 0.02), 10_000),
    "surface 21, p=.08": (lambda: surface(21, 0.08), 10_000),
    "surface 31, p=.08": (lambda: surface(31, 0.08), 4_000),
    "surface 51, p=.02": (lambda: surface(51, 0.02), 2_000),
    "surface 51, p=.08": (lambda: surface(51, 0.08), 500),
    "repetition 25x25, p=.001": (lambda: repetition(25, 25, 0.001), 10_000),
    "repetition 25x25, p=.004": (lambda: repetition(25, 25, 0.004), 10_000),
    "repetition 25x25, p=.008": (lambda: repetition(25, 25, 0.008), 10_000),
    "repetition 29x1000, p=.003": (lambda: repetition(29, 1000, 0.003), 6),
}


def best(function: Callable[[], object], repeats: int = 3) -> float:
    """Return the least processor time."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def measure(name: str, quick: bool) -> None:
    make, count = CASES[name]
    count = max(count // 10, 4) if quick else count
    dem = make()
    bits, _, _ = dem.compile_sampler(seed=1).sample(count, bit_packed=True)
    peer = pymatching.Matching.from_detector_error_model(dem)
    matching = Decoder(dem, method="matching", threads=1)
    exact = Decoder(dem, threads=1)
    started = time.process_time()
    exact._cosets[0].inverse(Budget(threads=1))
    prepared = time.process_time() - started
    packed = {"bit_packed": True, "bit_packed_predictions": True}
    repeats = 1 if count < 100 else 3
    peer.decode_batch(bits, bit_packed_shots=True)
    matching.decode(bits, **packed)
    exact.decode(bits[: max(count // 50, 1)], **packed)
    times = [
        best(lambda: peer.decode_batch(bits, bit_packed_shots=True), repeats),
        best(lambda: matching.decode(bits, **packed), repeats),
        best(lambda: exact.decode(bits, **packed), repeats),
    ]
    theirs, own, ml = (1e6 * t / count for t in times)
    print(
        f"{name:28s} PyMatching {theirs:9.2f}  matching {own:9.2f} ({own / theirs:4.2f}x)  "
        f"ml {ml:10.2f} ({ml / theirs:5.2f}x)  prepared in {prepared:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    np.set_printoptions(precision=3)
    for each in CASES:
        if given.only in each:
            measure(each, given.quick)
