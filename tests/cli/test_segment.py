"""``planaris segment`` as its users meet it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.command import planaris
from planaris.generate import noisy_mask, shape_mask
from planaris.io.images import read_image, read_mask, write_image
from planaris.learn import PlanarCRF


@pytest.fixture
def photograph(tmp_path, rng):
    mask = np.zeros((60, 80), dtype=bool)
    mask[15:45, 20:60] = True
    image = np.where(mask[:, :, None], [0.8, 0.6, 0.2], [0.2, 0.3, 0.6])
    write_image(image + 0.03 * rng.standard_normal(image.shape), tmp_path / "photo.png")
    strokes = np.zeros((60, 80, 3))
    strokes[30, 25:50] = 1.0
    strokes[5, 5:75] = [1.0, 0.0, 0.0]
    write_image(strokes, tmp_path / "strokes.png")
    return mask


def test_three_pictures(photograph, tmp_path):
    out = tmp_path / "out"
    options = ("--scribbles", tmp_path / "strokes.png", "--out", out, "--max-side", 40, "--json")
    told = json.loads(planaris("segment", tmp_path / "photo.png", *options)[0])
    assert told["exact"]
    assert told["method"] == "graph-cut"
    names = sorted(path.name for path in out.iterdir())
    assert names == ["photo-mask.png", "photo-overlay.png", "photo-uncertainty.png"]
    mask = read_mask(out / "photo-mask.png")
    assert mask.shape == photograph.shape  # of the image, not of what was worked on
    assert (mask == photograph).mean() > 0.98
    assert read_image(out / "photo-overlay.png").shape == (60, 80, 3)


def test_without_strokes_and_with_a_crf(photograph, tmp_path, rng):
    out, _ = planaris("segment", tmp_path / "photo.png", "--out", tmp_path, "--max-side", 30)
    assert "proved most probable" in out
    assert "photo-overlay.png" in out
    masks = [shape_mask((20, 20), rng, split_corners=True) for _ in range(2)]
    images = [0.5 + 0.2 * noisy_mask(m, 1.0, rng) for m in masks]
    PlanarCRF("margin", peg="corners").fit(images, masks).save(tmp_path / "crf.npz")
    write_image(images[0], tmp_path / "noisy.png")
    planaris("segment", tmp_path / "noisy.png", "--crf", tmp_path / "crf.npz", "--out", tmp_path)
    mask = read_mask(tmp_path / "noisy-mask.png")
    wrong = (mask != masks[0]).mean()
    assert min(wrong, 1 - wrong) < 0.1


def test_errors_are_one_line_and_leave_nothing(photograph, tmp_path):
    write_image(np.zeros((5, 5)), tmp_path / "small.png")
    out = tmp_path / "out"
    options = ("--scribbles", tmp_path / "small.png", "--out", out)
    _, err = planaris("segment", tmp_path / "photo.png", *options, code=1)
    assert "80×60" in err
    assert len(err.splitlines()) == 1
    assert not out.exists()
    _, err = planaris("segment", tmp_path / "missing.png", code=1)
    assert "missing.png" in err


def test_a_box_is_enough(photograph, tmp_path):
    photo = tmp_path / "photo.png"
    out, err = planaris("segment", photo, "--box", "15,10,66,50", "--out", tmp_path)
    assert "proved for its colours" in out
    assert "meaning" not in err
    assert (read_mask(tmp_path / "photo-mask.png") == photograph).mean() > 0.98
    for wrong in ("15,10,66", "60,10,20,50", "0,0,80,60", "a,b,c,d"):
        assert "box" in planaris("segment", photo, "--box", wrong, code=1)[1]


def test_where_nothing_was_asked_labels_are_not_called_meaningful(photograph, tmp_path):
    out, err = planaris("segment", tmp_path / "photo.png", "--out", tmp_path, "--max-side", 30)
    assert "foreground (" not in out
    assert "the labels have no meaning" in err
