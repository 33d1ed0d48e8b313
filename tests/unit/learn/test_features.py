"""Features of pixels: what is known of ramps, mirrored images and lines."""

import numpy as np
import pytest

from planaris.learn import GridCRF, pair_features, pixel_features, texture_features
from planaris.learn.features import DIRECTIONS, PLACES


@pytest.mark.parametrize("features", [pixel_features, pair_features, texture_features])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (5, 6, 3)])
def test_features_of_any_image_are_finite(features, shape, rng):
    for image in (np.zeros(shape), np.ones(shape), rng.normal(size=shape)):
        found = features(image)
        assert found.shape[:2] == shape[:2]
        assert np.isfinite(found).all()


@pytest.mark.parametrize("turn", range(4))
def test_a_ramp_has_gradients_of_one_direction(turn):
    # the gradient points right, down, left, up: directions 0, 2, 4, 6 of eight
    ramp = np.add.outer(np.zeros(40), np.arange(40.0))
    ramp = [ramp, ramp.T, -ramp, -ramp.T][turn]
    found = texture_features(ramp)
    begin = 1 + PLACES**2 + 8
    shares = found[20, 20, begin + DIRECTIONS : begin + 2 * DIRECTIONS]
    assert shares.argmax() == 2 * turn
    opposite = (2 * turn + DIRECTIONS // 2) % DIRECTIONS
    assert shares[opposite] < 1e-12
    assert shares[2 * turn] == pytest.approx(1.0, abs=0.05)


def test_a_mirrored_image_has_mirrored_features(rng):
    image = rng.normal(size=(12, 17))
    here, there = texture_features(image), texture_features(image[:, ::-1])[:, ::-1]
    levels = slice(1 + PLACES**2, 1 + PLACES**2 + 8)
    np.testing.assert_allclose(here[..., levels], there[..., levels], atol=1e-12)
    bumps = here[..., 1 : 1 + PLACES**2].reshape(12, 17, PLACES, PLACES)
    other = there[..., 1 : 1 + PLACES**2].reshape(12, 17, PLACES, PLACES)
    np.testing.assert_allclose(bumps, other[:, :, ::-1], atol=1e-12)


def test_texture_tells_what_grey_levels_cannot(rng):
    """Stripes along rows against stripes along columns, of equal grey levels."""
    masks = [np.arange(32)[:, None] + np.arange(32) > t for t in (20, 28, 36, 44)]
    stripes = np.indices((32, 32)) // 2 % 2
    images = [np.where(mask, *stripes) + rng.normal(0, 0.1, mask.shape) for mask in masks]
    scores = [
        GridCRF(node_features=features).fit(images[:3], masks[:3]).score(images[3:], masks[3:])
        for features in (None, texture_features)
    ]
    assert scores[1] > max(scores[0], 0.9)
