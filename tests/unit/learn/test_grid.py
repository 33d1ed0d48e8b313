"""Grid CRFs with fields: the logistic pieces against scikit-learn and by their definition."""

from __future__ import annotations

import numpy as np
import pytest

from planaris.errors import ModelError
from planaris.generate import shape_mask
from planaris.learn import fit_grid_crf
from planaris.learn.logistic import fit_logistic


def some_images(rng, count=4):
    masks = [shape_mask((int(rng.integers(9, 20)), 15), rng) for _ in range(count)]
    return [m + 0.4 * rng.standard_normal(m.shape) for m in masks], masks


def test_logistic_regression_agrees_with_scikit_learn(rng):
    from sklearn.linear_model import LogisticRegression

    x = rng.standard_normal((300, 4))
    s = np.where(x @ [1.0, -2.0, 0.5, 0.0] + rng.logistic(size=300) > 0, 1, -1).astype(np.int8)
    ours = fit_logistic([(x[:100], s[:100]), (x[100:], s[100:])], regularization=0.8)
    # scikit-learn's exponent is ⟨x, w⟩ for one class against zero: its weights are 2 w, and
    # ½ ‖2 w‖² = 4 · ½ ‖w‖².
    theirs = LogisticRegression(C=4 / 0.8, fit_intercept=False, tol=1e-10).fit(x, s)
    np.testing.assert_allclose(2 * ours, theirs.coef_[0], rtol=1e-5)


def test_separable_data_have_finite_weights():
    x = np.array([[1.0], [2.0], [-1.0]])
    weights = fit_logistic([(x, np.array([1, 1, -1], dtype=np.int8))], regularization=1e-3)
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("method", ["piecewise", "pseudo-likelihood"])
def test_weights_are_stationary_points_of_what_they_claim_to_maximise(method, rng):
    images, masks = some_images(rng)
    crf = fit_grid_crf(images, masks, method=method, regularization=2.0)
    spins = [np.where(m, 1.0, -1.0) for m in masks]

    def loss(weights):
        """Negative log likelihood of the pieces, from P(s_v | …) ∝ exp(s_v · total field)."""
        nodes, edges = np.split(weights, [len(crf.node_weights)])
        trial = type(crf)(nodes, edges, crf.node_features, crf.edge_features, method)
        total = weights @ weights  # ½ · regularization · ‖w‖²
        for image, s in zip(images, spins, strict=True):
            beta = trial.potentials(image)
            field = beta.nodes.copy()
            agree = [beta.right * s[:, :-1] * s[:, 1:], beta.down * s[:-1] * s[1:]]
            if method == "piecewise":
                total += sum(np.log1p(np.exp(-2 * a)).sum() for a in agree)
            else:
                field[:, :-1] += beta.right * s[:, 1:]
                field[:, 1:] += beta.right * s[:, :-1]
                field[:-1] += beta.down * s[1:]
                field[1:] += beta.down * s[:-1]
            total += np.log1p(np.exp(-2 * field * s)).sum()
        return total

    best = np.concatenate([crf.node_weights, crf.edge_weights])
    at_best = loss(best)
    for _ in range(10):
        step = 1e-2 * rng.standard_normal(len(best))
        assert loss(best + step) > at_best
        slope = (loss(best + 1e-3 * step) - loss(best - 1e-3 * step)) / 2e-3
        assert abs(slope) < 1e-3 * (loss(best + step) - at_best) + 1e-4


def test_potentials_are_a_model(rng):
    images, masks = some_images(rng)
    crf = fit_grid_crf(images, masks)
    beta = crf.potentials(images[0])
    model = crf.model(images[0])
    np.testing.assert_array_equal(model.couplings, beta.edges)
    np.testing.assert_array_equal(model.fields, beta.nodes.ravel())
    unseen = crf.model(rng.random((1, 7)))
    assert unseen.num_edges == 6


def test_constant_masks_and_images_are_learned(rng):
    crf = fit_grid_crf([np.zeros((6, 6)), np.ones((6, 5))], [np.ones((6, 6)), np.ones((6, 5))])
    assert np.all(crf.potentials(np.zeros((6, 6))).nodes > 0)
    assert np.all(crf.potentials(np.zeros((6, 6))).edges > 0)


@pytest.mark.parametrize(
    ("images", "masks", "options", "said"),
    [
        ([np.zeros((3, 3))], [np.zeros((3, 4))], {}, "masks\\[0\\]"),
        ([np.full((3, 3), np.nan)], [np.zeros((3, 3))], {}, "finite"),
        ([np.zeros((3, 3))], [np.full((3, 3), 7)], {}, "0 and 1"),
        ([np.zeros((3, 3))], [], {}, "as many"),
        ([np.zeros(3)], [np.zeros(3)], {}, "shape"),
        ([np.zeros((3, 3))], [np.zeros((3, 3))], {"method": "x"}, "method"),
        ([np.zeros((3, 3))], [np.zeros((3, 3))], {"regularization": 0}, "regularization"),
    ],
)
def test_what_is_refused(images, masks, options, said):
    with pytest.raises(ModelError, match=said):
        fit_grid_crf(images, masks, **options)
