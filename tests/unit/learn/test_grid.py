"""Grid CRFs with fields: the logistic pieces against scikit-learn and by their definition."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import planaris as pl
from planaris.errors import ModelError, NotFittedError
from planaris.generate import shape_mask
from planaris.learn import GridCRF, PlanarCRF
from planaris.learn.logistic import fit_logistic
from planaris.reference.brute_force import all_states


def some_images(rng, count=4):
    masks = [shape_mask((int(rng.integers(9, 20)), 15), rng) for _ in range(count)]
    return [m + 0.4 * rng.standard_normal(m.shape) for m in masks], masks


def test_masks_and_features_of_other_forms_are_refused(rng):
    images, masks = some_images(rng)
    with pytest.raises(ModelError, match=r"`y\[0\]` must .* got 0 to 255; `mask > 127.5` makes"):
        GridCRF().fit(images, [255 * mask.astype(np.uint8) for mask in masks])
    with pytest.raises(ModelError, match=r"or -1 and 1$"):
        GridCRF().fit(images, [mask.astype(str) for mask in masks])
    for name in ("node_features", "edge_features"):
        with pytest.raises(ModelError, match=rf"`{name}` must return .* \(\d+, 15, k\)"):
            GridCRF(**{name: lambda image: image}).fit(images, masks)
    with pytest.raises(ModelError, match=r"pass \[image\] for one"):
        GridCRF().fit(images, masks).predict(images[0])


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
    crf = GridCRF(method, regularization=2.0).fit(images, masks)
    spins = [np.where(m, 1.0, -1.0) for m in masks]

    def loss(weights):
        """Negative log likelihood of the pieces, from P(s_v | …) ∝ exp(s_v · total field)."""
        trial = GridCRF(method)
        trial.node_weights_, trial.edge_weights_ = np.split(weights, [len(crf.node_weights_)])
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

    best = np.concatenate([crf.node_weights_, crf.edge_weights_])
    at_best = loss(best)
    for _ in range(10):
        step = 1e-2 * rng.standard_normal(len(best))
        assert loss(best + step) > at_best
        slope = (loss(best + 1e-3 * step) - loss(best - 1e-3 * step)) / 2e-3
        assert abs(slope) < 1e-3 * (loss(best + step) - at_best) + 1e-4


def test_likelihood_training_reaches_a_maximum_of_the_exact_likelihood(rng):
    masks = [shape_mask((5, 7), rng), shape_mask((6, 6), rng), shape_mask((5, 7), rng)]
    images = [m + 0.6 * rng.standard_normal(m.shape) for m in masks]
    crf = GridCRF("likelihood", regularization=2.0).fit(images, masks)

    def loss(weights):
        trial = GridCRF()
        trial.node_weights_, trial.edge_weights_ = np.split(weights, [len(crf.node_weights_)])
        total = weights @ weights  # ½ · regularization · ‖w‖²
        for image, mask in zip(images, masks, strict=True):
            model = trial.model(image)
            spins = np.where(mask, 1, -1).ravel()
            total += pl.log_partition(model, "treewidth").value - model.log_weight(spins)
        return total

    best = np.concatenate([crf.node_weights_, crf.edge_weights_])
    at_best = loss(best)
    for _ in range(6):
        step = 0.05 * rng.standard_normal(len(best))
        assert loss(best + step) > at_best
    for method in ("piecewise", "pseudo-likelihood"):
        other = GridCRF(method, regularization=2.0).fit(images, masks)
        assert loss(np.concatenate([other.node_weights_, other.edge_weights_])) > at_best


def test_potentials_are_a_model(rng):
    images, masks = some_images(rng)
    crf = GridCRF().fit(images, masks)
    beta = crf.potentials(images[0])
    model = crf.model(images[0])
    np.testing.assert_array_equal(model.couplings, beta.edges)
    np.testing.assert_array_equal(model.fields, beta.nodes.ravel())
    unseen = crf.model(rng.random((1, 7)))
    assert unseen.num_edges == 6


def test_constant_masks_and_images_are_learned():
    crf = GridCRF().fit([np.zeros((6, 6)), np.ones((6, 5))], [np.ones((6, 6)), np.ones((6, 5))])
    assert np.all(crf.potentials(np.zeros((6, 6))).nodes > 0)
    assert np.all(crf.potentials(np.zeros((6, 6))).edges > 0)


@pytest.mark.parametrize(
    ("images", "masks", "options", "said"),
    [
        ([np.zeros((3, 3))], [np.zeros((3, 4))], {}, "y\\[0\\]"),
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
        GridCRF(**options).fit(images, masks)


def test_it_is_an_estimator_of_scikit_learn(rng):
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    masks = [shape_mask((12, 15), rng) for _ in range(6)]
    images = [m + 0.4 * rng.standard_normal(m.shape) for m in masks]
    search = GridSearchCV(GridCRF(), {"regularization": [0.1, 10.0]}, cv=2, error_score="raise")
    search.fit(images, masks)
    assert search.best_params_["regularization"] in (0.1, 10.0)
    crf = clone(search.best_estimator_)
    assert not crf.__sklearn_is_fitted__()
    line = make_pipeline(FunctionTransformer(list), crf).fit(images[:4], masks[:4])
    assert line.score(images[4:], masks[4:]) > 0.7
    copy = pickle.loads(pickle.dumps(line[-1]))
    for mine, its in zip(line[-1].predict(images), copy.predict(images), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_predicted_masks_are_most_probable(rng):
    images, masks = some_images(rng)
    crf = GridCRF().fit(images, masks)
    small = images[0][:3, :4]
    model = crf.model(small)
    if np.all(model.couplings >= 0):
        states = all_states(12)
        best = states[np.argmax(model.log_weight(states))].reshape(3, 4) > 0
        np.testing.assert_array_equal(crf.predict([small])[0], best)


def test_an_unfitted_one_says_so():
    with pytest.raises(NotFittedError, match="fit"):
        GridCRF().predict([np.zeros((3, 3))])


@pytest.mark.parametrize("kind", [GridCRF, PlanarCRF])
def test_images_and_labels_may_be_iterators_and_must_be_as_many(kind):
    masks = [np.arange(6)[:, None] + np.arange(5) > t for t in (3, 5)]
    images = [mask + 0.1 * np.sin(np.arange(5)) for mask in masks]
    crf = kind().fit(iter(images), iter(masks))
    assert crf.score(iter(images), iter(masks)) == crf.score(images, masks)
    for X, y in ((images, masks[:1]), (images[:1], masks)):
        with pytest.raises(ModelError, match="must be as many"):
            crf.score(X, y)
        with pytest.raises(ModelError, match="must be as many"):
            kind().fit(X, y)
    for wrong in (None, "1", np.array([1.0, 2.0]), 0.0, np.nan):
        with pytest.raises(ModelError, match="regularization"):
            kind(regularization=wrong).fit(images, masks)
    empty = kind().fit([np.ones((0, 3))], [np.ones((0, 3), int)])  # without warnings
    assert empty.predict([np.ones((0, 3))])[0].shape == (0, 3)


@pytest.mark.parametrize("name", ["node_features", "edge_features"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused_in_training(name, value) -> None:
    """They made weights that are not numbers, which only a prediction refused."""
    features = {name: lambda image: np.full((*image.shape[:2], 1), value)}
    with pytest.raises(ModelError, match=f"`{name}` must return finite"):
        GridCRF(**features).fit([np.zeros((3, 3))], [np.eye(3, dtype=bool)])
