"""Decoding against PyMatching, in one run and on one thread: microseconds per shot.

python benchmarks/bench_decoding.py [--quick] [--only surface] [--qecsim]

The least processor time of several repeats counts; decoders take turns. With ``--qecsim`` the
tensor-network decoder of that package (``pip install qecsim``) is timed on surface codes as well.
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
    "surface 31, p=.08": (lambda: surface(31, 0.08), 10_000),
    "surface 51, p=.02": (lambda: surface(51, 0.02), 10_000),
    "surface 51, p=.08": (lambda: surface(51, 0.08), 10_000),
    "repetition 25x25, p=.001": (lambda: repetition(25, 25, 0.001), 10_000),
    "repetition 25x25, p=.004": (lambda: repetition(25, 25, 0.004), 10_000),
    "repetition 25x25, p=.008": (lambda: repetition(25, 25, 0.008), 10_000),
    "repetition 29x1000, p=.003": (lambda: repetition(29, 1000, 0.003), 16),
    "repetition 29x1000, p=.003, 6 shots": (lambda: repetition(29, 1000, 0.003), 6),
    "repetition 29x1000, p=.003, 1 shot": (lambda: repetition(29, 1000, 0.003), 1),
}


def least(functions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Return the least processor time of each; they take turns."""
    times = [float("inf")] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            started = time.process_time()
            function()
            times[k] = min(times[k], time.process_time() - started)
    return times


def measure(name: str, quick: bool) -> None:
    make, count = CASES[name]
    count = max(count // 10, min(count, 4)) if quick else count
    dem = make()
    bits, _, _ = dem.compile_sampler(seed=1).sample(count, bit_packed=True)
    peer = pymatching.Matching.from_detector_error_model(dem)
    matching = Decoder(dem, method="matching", threads=1)
    exact = Decoder(dem, threads=1)
    started = time.process_time()
    exact._cosets[0].inverse(Budget(threads=1))
    prepared = time.process_time() - started
    packed = {"bit_packed": True, "bit_packed_predictions": True}
    exact.decode(bits[: max(count // 50, 1)], **packed)
    times = least(
        [
            lambda: peer.decode_batch(bits, bit_packed_shots=True),
            lambda: matching.decode(bits, **packed),
            lambda: exact.decode(bits, **packed),
        ],
        2 if quick else 7,
    )
    theirs, own, ml = (1e6 * t / count for t in times)
    print(
        f"{name:36s} PyMatching {theirs:9.2f}  matching {own:9.2f} ({own / theirs:4.2f}x)  "
        f"ml {ml:10.2f} ({ml / theirs:5.2f}x)  prepared in {prepared:.2f} s",
        flush=True,
    )


def measure_qecsim(distance: int, p: float, shots: int) -> None:
    """Time the matrix-product-state decoder (bond dimension 8) of the same code and noise."""
    from qecsim import paulitools
    from qecsim.models.generic import BitFlipErrorModel
    from qecsim.models.rotatedplanar import RotatedPlanarCode, RotatedPlanarMPSDecoder

    code, noise, rng = (
        RotatedPlanarCode(distance, distance),
        BitFlipErrorModel(),
        np.random.default_rng(1),
    )
    decoder = RotatedPlanarMPSDecoder(chi=8)
    times = []
    for _ in range(shots):
        error = noise.generate(code, p, rng)
        syndrome = paulitools.bsp(error, code.stabilizers.T)
        started = time.process_time()
        decoder.decode(code, syndrome, error_model=noise, error_probability=p)
        times.append(time.process_time() - started)
    print(f"surface {distance}, p={p}: qecsim, χ = 8: {1e6 * min(times):.0f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--qecsim", action="store_true")
    given = parser.parse_args()
    for each in CASES:
        if given.only in each:
            measure(each, given.quick)
    for distance in (11, 21) if given.qecsim else ():
        measure_qecsim(distance, 0.08, 2 if given.quick else 5)
