"""Lightest errors against PyMatching, and gaps against lightest errors of both classes."""

import itertools

import numpy as np
import pymatching
import pytest
import stim

from helpers.codes import changed, repetition, surface, uneven
from planaris.interop.stim import Decoder

NOISY = {
    "after_clifford_depolarization": 0.01,
    "before_measure_flip_probability": 0.01,
    "after_reset_flip_probability": 0.01,
    "before_round_data_depolarization": 0.01,
}


def memory(distance, rounds):
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=distance, rounds=rounds, **NOISY
    )
    return circuit.detector_error_model(decompose_errors=True)


FAMILIES = {
    "surface": lambda rng: surface(11, 0.08),
    "surface, uneven": lambda rng: uneven(surface(9, 0.05), rng),
    "repetition": lambda rng: repetition(9, 9, 0.02),
    "repetition, uneven": lambda rng: uneven(repetition(7, 7, 0.01), rng),
    "surface memory, decomposed, not planar": lambda rng: memory(5, 5),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_lightest_errors_weigh_what_pymatching_says(family):
    rng = np.random.default_rng(3)
    dem = FAMILIES[family](rng)
    shots, _, _ = dem.compile_sampler(seed=7).sample(1000)
    decoder = Decoder(dem, method="matching", threads=1)
    other = pymatching.Matching.from_detector_error_model(dem)
    predictions, weights = other.decode_batch(shots, return_weights=True)
    found = decoder.minimum_weights(shots)
    # PyMatching rounds weights to about 2^-14 of the largest; the lightest error stays lightest
    # unless two differ by less than that.
    close = 1e-3 * max(1.0, float(decoder.weights.max()))
    assert np.abs(found - weights).max() < close
    assert (found <= weights + 1e-6 * weights + 1e-9).all() or np.abs(found - weights).max() < close
    agree = (decoder.decode(shots) == predictions).mean()
    assert agree > 0.9  # of two errors of one weight either may be taken


def test_weights_are_those_of_all_errors():
    rng = np.random.default_rng(8)
    dem = uneven(surface(3, 0.1), rng)
    errors = [i for i in dem.flattened() if i.type == "error"]
    best = {}
    for chosen in itertools.product([0, 1], repeat=len(errors)):
        flips, weight, observable = set(), 0.0, 0
        for used, instruction in zip(chosen, errors, strict=True):
            if not used:
                continue
            p = instruction.args_copy()[0]
            weight += np.log1p(-p) - np.log(p)
            for target in instruction.targets_copy():
                if target.is_relative_detector_id():
                    flips ^= {target.val}
                else:
                    observable ^= 1
        key = (frozenset(flips), observable)
        best[key] = min(best.get(key, np.inf), weight)
    syndromes = sorted({s for s, _ in best}, key=sorted)
    shots = np.zeros((len(syndromes), dem.num_detectors), dtype=bool)
    for row, s in zip(shots, syndromes, strict=True):
        row[list(s)] = True
    both = np.array([[best[s, c] for c in (0, 1)] for s in syndromes])
    decoder = Decoder(dem)
    assert np.abs(decoder.minimum_weights(shots) - both.min(1)).max() < 1e-9
    assert np.abs(decoder.gap(shots)[:, 0] - np.abs(both[:, 1] - both[:, 0])).max() < 1e-9
    matching = Decoder(dem, method="matching")
    assert (matching.decode(shots)[:, 0] == (both[:, 1] < both[:, 0])).all()


def test_mechanisms_more_likely_than_not():
    rng = np.random.default_rng(9)
    values = rng.uniform(0.0, 1.0, 500)
    dem = changed(repetition(5, 3, 0.01), lambda k, p: values[k])
    shots, _, _ = dem.compile_sampler(seed=1).sample(200)
    found = Decoder(dem, method="matching").minimum_weights(shots)
    exact = Decoder(dem)
    assert (found >= 0.0).all()
    assert np.allclose(exact.minimum_weights(shots), found)


def test_packed_shots_and_predictions_and_threads():
    dem = surface(7, 0.1)
    sampler = dem.compile_sampler(seed=2)
    shots, _, _ = sampler.sample(300)
    packed = np.packbits(shots, axis=1, bitorder="little")
    for method in ("ml", "matching"):
        one, two = (Decoder(dem, method=method, threads=k) for k in (1, 2))
        expected = one.decode(shots)
        assert np.array_equal(expected, two.decode(shots))
        assert np.array_equal(expected, one.decode(packed, bit_packed=True))
        found = two.decode(packed, bit_packed=True, bit_packed_predictions=True)
        assert np.array_equal(found, np.packbits(expected, axis=1, bitorder="little"))
        assert np.array_equal(one.decode(shots[5]), expected[5:6])
        assert np.array_equal(one.decode(shots.astype(np.int64)), expected)
    one, two = (Decoder(dem, threads=k) for k in (1, 2))
    for name in ("posterior", "llr", "gap", "log_likelihood", "minimum_weights"):
        expected = getattr(one, name)(shots)
        assert np.array_equal(expected, getattr(two, name)(shots))
        assert np.array_equal(expected, getattr(one, name)(packed, bit_packed=True))


def test_many_observables():
    dem = stim.DetectorErrorModel("\n".join(f"error(0.01) D{k} L{k}" for k in range(70)))
    shots = np.random.default_rng(0).random((20, 70)) < 0.3
    assert np.array_equal(Decoder(dem, method="matching").decode(shots), shots)
    assert np.array_equal(Decoder(dem).decode(shots), shots)


def test_posterior_beats_the_gap_at_telling_how_sure_it_is():
    dem = surface(9, 0.1)
    shots, flips, _ = dem.compile_sampler(seed=12).sample(20_000)
    p = Decoder(dem).posterior(shots)[:, 0]
    for low, high in itertools.pairwise([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0]):
        chosen = (p >= low) & (p <= high)
        expected = p[chosen].sum()
        sigma = np.sqrt((p[chosen] * (1 - p[chosen])).sum())
        assert abs(flips[chosen, 0].sum() - expected) < 5 * sigma
