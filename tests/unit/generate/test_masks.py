from __future__ import annotations

import numpy as np
import pytest

from planaris.errors import ModelError
from planaris.generate import noisy_mask, pink_noise, shape_mask
from planaris.generate.masks import SHAPES


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes_have_two_sides_and_are_seeded(kind):
    for seed in range(5):
        mask = shape_mask((40, 30), np.random.default_rng(seed), kind=kind)
        again = shape_mask((40, 30), np.random.default_rng(seed), kind=kind)
        np.testing.assert_array_equal(mask, again)
        assert mask.dtype == bool
        assert 0.02 < mask.mean() < 0.98


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 2), (1, 40), (30, 50)])
def test_opposite_corners_are_split(kind, shape):
    for seed in range(5):
        mask = shape_mask(shape, np.random.default_rng(seed), kind=kind, split_corners=True)
        assert mask.shape == shape
        assert not mask[0, 0]
        assert mask[-1, -1]


def test_pink_noise_has_the_covariance_of_its_kernel(rng):
    noise = pink_noise((600, 600), rng)
    # White noise of variance 1/12 under a Gaussian: autocorrelation exp(-r²/4), variance / 4π.
    assert noise.var() == pytest.approx(1 / 12 / (4 * np.pi), rel=0.03)
    beside = np.mean(noise[:, :-1] * noise[:, 1:]) / noise.var()
    assert beside == pytest.approx(np.exp(-1 / 4), abs=0.02)


def test_signal_and_noise_add_up(rng):
    mask = shape_mask((50, 50), rng)
    clean = noisy_mask(mask, 0.0, rng)
    np.testing.assert_array_equal(clean, mask)
    noisy = noisy_mask(mask, 4.0, rng)
    assert (noisy - clean).std() == pytest.approx(4 * 0.0814, rel=0.15)


def test_what_is_refused(rng):
    with pytest.raises(ModelError, match="kind"):
        shape_mask((5, 5), rng, kind="horse")
    with pytest.raises(ModelError, match="shape"):
        shape_mask((0, 5), rng)
