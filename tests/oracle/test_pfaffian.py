"""Elimination against enumeration, closed forms and ball arithmetic."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from helpers import glasses
from helpers.degenerate import FOUR_TRIANGLES, LARGE, SMALL
from helpers.strategies import PlaneGraph, plane_models
from helpers.trials import examples, trials
from planaris import (
    IsingModel,
    ground_state_entropy,
    log_partition,
    marginals,
    sample,
    thermodynamics,
    treewidth,
)
from planaris.budget import Budget
from planaris.embed.surfaces import torus_lattice
from planaris.errors import ModelError
from planaris.generate import (
    honeycomb_lattice,
    spin_glass,
    square_lattice,
    triangular_lattice,
)
from planaris.generate.lattices import random_triangulation
from planaris.kernels.pfaffian import Elimination, LogPfaffian
from planaris.planar import Plan, plan
from planaris.planar.pfaffian.evaluator import PfaffianEvaluator
from planaris.planar.pfaffian.precision_ladder import assigned_entries, log_constant
from planaris.reference import enumerate_states


def searched_log_partition(prepared: Plan, couplings: np.ndarray) -> float:
    """log Z in double-double with pivots searched for: what the fast way does not do."""
    entries = assigned_entries(prepared.evaluator, couplings, Budget())
    found = prepared.evaluator.elimination.log_pfaffian(
        entries.face, entries.scale, entries.signs, wide=True, budget=Budget(threads=2)
    )
    assert found.left_over == 0
    return found.log_magnitude + log_constant(prepared.evaluator, entries)


def random_model(rng: np.random.Generator, strength: float, most: int = 11) -> IsingModel:
    n = int(rng.integers(3, most + 1))
    full = random_triangulation(n, rng)
    kept = rng.random(len(full.edges)) < rng.uniform(0.3, 1.0)
    couplings = rng.normal(size=int(kept.sum())) * strength
    return IsingModel(full.edges[kept], couplings, num_spins=n, positions=full.positions)


# -- log Z ----------------------------------------------------------------------------------------


@examples(300)
@given(plane_models(max_vertices=9))
def test_log_partition_equals_enumeration(drawn: tuple[IsingModel, PlaneGraph]) -> None:
    model, _ = drawn
    found = plan(model).log_partition(model.couplings)
    expected = enumerate_states(model).log_partition
    assert found.value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.exact
    slack = 1e-15 * abs(expected)  # of the enumeration
    assert found.lower - slack <= expected <= found.upper + slack


@pytest.mark.parametrize("name", list(SMALL))
def test_odd_models(name: str) -> None:
    model = SMALL[name]()
    expected = enumerate_states(model)
    found = log_partition(model, "planar")
    assert found.value == pytest.approx(expected.log_partition, rel=1e-12, abs=1e-12)
    found = marginals(model, "planar")
    np.testing.assert_allclose(found.nodes, expected.nodes, atol=1e-11)
    np.testing.assert_allclose(found.edges, expected.edges, atol=1e-11)


@pytest.mark.parametrize("glass", glasses.GLASSES, ids=lambda g: g.name)
def test_glasses_at_any_temperature(glass: glasses.Glass) -> None:
    prepared = plan(glass.model())
    for beta, expected in glass.log_partition.items():
        found = prepared.log_partition(glass.model(beta).couplings)
        assert found.exact
        assert found.value == pytest.approx(expected, abs=1e-10, rel=1e-15)
        assert found.lower <= expected <= found.upper


@pytest.mark.parametrize("name", list(LARGE))
def test_long_paths_and_stars(name: str) -> None:
    model = LARGE[name]()
    n, J = model.num_spins, float(model.couplings[0])
    found = plan(model).log_partition(model.couplings)
    expected = n * math.log(2) + model.num_edges * math.log(math.cosh(J))
    if model.num_edges == n:
        expected += math.log1p(math.tanh(J) ** n)
    assert found.value == pytest.approx(expected, rel=1e-13)


def test_a_hundred_squared_at_low_temperature_keeps_its_error(rng: np.random.Generator) -> None:
    model = spin_glass(100, rng, beta=20.0)
    prepared = plan(model)
    found = prepared.log_partition(model.couplings)
    turned = Plan(prepared.embedding, positions=model.positions[:, ::-1] + [0.3, 0.1])
    other = turned.log_partition(model.couplings)
    assert found.exact
    assert found.stats["error"] < 1e-8
    assert found.lower <= other.upper
    assert other.lower <= found.upper


@pytest.mark.parametrize("beta", [3.0, 10.0, 30.0, 100.0])
def test_stated_errors_hold(beta: float, rng: np.random.Generator) -> None:
    for _ in range(4):
        model = spin_glass(24, rng, beta=beta)
        prepared = plan(model)
        found = prepared.log_partition(model.couplings)
        value = searched_log_partition(prepared, model.couplings)
        assert found.exact
        assert found.lower <= value <= found.upper
        assert found.upper - found.lower < 1e-9 * abs(value)


def test_equal_couplings_hide_no_rounding() -> None:
    """Equal weights cancel exactly, in single precision too, where something small would be left:
    the last of these rows was off by .13, with a stated error of 1e-11."""
    prepared = plan(square_lattice(21))
    signs = np.random.default_rng(1007).standard_normal((1024, prepared.num_edges))
    couplings = 10 * np.sign(signs[[450, 492, 560, 592, 897, 1015]])
    found = prepared.log_partition(couplings, threads=1)
    proved = prepared.log_partition(couplings, threads=1, prove=True)
    assert proved.proved.all()
    assert (found.lower <= proved.upper).all()
    assert (proved.lower <= found.upper).all()


@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_cancellation_is_seen_whatever_the_couplings(spread: float) -> None:
    """Weights of frustrated triangles cancel, up to the product of one and its inverse, which
    single precision rounds to one: marginals were off by 3e-7, with a stated error of 1e-14."""
    rng = np.random.default_rng(5)
    n, edges = 12, FOUR_TRIANGLES
    prepared = plan((n, edges))
    betas = rng.uniform(2, 12, trials(96, 2048))
    couplings = -betas[:, None] * (1 + spread * rng.standard_normal((len(betas), len(edges))))
    couplings *= np.where(
        rng.random(couplings.shape) < rng.choice([0, 0.5], len(betas))[:, None], -1, 1
    )
    found, equal = prepared.log_partition(couplings), prepared.marginals(couplings)
    for k, row in enumerate(couplings):
        truth = enumerate_states(IsingModel(edges, row, num_spins=n))
        slack = 1e-15 * np.abs(row).sum()
        for one in (found[k], equal[k].log_partition):
            assert one.lower - slack <= truth.log_partition <= one.upper + slack
        assert np.abs(equal.edges[k] - truth.edges).max() <= equal[k].error + 1e-14


def test_marginals_of_large_models_lose_nothing_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to a state found by flips they were off by 1e-5, with a stated error of 1e-14."""
    monkeypatch.setattr(PfaffianEvaluator, "in_batches", property(lambda _: False))  # as if large
    edges = FOUR_TRIANGLES
    prepared = plan((12, edges))
    for beta in np.linspace(3.1, 7.9, 12):
        couplings = np.full(len(edges), -beta)
        found = prepared.marginals(couplings)
        truth = enumerate_states(IsingModel(edges, couplings, num_spins=12))
        assert np.abs(found.edges - truth.edges).max() <= found.error + 1e-14


def test_large_models_of_moderate_couplings_delay_no_pivots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a gauge the second of two eliminations refused most pivots: 20 times the time."""
    monkeypatch.setattr(PfaffianEvaluator, "in_batches", property(lambda _: False))  # as if large
    model = spin_glass(14, np.random.default_rng(0))
    model = (2.9 / np.abs(model.couplings).max()) * model
    eliminate, delayed = Elimination.log_pfaffian, []

    def watched(*args: Any, **options: Any) -> LogPfaffian:
        found = eliminate(*args, **options)
        delayed.append(found.delayed)
        return found

    monkeypatch.setattr(Elimination, "log_pfaffian", watched)
    found = plan(model).log_partition(model.couplings, threads=1)
    assert delayed == [0, 0]
    truth = treewidth.log_partition(model)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper


@pytest.mark.parametrize("beta", [3.0, 8.0, 10.0, 20.0])
@pytest.mark.parametrize("lattice", [square_lattice, triangular_lattice, honeycomb_lattice])
def test_intervals_of_couplings_of_few_sizes_meet_the_proved_ones(lattice, beta: float) -> None:
    prepared = plan(lattice(16))
    count = trials(16, 512)
    rng = np.random.default_rng(int(beta))
    signs = np.sign(rng.standard_normal((count, prepared.num_edges)))
    sizes = (1.0, rng.random(signs.shape) < 0.8, rng.integers(1, 4, signs.shape) / 3)
    for size in sizes:
        couplings = beta * signs * size
        found = prepared.log_partition(couplings, threads=1)
        proved = prepared.log_partition(couplings, threads=1, prove=True)
        judged = proved.proved
        assert judged.sum() > 0.9 * count
        assert (found.lower <= proved.upper)[judged].all()
        assert (proved.lower <= found.upper)[judged].all()


@pytest.mark.parametrize(
    ("size", "seed", "disorder"),
    [(60, 0, "gaussian"), (60, 2, "gaussian"), (100, 0, "gaussian"), (80, 1, "bimodal")],
)
def test_double_is_enough_at_low_temperature(size: int, seed: int, disorder: str) -> None:
    model = spin_glass(size, np.random.default_rng(seed), beta=30.0, disorder=disorder)
    prepared = plan(model)
    found = prepared.log_partition(model.couplings)
    value = searched_log_partition(prepared, model.couplings)
    assert found.stats["precision"] == "double"
    assert found.lower <= value <= found.upper
    assert found.stats["error"] < 1e-9
    # The sum over excitations itself, which the large energy hides.
    excess = found.stats["excess"] - (found.value - value)
    assert found.stats["excess"] == pytest.approx(excess, rel=1e-9)


@pytest.mark.parametrize("beta", [1.0, 30.0])
def test_the_number_of_threads_changes_no_bit(beta: float, rng: np.random.Generator) -> None:
    model = spin_glass(90, rng, beta=beta)
    prepared = plan(model)
    values = {prepared.log_partition(model.couplings, threads=k).value for k in (1, 2, 3)}
    assert len(values) == 1
    edges = [prepared.marginals(model.couplings, threads=k).edges for k in (1, 2)]
    assert np.array_equal(*edges)


def test_samples_at_low_temperature(rng: np.random.Generator) -> None:
    model = spin_glass(20, rng)
    prepared = plan(model)
    for beta in (30.0, 300.0):
        couplings = beta * model.couplings
        states = prepared.sample(couplings, 50, rng)
        agree = (states[:, model.edges[:, 0]] == states[:, model.edges[:, 1]]).mean(0)
        exact = prepared.marginals(couplings).edges
        spread = np.sqrt(np.maximum(exact * (1 - exact), 1e-3) / len(states))
        assert np.abs((agree - exact) / spread).max() < 5.5


def test_relabelling_gauge_flips_and_components(rng: np.random.Generator) -> None:
    model = spin_glass(7, rng, beta=1.5)
    value = plan(model).log_partition(model.couplings).value
    order = rng.permutation(model.num_spins)
    relabelled = IsingModel(order[model.edges], model.couplings, num_spins=model.num_spins)
    same = pytest.approx(value, rel=1e-13)
    assert plan(relabelled).log_partition(relabelled.couplings).value == same
    s = rng.choice([-1, 1], model.num_spins)
    flipped = model.couplings * s[model.edges[:, 0]] * s[model.edges[:, 1]]
    assert plan(model).log_partition(flipped).value == same
    twice = IsingModel(
        np.concatenate([model.edges, model.edges + model.num_spins]), np.tile(model.couplings, 2)
    )
    assert plan(twice).log_partition(twice.couplings).value == pytest.approx(2 * value, rel=1e-13)


# -- marginals, correlations, samples -------------------------------------------------------------


@examples(150)
@given(plane_models(max_vertices=8, fields=True))
def test_marginals_with_fields(drawn: tuple[IsingModel, PlaneGraph]) -> None:
    model, _ = drawn
    expected = enumerate_states(model)
    found = marginals(model, "planar")
    np.testing.assert_allclose(found.nodes, expected.nodes, atol=1e-9)
    np.testing.assert_allclose(found.edges, expected.edges, atol=1e-9)
    value = log_partition(model, "planar").value
    assert value == pytest.approx(expected.log_partition, rel=1e-12, abs=1e-12)


def test_marginals_are_derivatives(rng: np.random.Generator) -> None:
    model = spin_glass(8, rng)
    prepared, J, h = plan(model), model.couplings, 1e-4
    edges = prepared.marginals(J).edges
    for e in rng.choice(len(J), 5, replace=False):
        step = np.zeros(len(J))
        step[e] = h
        up, down = (float(z) for z in prepared.log_partition([J + step, J - step]))
        assert 2 * edges[e] - 1 == pytest.approx((up - down) / (2 * h), abs=1e-7)


@pytest.mark.parametrize("beta", [1.0, 10.0, 100.0])
def test_marginals_agree_with_more_digits(beta: float, rng: np.random.Generator) -> None:
    model = spin_glass(14, rng, beta=beta)
    prepared = plan(model)
    found = prepared.marginals(model.couplings)
    entries = assigned_entries(prepared.evaluator, model.couplings, Budget())
    factors = prepared.evaluator.elimination.factorize(
        entries.face, entries.scale, entries.signs, wide=True
    )
    uncut, residual = factors.uncut()
    agree = entries.spins[model.edges[:, 0]] == entries.spins[model.edges[:, 1]]
    exact = np.where(agree, uncut[: model.num_edges], 1 - uncut[: model.num_edges])
    assert residual < 1e-14
    assert np.abs(found.edges - exact).max() <= found.stats["error"] < 1e-8


def test_correlations_of_any_pair(rng: np.random.Generator) -> None:
    for strength in (0.3, 1.0, 4.0):
        model = random_model(rng, strength, most=9)
        states = enumerate_states(model)
        n = model.num_spins
        spins = 2 * (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1) - 1
        exact = spins.T @ (spins * states.probabilities[:, None])
        pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
        found = plan(model).correlations(model.couplings, pairs)
        np.testing.assert_allclose(found, [exact[p] for p in pairs], atol=1e-9)


@pytest.mark.parametrize("fields", [False, True])
def test_sampled_frequencies(fields: bool, rng: np.random.Generator) -> None:
    lattice = random_triangulation(6, rng)
    h = np.zeros(6)
    if fields:
        h[lattice.edges[0]] = 0.4, -0.7
    couplings = 0.6 * rng.normal(size=len(lattice.edges))
    model = IsingModel(lattice.edges, couplings, h, positions=lattice.positions)
    states = sample(model, 6000, rng, "planar")
    codes = (states > 0) @ (1 << np.arange(5, -1, -1))
    expected = enumerate_states(model).probabilities * len(states)
    keep = expected > 5
    counts = np.append(np.bincount(codes, minlength=64)[keep], 0)
    counts[-1] = len(states) - counts.sum()
    wanted = np.append(expected[keep], max(expected[~keep].sum(), 1e-9))
    assert chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue > 1e-4


def test_samples_follow_the_generator_and_not_the_threads() -> None:
    model = spin_glass(12, np.random.default_rng(1))
    prepared = plan(model)
    draws = [
        prepared.sample(model.couplings, 2, np.random.default_rng(5), threads=threads)
        for threads in (1, 2, 3)
    ]
    assert draws[0].shape == (2, 144)
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


def test_sampled_energies_have_the_right_mean(rng: np.random.Generator) -> None:
    model = spin_glass(16, rng, beta=1.5)
    prepared = plan(model)
    states = prepared.sample(model.couplings, 200, rng)
    agree = (states[:, model.edges[:, 0]] == states[:, model.edges[:, 1]]).mean(0)
    exact = prepared.marginals(model.couplings).edges
    spread = np.sqrt(np.maximum(exact * (1 - exact), 1e-4) / len(states))
    assert np.abs((agree - exact) / spread).max() < 5.5


# -- surfaces -------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.integers(1, 4),
    st.integers(2, 4),
    st.sampled_from(["square", "triangular"]),
    st.integers(0, 2**32),
)
def test_small_tori(rows: int, columns: int, kind: str, seed: int) -> None:
    if rows * columns > 12:
        return
    embedding = torus_lattice(rows, columns, kind)
    rng = np.random.default_rng(seed)
    couplings = rng.normal(size=embedding.num_edges) * rng.choice([0.3, 1.0, 2.0])
    model = IsingModel(embedding.edges, couplings, num_spins=rows * columns)
    found = Plan(embedding).log_partition(couplings)
    expected = enumerate_states(model)
    assert found.lower - 1e-14 <= expected.log_partition <= found.upper + 1e-14
    if found.exact:
        assert found.value == pytest.approx(expected.log_partition, rel=1e-10, abs=1e-10)
    if found.exact and model.num_edges == embedding.num_edges:
        np.testing.assert_allclose(
            Plan(embedding).marginals(couplings).edges, expected.edges, atol=1e-8
        )


# -- temperature sweeps, plans as objects ---------------------------------------------------------


def test_sweeps(rng: np.random.Generator) -> None:
    model = random_model(rng, 1.0, most=8)
    states = enumerate_states(model)
    sweep = thermodynamics(model, [0.0, 0.5, 1.0], "planar")
    n = model.num_spins
    spins = 2 * (np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1) - 1
    energy = model.energy(spins.astype(np.int8))
    mean = states.probabilities @ energy
    variance = states.probabilities @ (energy - mean) ** 2
    assert sweep.energy[2] == pytest.approx(mean, rel=1e-11)
    assert sweep.specific_heat[2] == pytest.approx(variance, rel=1e-6)
    assert abs(sweep.specific_heat[2] - variance) <= sweep.specific_heat_error[2] + 1e-9
    logs = np.log(states.probabilities)
    assert sweep.entropy[2] == pytest.approx(-states.probabilities @ logs, rel=1e-10)


@pytest.mark.parametrize(
    "glass", [g for g in glasses.GLASSES if g.kind == "bimodal"], ids=lambda g: g.name
)
def test_ground_states_are_counted(glass: glasses.Glass) -> None:
    model = glass.model()
    count = math.exp(ground_state_entropy(model))
    assert count == pytest.approx(glass.num_ground_states, rel=1e-9)


def test_plans_pickle_and_batch(rng: np.random.Generator) -> None:
    model = spin_glass(9, rng)
    prepared = plan(model)
    copy = pickle.loads(pickle.dumps(prepared))
    batch = np.stack([model.couplings, -2 * model.couplings])
    values = [z.value for z in prepared.log_partition(batch)]
    assert [copy.log_partition(row).value for row in batch] == values


def test_a_batch_gives_what_its_rows_give(rng: np.random.Generator) -> None:
    model = spin_glass(12, rng)
    prepared = plan(model)
    strengths = [0.0, 0.3, 0.9, 1.0, 2.0, 6.0, 40.0]  # weak rows together, the others alone
    batch = np.array([b * model.couplings for b in strengths])
    found, edges = prepared.log_partition(batch), prepared.marginals(batch)
    for row, one, two in zip(batch, found, edges, strict=True):
        alone = prepared.log_partition(row, threads=1)
        assert one.value == alone.value
        assert one.stats == alone.stats
        assert np.array_equal(two.edges, prepared.marginals(row).edges)
        assert two.log_z == pytest.approx(one.value, rel=1e-14)
    assert list(prepared.log_partition(batch[:0])) == []


def test_two_threads_share_a_plan(rng: np.random.Generator) -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = spin_glass(30, rng)
    prepared = plan(model)
    rows = [model.couplings * beta for beta in np.linspace(0.5, 2.0, 8)]
    alone = [prepared.log_partition(row).value for row in rows]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda row: prepared.log_partition(row).value, rows))
    assert together == pytest.approx(alone, rel=1e-14)


def test_progress_can_stop_an_elimination(rng: np.random.Generator) -> None:
    class Stop(Exception):
        pass

    def stop(fraction: float) -> None:
        raise Stop

    model = spin_glass(200, rng)
    prepared = plan(model)
    _ = prepared.evaluator.elimination
    with pytest.raises(Stop):
        prepared.marginals(model.couplings, progress=stop)


def test_wrong_couplings_are_refused() -> None:
    prepared = plan((2, [(0, 1)]))
    with pytest.raises(ModelError, match="shape"):
        prepared.log_partition([1.0, 2.0])
    with pytest.raises(ModelError, match="finite"):
        prepared.log_partition([math.nan])
