"""The examples run, say what they should, and leave a picture."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.repository


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, tmp_path: Path, **options: float) -> dict[str, float]:
    out = tmp_path / f"{name}.png"
    answers = example(name).main(out=out, **options)
    assert out.read_bytes().startswith(b"\x89PNG")
    assert out.stat().st_size > 5_000
    return answers


def test_every_example_is_tested():
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.stem}' in tests, path.name


def test_spin_glass(tmp_path):
    answers = run("spin_glass", tmp_path, size=8, samples=4)
    assert answers["coldest heat ±J"] < 0.01 < answers["coldest heat Gaussian"]  # the gap


def test_torus(tmp_path):
    assert run("torus", tmp_path, size=6)["worst"] < 1e-13


def test_road_network(tmp_path):
    answers = run("road_network", tmp_path, size=40, overpasses=2)
    assert answers["exact"]
    assert answers["lower"] - 1e-9 <= answers["value"] <= answers["upper"] + 1e-9


def test_max_cut(tmp_path):
    answers = run("max_cut", tmp_path, size=60)
    assert answers["proved"]
    assert answers["cut"] == pytest.approx(answers["recomputed"], rel=1e-12)


def test_correlation_clustering(tmp_path):
    answers = run("correlation_clustering", tmp_path, size=150)
    assert answers["exact"]
    assert answers["broken"] <= answers["planted"]
    assert answers["wrong"] < 0.1


def test_segmentation(tmp_path):
    answers = run("segmentation", tmp_path, height=24, width=8)
    assert answers["exact"]
    assert answers["map"] < answers["threshold"]
    assert answers["marginals"] < answers["threshold"]


def test_torch_front_end(tmp_path):
    pytest.importorskip("torch")
    answers = run("torch_front_end", tmp_path)
    assert answers["after"] < answers["before"] / 2


def test_crf_segmentation(tmp_path):
    answers = run("crf_segmentation", tmp_path, size=16, images=3, noise=2.0)
    assert min(answers["likelihood"], answers["margin"], answers["grid"]) > 0.9


def test_surface_code(tmp_path):
    answers = run("surface_code", tmp_path, distance=3, shots=40)
    assert 0.0 < answers["likelihood"] < 0.5
    assert answers["likelihood"] <= answers["weight"] + 0.05


def test_maximum_likelihood_decoding_is_what_it_says(rng):
    """Against all 2^13 errors of the code of distance 3."""
    code, p = example("surface_code").SurfaceCode(3), 0.12
    d, qubits = 3, 13
    every = (np.arange(2**qubits)[:, None] >> np.arange(qubits)) & 1
    weight = p ** every.sum(1) * (1 - p) ** (qubits - every.sum(1))
    parities = checks(every, d)
    chains, _ = code.shots(p, 20, rng)
    for chain in chains:
        same = (parities == checks(chain[None, :qubits].astype(int), d)).all(axis=(1, 2))
        differs = every[:, : d * d : d].sum(1) + chain[: d * d : d].sum()
        classes = [float(weight[same & (differs % 2 == k)].sum()) for k in (0, 1)]
        couplings = np.where(chain, -1.0, 1.0) * math.log((1 - p) / p) / 2
        couplings[-1] = 0.0
        agree = code.plan.marginals(couplings).edges[-1]
        assert agree == pytest.approx(classes[0] / sum(classes), rel=1e-9)


def checks(errors: np.ndarray, d: int) -> np.ndarray:
    """Parity around every face, edge by edge."""
    down = errors[:, : d * d].reshape(-1, d, d)
    right = errors[:, d * d :].reshape(-1, d - 1, d - 1)
    found = np.zeros((len(errors), d, d - 1), dtype=int)
    for r in range(d):
        for c in range(d - 1):
            found[:, r, c] = down[:, r, c] + down[:, r, c + 1]
            found[:, r, c] += right[:, r - 1, c] if r > 0 else 0
            found[:, r, c] += right[:, r, c] if r < d - 1 else 0
    return found % 2


def test_repetition_code(tmp_path):
    answers = run("repetition_code", tmp_path, distance=5, shots=5000)
    assert answers["error rate"] == pytest.approx(answers["expected"], abs=0.02)
    assert answers["by posterior"] <= answers["by gap"]
