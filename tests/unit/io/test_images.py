from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from planaris.errors import FileFormatError, ModelError
from planaris.io.images import read_image, read_mask, write_image


def test_images_come_back_as_they_were_written(tmp_path, rng):
    grey = rng.integers(0, 256, (5, 7)) / 255
    colour = rng.integers(0, 256, (4, 6, 3)) / 255
    for name, image in (("grey", grey), ("colour", colour)):
        path = tmp_path / f"{name}.png"
        write_image(image, path)
        np.testing.assert_array_equal(read_image(path), image)
    assert read_image(tmp_path / "colour.png", grey=True).shape == (4, 6)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["colour.png", "grey.png"]


def test_masks_are_thresholded_and_stay_masks_when_shrunk(tmp_path, rng):
    mask = rng.random((40, 20)) < 0.5
    write_image(mask, tmp_path / "mask.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "mask.png"), mask)
    small = read_mask(tmp_path / "mask.png", max_side=10)
    assert small.shape == (10, 5)
    assert small.dtype == bool


def test_sixteen_bits_palettes_and_transparency(tmp_path):
    deep = np.array([[0, 65535], [32768, 1]], dtype=np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    Image.fromarray(deep).save(tmp_path / "deep.tiff")
    (tmp_path / "deep.pgm").write_bytes(b"P5 2 2 65535\n" + deep.astype(">u2").tobytes())
    for name in ("deep.png", "deep.tiff", "deep.pgm"):
        np.testing.assert_allclose(read_image(tmp_path / name), deep / 65535, atol=1e-12)
        assert read_mask(tmp_path / name).tolist() == [[False, True], [True, False]]
        assert read_image(tmp_path / name, grey=True, max_side=1).shape == (1, 1)
    colours = Image.fromarray(np.array([[[255, 0, 0], [0, 0, 255]]], dtype=np.uint8))
    for mode in ("P", "RGBA"):
        colours.convert(mode).save(tmp_path / f"{mode}.png")
        np.testing.assert_allclose(read_image(tmp_path / f"{mode}.png")[0, 0], [1, 0, 0])


def test_more_than_sixteen_bits_are_refused(tmp_path):
    Image.fromarray(np.array([[0, 70000]], dtype=np.int32)).save(tmp_path / "wide.tiff")
    with pytest.raises(FileFormatError, match="more than 16 bits, from 0 to 70000"):
        read_image(tmp_path / "wide.tiff")


def test_what_is_refused(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(FileFormatError, match=r"broken\.png"):
        read_image(tmp_path / "broken.png")
    with pytest.raises(FileNotFoundError):
        read_mask(tmp_path / "missing.png")
    with pytest.raises(ModelError, match="values"):
        write_image(np.zeros((2, 2, 2)), tmp_path / "x.png")


def test_formats_that_start_programs_are_refused(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n")
    with pytest.raises(FileFormatError):
        read_image(path)


def test_floats_are_grey_levels_as_they_are(tmp_path):
    levels = np.array([[0.0, 0.25, 0.9], [0.5, 0.75, 1.0]], dtype=np.float32)
    path = tmp_path / "levels.tiff"
    Image.fromarray(levels).save(path)
    assert np.array_equal(read_image(path), levels)
    assert read_mask(path).tolist() == [[False, False, True], [False, True, True]]


@pytest.mark.parametrize("wrong", [np.nan, 1.5, -0.1, 255.0, np.inf])
def test_floats_that_are_no_grey_levels_are_refused(wrong, tmp_path):
    path = tmp_path / "levels.tiff"
    Image.fromarray(np.array([[0.0, wrong]], dtype=np.float32)).save(path)
    with pytest.raises(FileFormatError, match="from 0 to 1"):
        read_image(path)
    with pytest.raises(FileFormatError, match="from 0 to 1"):
        read_mask(path)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_as_viewers_turn_them(orientation, tmp_path):
    grey = np.zeros((16, 24), dtype=np.uint8)
    grey[:8, :8] = 255
    image = Image.fromarray(grey)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "photo.png"
    image.save(path, exif=exif)
    stored = read_mask(path)
    assert stored.shape == ((16, 24) if orientation < 5 else (24, 16))
    corner = {
        1: (0, 0),
        2: (0, 1),
        3: (1, 1),
        4: (1, 0),
        5: (0, 0),
        6: (0, 1),
        7: (1, 1),
        8: (1, 0),
    }
    down, right = corner[orientation]
    assert stored[-1 if down else 0, -1 if right else 0]
    assert stored.sum() == 64


def test_what_is_no_image_is_said_in_words(tmp_path):
    path = tmp_path / "words.png"
    path.write_text("hello")
    with pytest.raises(FileFormatError, match=r"known format \(PNG, JPEG"):
        read_image(path)
