"""What is refused, and what the errors say."""

import pickle

import numpy as np
import pytest
import stim

import planaris as pl
from helpers.codes import surface
from planaris.decode.drop import drop_smallest
from planaris.decode.model import ErrorModel
from planaris.errors import (
    FileFormatError,
    ImpossibleShotError,
    MethodError,
    ModelError,
    NotMatchableError,
    NotPlanarError,
    PlanarisError,
)
from planaris.interop.stim import Decoder, fit, read_detector_error_model

K5 = (
    "\n".join(f"error(0.0{1 + u}) D{u} D{v}" for v in range(5) for u in range(v))
    + "\nerror(0.1) D0 L0\nerror(0.2) D1"
)


def test_kuratowski_subgraphs_are_told_as_instructions():
    with pytest.raises(NotPlanarError) as caught:
        Decoder(stim.DetectorErrorModel(K5))
    error = pickle.loads(pickle.dumps(caught.value))
    assert len(error.instructions) >= 9
    assert "error(0.01) D0 D1" in error.instructions
    assert 'method="matching"' in str(error)
    assert "drop" in str(error)
    assert Decoder(stim.DetectorErrorModel(K5), method="matching").decode([[0] * 5]).shape == (1, 1)


def test_dropping_the_smallest_makes_it_planar_and_says_so():
    dem = stim.DetectorErrorModel(K5)
    decoder = Decoder(dem, drop="smallest")
    dropped = decoder.dropped
    listed = [str(m) for m in ErrorModel.from_stim(dem).mechanisms]
    assert dropped.instructions == tuple(listed[k] for k in dropped.mechanisms) != ()
    parts = [ErrorModel.from_stim(dem).mechanisms[k].probability for k in dropped.mechanisms]
    assert dropped.bound == pytest.approx(1 - np.prod(1 - np.array(parts)))
    # All that can change is bounded: compare every class of every syndrome.
    shots = np.array(list(np.ndindex(*[2] * 5)), dtype=bool)
    text = "\n".join(t for t in listed if t not in dropped.instructions)
    less = Decoder(stim.DetectorErrorModel(text))
    assert np.allclose(decoder.llr(shots), less.llr(shots))
    assert drop_smallest(ErrorModel.from_stim(surface(3, 0.1))).bound == 0.0


def test_memory_experiments_can_be_made_planar():
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=3, rounds=2, after_clifford_depolarization=0.001
    )
    with pytest.raises(NotMatchableError):
        Decoder(circuit)
    decoder = Decoder(circuit, drop="smallest")
    assert 0.0 < decoder.dropped.bound < 1.0
    # What was left out may be needed: the error says which shot and which detectors.
    assert Decoder(circuit, method="matching").num_detectors == decoder.num_detectors


def test_mechanisms_of_three_detectors():
    dem = stim.DetectorErrorModel("error(0.1) D0 D1\nerror(0.2) D0 D1 D2 L0")
    with pytest.raises(NotMatchableError, match=r"error\(0.2\) D0 D1 D2 L0") as caught:
        Decoder(dem)
    assert caught.value.mechanisms == [1]
    assert 'method="matching" takes the circuit itself' in str(caught.value)
    with pytest.raises(NotMatchableError, match="decompose_errors=True") as caught:
        Decoder(dem, method="matching")
    assert 'method="matching"' not in str(caught.value)  # it was given
    # What both errors advise does what it says.
    shots = [[0, 0, 0], [1, 1, 0]]
    for method in ("ml", "matching"):
        decoder = Decoder(dem, method=method, drop="smallest")
        assert decoder.dropped.instructions == ("error(0.2) D0 D1 D2 L0",)
        assert decoder.dropped.bound == 0.2
        assert decoder.decode(shots).tolist() == [[False], [False]]
        with pytest.raises(ImpossibleShotError):
            decoder.decode([[0, 0, 1]])


def test_impossible_mechanisms_of_three_detectors_do_not_count():
    dem = stim.DetectorErrorModel("error(0.1) D0\nerror(0) D0 D1 D2 L0\nerror(0.2) D1 L0")
    less = Decoder(stim.DetectorErrorModel("error(0.1) D0\nerror(0.2) D1 L0"))
    shots = [[0, 0, 0], [1, 1, 0]]
    erased = [[True, False, False], [False, False, True]]
    for decoder in (Decoder(dem), Decoder(dem, drop="smallest")):
        assert decoder.llr(shots).tolist() == less.llr(np.array(shots)[:, :2]).tolist()
        wanted = less.llr(np.array(shots)[:, :2], erasures=np.array(erased)[:, [0, 2]])
        assert decoder.llr(shots, erasures=erased).tolist() == wanted.tolist()
    assert Decoder(dem, method="matching").decode(shots).tolist() == [[False], [True]]
    with pytest.raises(ModelError, match="probability is 0 or 1"):
        Decoder(dem, method="matching").decode(shots, erasures=[[False, True, False]] * 2)


def test_observables_that_wind_around_a_hole():
    ring = "error(0.1) D0 D1 L0\nerror(0.1) D1 D2\nerror(0.1) D2 D0"
    with pytest.raises(NotMatchableError, match="winds around a hole") as caught:
        Decoder(stim.DetectorErrorModel(ring))
    assert sorted(caught.value.mechanisms) == [0, 1, 2]
    decoder = Decoder(stim.DetectorErrorModel(ring), method="matching")
    assert decoder.decode([[1, 1, 0]]).tolist() == [[True]]


@pytest.mark.parametrize("method", ["ml", "matching"])
def test_impossible_syndromes(method):
    dem = stim.DetectorErrorModel(
        "error(0.1) D0 D1 L0\nerror(0.1) D1 D2\nerror(0.1) D3\ndetector D4"
    )
    decoder = Decoder(dem, method=method)
    good = np.zeros((100, 5), dtype=bool)
    good[:, [0, 2, 3]] = True
    decoder.decode(good)
    bad = good.copy()
    bad[71, 0] = False
    with pytest.raises(ImpossibleShotError, match="shot 71") as caught:
        decoder.decode(bad)
    assert caught.value.shot == 71
    assert caught.value.detectors.tolist() == [2]
    bad = good.copy()
    bad[3, 4] = True
    with pytest.raises(ImpossibleShotError, match="no mechanism of positive probability flips D4"):
        decoder.decode(bad)


@pytest.mark.parametrize("method", ["ml", "matching"])
def test_detectors_of_certain_mechanisms(method):
    text = "error(1) D0 L0\nerror(0) D0\nerror(0.1) D1\nerror(1) D2\nerror(1) D2"
    decoder = Decoder(stim.DetectorErrorModel(text), method=method)
    assert decoder.decode([[1, 1, 0]]).tolist() == [[True]]
    with pytest.raises(ImpossibleShotError, match="flip D0 have probability 0 or 1, and an odd"):
        decoder.decode([[0, 1, 0]])
    with pytest.raises(ImpossibleShotError, match="flip D2 have probability 0 or 1, and an even"):
        decoder.decode([[1, 0, 1]])


def test_shapes_of_shots():
    decoder = Decoder(surface(3, 0.1))
    n = decoder.num_detectors
    with pytest.raises(ModelError, match=f"shape \\(k, {n}\\)"):
        decoder.decode(np.zeros((2, n + 1), dtype=bool))
    with pytest.raises(ModelError, match="bit_packed=True"):
        decoder.decode(np.zeros((2, n), dtype=np.uint8), bit_packed=True)
    wrong = np.zeros((2, n))
    for value in (np.nan, 2.0):
        wrong[1, 3] = value
        with pytest.raises(ModelError, match=r"bools, or 0 and 1, got .* in column 3 of shot 1"):
            decoder.decode(wrong)
    with pytest.raises(ModelError, match="bools"):
        decoder.decode(np.full((2, n), "a"))
    three = Decoder(stim.DetectorErrorModel("error(0.1) D0\nerror(0.1) D1\nerror(0.1) D2"))
    with pytest.raises(ModelError, match="last 5 bits of a row zero, but shot 1 does not"):
        three.decode(np.array([[7], [8]], dtype=np.uint8), bit_packed=True)


def test_arguments():
    dem = surface(3, 0.1)
    with pytest.raises(MethodError, match="method"):
        Decoder(dem, method="best")
    with pytest.raises(MethodError, match="drop"):
        Decoder(dem, drop="all")
    with pytest.raises(ModelError, match="threads"):
        Decoder(dem, threads=0)
    with pytest.raises(MethodError, match='needs method="ml"'):
        Decoder(dem, method="matching").log_likelihood(np.zeros((1, 8), dtype=bool))
    with pytest.raises(ModelError, match=r"stim\.DetectorErrorModel"):
        Decoder(3)


def test_erasures_of_zeros_and_ones():
    dem = surface(3, 0.1)
    decoder = Decoder(dem, threads=1)
    shots = np.eye(4, dem.num_detectors, dtype=bool)
    erased = np.random.default_rng(3).random((4, dem.num_errors)) < 0.3
    expected = decoder.posterior(shots, erasures=erased)
    for kind in (np.uint8, np.int64, np.float64):
        assert (decoder.posterior(shots, erasures=erased.astype(kind)) == expected).all()
    with pytest.raises(ModelError, match=r"`erasures` .* got 2 in column 0 of shot 0"):
        decoder.decode(shots, erasures=np.full((4, dem.num_errors), 2, dtype=np.uint8))


def test_erasures_are_checked():
    dem = stim.DetectorErrorModel("error(0.1) D0 L0\nerror(0) D0\nerror(0.2) L0")
    decoder = Decoder(dem)
    with pytest.raises(ModelError, match=r"shape \(1, 3\)"):
        decoder.decode([[1]], erasures=np.zeros((1, 2), dtype=bool))
    with pytest.raises(ModelError, match="mechanism 1"):
        decoder.decode([[1]], erasures=np.array([[False, True, False]]))
    found = decoder.posterior([[1], [1]], erasures=np.array([[0, 0, 0], [0, 0, 1]], dtype=bool))
    assert found.ravel().tolist() == pytest.approx([0.8, 0.5])


def test_probabilities_outside_the_unit_interval():
    class Instruction:
        type = "error"

        def args_copy(self):
            return [1.5]

        def __str__(self):
            return "error(1.5) D0"

    class Model:
        num_detectors, num_observables, num_errors = 1, 0, 1

        def flattened(self):
            return [Instruction()]

    with pytest.raises(ModelError, match=r"instruction 0 of `dem`, error\(1.5\) D0"):
        ErrorModel.from_stim(Model())


def test_files(tmp_path):
    dem = surface(3, 0.1)
    path = tmp_path / "model.dem"
    dem.to_file(str(path))
    assert read_detector_error_model(path) == dem
    circuit = stim.Circuit.generated("repetition_code:memory", distance=3, rounds=2)
    circuit.to_file(str(tmp_path / "code.stim"))
    assert Decoder(tmp_path / "code.stim").num_detectors == circuit.num_detectors
    path.write_text("MARKOV\n2\n")  # stim has another error for words it does not know
    with pytest.raises(FileFormatError, match="must hold a detector error model"):
        read_detector_error_model(path)
    path.write_text("error(2) D0\n")
    with pytest.raises(ValueError, match=r"model\.dem"):
        Decoder(path)
    with pytest.raises(FileFormatError, match="planaris decode"):
        pl.io.read_model(path)
    path.write_bytes(b"\x84\x00")
    with pytest.raises(FileFormatError, match=r"model\.dem must hold .* no text"):
        Decoder(path)
    with pytest.raises(ModelError, match=r"stim.DetectorErrorModel\(text\)"):
        Decoder(str(dem))


def test_decoders_are_pickled():
    dem = surface(3, 0.1)
    shots, _, _ = dem.compile_sampler(seed=1).sample(50)
    for method in ("ml", "matching"):
        decoder = Decoder(dem, method=method)
        expected = decoder.decode(shots)
        assert np.array_equal(pickle.loads(pickle.dumps(decoder)).decode(shots), expected)


@pytest.mark.parametrize(
    "text",
    [
        "error(0.1) D99999999",
        "error(0.1) D0 L99999999",
        "detector D4000000\nerror(0.1) D0",
        "repeat 1000000000000 {\n error(0.1) D0 D1\n shift_detectors 1\n}",
    ],
)
def test_small_models_that_count_far_are_refused_at_once(text):
    dem = stim.DetectorErrorModel(text)
    for read in (Decoder, lambda dem: Decoder(dem, method="matching"), lambda dem: fit(dem, [[0]])):
        with pytest.raises(PlanarisError, match=r"`dem`"):
            read(dem)


@pytest.mark.parametrize("method", ["ml", "matching"])
def test_impossible_shots_are_refused_without_observables(method):
    decoder = Decoder(stim.DetectorErrorModel("error(0.1) D0 D1"), method=method)
    assert decoder.decode([[1, 1], [0, 0]]).shape == (2, 0)
    with pytest.raises(ImpossibleShotError):
        decoder.decode([[1, 1], [1, 0]])
    if method == "ml":
        with pytest.raises(ImpossibleShotError):
            decoder.posterior([[0, 1]])
