"""Boundary detection on masks of the user and on small ones; what the plot says of its data."""

from __future__ import annotations

import numpy as np
import pytest

from planaris.experiments.figure import Result, Settings
from planaris.experiments.figures import boundary
from planaris.generate import shape_mask
from planaris.io.images import write_image


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(boundary, "SIDE", 24)
    monkeypatch.setattr(boundary, "NUM_SAMPLES", 5)


def test_masks_and_photographs_of_the_user(small, tmp_path, rng):
    for name in ("ground-truth", "images"):
        (tmp_path / "grabcut" / name).mkdir(parents=True)
    mask = shape_mask((40, 50), rng, split_corners=True)
    write_image(mask, tmp_path / "grabcut" / "ground-truth" / "thing.png")
    write_image(rng.random((40, 50)), tmp_path / "grabcut" / "images" / "thing.jpg")
    write_image(np.ones((40, 40)), tmp_path / "grabcut" / "ground-truth" / "empty.png")
    write_image(np.eye(5), tmp_path / "grabcut" / "ground-truth" / "tiny.png")
    trials = boundary.trials(Settings(quick=True, data=tmp_path))
    assert {params["file"] for params in trials} == {"thing.png"}
    record = boundary.run(trials[0])
    assert set(record["error"]) == {"other", "own"}
    assert record["error"]["own"]["margin, MAP"] < 10
    assert "photograph" in record["pictures"]
    panels = boundary.plot([Result(trials[0], record)])
    assert len(panels.pictures) == 9  # two sources of weights, two losses by λ, and five panels


def test_windows_split_their_corners(small, tmp_path, rng):
    path = tmp_path / "masks" / "one.png"
    path.parent.mkdir()
    write_image(shape_mask((60, 60), rng, split_corners=True), path)
    mask, photograph = boundary._crop(path, 0)
    assert mask.shape == (24, 24)
    assert mask[0, 0] != mask[-1, -1]
    assert photograph is None


def test_errors_are_up_to_a_flip(rng):
    wanted = rng.random((6, 6)) < 0.5
    assert boundary._error(wanted, wanted) == 0.0
    assert boundary._error(~wanted, wanted) == 0.0
    wrong = wanted.copy()
    wrong[3, 3] ^= True
    assert boundary._error(wrong, wanted) == pytest.approx(100 / 36)


def fake(noise, features, own, penalty=1.0):
    errors = dict.fromkeys(boundary.METHODS, own)
    seconds = dict.fromkeys(("margin, own", "likelihood, own"), 0.1)
    record = {"error": {"own": errors, "other": errors}, "seconds": seconds}
    params = {"noise": noise, "features": features, "lambda": penalty, "seed": 1}
    return Result(params, record)


def test_verdicts_follow_the_data():
    good = [fake(8, "paper", 0.1) for _ in range(4)] + [fake(9, "paper", 40.0) for _ in range(4)]
    few = [None, None]  # of the sweep of λ: too few images
    assert [v.holds for v in boundary.plot(good).verdicts] == [True, True, True, *few]
    bad = [fake(8, "paper", 30.0) for _ in range(4)] + [fake(9, "paper", 0.1) for _ in range(4)]
    assert [v.holds for v in boundary.plot(bad).verdicts] == [False, False, False, *few]
    assert [v.holds for v in boundary.plot(good[:1]).verdicts] == [None, None, *few]


def test_the_transition_is_judged_at_the_smallest_penalty():
    lost = [fake(n, "paper", 40.0) for n in (8, 9) for _ in range(8)]
    found = [fake(8, "paper", 0.1, 1e-3) for _ in range(8)]
    found += [fake(9, "paper", 40.0, 1e-3) for _ in range(8)]
    assert [v.holds for v in boundary.plot(lost + found).verdicts[-2:]] == [True, True]
    found[-8:] = [fake(9, "paper", 0.1, 1e-3) for _ in range(8)]
    assert [v.holds for v in boundary.plot(lost + found).verdicts[-2:]] == [False, False]
    table = boundary.plot(lost + found).tables[-1]
    assert {row[0] for row in table.rows} == {1.0, 1e-3}
