"""Both decoders through sinter, end to end."""

import numpy as np
import pytest
import sinter
import stim

from planaris.interop.sinter import PlanarisDecoder
from planaris.interop.stim import Decoder, sinter_decoders


def code(distance):
    return stim.Circuit.generated(
        "repetition_code:memory",
        distance=distance,
        rounds=distance,
        before_round_data_depolarization=0.08,
        before_measure_flip_probability=0.08,
    )


def test_collect_with_both_decoders():
    decoders = {**sinter_decoders(), "picky": PlanarisDecoder("ml", discard_above=0.1)}
    names = ["pymatching", *decoders]
    tasks = [sinter.Task(circuit=code(3), decoder=name, json_metadata=name) for name in names]
    found = sinter.collect(num_workers=1, tasks=tasks, max_shots=2000, custom_decoders=decoders)
    by_name = {each.decoder: each for each in found}
    assert set(by_name) == set(names)
    for each in by_name.values():
        assert each.shots == 2000
        assert 0 < each.errors < 600
    assert by_name["picky"].discards > 0
    assert by_name["planaris-ml"].discards == 0
    kept = by_name["picky"].shots - by_name["picky"].discards
    assert by_name["picky"].errors / kept < by_name["planaris-ml"].errors / 2000


def test_compiled_decoders_do_what_decoders_do():
    circuit = code(5)
    dem = circuit.detector_error_model()
    events = circuit.compile_detector_sampler(seed=3).sample(100, bit_packed=True)
    for name, method in (("planaris", "matching"), ("planaris-ml", "ml")):
        compiled = sinter_decoders()[name].compile_decoder_for_dem(dem=dem)
        found = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=events)
        expected = Decoder(dem, method=method).decode(events, bit_packed=True)
        assert np.array_equal(found, np.packbits(expected, axis=1, bitorder="little"))


@pytest.mark.parametrize("above", [0.0, 0.02, 0.5])
def test_shots_are_discarded_by_their_posterior(above):
    circuit = code(3)
    dem = circuit.detector_error_model()
    events = circuit.compile_detector_sampler(seed=4).sample(200, bit_packed=True)
    compiled = PlanarisDecoder("ml", discard_above=above).compile_decoder_for_dem(dem=dem)
    found = compiled.decode_shots_bit_packed(bit_packed_detection_event_data=events)
    p = Decoder(dem).posterior(events, bit_packed=True)[:, 0]
    assert np.array_equal(found[:, 1] != 0, np.minimum(p, 1 - p) > above)
