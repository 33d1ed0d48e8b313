"""Marginals from bounds: estimates near the truth, intervals around it, refusals with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import TickClock
from planaris.budget import use_clock
from planaris.embed import torus_lattice
from planaris.errors import MethodError, PrecisionError, TooLargeError
from planaris.methods.bounds import METHODS
from planaris.reference import enumerate_states

K6 = [(u, v) for u in range(6) for v in range(u)]


@pytest.fixture
def weak(rng: np.random.Generator) -> pl.IsingModel:
    """A dense model at high temperature, where every estimate is close."""
    return pl.IsingModel(K6, 0.1 * rng.normal(size=15), rng.normal(size=6))


@pytest.mark.parametrize("method", [m.name for m in METHODS if m.name != "interval"])
def test_estimates_are_near_and_not_called_exact(weak: pl.IsingModel, method: str) -> None:
    found = pl.marginals(weak, method=method)
    truth = enumerate_states(weak)
    assert not found.exact
    assert np.abs(found.nodes - truth.nodes).mean() < 0.08
    assert np.abs(found.edges - truth.edges).mean() < 0.08
    assert np.array_equal(found.stats["nodes"], found.nodes)
    assert np.array_equal(found.stats["edges"], found.edges)
    bound = found.stats["log_partition"]
    assert bound.lower <= truth.log_partition <= bound.upper


def test_mean_field_knows_pairs_inside_clusters(weak: pl.IsingModel) -> None:
    """With all spins in one cluster the distribution is the model's."""
    found = pl.bounds.mean_field(weak, clusters=[np.arange(6)])
    truth = enumerate_states(weak)
    assert found.stats["edges"] == pytest.approx(truth.edges, abs=1e-9)
    assert found.stats["nodes"] == pytest.approx(truth.nodes, abs=1e-9)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("seed", range(4))
def test_clamping_encloses(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planaris.bounds.best_interval.EXACT_SHARE", -1.0)
    rng = np.random.default_rng([31, seed])
    model = pl.IsingModel(K6, rng.normal(size=15), rng.normal(size=6))
    found = pl.marginals(model, method="clamped", time_limit=0.5)
    truth, stats = enumerate_states(model), found.stats
    assert np.all(stats["lower"] <= truth.nodes + 1e-12)
    assert np.all(stats["upper"] >= truth.nodes - 1e-12)
    assert np.all(stats["edges_lower"] <= truth.edges + 1e-12)
    assert np.all(stats["edges_upper"] >= truth.edges - 1e-12)
    assert np.all((stats["lower"] <= found.nodes) & (found.nodes <= stats["upper"]))
    assert not found.exact


@pytest.mark.usefixtures("ticking")
def test_clamping_a_field_encloses_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables with one label are not spins of the model that is bounded."""
    monkeypatch.setattr("planaris.bounds.best_interval.EXACT_SHARE", -1.0)
    rng = np.random.default_rng(1)
    pairs = [((u, v), rng.random((2, 2))) for u in (1, 2, 4) for v in (1, 2, 4) if u < v]
    single = [((0,), [2.0]), ((3, 4), [[1.0, 2.0]]), ((1,), [1.0, 3.0])]
    model = pl.MarkovRandomField([1, 2, 2, 1, 2], [*single, *pairs])
    found, truth = pl.marginals(model, "clamped", time_limit=0.5), pl.marginals(model)
    ends = zip(found.stats["lower"], truth.nodes, found.stats["upper"], strict=True)
    for low, table, high in ends:
        assert np.all(low <= table + 1e-12)
        assert np.all(table <= high + 1e-12)


def test_clamping_keeps_its_time_and_encloses_what_it_does_not_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Time is up after some spins: the others are enclosed by what neighbours can do."""
    monkeypatch.setattr("planaris.bounds.best_interval.EXACT_SHARE", -1.0)
    rng = np.random.default_rng(5)
    pairs = np.argwhere(np.triu(rng.random((14, 14)) < 0.6, 1))
    model = pl.IsingModel(pairs, 0.3 * rng.normal(size=len(pairs)), rng.normal(size=14))
    truth = enumerate_states(model)
    for limit in (1e-3, 0.05, 0.2):
        with use_clock(TickClock(1e-3, stride=16)) as clock:
            found = pl.marginals(model, method="clamped", time_limit=limit)
        assert clock.now < limit + 0.05  # fifty looks at the clock
        assert np.all(found.stats["lower"] <= truth.nodes + 1e-12)
        assert np.all(found.stats["upper"] >= truth.nodes - 1e-12)
        assert np.all(found.stats["upper"] - found.stats["lower"] < 1.0)


@pytest.mark.usefixtures("ticking")
def test_clamping_knows_symmetry() -> None:
    found = pl.marginals(pl.IsingModel(K6, 1.0), method="clamped", time_limit=1.0)
    assert np.all(found.stats["lower"] == 0.5)
    assert np.all(found.stats["upper"] == 0.5)


def test_planar_models_stay_exact_under_planar_bounds() -> None:
    square = pl.IsingModel([(0, 1), (1, 2), (2, 3), (3, 0)], [1.0, 0.5, -0.3, 2.0])
    assert pl.marginals(square, method="pdc").exact


@pytest.mark.usefixtures("ticking")
def test_too_large_models_get_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    side = 8
    idx = np.arange(side**3).reshape(side, side, side)
    pairs = [
        np.column_stack(
            [np.take(idx, range(side - 1), a).ravel(), np.take(idx, range(1, side), a).ravel()]
        )
        for a in range(3)
    ]
    model = pl.IsingModel(np.concatenate(pairs), 0.1)
    found = pl.marginals(model, time_limit=1.0, memory_limit=2**24)
    assert not found.exact
    assert found.stats["log_partition"].lower <= found.stats["log_partition"].upper


@pytest.mark.parametrize(
    ("verb", "method"),
    [
        (pl.ground_state, "trw"),
        (pl.ground_state, "mean-field"),
        (pl.log_partition, "graph-cut"),
        (pl.log_partition, "mplp"),
        (pl.marginals, "cycle-lp"),
        (lambda model, method: pl.sample(model, 1, 0, method), "pdc"),
    ],
)
def test_methods_of_other_verbs_are_refused_with_the_reason(verb: object, method: str) -> None:
    with pytest.raises(MethodError, match="which is not asked here; use one of 'auto'"):
        verb(pl.IsingModel(K6, 1.0), method=method)  # type: ignore[operator]


def test_planar_decomposition_bounds_ground_states(rng: np.random.Generator) -> None:
    model = pl.IsingModel(K6, rng.normal(size=15))
    found = pl.ground_state(model, method="pdc")
    truth = enumerate_states(model).energy
    assert found.lower <= truth + 1e-9
    assert found.energy >= truth - 1e-9


def test_many_labels_have_bounds_by_name(rng: np.random.Generator) -> None:
    tables = [((u, v), np.exp(rng.normal(size=(3, 3)))) for u, v in K6]
    mrf = pl.MarkovRandomField([3] * 6, tables)
    exact = pl.log_partition(mrf, method="treewidth").value
    assert pl.log_partition(mrf, method="trw").upper >= exact
    assert pl.log_partition(mrf, method="mean-field").lower <= exact
    found = pl.log_partition(mrf, method="interval")
    assert found.lower <= exact <= found.upper


def labelled(rng: np.random.Generator, scale: float = 0.1) -> pl.MarkovRandomField:
    """Return a pairwise field of 2 to 4 labels with single, double, turned and empty factors."""
    cards = [2, 3, 4, 3, 3, 2]
    scopes: list[tuple[int, ...]] = [*K6, (0, 1), *((v,) for v in range(6)), ()]
    shapes = [tuple(cards[v] for v in scope) for scope in scopes]
    tables = [np.exp(scale * rng.normal(size=shape)) for shape in shapes]
    return pl.MarkovRandomField(cards, list(zip(scopes, tables, strict=True)))


@pytest.mark.parametrize("method", ["trw", "mean-field"])
def test_many_labels_have_estimates(method: str, rng: np.random.Generator) -> None:
    mrf = labelled(rng)
    found = pl.marginals(mrf, method)
    truth = pl.marginals(mrf, "treewidth")
    assert (found.exact, found.method) == (False, method)
    for mine, exact in zip(found.nodes, truth.nodes, strict=True):
        assert mine == pytest.approx(exact, abs=0.02)
    for mine, exact in zip(found.edges, truth.edges, strict=True):
        assert np.shape(mine) == np.shape(exact)
        assert mine == pytest.approx(exact, abs=0.03)
    bound = found.stats["log_partition"]
    assert bound.lower <= pl.log_partition(mrf, "treewidth").value <= bound.upper


def test_estimates_of_labels_are_exact_on_trees(rng: np.random.Generator) -> None:
    tables = [((v + 1, v), np.exp(rng.normal(size=(3, 3)))) for v in range(4)]
    mrf = pl.MarkovRandomField([3] * 5, tables)
    found, truth = pl.marginals(mrf, "trw"), pl.marginals(mrf, "treewidth")
    for mine, exact in zip(found.edges, truth.edges, strict=True):
        assert mine == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("method", ["interval", "planar", "clamped"])
def test_methods_for_spins_refuse_labels(method: str, rng: np.random.Generator) -> None:
    with pytest.raises(
        MethodError,
        match=f"`method='{method}'` needs an Ising model: .* has 4; .*"
        "Use one of 'auto', 'treewidth', 'brute-force', .*'mean-field', .*'trw'",
    ):
        pl.marginals(labelled(rng), method)


@pytest.mark.usefixtures("ticking")
def test_labels_that_nothing_exact_fits_are_estimated(rng: np.random.Generator) -> None:
    edges = pl.generate.square_lattice(30).edges.tolist()
    tables = [(tuple(e), np.exp(rng.normal(size=(4, 4)))) for e in edges]
    mrf = pl.MarkovRandomField([4] * 900, tables)
    found = pl.marginals(mrf, time_limit=2.0)
    assert (found.exact, found.method) == (False, "trw")
    assert all(table.sum() == pytest.approx(1.0) for table in found.edges)
    with pytest.raises(TooLargeError):
        pl.marginals(mrf, "treewidth", memory_limit=2**30)


def test_a_torus_too_cold_for_double_double_is_estimated() -> None:
    torus = torus_lattice(24, 24)
    rng = np.random.default_rng(1)
    model = pl.IsingModel(torus.edges, 200.0 * rng.choice([-1.0, 1.0], len(torus.edges)))
    with pytest.raises(PrecisionError, match="nine digits"):
        pl.marginals(model, "planar", embedding=torus)
    with use_clock(TickClock(1e-3)):
        found = pl.marginals(model, embedding=torus, time_limit=20)
    assert (found.exact, found.method) == (False, "trw")
    assert np.all((np.asarray(found.edges) >= 0) & (np.asarray(found.edges) <= 1))
