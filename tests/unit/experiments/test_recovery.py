"""Every part of the recovery experiments, small: records, pictures, verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planaris.errors import ModelError
from planaris.experiments.figure import Result, Settings, stable
from planaris.experiments.figures.noisy_labels import crf_noise, recovery
from planaris.experiments.figures.noisy_labels.bands import fit_exponent
from planaris.experiments.figures.noisy_labels.plot import ESTIMATORS
from planaris.experiments.store import plain
from planaris.generate import noisy_mask, shape_mask, square_lattice
from planaris.io.images import write_image
from planaris.recover import Marginal, observe

SMALL = [
    {"part": "grid", "size": 6, "q": 0.4, "p": 0.05, "seed": 0},
    {"part": "grid", "size": 6, "q": 0.4, "p": 0.01, "seed": 1},
    {"part": "large", "size": 40, "q": 0.4, "p": 0.02, "seed": 0},
    {"part": "large", "size": 40, "q": 0.4, "p": 0.05, "seed": 0},
    {"part": "sweep", "size": 6, "p": 0.05, "q": 0.2, "seed": 0},
    {"part": "family", "family": "small", "q": 0.4, "p": 0.01, "seed": 0},
    {"part": "family", "family": "small", "q": 0.4, "p": 0.08, "seed": 0},
    {"part": "expander", "degree": 4, "size": 30, "q": 0.2, "p": 0.04, "seed": 0},
    {"part": "constant", "q": 0.4, "p": 0.01, "seed": 0},
    {"part": "estimated", "size": 28, "q": 0.4, "p": 0.02, "seed": 0},
    {"part": "estimated", "size": 28, "q": 0.4, "p": 0.1, "seed": 0},
]


def test_every_part_runs_repeats_and_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recovery.FAMILIES, "small", lambda rng: square_lattice(8))
    results = []
    for params in SMALL:
        first, second = (plain(recovery.run(params)) for _ in range(2))
        assert stable(first) == stable(second)
        assert all(0 <= error <= 1 for error in first.get("error", {}).values())
        results.append(Result(params, first))
    assert set(results[0].record["error"]) == set(ESTIMATORS)
    assert "MAP" in results[0].record["mean_error"]
    assert "MAP" not in results[1].record["mean_error"]
    panels = recovery.FIGURE.plot(results)
    assert len(panels.pictures) == 8
    assert len(panels.verdicts) == 13
    assert all(verdict.rule for verdict in panels.verdicts)
    for result in results:
        assert recovery.FIGURE.plot([result]).pictures


def test_quick_trials_are_among_the_full_ones() -> None:
    quick, full = (recovery.trials(Settings(quick=q)) for q in (True, False))
    assert all(params in full for params in quick)
    grids = [params for params in full if params["part"] == "grid"]
    assert len(grids) == 800  # eight noise levels, a hundred repetitions


def test_exponents_are_fitted_with_their_interval(rng: np.random.Generator) -> None:
    ps = np.repeat([0.005, 0.01, 0.02, 0.03], 10)
    counts = rng.poisson(3e6 * ps**2)
    results = [
        Result({"p": p}, {"error": {"two-step": c / 1e6}})
        for p, c in zip(ps.tolist(), counts.tolist(), strict=True)
    ]
    exponent, half = fit_exponent(results, "error")
    assert abs(exponent - 2) < 1.5 * half < 0.15
    assert np.isnan(fit_exponent(results[:3], "error")[0])


@pytest.fixture
def horses(tmp_path: Path, rng: np.random.Generator) -> Path:
    for name in ("gray", "figure_ground"):
        (tmp_path / name).mkdir()
    for k in range(5):
        mask = shape_mask((20, 24), rng)
        image = noisy_mask(mask, 4.0, rng)
        image = (image - image.min()) / np.ptp(image)
        write_image(image, tmp_path / "gray" / f"{k}.png")
        write_image(mask, tmp_path / "figure_ground" / f"{k}.png")
    return tmp_path


def test_noise_of_the_users_images(horses: Path) -> None:
    listed = crf_noise.trials(Settings(data=horses))
    folds = [params for params in listed if params["part"] == "horses"]
    assert len(folds) == 4
    record = plain(crf_noise.run(folds[0]))
    assert len(record["images"]) == 2  # images 0 and 4
    panels = crf_noise.FIGURE.plot([Result(folds[0], record)])
    assert len(panels.pictures) == 5
    assert crf_noise.horse_folder(horses / "gray") is None
    (horses / "gray" / "0.png").unlink()
    (horses / "gray" / "1.png").unlink()
    with pytest.raises(ModelError, match="at least 4 images"):
        crf_noise.trials(Settings(data=horses))


def test_wide_grids_need_a_device_and_agree_with_the_processor() -> None:
    assert not [t for t in recovery.trials(Settings()) if t["part"] == "wide"]
    wide = [t for t in recovery.trials(Settings(device="cuda")) if t["part"] == "wide"]
    assert {t["size"] for t in wide} == {32}
    assert {t["p"] for t in wide} == set(recovery.GRID_P)
    found = []
    for p in (0.02, 0.08, 0.16):
        params = {"part": "wide", "size": 6, "q": 0.4, "p": p, "seed": 0, "device": "cpu"}
        record = recovery.run(params)
        assert all(record["exact"].values())
        rng = np.random.default_rng([6, round(1e4 * p), 4000, 0])
        seen = observe(square_lattice(6), -1, p, 0.4, rng)
        assert record["error"]["marginals"] == Marginal(p, 0.4).recover(seen).error(-1)
        found.append(Result(params, record))
    panels = recovery.plot(found)
    assert len(panels.pictures) == 1
    assert len(panels.verdicts) == 1
