from __future__ import annotations

import numpy as np
import pytest

from planaris.errors import ModelError
from planaris.generate import noisy_mask, shape_mask
from planaris.learn import PlanarCRF, segment_image
from planaris.learn.segmentation.images import read_strokes


def scene(rng, shape=(30, 34)):
    """A two-coloured image with its mask and a stroke of each kind."""
    mask = np.zeros(shape, dtype=bool)
    mask[8:22, 9:25] = True
    image = np.where(mask[:, :, None], [0.8, 0.6, 0.2], [0.2, 0.3, 0.6])
    image = np.clip(image + 0.05 * rng.standard_normal(image.shape), 0, 1)
    strokes = np.zeros((*shape, 3))
    strokes[14:16, 12:20] = [1, 1, 1]
    strokes[2:4, 3:30] = [1, 0, 0]
    return image, mask, strokes


def test_strokes_lead_to_the_mask_with_proof(rng):
    image, mask, strokes = scene(rng)
    found = segment_image(image, strokes)
    np.testing.assert_array_equal(found.mask, mask)
    assert found.exact
    assert found.method == "graph-cut"
    assert np.all(found.lower <= found.upper)
    assert np.all(found.uncertainty[14:16, 12:20] == 0)


def test_without_strokes_the_sign_is_that_of_the_border(rng):
    image, mask, _ = scene(rng)
    for picture in (image, 1.0 - image):
        found = segment_image(picture)
        assert (found.mask == mask).mean() > 0.99
        assert found.exact
        assert found.uncertainty.mean() < 0.2


def test_a_trained_crf_segments(rng):
    masks = [shape_mask((25, 25), rng, split_corners=True) for _ in range(3)]
    images = [noisy_mask(m, 2.0, rng) for m in masks]
    crf = PlanarCRF("margin", peg="corners").fit(images[:2], masks[:2])
    found = segment_image(images[2], crf=crf)
    wrong = np.mean(found.mask != masks[2])
    assert min(wrong, 1 - wrong) < 0.05
    np.testing.assert_array_equal(found.lower, found.upper)
    assert crf.num_samples == 100  # not changed


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (4, 4)])
def test_constant_and_thin_images(shape):
    found = segment_image(np.full(shape, 0.3))
    assert found.mask.shape == shape
    assert not found.mask.any()
    assert np.all((found.uncertainty >= 0) & (found.uncertainty <= 1))


def test_what_is_refused(rng):
    image, _, strokes = scene(rng)
    with pytest.raises(ModelError, match="both kinds"):
        segment_image(image, np.zeros_like(strokes))
    with pytest.raises(ModelError, match="size"):
        segment_image(image, strokes[:-1])
    with pytest.raises(ModelError, match="together"):
        segment_image(image, strokes, crf=PlanarCRF())
    with pytest.raises(ModelError, match="pixels"):
        segment_image(np.zeros((0, 3)))
    with pytest.raises(ModelError, match="num_samples"):
        segment_image(image, num_samples=0)
    with pytest.raises(ModelError, match="scribbles"):
        read_strokes(np.zeros((2, 2, 4)))


def test_images_of_bytes_are_as_good(rng):
    image, mask, strokes = scene(rng)
    as_bytes = np.rint(255 * image).astype(np.uint8)
    found = segment_image(as_bytes, (255 * strokes).astype(np.uint8), num_samples=4)
    wanted = segment_image(as_bytes / 255, strokes, num_samples=4)
    np.testing.assert_array_equal(found.mask, mask)
    np.testing.assert_array_equal(found.uncertainty, wanted.uncertainty)
    with pytest.raises(ModelError, match="strokes of both kinds"):  # too dark to count
        segment_image(as_bytes, (50 * strokes).astype(np.uint8))


def test_strokes_on_an_image_of_other_values_are_refused(rng):
    image, _, strokes = scene(rng)
    with pytest.raises(ModelError, match="from 0 to 1 or be of bytes"):
        segment_image(255.0 * image, strokes)


@pytest.mark.parametrize("kind", ["none", "scribbles", "box"])
def test_seeds_are_checked_and_may_be_long(kind):
    image = np.zeros((6, 6))
    image[2:4, 2:4] = 1.0
    strokes = np.zeros((6, 6, 3))
    strokes[2, 2], strokes[0, 0] = (0, 1, 0), (1, 0, 0)
    given = {"none": {}, "scribbles": {"scribbles": strokes}, "box": {"box": (1, 1, 5, 5)}}[kind]
    with pytest.raises(ModelError, match="`seed` must be an integer that is not negative"):
        segment_image(image, **given, seed=-1)
    assert segment_image(image, **given, seed=2**70).mask.shape == (6, 6)


@pytest.mark.parametrize("box", [(1, 1, 4), (1, 1, 4, 4, 5), 3, (1.5, 1, 4, 4), "1144", None])
def test_boxes_are_four_integers(box):
    image = np.random.default_rng(0).random((6, 7, 3))
    if box is None:
        found = segment_image(image, box=[1, 1, np.int64(5), 5])
        assert found.mask.shape == (6, 7)
        return
    with pytest.raises(ModelError, match="`box` must"):
        segment_image(image, box=box)
