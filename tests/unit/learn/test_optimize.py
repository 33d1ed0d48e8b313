"""The optimizers against scipy on problems small enough to solve twice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from planaris.learn.optimize import (
    maximise_on_simplex,
    minimise_by_bundle,
    minimise_by_subgradient,
    minimise_smooth,
)
from planaris.learn.risks import Plane


def random_planes(rng, count=30, dimension=4):
    """A maximum of planes, one of them zero."""
    offsets = np.append(rng.random(count) * 10, 0.0)
    slopes = np.concatenate([5 * rng.standard_normal((count, dimension)), np.zeros((1, dimension))])

    def risk(weights):
        k = int(np.argmax(offsets + slopes @ weights))
        return Plane(float(offsets[k]), slopes[k])

    return offsets, slopes, risk


def exact_minimum(offsets, slopes, regularization):
    """Solve the epigraph form by SLSQP: an algorithm of another family."""
    d = slopes.shape[1]
    found = minimize(
        lambda z: regularization * z[:d] @ z[:d] / 2 + z[d],
        np.append(np.zeros(d), offsets.max()),
        jac=lambda z: np.append(regularization * z[:d], 1.0),
        constraints={
            "type": "ineq",
            "fun": lambda z: z[d] - offsets - slopes @ z[:d],
            "jac": lambda z: np.column_stack([-slopes, np.ones(len(offsets))]),
        },
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return float(found.fun)


@pytest.mark.parametrize("regularization", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(5))
def test_bundle_finds_the_minimum_and_its_bound_is_below_it(seed, regularization):
    offsets, slopes, risk = random_planes(np.random.default_rng(seed))
    truth = exact_minimum(offsets, slopes, regularization)
    found = minimise_by_bundle(risk, np.zeros(4), regularization, tol=1e-7)
    assert found.converged
    assert found.objective == pytest.approx(truth, abs=1e-5)
    previous = 0.0
    for step in found.history:
        assert previous <= step["lower"] <= truth + 1e-6
        assert step["objective"] >= truth - 1e-6
        previous = step["lower"]


def test_bundle_forgets_planes_and_still_converges(rng, monkeypatch):
    monkeypatch.setattr("planaris.learn.optimize.MAX_PLANES", 8)
    offsets, slopes, risk = random_planes(rng)
    found = minimise_by_bundle(risk, np.zeros(4), 1.0, tol=1e-5, max_iter=400)
    assert found.converged
    assert found.objective == pytest.approx(exact_minimum(offsets, slopes, 1.0), abs=1e-3)


def test_a_risk_of_zero_is_solved_at_once():
    def zero(weights):
        return Plane(0.0, np.zeros(3))

    for method in (minimise_by_bundle, minimise_smooth):
        found = method(zero, np.zeros(3), 1.0)
        assert (found.objective, found.gap, found.converged) == (0.0, 0.0, True)
        assert len(found.history) == 1


def test_subgradients_get_there_slowly(rng):
    offsets, slopes, risk = random_planes(rng)
    truth = exact_minimum(offsets, slopes, 1.0)
    plain = minimise_by_subgradient(risk, np.zeros(4), 1.0, max_iter=3000)
    bundle = minimise_by_bundle(risk, np.zeros(4), 1.0, max_iter=30)
    assert truth - 1e-9 <= bundle.objective < plain.objective < truth + 0.2 * (1 + truth)
    assert all(step["lower"] <= truth + 1e-9 for step in plain.history)


def test_smooth_minimum_and_its_gap(rng):
    root = rng.standard_normal((5, 5))
    form, target = root @ root.T, rng.standard_normal(5)

    def parabola(w):
        gradient = form @ (w - target)
        value = float((w - target) @ gradient / 2)
        return Plane(value - float(gradient @ w), gradient)

    found = minimise_smooth(parabola, np.zeros(5), 0.5, tol=1e-9)
    exact = np.linalg.solve(form + 0.5 * np.eye(5), form @ target)
    np.testing.assert_allclose(found.weights, exact, atol=1e-4)
    least = parabola(exact).at(exact) + 0.25 * exact @ exact
    assert found.converged
    assert found.lower <= least <= found.objective + 1e-12
    assert all(step["lower"] <= least + 1e-9 for step in found.history)


def test_evaluations_are_limited(rng):
    _, _, risk = random_planes(rng)
    for method in (minimise_by_bundle, minimise_by_subgradient):
        found = method(risk, np.zeros(4), 1.0, tol=0.0, max_iter=3)
        assert len(found.history) == 3
        assert not found.converged


def test_progress_is_told(rng):
    _, _, risk = random_planes(rng)
    told = []
    minimise_by_bundle(risk, np.zeros(4), 1.0, progress=told.append)
    assert told[-1] == 1.0
    assert all(0 <= fraction <= 1 for fraction in told)


@pytest.mark.parametrize("seed", range(20))
def test_simplex_program_is_optimal(seed):
    rng = np.random.default_rng(seed)
    count, d = int(rng.integers(1, 40)), int(rng.integers(1, 6))
    linear = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4)
    slopes = rng.standard_normal((count, d)).round(int(rng.integers(0, 3)))  # rank and ties
    alpha = maximise_on_simplex(linear, slopes, 0.7)
    assert np.all(alpha >= 0)
    assert alpha.sum() == pytest.approx(1.0)
    weights = -slopes.T @ alpha / 0.7
    dual = linear @ alpha - np.sum((slopes.T @ alpha) ** 2) / 1.4
    primal = 0.35 * weights @ weights + np.max(linear + slopes @ weights)
    assert primal - dual <= 1e-8 * (1 + abs(primal))
