from __future__ import annotations

import numpy as np
import pytest

from planaris import IsingModel, MarkovRandomField, treewidth
from planaris.errors import ModelError, TimeLimitError

KINDS = ["clusters", "frontier"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_spins(kind):
    model = IsingModel([], [], offset=1.5)
    plan = treewidth.plan_elimination(model, kind=kind)
    assert treewidth.log_partition(model, plan=plan).value == 1.5
    assert treewidth.ground_state(model, plan=plan).energy == -1.5
    assert treewidth.marginals(model, plan=plan).nodes.shape == (0,)
    assert treewidth.sample(model, 3, np.random.default_rng(0), plan=plan).shape == (3, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_one_spin(kind):
    model = IsingModel([], [], fields=[0.7])
    plan = treewidth.plan_elimination(model, kind=kind)
    found = treewidth.log_partition(model, plan=plan).value
    assert found == pytest.approx(np.log(2 * np.cosh(0.7)), abs=1e-15)
    assert treewidth.marginals(model, plan=plan).nodes[0] == pytest.approx(
        1 / (1 + np.exp(-1.4)), abs=1e-15
    )


@pytest.mark.parametrize("kind", KINDS)
def test_enormous_couplings_neither_overflow_nor_vanish(kind):
    # Frustrated triangle: six ground states of weight exp(1e5), two of exp(-3e5).
    model = IsingModel([(0, 1), (1, 2), (0, 2)], [1e5, 1e5, -1e5])
    plan = treewidth.plan_elimination(model, kind=kind)
    found = treewidth.log_partition(model, plan=plan)
    assert found.value == pytest.approx(1e5 + np.log(6), rel=1e-15)
    assert found.lower <= 1e5 + np.log(6) <= found.upper
    shares = treewidth.marginals(model, plan=plan)
    np.testing.assert_allclose(shares.nodes, 0.5, atol=1e-10)
    np.testing.assert_allclose(shares.edges, [2 / 3, 2 / 3, 1 / 3], atol=1e-10)


def test_couplings_of_1e300_are_enclosed():
    model = IsingModel([(0, 1), (1, 2), (0, 2)], [1e300, 1e300, -1e300])
    found = treewidth.log_partition(model)
    assert found.lower <= 1e300 <= found.upper
    assert found.gap < 1e-13 * 1e300
    assert treewidth.ground_state(model).energy == -1e300


def test_tiny_couplings_count_states():
    model = IsingModel([(0, 1), (1, 2), (0, 2)], [1e-300, 5e-324, -1e-300])
    assert treewidth.log_partition(model).value == pytest.approx(3 * np.log(2), abs=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_constraints_leave_what_satisfies_them(kind):
    # x0 != x1, x1 == x2: two states.
    differ, equal = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    model = MarkovRandomField([2] * 3, [((0, 1), differ), ((1, 2), equal), ((2,), [1, 3])])
    plan = treewidth.plan_elimination(model, kind=kind)
    assert treewidth.log_partition(model, plan=plan).value == pytest.approx(np.log(4))
    shares = treewidth.marginals(model, plan=plan)
    np.testing.assert_allclose(shares.nodes[0], [0.75, 0.25], atol=1e-15)
    assert shares.edges[0][0, 0] == 0.0
    assert treewidth.ground_state(model, plan=plan).assignment.tolist() == [0, 1, 1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_chain_of_many_spins(sign):
    n = 100_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    model = IsingModel(edges, sign * 0.5)
    found = treewidth.log_partition(model)
    truth = n * np.log(2) + (n - 1) * np.log(np.cosh(0.5))
    assert found.lower <= truth <= found.upper
    assert found.gap < 1e-7
    shares = treewidth.marginals(model)
    np.testing.assert_allclose(shares.nodes, 0.5, atol=1e-12)
    np.testing.assert_allclose(shares.edges, 1 / (1 + np.exp(-sign)), atol=1e-12)
    best = treewidth.ground_state(model)
    assert best.energy == pytest.approx(-(n - 1) / 2, rel=1e-15)


def test_a_star_of_many_leaves():
    n = 200_000
    edges = np.column_stack([np.zeros(n, dtype=int), np.arange(1, n + 1)])
    found = treewidth.log_partition(IsingModel(edges, 0.25))
    assert found.value == pytest.approx((n + 1) * np.log(2) + n * np.log(np.cosh(0.25)), rel=1e-13)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("verb", [treewidth.log_partition, treewidth.marginals])
def test_time_limits_stop_the_work(verb):
    model = IsingModel.from_image(np.ones((21, 21)), 1.0, 1.0)
    with pytest.raises(TimeLimitError, match="time_limit"):
        verb(model, time_limit=1e-3)


def test_progress_is_reported_and_may_interrupt():
    class Stop(Exception):
        pass

    def tell(_: float) -> None:
        raise Stop

    model = IsingModel.from_image(np.ones((21, 21)), 1.0, 1.0)
    with pytest.raises(Stop):
        treewidth.marginals(model, progress=tell)


def test_samples_repeat_with_the_seed():
    model = IsingModel.from_image(np.zeros((4, 4)), 0.4, 0.4)
    first, second = (treewidth.sample(model, 5, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.dtype == np.int8
    with pytest.raises(ModelError, match="num_samples"):
        treewidth.sample(model, -1, np.random.default_rng(3))


def test_the_same_plan_serves_other_couplings(rng):
    model = IsingModel.from_image(np.zeros((6, 6)), 0.4, 0.4)
    plan = treewidth.plan_elimination(model)
    other = model.with_couplings(rng.normal(size=model.num_edges))
    assert treewidth.log_partition(other, plan=plan).value == pytest.approx(
        treewidth.log_partition(other).value, rel=1e-13
    )
