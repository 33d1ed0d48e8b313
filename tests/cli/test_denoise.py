"""``planaris denoise`` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import planaris as pl
from helpers.command import planaris
from planaris.io.images import read_mask, write_image


def denoise(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
    return planaris("denoise", *arguments, code=code)


@pytest.fixture
def pictures(tmp_path: Path, rng: np.random.Generator) -> dict[str, Path]:
    clean, noisy = pl.generate.noisy_image((50, 70), rng, noise=0.25)
    guide = np.where(clean > 0, 0.7, 0.3) + rng.normal(0, 0.05, clean.shape)
    paths = {name: tmp_path / f"{name}.png" for name in ("clean", "noisy", "guide")}
    write_image(clean > 0, paths["clean"])
    write_image(noisy > 0, paths["noisy"])
    write_image(np.stack([guide] * 3, axis=-1), paths["guide"])
    return paths


def test_an_image_is_cleaned_with_a_proof(pictures: dict[str, Path]) -> None:
    out, _ = denoise(pictures["noisy"], "--truth", pictures["clean"], "--json")
    found = json.loads(out)
    assert found["proved_optimal"]
    assert found["method"] == "graph-cut"
    assert found["wrong_after"] < 0.5 * found["wrong_before"]
    written = read_mask(found["image"])
    assert (written != read_mask(pictures["clean"])).mean() == pytest.approx(found["wrong_after"])


def test_a_guide_makes_it_better(pictures: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    out, _ = denoise(
        pictures["noisy"],
        "--guide",
        pictures["guide"],
        "--truth",
        pictures["clean"],
        "-o",
        target,
        "--json",
    )
    found = json.loads(out)
    assert found["method"] == "graph-cut"
    assert found["proved_optimal"]
    assert found["wrong_after"] < 0.02
    assert target.exists()


def test_what_does_not_fit_is_refused(pictures: dict[str, Path]) -> None:
    noisy = pictures["noisy"]
    assert "must not be the image itself" in denoise(noisy, "-o", noisy, code=1)[1]
    assert "needs evidence" in denoise(noisy, "--method", "two-step", code=1)[1]
    text = noisy.with_name("text.png")
    text.write_text("no image")
    assert "not an image" in denoise(text, code=1)[1]
    small = noisy.with_name("small.png")
    write_image(np.eye(3), small)
    assert "as many pixels" in denoise(noisy, "--truth", small, code=1)[1]
    assert not list(noisy.parent.glob("*.part"))


def test_noise_may_be_given(pictures: dict[str, Path]) -> None:
    out, _ = denoise(pictures["noisy"], "--p", "0.05", "--q", "0.25", "--method", "local-lp")
    assert "0.05" in out
    assert "0.25" in out


def test_a_photograph_in_colour_is_refused_unless_it_is_said_what_is_white(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    photo = tmp_path / "photo.png"
    write_image(rng.random((20, 30, 3)), photo)
    assert "photograph in colour" in denoise(photo, code=1)[1]
    denoise(photo, "--threshold", "0.5", "-o", tmp_path / "out.png")
    assert "--threshold" in denoise(photo, "--threshold", "128", code=2)[1]


def test_a_guide_does_no_harm_to_a_good_image(tmp_path: Path, rng: np.random.Generator) -> None:
    """A guide full of texture: labels may change at its edges, but need not."""
    clean, noisy = pl.generate.noisy_image((60, 80), rng, noise=0.01)
    paths = {name: tmp_path / f"{name}.png" for name in ("clean", "noisy", "guide")}
    write_image(clean > 0, paths["clean"])
    write_image(noisy > 0, paths["noisy"])
    write_image(rng.random((60, 80)), paths["guide"])
    out, _ = denoise(paths["noisy"], "--guide", paths["guide"], "--truth", paths["clean"], "--json")
    found = json.loads(out)
    assert found["wrong_after"] <= found["wrong_before"]


def test_a_guide_that_misleads_is_called_so(tmp_path: Path, rng: np.random.Generator) -> None:
    """Two-step believes the edges of a guide that has nothing to do with the image."""
    _, noisy = pl.generate.noisy_image((60, 80), rng, noise=0.1)
    image, guide = tmp_path / "noisy.png", tmp_path / "guide.png"
    write_image(noisy > 0, image)
    write_image(np.kron(rng.random((6, 8)) > 0.5, np.ones((10, 10))), guide)
    _, err = denoise(image, "--guide", guide, "--method", "two-step", "--q", "0.1")
    assert "the guide misleads" in err
    _, err = denoise(image, "--guide", guide)
    assert "misleads" not in err
