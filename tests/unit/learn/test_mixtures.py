"""Mixtures of colours against scikit-learn and by their definition."""

from __future__ import annotations

import numpy as np
import pytest

from planaris.learn.segmentation.boxed import box_mask, cut_in_box
from planaris.learn.segmentation.mixtures import LEAST_SPREAD, fit_mixture


def test_densities_agree_with_scikit_learn(rng):
    from sklearn.mixture import GaussianMixture

    colours = np.concatenate([0.2 + 0.05 * rng.random((200, 3)), 0.7 + 0.1 * rng.random((300, 3))])
    ours = fit_mixture(colours, 2, rng, rounds=50)
    theirs = GaussianMixture(2, reg_covar=LEAST_SPREAD**2, random_state=0, tol=1e-9).fit(colours)
    np.testing.assert_allclose(ours.log_density(colours), theirs.score_samples(colours), atol=1e-3)


@pytest.mark.parametrize("colours", [np.zeros((1, 3)), np.ones((5, 1)), np.zeros((2, 2))])
def test_few_or_equal_colours_have_a_density(colours, rng):
    found = fit_mixture(colours, 5, rng)
    assert np.isfinite(found.log_density(colours)).all()
    assert found.weights.sum() == pytest.approx(1.0)


def test_the_mask_is_inside_the_box_and_a_minimum_cut(rng):
    image = np.zeros((12, 14, 3))
    image[4:8, 5:10] = [1.0, 0.5, 0.0]
    image += 0.02 * rng.standard_normal(image.shape)
    box = (2, 2, 12, 11)
    found = cut_in_box(image, box)
    mask = (found.state.spins > 0).reshape(12, 14)
    assert found.state.exact
    assert not mask[~box_mask(box, image.shape)].any()
    assert mask[4:8, 5:10].all()
    assert mask.sum() == 20
    share = found.steadiness()
    assert share.min() >= 0
    assert share.max() <= 1
