from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import planaris as pl
from helpers.clocks import StepClock
from helpers.degenerate import NONPLANAR, SMALL, path, path_log_partition, ring, ring_log_partition
from helpers.mrfs import random_mrf
from helpers.planar_graphs import delaunay
from planaris import tensor
from planaris.budget import Budget, use_clock
from planaris.errors import InfeasibleError, MethodError, PrecisionError, TimeLimitError
from planaris.kernels import tensor as kernel
from planaris.kernels.tensor import Accuracy
from planaris.reference.brute_force import enumerate_states
from planaris.reference.brute_force_mrf import enumerate_assignments
from planaris.tensor.convergence import PAIR_PIVOT, Value, change_of, is_last
from planaris.tensor.network import to_network
from planaris.tensor.run import MAX_BOND, Run
from planaris.tensor.sweeps import grid_shape, plan_sweep

STRONG = ("huge and tiny", "far apart")


def random_grid(rows: int, columns: int, rng: np.random.Generator, a: float, b: float):
    return pl.IsingModel.from_image(
        rng.uniform(-b, b, (rows, columns)),
        rng.uniform(-a, a, (rows, columns - 1)),
        rng.uniform(-a, a, (rows - 1, columns)),
    )


def random_label_grid(rows: int, columns: int, labels: int, rng: np.random.Generator, zeros=0.0):
    index = np.arange(rows * columns).reshape(rows, columns)
    pairs = [*zip(index[:, :-1].ravel(), index[:, 1:].ravel(), strict=True)]
    pairs += [*zip(index[1:].ravel(), index[:-1].ravel(), strict=True)]  # against the numbering
    factors = [((v,), rng.exponential(size=labels)) for v in range(rows * columns)]
    for u, v in pairs:
        table = rng.exponential(size=(labels, labels))
        factors.append(((u, v), np.where(rng.random(table.shape) < zeros, 0.0, table)))
    return pl.MarkovRandomField(np.full(rows * columns, labels), factors)


@pytest.mark.parametrize("name", [n for n in (*SMALL, *NONPLANAR) if n not in STRONG])
def test_small_models_agree_with_enumeration(name):
    model = {**SMALL, **NONPLANAR}[name]()
    exact = enumerate_states(model)
    found = tensor.log_partition(model)
    assert abs(found.value - exact.log_partition) < 1e-12
    assert not found.proved
    probabilities = tensor.marginals(model)
    np.testing.assert_allclose(probabilities.nodes, exact.nodes, atol=1e-13)
    np.testing.assert_allclose(probabilities.edges, exact.edges, atol=1e-13)


@pytest.mark.parametrize("name", STRONG)
def test_couplings_beyond_the_range_of_doubles_are_refused(name):
    with pytest.raises(PrecisionError, match="within 700"):
        tensor.log_partition(SMALL[name]())


@pytest.mark.parametrize("a", [0.5, 1.0, 2.0, 5.0])
def test_grids_agree_with_elimination(a):
    rng = np.random.default_rng(int(10 * a))
    for rows, columns in ((13, 11), (2, 17), (17, 2), (1, 9), (9, 1)):
        model = random_grid(rows, columns, rng, a, 0.5)
        exact = pl.marginals(model, "treewidth")
        value = pl.log_partition(model, "treewidth").value
        found = tensor.log_partition(model)
        assert abs(found.value - value) <= 1e-12 * model.num_spins
        assert found.lower <= value <= found.upper
        probabilities = tensor.marginals(model)
        assert np.abs(probabilities.nodes - exact.nodes).max() < 1e-10
        assert np.abs(probabilities.edges - exact.edges).max(initial=0) < 1e-10


def test_grids_with_holes_and_missing_edges():
    rng = np.random.default_rng(5)
    whole = random_grid(9, 8, rng, 1.0, 0.5)
    keep = rng.random(whole.num_edges) < 0.6
    model = pl.IsingModel(whole.edges[keep], whole.couplings[keep], whole.fields)
    assert plan_sweep(model, to_network(model)).kind == "grid"
    assert tensor.log_partition(model).value == pytest.approx(
        pl.log_partition(model, "treewidth").value, abs=1e-11
    )


@pytest.mark.parametrize("drawn", [True, False])
def test_triangulations_agree_with_elimination(drawn):
    rng = np.random.default_rng(6)
    edges, positions = delaunay(90, rng)
    model = pl.IsingModel(
        edges,
        rng.uniform(-1, 1, len(edges)),
        rng.uniform(-0.5, 0.5, 90),
        positions=positions if drawn else None,
    )
    exact = pl.marginals(model, "treewidth")
    found = tensor.log_partition(model)
    assert abs(found.value - pl.log_partition(model, "treewidth").value) < 1e-9
    probabilities = tensor.marginals(model)
    assert np.abs(probabilities.nodes - exact.nodes).max() < 1e-8
    assert np.abs(probabilities.edges - exact.edges).max() < 1e-8


@pytest.mark.parametrize("labels", [1, 2, 3, 5])
def test_label_grids_agree_with_elimination(labels):
    model = random_label_grid(6, 5, labels, np.random.default_rng(labels))
    exact = pl.marginals(model, "treewidth")
    found = tensor.log_partition(model)
    assert abs(found.value - pl.log_partition(model, "treewidth").value) < 1e-10
    probabilities = tensor.marginals(model)
    for mine, theirs in zip(probabilities.nodes, exact.nodes, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    for mine, theirs in zip(probabilities.edges, exact.edges, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_any_pairwise_mrf_agrees_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    mrf = random_mrf(rng, num_variables=6, num_factors=9, max_arity=2, zeros=0.2 * (seed % 2))
    exact = enumerate_assignments(mrf)
    found = tensor.log_partition(mrf)
    assert found.value == pytest.approx(exact.log_partition, abs=1e-12)
    if exact.log_partition == -np.inf:
        with pytest.raises(InfeasibleError):
            tensor.marginals(mrf)
        return
    for mine, theirs in zip(tensor.marginals(mrf).nodes, exact.nodes, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_hard_constraints_that_no_state_meets():
    never = pl.MarkovRandomField([2, 2], [((0, 1), [[1, 0], [0, 1]]), ((0, 1), [[0, 1], [1, 0]])])
    assert tensor.log_partition(never).value == -np.inf
    with pytest.raises(InfeasibleError):
        tensor.marginals(never)
    with pytest.raises(InfeasibleError):
        tensor.sample(never, 1)


def test_long_thin_models_have_closed_forms():
    assert tensor.log_partition(path(3000, 0.5)).value == pytest.approx(
        path_log_partition(3000, 0.5), rel=1e-13
    )
    assert tensor.log_partition(ring(501, -0.7)).value == pytest.approx(
        ring_log_partition(501, -0.7), rel=1e-13
    )


def test_fields_of_any_size_and_low_temperatures():
    rng = np.random.default_rng(8)
    model = random_grid(8, 8, rng, 1.0, 1.0)
    for beta in (10.0, 100.0):
        cold = model.with_couplings(beta * model.couplings, beta * model.fields)
        exact = pl.log_partition(cold, "treewidth").value
        try:
            found = tensor.log_partition(cold)
        except PrecisionError:
            assert beta == 100.0
            continue
        assert found.lower <= exact <= found.upper
    held = model.with_couplings(model.couplings, np.where(model.fields > 0, 1e6, -1e6))
    assert tensor.log_partition(held).value == pytest.approx(
        float(held.log_weight(np.sign(held.fields))), rel=1e-14
    )


def test_an_offset_is_added():
    model = pl.IsingModel([(0, 1)], [0.5], offset=7.0)
    assert tensor.log_partition(model).value == pytest.approx(
        enumerate_states(model).log_partition, abs=1e-13
    )


def test_memory_for_the_way_back_does_not_change_anything():
    model = random_grid(12, 9, np.random.default_rng(9), 1.0, 0.5)
    network = to_network(model)
    program = plan_sweep(model, network).program
    _, nodes, edges = kernel.contract_marginals(network.arrays, program, Accuracy(12))
    for limit in (0.0, 3e4, 2e5):
        _, again, pairs = kernel.contract_marginals(
            network.arrays, program, Accuracy(12), history_bytes=limit, threads=2
        )
        np.testing.assert_array_equal(again, nodes)
        np.testing.assert_array_equal(pairs, edges)
    states, logs, _ = kernel.draw(network.arrays, program, 70, 3, Accuracy(32))
    again, others, _ = kernel.draw(
        network.arrays, program, 70, 3, Accuracy(32), history_bytes=0.0, threads=2
    )
    np.testing.assert_array_equal(states, again)
    np.testing.assert_array_equal(logs, others)


def test_coarse_contractions_need_no_marginals():
    rng = np.random.default_rng(16)
    for a, coarse in ((1e-11, 1), (0.2, 2), (1.5, 3)):
        model = random_grid(12, 11, rng, a, 0.4)
        run = Run(model, None, MAX_BOND, Budget.of(None, threads=1))
        run.tolerance = 1e-9
        values = run.converge_marginals(run.budget)
        assert [len(value.nodes) > 0 for value in values] == [
            k >= coarse for k in range(coarse + 2)
        ]
        exact = pl.marginals(model, "treewidth")
        found = run.marginals(values)
        assert np.abs(found.nodes - exact.nodes).max() <= found.error < 1e-8
        limited = tensor.marginals(model, threads=1, time_limit=3600.0)
        np.testing.assert_allclose(found.nodes, limited.nodes, atol=1e-12)


def test_every_time_limit_leaves_an_error_that_holds():
    model = random_label_grid(8, 7, 3, np.random.default_rng(2))
    exact = pl.log_partition(model, "treewidth").value
    answered = []
    for looks in (100, 300, 500, 700, 900, 100_000):
        with use_clock(StepClock(looks)):
            try:
                found = tensor.log_partition(model, threads=1, time_limit=1.0)
            except TimeLimitError:
                assert not answered
                continue
        assert found.lower <= exact <= found.upper
        answered.append(found.gap)
    assert len(answered) >= 4
    assert answered[0] > 1e3 * answered[-1]


@pytest.mark.parametrize("kind", ["U(±.5)", "U(±1)", "U(±2)", "critical", "3 labels", "4 labels"])
def test_stated_errors_hold_after_every_contraction(kind):
    rng = np.random.default_rng(3)
    for _ in range(3):
        if kind.endswith("labels"):
            model = random_label_grid(8, 7, int(kind[0]), rng)
        elif kind == "critical":
            model = pl.IsingModel.from_image(np.full((14, 14), 0.01), *rng.uniform(0.4, 0.5, 2))
        else:
            model = random_grid(14, 13, rng, float(kind[3:-1]), 0.4)
        exact = pl.log_partition(model, "treewidth").value
        run = Run(model, None, MAX_BOND, Budget.of(None, threads=1))
        values = []
        for accuracy, program in itertools.islice(run.turns(), 5):
            values.append(Value(accuracy, run.contract(accuracy, run.budget, program), program))
            if len(values) > 1:
                found = run.log_partition(values)
                assert found.lower - 1e-11 <= exact <= found.upper + 1e-11


def test_zeros_of_coarse_contractions_are_not_believed():
    model = random_label_grid(4, 4, 2, np.random.default_rng(4), zeros=0.1)
    run = Run(model, None, MAX_BOND, Budget.of(None, threads=1))
    zero = SimpleNamespace(log_partition=-np.inf, largest_bond=1, largest_residual=0.0)
    values = []
    for accuracy, program in itertools.islice(run.turns(), 6):
        values.append(Value(accuracy, zero, program))
        assert run.done(values, change_of(values)) == (accuracy.tolerance <= 1e-14)
    assert change_of(values) == 0.0


def test_lost_digits_are_not_taken_for_small_bonds():
    def value(rank, log):
        return Value(
            Accuracy(rank, 1e-29), SimpleNamespace(log_partition=log, largest_bond=1), None
        )

    assert is_last(value(32, 1.0), 128)
    assert not is_last(value(32, np.nan), 128)
    assert is_last(value(128, np.nan), 128)


def test_bonds_double_until_nothing_changes():
    model = random_grid(16, 16, np.random.default_rng(10), 1.5, 0.3)
    exact = pl.log_partition(model, "treewidth").value
    loose = tensor.log_partition(model, max_bond=8)
    tight = tensor.log_partition(model)
    assert loose.gap > tight.gap
    assert loose.lower <= exact <= loose.upper
    assert [bond for bond, _ in loose.stats["contractions"]] == [8, 8]
    assert abs(tight.value - exact) < 1e-11


def test_a_time_limit_that_is_too_short():
    model = random_grid(60, 60, np.random.default_rng(11), 1.0, 0.3)
    with pytest.raises(TimeLimitError):
        tensor.log_partition(model, time_limit=1e-3)
    with pytest.raises(MethodError, match="max_bond"):
        tensor.log_partition(model, max_bond=0)


def test_progress_is_told():
    model = random_grid(40, 40, np.random.default_rng(12), 1.0, 0.3)
    heard: list[float] = []
    tensor.log_partition(model, progress=heard.append, tolerance=1e-3, threads=1)
    assert all(0 <= fraction <= 1 for fraction in heard)


def test_grids_are_recognised():
    assert grid_shape(0, np.zeros((0, 2), np.int32)) is None
    assert grid_shape(3, np.zeros((0, 2), np.int32)) == (3, 1)
    assert grid_shape(4, np.array([[0, 1], [2, 1]], np.int32)) == (1, 4)
    assert grid_shape(4, np.array([[0, 1], [0, 2], [0, 3]], np.int32)) is None
    assert grid_shape(6, np.array([[2, 3], [0, 3]], np.int32)) is None  # 2-3 is not in a row
    assert grid_shape(6, np.array([[0, 3], [1, 4]], np.int32)) == (2, 3)


# -- samples --------------------------------------------------------------------------------


def test_samples_have_the_probabilities_they_say():
    model = random_grid(12, 12, np.random.default_rng(13), 1.0, 0.5)
    exact = pl.log_partition(model, "treewidth").value
    draws = tensor.sample(model, 100, 1)
    truth = model.log_weight(draws.states) - exact
    assert np.abs(truth - draws.log_probabilities).max() < 1e-9
    assert draws.error < 1e-9


@pytest.mark.parametrize("labels", [2, 3])
def test_samples_follow_the_model(labels):
    mrf = random_label_grid(3, 2, labels, np.random.default_rng(14 + labels))
    exact = enumerate_assignments(mrf)
    states = tensor.sample(mrf, 20_000, 5).states
    counts = np.zeros([labels] * 6)
    np.add.at(counts, tuple(states.T), 1)
    index = np.indices(counts.shape).reshape(6, -1).T
    expected = 20_000 * np.exp(mrf.log_weight(index) - exact.log_partition)
    seen = counts.ravel()
    few = expected < 5
    seen = np.append(seen[~few], seen[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    statistic = float(((seen - expected) ** 2 / np.maximum(expected, 1e-9)).sum())
    freedom = len(expected) - 1
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


def test_no_samples_and_no_variables():
    model = random_grid(3, 3, np.random.default_rng(15), 1.0, 0.5)
    assert tensor.sample(model, 0).states.shape == (0, 9)
    empty = pl.IsingModel([], [], num_spins=0)
    assert tensor.sample(empty, 3).states.shape == (3, 0)


@pytest.mark.parametrize("seed", range(4))
def test_stated_errors_hold_at_low_temperatures(seed):
    rng = np.random.default_rng(seed)
    answered = 0
    for _ in range(12):
        n = int(rng.integers(4, 10))
        beta = float(rng.choice([10.0, 30.0]))
        right, down = rng.normal(size=(n, n - 1)), rng.normal(size=(n - 1, n))
        if rng.random() < 0.5:
            right, down = np.sign(right), np.sign(down)
        fields = 0.3 * rng.normal(size=(n, n))
        model = pl.IsingModel.from_image(beta * fields, beta * right, beta * down)
        exact = pl.log_partition(model, "treewidth")
        try:
            found = tensor.log_partition(model)
        except PrecisionError:
            continue
        answered += 1
        assert found.lower - 1e-9 <= exact.value <= found.upper + 1e-9
    assert answered > 4


@pytest.mark.parametrize(("beta", "error"), [(10.0, 1e-10), (30.0, 4e-9)])
def test_cold_grids_take_more_digits(beta, error):
    rng = np.random.default_rng(4)
    right, down = rng.normal(size=(12, 11)), rng.normal(size=(11, 12))
    model = pl.IsingModel.from_image(
        beta * 0.3 * rng.normal(size=(12, 12)), beta * right, beta * down
    )
    exact = pl.marginals(model, "treewidth")
    found = tensor.log_partition(model)
    assert abs(found.value - exact.log_z) < error
    assert found.lower <= exact.log_z <= found.upper
    probabilities = tensor.marginals(model)
    assert np.abs(probabilities.nodes - exact.nodes).max() <= probabilities.error
    assert np.abs(probabilities.edges - exact.edges).max() <= probabilities.error


def test_lattices_with_diagonals_are_swept_by_rows():
    n = 9
    index = np.arange(n * n).reshape(n, n)
    diagonals = [
        np.c_[index[:-1, :-1].ravel(), index[1:, 1:].ravel()],
        np.c_[index[:-1, 1:].ravel(), index[1:, :-1].ravel()],
    ]
    edges = np.concatenate([pl.generate.square_lattice(n).edges, *diagonals])
    rng = np.random.default_rng(1)
    model = pl.IsingModel(edges, 0.6 * rng.normal(size=len(edges)), rng.normal(size=n * n))
    sweep = plan_sweep(model, to_network(model))
    assert (sweep.kind, sweep.width) == ("rows", n + 1)
    assert sweep.cost < 6 * n * n  # swaps do not add up along the line
    found = tensor.log_partition(model)
    assert abs(found.value - pl.log_partition(model, "treewidth").value) < 1e-9


def test_bonds_at_their_limit_do_not_hide_the_last_change():
    def values(*found):
        return [
            Value(Accuracy(rank), SimpleNamespace(log_partition=log, largest_bond=rank), None)
            for rank, log in found
        ]

    growing = values((16, 1.0), (24, 1.016), (32, 1.0160001))
    assert change_of(growing) == pytest.approx(0.001)
    assert change_of(values((24, 1.0), (32, 1.016), (32, 1.0160001))) == pytest.approx(0.016)
    assert change_of(values((16, 1.0))) == 0.0
    assert change_of(values((16, 1.0), (24, np.nan))) == np.inf


@pytest.mark.parametrize("seed", [60, 84, 131, 145])
def test_marginals_that_agree_are_not_contracted_again_for_digits_of_log_z(seed, monkeypatch):
    rng = np.random.default_rng([5, seed])
    size = int(rng.integers(8, 14))
    model = random_grid(size, size, rng, 4, 1)
    pivots = []
    contract = kernel.contract_marginals

    def counted(arrays, program, accuracy, **options):
        pivots.append(accuracy.tolerance)
        return contract(arrays, program, accuracy, **options)

    monkeypatch.setattr(kernel, "contract_marginals", counted)
    found = pl.marginals(model, "tensor-network")
    assert min(pivots) > PAIR_PIVOT
    exact = pl.marginals(model, "treewidth")
    assert np.abs(found.nodes - exact.nodes).max() <= found.error < 1e-8
