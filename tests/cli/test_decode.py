"""``planaris decode``, ``fit-noise`` and ``info`` of detector error models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import stim

from helpers.codes import repetition
from helpers.command import planaris
from planaris.interop.stim import Decoder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    dem = repetition(3, 3, 0.03)
    dem.to_file(str(tmp_path / "model.dem"))
    shots, _, _ = dem.compile_sampler(seed=5).sample(200)
    for kind in ("01", "b8", "r8", "hits", "dets"):
        stim.write_shot_data_file(
            data=shots,
            path=str(tmp_path / f"shots.{kind}"),
            format=kind,
            num_detectors=dem.num_detectors,
        )
    np.save(tmp_path / "shots.npy", shots)
    return tmp_path


def predictions(path: Path) -> np.ndarray:
    return stim.read_shot_data_file(path=str(path), format="01", num_observables=1)


def test_shots_of_every_format_are_decoded(files):
    shots = np.load(files / "shots.npy")
    exact = Decoder(files / "model.dem").decode(shots)
    for kind in ("01", "b8", "r8", "hits", "dets"):
        out = files / f"{kind}.01"
        said, _ = planaris(
            "decode", files / "model.dem", files / f"shots.{kind}", "--ml", "-o", out
        )
        assert said.startswith("200 shots decoded (ml)")
        assert np.array_equal(predictions(out), exact)
    planaris("decode", files / "model.dem", files / "shots.b8", "-o", files / "matching.01")
    matching = Decoder(files / "model.dem", method="matching").decode(shots)
    assert np.array_equal(predictions(files / "matching.01"), matching)


def test_ratios_are_written_as_text(files):
    out = files / "ratios.txt"
    said, _ = planaris(
        "decode", files / "model.dem", files / "shots.b8", "--llr", "--json", "-o", out
    )
    found = json.loads(said)
    assert found["shots"] == 200
    expected = Decoder(files / "model.dem").llr(np.load(files / "shots.npy"))
    assert np.allclose(np.loadtxt(out), expected[:, 0], rtol=1e-14)


def test_noise_is_fitted(files):
    out = files / "fitted.dem"
    said, _ = planaris("fit-noise", files / "model.dem", files / "shots.b8", "--json", "-o", out)
    found = json.loads(said)
    fitted = stim.DetectorErrorModel.from_file(str(out))
    shots = np.load(files / "shots.npy")
    assert found["converged"]
    assert len(found["probabilities"]) == fitted.num_errors == len(found["standard_errors"])
    assert Decoder(fitted).log_likelihood(shots).sum() == pytest.approx(found["log_likelihood"])
    said, _ = planaris("fit-noise", files / "model.dem", files / "shots.b8")
    assert "log-likelihood" in said


def test_info_says_which_decoders_fit(files):
    said, _ = planaris("info", files / "model.dem", "--json")
    found = json.loads(said)
    assert found["decoders"] == ["matching", "ml (exact)"]
    assert found["planar"]
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=3, rounds=2, after_clifford_depolarization=0.01
    )
    circuit.to_file(str(files / "code.stim"))
    found = json.loads(planaris("info", files / "code.stim", "--json")[0])
    assert found["decoders"] == ["matching"]  # stim splits the mechanisms of a circuit
    circuit.compile_detector_sampler(seed=1).sample_write(
        20, filepath=str(files / "code.b8"), format="b8"
    )
    planaris("decode", files / "code.stim", files / "code.b8", "-o", files / "code.01")
    assert "must flip at most two detectors" in found["reason"]
    assert "planar" in planaris("info", files / "model.dem")[0]


def test_what_cannot_be_read_is_one_line(files):
    model = files / "model.dem"
    for arguments, said in (
        (("decode", model, files / "none.b8", "-o", files / "x.01"), "No such file"),
        (("decode", model, model, "--shot-format", "01", "-o", files / "x.01"), "format 01"),
        (("decode", model, files / "shots.npy", "-o", files / "x.01"), "--shot-format"),
        (("decode", model, files / "shots.b8", "-o", files / "x.txt"), "--out-format"),
        (("decode", model, files / "shots.b8", "--drop", "all", "-o", files / "x.01"), "--drop"),
        (("info", files / "none.dem"), "No such file"),
    ):
        _, error = planaris(*arguments, code=1)
        assert error.startswith("planaris: ")
        assert len(error.splitlines()) == 1
        assert said in error


def test_refusals_name_options(tmp_path):
    pairs = "\n".join(f"error(0.1) D{u} D{v}" for v in range(5) for u in range(v))
    (tmp_path / "k5.dem").write_text(f"{pairs}\nerror(0.1) D0 L0\n")
    (tmp_path / "shots.01").write_text("00000\n")
    options = ("--ml", "-o", tmp_path / "out.01")
    _, err = planaris("decode", tmp_path / "k5.dem", tmp_path / "shots.01", *options, code=1)
    assert "matching (without '--ml')" in err
    assert "'--drop smallest'" in err


def test_no_shots_are_no_predictions(files):
    (files / "none.b8").write_bytes(b"")
    for method in ((), ("--ml",), ("--llr",)):
        out = files / "none.01"
        said, _ = planaris("decode", files / "model.dem", files / "none.b8", *method, "-o", out)
        assert said.startswith("0 shots decoded")
        assert out.read_bytes() == b""


def test_warnings_are_one_line(files):
    cuda = pytest.importorskip("torch").cuda
    if cuda.is_available():
        pytest.skip("there is a GPU")
    arguments = (files / "shots.b8", "--ml", "--device", "cuda", "-o", files / "x.01")
    _, said = planaris("decode", files / "model.dem", *arguments, in_process=False)
    assert said.startswith("planaris: ")
    assert len(said.splitlines()) == 1
