"""``method="brute-force"`` on Markov random fields with any labels, against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planaris as pl
from planaris.budget import Budget
from planaris.errors import InfeasibleError, PrecisionError
from planaris.methods.auto import marginals_by_parts
from planaris.reductions.parts import split_model


@pytest.fixture(params=range(6))
def field(request) -> pl.MarkovRandomField:
    rng = np.random.default_rng(request.param)
    cards = rng.integers(1, 4, size=4)
    scopes = [(0, 1), (2, 1, 3), (3,), (2, 0), ()]
    tables = [
        np.where(rng.random(cards[list(s)]) < 0.15, 0.0, rng.random(cards[list(s)])) for s in scopes
    ]
    tables[-1] = np.asarray(0.5)
    return pl.MarkovRandomField(cards, list(zip(scopes, tables, strict=True)))


def weights_of(field: pl.MarkovRandomField) -> dict[tuple[int, ...], float]:
    factors = [
        (field.scope(k).tolist(), np.exp(field.log_table(k))) for k in range(field.num_factors)
    ]
    return {
        x: float(np.prod([table[tuple(x[v] for v in scope)] for scope, table in factors]))
        for x in itertools.product(*(range(k) for k in field.cardinalities.tolist()))
    }


def test_all_verbs_list_all_states(field: pl.MarkovRandomField) -> None:
    weights = weights_of(field)
    total = sum(weights.values())
    if total == 0:
        assert pl.log_partition(field, "brute-force").value == -np.inf
        for verb in (pl.ground_state, pl.marginals):
            with pytest.raises(InfeasibleError):
                verb(field, "brute-force")
        return
    found = pl.ground_state(field, "brute-force")
    assert weights[tuple(found.assignment.tolist())] == pytest.approx(max(weights.values()))
    assert found.energy == pytest.approx(-np.log(max(weights.values())))
    assert pl.log_partition(field, "brute-force").value == pytest.approx(np.log(total))
    nodes = pl.marginals(field, "brute-force").nodes
    for v, table in enumerate(nodes):
        for a, p in enumerate(table):
            share = sum(w for x, w in weights.items() if x[v] == a) / total
            assert p == pytest.approx(share, abs=1e-12)
    drawn = pl.sample(field, 4000, 1, "brute-force")
    assert drawn.dtype == np.int32
    for x, w in weights.items():
        share = float((drawn == np.array(x)).all(1).mean())
        assert abs(share - w / total) < 5 * np.sqrt(w / total / 4000) + 1e-9


def test_spins_of_two_labels_are_told() -> None:
    same = pl.MarkovRandomField([2, 2], [((0, 1), [[0.0, 1.0], [2.0, 0.0]])])
    found = pl.ground_state(same, "brute-force")
    assert found.assignment.tolist() == [1, 0]
    assert found.spins.tolist() == [1, -1]


def models_in_parts() -> dict[str, pl.IsingModel | pl.MarkovRandomField]:
    rng = np.random.default_rng(5)
    k5 = [(u, v) for u in range(5) for v in range(u)]
    joined = [*k5, (4, 5), (5, 6), (6, 4), (7, 8)]
    spins = pl.IsingModel(
        joined, rng.normal(size=len(joined)), [0.0, 0.7, 0, 0, -0.4, 0, 0.2, 0, 0.3], offset=1.5
    )
    return {
        "cycle, fields": pl.IsingModel([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, -3.0], [0.5, 0, 0]),
        "two trees": pl.IsingModel([(0, 1), (2, 3)], [1.0, -0.5], num_spins=5, offset=-2.0),
        "K5 and a cycle, fields": spins,
        "two labels": pl.MarkovRandomField(
            [2] * 4, [((v, (v + 1) % 4), rng.random((2, 2))) for v in range(4)]
        ),
        "nothing": pl.IsingModel(np.zeros((0, 2), dtype=int), []),
    }


@pytest.mark.parametrize("name", models_in_parts())
@pytest.mark.parametrize("method", ["auto", "planar", "treewidth", "brute-force"])
def test_log_z_comes_with_marginals(name: str, method: str) -> None:
    model = models_in_parts()[name]
    truth = pl.log_partition(model, "brute-force")
    if method == "planar" and name.startswith("K5"):
        with pytest.raises(pl.errors.NotPlanarError):
            pl.marginals(model, method)
        return
    beside = pl.marginals(model, method).log_partition
    assert beside is not None
    assert beside.exact
    assert beside.lower - 1e-13 <= truth.value <= beside.upper + 1e-13


def test_log_z_comes_with_marginals_of_parts() -> None:
    model = models_in_parts()["K5 and a cycle, fields"]
    split = split_model(model)
    assert len(split.parts) == 2  # by Pfaffians, and by elimination with fields
    beside = marginals_by_parts(split, Budget()).log_partition
    assert beside is not None
    assert beside.value == pytest.approx(pl.log_partition(model, "brute-force").value, abs=1e-12)


def test_a_large_constant_does_not_blur_samples_of_labels() -> None:
    factors = [((), 1e245), ((0,), [0.0, 500.0, 900.0])]
    mrf = pl.MarkovRandomField([3], factors, log=True)
    assert pl.sample(mrf, 50, 1, "brute-force").ravel().tolist() == [2] * 50


@pytest.mark.parametrize("size", [1e20, 1e88, 1e299])
def test_samples_of_labels_survive_log_potentials_beyond_all_exponents(size: float) -> None:
    factors = [((0,), size * np.array([0.1, 1.0, 0.8])), ((1, 0), np.zeros((3, 3)))]
    mrf = pl.MarkovRandomField([3, 3, 2], factors, log=True)
    for method in ("treewidth", "auto"):
        states = pl.sample(mrf, 60, 1, method)
        assert states[:, 0].tolist() == [1] * 60
        assert len(np.unique(states[:, 1])) == 3


def test_samples_are_refused_where_couplings_lose_the_potentials() -> None:
    penalty = 1e17
    pairs = [np.array([[0.0, penalty], [penalty, 0.0]]), np.array([[penalty, 1.0], [0.0, penalty]])]
    factors = [((0, 1), pairs[0]), ((0, 1), pairs[1]), ((0,), np.array([0.0, 1.0]))]
    mrf = pl.MarkovRandomField([2, 2], factors, log=True)
    with pytest.raises(PrecisionError, match="rounding errors"):
        pl.sample(mrf, 5, 1, "planar")
    exact = pl.marginals(mrf, "brute-force").nodes[0][1]
    assert pl.sample(mrf, 2000, 1)[:, 0].mean() == pytest.approx(exact, abs=0.05)
