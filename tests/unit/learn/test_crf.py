"""PlanarCRF: gradients, planted weights, degenerate data, files, scikit-learn's rules."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
import zipfile
from functools import partial

import joblib
import numpy as np
import pytest

import planaris as pl
from planaris.errors import FileFormatError, ModelError, NotPlanarError
from planaris.generate import noisy_mask, shape_mask, square_lattice, triangular_lattice
from planaris.learn import (
    NotFittedError,
    PlanarCRF,
    graph_instance,
    group_features,
    image_instance,
)
from planaris.learn.risks import Example, Risk, likelihood, margin
from planaris.reference import enumerate_states


def data(rng, count=3, noise=2.0, split=True):
    shapes = [(int(rng.integers(8, 14)), int(rng.integers(8, 14))) for _ in range(count)]
    masks = [shape_mask(shape, rng, split_corners=split) for shape in shapes]
    return [noisy_mask(mask, noise, rng) for mask in masks], masks


def example_of(instance, labels):
    spins = np.where(np.asarray(labels).ravel(), 1, -1).astype(np.int8)
    if instance.has_fields:
        spins = np.append(spins, np.int8(1))
    v = np.ones(instance.num_edges)
    return Example(instance.graph(), instance.all_features(), spins, v)


# -- objectives --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"peg": "corners"}, {"fields": "border"}])
@pytest.mark.parametrize("loss", [likelihood, margin])
def test_gradients_agree_with_central_differences(loss, options, rng):
    images, masks = data(rng)
    instances = [image_instance(x, groups="direction", **options) for x in images]
    risk = Risk(loss, [example_of(i, m) for i, m in zip(instances, masks, strict=True)])
    width = instances[0].all_features().shape[1]
    weights = rng.standard_normal(width)
    plane = risk(weights)
    for k in range(width):
        step = np.zeros(width)
        step[k] = 1e-5
        up, down = (risk(weights + s).at(weights + s) for s in (step, -step))
        assert (up - down) / 2e-5 == pytest.approx(plane.slope[k], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("options", [{}, {"peg": "corners"}, {"fields": "border"}])
def test_likelihood_is_minus_log_probability(options, rng):
    image, labels = rng.random((3, 3)), np.array([[0, 0, 0], [0, 1, 1], [0, 1, 1]])
    instance = image_instance(image, **options)
    example = example_of(instance, labels)
    weights = rng.standard_normal(example.features.shape[1])
    graph = example.graph
    states = np.array(np.meshgrid(*[[-1, 1]] * graph.num_spins)).reshape(graph.num_spins, -1).T
    states = states[[graph.keeps_ties(s) for s in states]]
    costs = example.features @ weights
    energies = np.array([costs[graph.cut(s)].sum() for s in states])
    # A state and its flip are the same labelling (the bias spin flips along).
    log_p = np.log(2) - costs[example.cut].sum() - np.logaddexp.reduce(-energies)
    assert likelihood([example], weights, None)[0].at(weights) == pytest.approx(-log_p, abs=1e-10)
    distance = np.array([(graph.cut(s) != example.cut).sum() for s in states])
    loss = costs[example.cut].sum() - np.min(energies - distance)
    assert margin([example], weights)[0].at(weights) == pytest.approx(loss, abs=1e-10)


def test_margin_is_never_negative_and_planes_lie_below_it(rng):
    images, masks = data(rng, noise=6.0)
    examples = [
        example_of(image_instance(x, peg="corners"), m) for x, m in zip(images, masks, strict=True)
    ]
    risk = Risk(margin, examples)
    trials = 3 * rng.standard_normal((12, 2))
    planes = [risk(w) for w in trials]
    for w in trials:
        value = risk(w).at(w)
        assert value >= -1e-9
        assert all(plane.at(w) <= value + 1e-9 for plane in planes)


def test_bundle_bounds_hold_at_every_step(rng):
    images, masks = data(rng, noise=5.0)
    crf = PlanarCRF("margin", peg="corners", tol=1e-6).fit(images, masks)
    assert crf.training_.converged
    best = crf.training_.objective
    lowers = [step["lower"] for step in crf.training_.history]
    assert lowers == sorted(lowers)
    assert lowers[0] >= 0
    assert lowers[-1] <= best
    # Nothing near the optimum is better than what its bound allows.
    examples = [
        example_of(image_instance(x, peg="corners"), m) for x, m in zip(images, masks, strict=True)
    ]
    risk = Risk(margin, examples)
    for _ in range(20):
        w = crf.coef_ + 0.3 * rng.standard_normal(2)
        assert risk(w).at(w) + w @ w / 2 >= crf.training_.lower - 1e-9


# -- learning ----------------------------------------------------------------------------------


def test_likelihood_recovers_planted_weights(rng):
    lattice = triangular_lattice(20, 20)
    planted = np.array([0.8, -1.1])
    graphs, labels = [], []
    plan = pl.plan((lattice.num_vertices, lattice.edges))
    for _ in range(12):
        features = np.column_stack(
            [np.ones(len(lattice.edges)), rng.exponential(size=len(lattice.edges))]
        )
        graphs.append((lattice, features))
        labels.append(plan.sample(features @ planted / 2, 1, rng)[0])
    crf = PlanarCRF(regularization=1e-3, tol=1e-6).fit(graphs, labels)
    assert crf.training_.converged
    # Standard errors from the observed information, by differences of the gradient.
    examples = [
        Example(crf._graph(i), i.all_features(), s, np.ones(i.num_edges))
        for i, s in zip(crf._instances(graphs), labels, strict=True)
    ]
    risk = Risk(likelihood, examples)
    step = 1e-4
    information = np.array(
        [
            (risk(crf.coef_ + step * e).slope - risk(crf.coef_ - step * e).slope) / (2 * step)
            for e in np.eye(2)
        ]
    )
    error = crf.coef_ - planted
    assert error @ information @ error < 18.4  # chi-squared, 2 degrees of freedom, p = 1e-4
    assert np.abs(error).max() < 0.2


@pytest.mark.parametrize("loss", ["likelihood", "margin"])
@pytest.mark.parametrize("decision", ["map", "edges", "pixels"])
def test_unseen_shapes_are_predicted(loss, decision, rng):
    images, masks = data(rng, 4, noise=1.5)
    crf = PlanarCRF(loss, peg="corners", decision=decision, num_samples=15)
    crf.fit(images[:2], masks[:2])
    wide = shape_mask((9, 25), rng, split_corners=True)
    found = crf.predict([*images[2:], noisy_mask(wide, 1.5, rng)])
    assert [f.shape for f in found] == [m.shape for m in (*masks[2:], wide)]
    for labels, mask in zip(found, [*masks[2:], wide], strict=True):
        assert labels.dtype == bool
        assert not labels[0, 0]
        assert labels[-1, -1]
        assert (labels == mask).mean() > 0.9


def test_predict_is_a_ground_state(rng):
    images, masks = data(rng)
    crf = PlanarCRF(peg=None).fit(images, masks)
    image = rng.random((4, 3))
    lattice = square_lattice(4, 3)
    model = pl.IsingModel.from_disagreement_costs(lattice.edges, crf.costs([image])[0])
    spins = np.where(crf.predict([image])[0].ravel(), 1, -1)
    assert model.energy(spins) == pytest.approx(enumerate_states(model).energy)


def test_probabilities_agree_with_exact_marginals(rng):
    images, masks = data(rng, noise=4.0)
    crf = PlanarCRF(fields="border", num_samples=1500).fit(images, masks)
    image = rng.random((3, 4))
    instance = image_instance(image, fields="border")
    costs = crf.costs([image])[0]
    m = len(instance.edges)
    fields = np.zeros(12)
    fields[instance.field_spins] = costs[m:] / 2
    model = pl.IsingModel(instance.edges, costs[:m] / 2, fields)
    exact = pl.marginals(model)
    found = crf.predict_proba([image])[0]
    assert found.shape == (3, 4)
    np.testing.assert_allclose(found.ravel(), exact.nodes, atol=5 * 0.5 / 1500**0.5)
    boundary = crf.predict_boundary([image])[0]
    np.testing.assert_allclose(boundary[:m], 1 - np.asarray(exact.edges), atol=1e-9)


def test_fields_tell_the_sign(rng):
    masks = [shape_mask((10, 11), rng, split_corners=True) for _ in range(6)]
    images = [noisy_mask(m, 1.0, rng) for m in masks]
    crf = PlanarCRF("margin", fields="border").fit(images[:4], masks[:4])
    assert crf.score(images[4:], masks[4:]) > 0.9
    assert crf.score(images[4:], [~m for m in masks[4:]]) < 0.1
    free = PlanarCRF("margin").fit(images[:4], masks[:4])
    flipped = [~m for m in masks[4:]]
    assert free.score(images[4:], masks[4:]) == free.score(images[4:], flipped)


def test_groups_and_ties_of_graphs(rng):
    lattice = square_lattice(6, 6)
    values = rng.random(36)
    change = np.abs(values[lattice.edges[:, 0]] - values[lattice.edges[:, 1]])
    features = group_features(np.column_stack([np.ones(60), change]), np.arange(60) >= 30, 2)
    labels = np.arange(36) % 6 > 2
    given = graph_instance(lattice, features, ties=[(0, 5)], margin=np.linspace(0, 1, 60))
    crf = PlanarCRF("margin", regularization=0.1).fit([given], [labels])
    assert crf.coef_.shape == (4,)
    found = crf.predict([given])[0]
    assert found[0] != found[5]
    directed = PlanarCRF(groups="direction").fit([values.reshape(6, 6)], [labels.reshape(6, 6)])
    assert directed.coef_.shape == (4,)


def test_workers_change_nothing(rng):
    images, masks = data(rng, 4)
    alone = PlanarCRF("margin", peg="corners").fit(images, masks)
    together = PlanarCRF("margin", peg="corners", n_jobs=2).fit(images, masks)
    np.testing.assert_array_equal(alone.coef_, together.coef_)
    smooth = [PlanarCRF(n_jobs=n).fit(images, masks).coef_ for n in (1, 2)]
    np.testing.assert_allclose(*smooth, rtol=1e-9)
    for a, b in zip(alone.predict(images), together.predict(images), strict=True):
        np.testing.assert_array_equal(a, b)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert PlanarCRF().fit(images, masks).score(images, masks) > 0.5


def test_one_graph_per_shape(rng):
    crf = PlanarCRF().fit([rng.random((5, 6))] * 3, [np.arange(30).reshape(5, 6) > 12] * 3)
    crf.predict([rng.random((5, 6)), rng.random((6, 5))])
    assert len(crf._graphs) == 2
    assert len(pickle.loads(pickle.dumps(crf)).predict([rng.random((5, 6))])) == 1


# -- degenerate data ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["likelihood", "margin"])
@pytest.mark.parametrize("options", [{}, {"fields": "border"}])
def test_constant_images_and_masks(loss, options):
    images = [np.zeros((4, 5)), np.full((3, 3), 7.0)]
    crf = PlanarCRF(loss, **options).fit(images, [np.zeros((4, 5), int), np.zeros((3, 3), int)])
    assert crf.training_.converged
    assert crf.classes_.tolist() == [0, 1]
    assert all(not labels.any() for labels in crf.predict(images))
    assert crf.score(images, [np.zeros((4, 5)), np.zeros((3, 3))]) == 1.0


@pytest.mark.parametrize("loss", ["likelihood", "margin"])
@pytest.mark.parametrize("decision", ["map", "edges", "pixels"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (1, 9), (9, 1), (2, 2)])
@pytest.mark.parametrize("options", [{}, {"peg": "corners"}, {"fields": "border"}])
def test_small_images(loss, decision, shape, options, rng):
    image = rng.random(shape)
    mask = np.arange(image.size).reshape(shape) >= (image.size + 1) // 2
    crf = PlanarCRF(loss, decision=decision, num_samples=5, **options).fit([image], [mask])
    found = crf.predict([image, rng.random((3, 4))])
    assert found[0].shape == shape
    if "peg" in options and image.size > 1:
        assert found[0].flat[0] != found[0].flat[-1]
    assert crf.predict_proba([image])[0].shape == shape
    assert 0 <= crf.score([image], [mask]) <= 1


def test_an_image_without_pixels(rng):
    crf = PlanarCRF().fit([np.zeros((0, 5)), rng.random((3, 3))], [np.zeros((0, 5)), np.eye(3)])
    assert crf.predict([np.zeros((0, 5))])[0].shape == (0, 5)
    assert crf.predict([]) == []


def test_constant_masks_contradict_a_peg():
    with pytest.raises(ModelError, match=r"y\[1\].*corners"):
        PlanarCRF(peg="corners").fit([np.zeros((2, 2))] * 2, [[[0, 1], [0, 1]], np.zeros((2, 2))])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([[-1, 1]], [-1, 1]),
        ([[False, True]], [False, True]),
        ([[0, 255]], [0, 255]),
        ([[-1, -1]], [-1, 1]),
        ([[1, 1]], [0, 1]),
        ([[5, 5]], [0, 5]),
    ],
)
def test_labels_come_back_as_they_were_given(labels, classes):
    crf = PlanarCRF().fit([[[0.0, 3.0]]], [labels])
    assert crf.classes_.tolist() == classes
    found = crf.predict([[[0.0, 3.0]]])[0]
    assert np.isin(found, classes).all()


def test_extreme_features(rng):
    mask = shape_mask((8, 8), rng, split_corners=True)
    for scale in (1e-12, 1e6):
        crf = PlanarCRF("margin", peg="corners").fit([scale * noisy_mask(mask, 1.0, rng)], [mask])
        assert np.isfinite(crf.coef_).all()


@pytest.mark.parametrize(
    ("options", "x", "y", "said"),
    [
        ({"loss": "hinge"}, np.zeros((2, 2)), np.eye(2), "loss"),
        ({"decision": "x"}, np.zeros((2, 2)), np.eye(2), "decision"),
        ({"loss": "margin", "optimizer": "lbfgs"}, np.zeros((2, 2)), np.eye(2), "smooth"),
        ({"regularization": 0}, np.zeros((2, 2)), np.eye(2), "regularization"),
        ({"features": ("hue",)}, np.zeros((2, 2)), np.eye(2), "hue"),
        ({"peg": "centre"}, np.zeros((2, 2)), np.eye(2), "peg"),
        ({"peg": "corners", "fields": "border"}, np.zeros((2, 2)), np.eye(2), "planar"),
        ({"margin": -1.0}, np.zeros((2, 2)), np.eye(2), "margin"),
        ({}, np.zeros((2, 2)), np.eye(3), "shape"),
        ({}, np.zeros((2, 2)), [[0, 1], [2, 3]], "two labels"),
        ({}, np.zeros(4), np.eye(2), r"X\[0\]"),
        ({}, np.full((2, 2), np.inf), np.eye(2), "finite"),
        ({}, ((3, [(0, 1)]), [[1.0], [2.0]]), [0, 1, 0], "one row per edge"),
    ],
)
def test_what_is_refused(options, x, y, said):
    with pytest.raises(ModelError, match=said):
        PlanarCRF(**options).fit([x], [y])


def test_more_refusals(rng):
    with pytest.raises(ModelError, match="as many"):
        PlanarCRF().fit([np.zeros((2, 2))], [])
    with pytest.raises(NotFittedError, match="fit"):
        PlanarCRF().predict([np.zeros((2, 2))])
    with pytest.raises(ModelError, match="same features"):
        PlanarCRF().fit([rng.random((2, 2)), rng.random((2, 2, 3))], [np.eye(2)] * 2)
    crf = PlanarCRF().fit([rng.random((2, 2))], [np.eye(2)])
    with pytest.raises(ModelError, match=r"X\[0\].*features"):
        crf.predict([rng.random((2, 2, 3))])
    k5 = (5, [(u, v) for u in range(5) for v in range(u)])
    with pytest.raises(NotPlanarError):
        PlanarCRF().fit([(k5, np.ones((10, 1)))], [[0, 1, 0, 1, 0]])


# -- scikit-learn, files -----------------------------------------------------------------------


def test_scikit_learn_can_clone_and_search(rng):
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    images, masks = data(rng, 4)
    crf = PlanarCRF("margin", peg="corners", features=("bias", "gradient"))
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    assert not hasattr(clone(crf.fit(images, masks)), "coef_")
    assert crf.set_params(regularization=3.0).regularization == 3.0
    with pytest.raises(ModelError, match="depth"):
        crf.set_params(depth=2)
    assert "regularization=3.0" in repr(crf)
    search = GridSearchCV(crf, {"regularization": [0.1, 10.0]}, cv=2)
    search.fit(images, masks)
    assert search.best_score_ > 0.8


def test_files_hold_everything(tmp_path, rng):
    images, masks = data(rng)
    crf = PlanarCRF("margin", peg="corners", features=("bias", "smooth")).fit(images, masks)
    path = tmp_path / "crf.npz"
    crf.save(path)
    again = PlanarCRF.load(path)
    assert again.get_params() == crf.get_params()
    np.testing.assert_array_equal(again.coef_, crf.coef_)
    assert again.training_.gap == crf.training_.gap
    assert len(again.training_.history) == len(crf.training_.history)
    for a, b in zip(again.predict(images), crf.predict(images), strict=True):
        np.testing.assert_array_equal(a, b)
    assert [p.name for p in tmp_path.iterdir()] == ["crf.npz"]


def test_files_that_are_refused(tmp_path, rng):
    with pytest.raises(ModelError, match="fit"):
        PlanarCRF().save(tmp_path / "x.npz")
    custom = PlanarCRF(features=(lambda image, edges: np.ones(len(edges)),))
    custom.fit([rng.random((2, 2))], [np.eye(2)])
    with pytest.raises(ModelError, match="saved"):
        custom.save(tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "text.npz").write_text("no zip")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", format=np.array([print], dtype=object))
    for name in ("text", "other", "pickled"):
        with pytest.raises(FileFormatError, match=name):
            PlanarCRF.load(tmp_path / f"{name}.npz")
    with pytest.raises(FileNotFoundError):
        PlanarCRF.load(tmp_path / "missing.npz")


def test_neither_scikit_learn_nor_torch_is_imported():
    code = (
        "import sys, planaris, planaris.learn as l, numpy as np;"
        "l.PlanarCRF().fit([np.zeros((2, 2))], [np.eye(2)]);"
        "sys.exit(any(m in sys.modules for m in ('sklearn', 'torch', 'PIL', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_colour_features(rng):
    mask = shape_mask((9, 9), rng, split_corners=True)
    image = mask[:, :, None] * [1.0, 0.2, -0.5] + 0.05 * rng.standard_normal((9, 9, 3))
    names = ("bias", "difference", "distance", "smooth", "gradient", "contrast")
    crf = PlanarCRF("margin", peg="corners", features=names).fit([image], [mask])
    assert crf.coef_.shape == (1 + 3 + 1 + 3 + 3 + 1,)
    assert crf.score([image], [mask]) == 1.0


def test_history_can_be_drawn(rng):
    from planaris.report.pictures import draw_trace, new_figure

    images, masks = data(rng)
    crf = PlanarCRF("margin", peg="corners").fit(images, masks)
    _, axes = new_figure()
    draw_trace(axes[0, 0], crf.training_.history)
    assert len(axes[0, 0].lines) == 2


def test_progress_is_told(rng):
    told: list[float] = []
    images, masks = data(rng)
    partial(PlanarCRF, progress=told.append)("margin").fit(images, masks)
    assert told[-1] == 1.0


def test_an_image_where_a_list_of_images_is_wanted_is_told_so():
    with pytest.raises(ModelError, match="list of images"):
        PlanarCRF().fit(np.zeros((4, 5)), np.zeros((4, 5)))


def test_parameters_that_do_not_compare_are_printed():
    assert "features=array" in repr(PlanarCRF(features=np.array(["bias", "smooth"])))


def test_a_file_that_is_no_crf_is_refused_without_advice_to_unpickle(tmp_path):
    path = tmp_path / "other.npz"
    path.write_text("MARKOV")
    with pytest.raises(FileFormatError, match=r"something else$"):
        PlanarCRF.load(path)


def test_headers_of_other_writers_are_refused_without_a_warning(tmp_path):
    path = tmp_path / "crf.npz"
    PlanarCRF(max_iter=1).fit([np.zeros((2, 2))], [np.eye(2)]).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    written = members["coef.npy"]
    old = written.replace(b",), }  ", b"L,), } ")  # as Python 2 wrote lengths
    assert old != written
    assert len(old) == len(written)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"coef.npy": old}).items():
            archive.writestr(name, content)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(FileFormatError, match="something else"):
            PlanarCRF.load(path)
    assert not heard


@pytest.mark.parametrize(
    "wrong",
    [
        {"field_spins": [3]},
        {"field_spins": [-1]},
        {"field_spins": [0.7]},
        {"field_spins": ["a"]},
        {"field_spins": [0], "field_features": [[np.nan]]},
        {"ties": [(0, 1), (1, 2)], "opposite": [True, False, True]},
        {"margin": [1.0, 2.0, 3.0]},
    ],
)
def test_arguments_of_an_instance_are_checked(wrong) -> None:
    with pytest.raises(ModelError, match=list(wrong)[-1]):
        graph_instance((3, [(0, 1)]), [[1.0]], **wrong)


@pytest.mark.parametrize("count", [-1, 2.5])
def test_a_graph_has_a_whole_number_of_spins(count) -> None:
    with pytest.raises(ModelError, match="num_spins"):
        graph_instance((count, []), np.zeros((0, 1)))


def test_an_empty_list_of_fields_is_not_taken_for_none() -> None:
    none = graph_instance((3, [(0, 1)]), [[1.0]])
    empty = graph_instance((3, [(0, 1)]), [[1.0]], field_spins=[], field_features=np.zeros((0, 0)))
    labels = np.array([0, 1, 1])
    both = PlanarCRF().fit([none, empty], [labels, labels])
    assert [len(state) for state in both.predict([none, empty])] == [3, 3]


def test_an_image_of_one_pixel_has_no_features_of_either_direction() -> None:
    crf = PlanarCRF(groups="direction")
    images = [np.zeros((1, 1)), np.arange(4.0).reshape(2, 2)]
    masks = [np.zeros((1, 1), dtype=int), np.array([[0, 1], [0, 1]])]
    assert crf.fit(images, masks).coef_.shape == (4,)


def test_labels_and_parameters_of_no_order_are_refused() -> None:
    instance = graph_instance((3, [(0, 1)]), [[1.0]])
    with pytest.raises(ModelError, match="compared"):
        PlanarCRF().fit([instance], [[0, None, 1]])
    with pytest.raises(ModelError, match="regularization"):
        PlanarCRF(regularization="x").fit([instance], [[0, 1, 1]])


@pytest.mark.parametrize("loss", ["likelihood", "margin"])
@pytest.mark.parametrize("shape", ["finite", "rows", "axes"])
def test_what_functions_return_as_features_is_checked(loss, shape) -> None:
    def feature(image, edges):
        if shape == "finite":
            return np.full(len(edges), np.nan)
        return np.ones(3 if shape == "rows" else (len(edges), 2, 2))

    with pytest.raises(ModelError, match="`features` must return finite numbers, one row"):
        PlanarCRF(loss, features=(feature,)).fit([np.zeros((3, 3))], [np.eye(3, dtype=int)])
