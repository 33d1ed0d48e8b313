from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from planaris import IsingModel, MarkovRandomField, treewidth
from planaris.errors import MethodError, ModelError, TooLargeError
from planaris.kernels.elimination import elimination_order
from planaris.treewidth import plan
from planaris.treewidth.flatten import to_factor_arrays


def grid(rows: int, columns: int) -> IsingModel:
    return IsingModel.from_image(np.ones((rows, columns)), 1.0, 1.0)


@pytest.mark.parametrize(("shape", "width"), [((5, 9), 5), ((9, 5), 5), ((20, 20), 20)])
def test_a_grid_is_swept_along_its_short_side(shape, width):
    plan = treewidth.plan_elimination(grid(*shape), kind="frontier")
    assert plan.width == width


def test_a_scrambled_grid_is_swept_as_well():
    model = grid(8, 8)
    names = np.random.default_rng(0).permutation(64)
    scrambled = IsingModel(names[model.edges], model.couplings)
    assert treewidth.plan_elimination(scrambled, kind="frontier").width <= 9


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.path_graph(50), 1),
        (nx.star_graph(400), 1),
        (nx.cycle_graph(30), 2),
        (nx.complete_graph(7), 6),
        (nx.wheel_graph(600), 3),
        (nx.ladder_graph(40), 2),
    ],
)
def test_known_treewidths_are_found(graph, width):
    model = IsingModel(list(graph.edges), 1.0)
    plan = treewidth.plan_elimination(model, kind="clusters")
    assert plan.width == width
    assert sorted(plan.order.tolist()) == list(range(model.num_spins))


def test_the_memory_promised_is_the_memory_taken():
    # A table over all ten variables of ten labels would be 16e10 bytes.
    model = MarkovRandomField(
        [10] * 12, [((i, j), np.ones(100)) for i in range(12) for j in range(i)]
    )
    with pytest.raises(TooLargeError) as caught:
        treewidth.log_partition(model)
    assert caught.value.bytes_needed >= 16 * 10**11
    assert caught.value.width >= 10
    assert "method='trw'" in str(caught.value)


def test_too_wide_models_are_refused_with_the_method_to_use_instead():
    model = IsingModel(list(nx.complete_graph(60).edges), 1.0)
    with pytest.raises(TooLargeError, match="at least") as caught:
        treewidth.ground_state(model)
    assert "branch-and-cut" in str(caught.value)
    with pytest.raises(TooLargeError, match="pdc"):
        treewidth.log_partition(model)


def test_a_memory_limit_is_kept_by_keeping_fewer_checkpoints():
    model = grid(12, 12)
    free = treewidth.plan_elimination(model, kind="frontier")
    tight = treewidth.plan_elimination(model, kind="frontier", memory_limit=9 * 8 * 2**12)
    assert tight.bytes <= 9 * 8 * 2**12 < free.bytes
    whole, part = (treewidth.marginals(model, plan=plan) for plan in (free, tight))
    np.testing.assert_array_equal(whole.nodes, part.nodes)
    with pytest.raises(TooLargeError):
        treewidth.marginals(model, memory_limit=1000)


def test_orders_are_checked():
    model = grid(2, 2)
    for order, kind in (([0, 1, 2], "clusters"), ([0, 0, 1, 2], "frontier"), ([0, 1, 2, 3], None)):
        with pytest.raises(ModelError, match="order"):
            treewidth.plan_elimination(model, kind=kind, order=order)


def test_a_frontier_needs_a_binary_pairwise_model():
    with pytest.raises(MethodError, match="binary pairwise"):
        treewidth.plan_elimination(MarkovRandomField([3], []), kind="frontier")


def test_a_large_grid_is_refused_quickly():
    with pytest.raises(TooLargeError):
        treewidth.log_partition(grid(150, 150))


@pytest.mark.parametrize("scrambled", [False, True])
def test_a_square_is_swept_along_its_diagonals(scrambled):
    """They fill the largest table only in the middle: 5 L 2^L updates, and L² 2^L by rows."""
    model = grid(16, 16)
    names = np.random.default_rng(0).permutation(256) if scrambled else np.arange(256)
    plain = IsingModel(names[model.edges], model.couplings)
    plan = treewidth.plan_elimination(plain, kind="frontier")
    assert plan.width == 16
    assert plan.entries < 6 * 16 * 2**16


def tables_of(plan):
    return plan.bytes / (8 * 2**plan.width)


def test_marginals_fit_three_tables(rng):
    model = IsingModel(grid(12, 12).edges, rng.normal(size=264), rng.normal(size=144))
    wanted = treewidth.plan_elimination(model, kind="frontier")
    one = 8 * 2**wanted.width
    full = treewidth.marginals(model, plan=wanted)
    for tables, spare, may_widen in ((3, 1, False), (4, 2, False), (7, 1, True), (8, 2, True)):
        plan = treewidth.plan_elimination(model, kind="frontier", memory_limit=tables * one)
        assert (plan.spare, plan.may_widen) == (spare, may_widen)
        assert tables_of(plan) == tables
        found = treewidth.marginals(model, plan=plan, memory_limit=tables * one)
        np.testing.assert_array_equal(found.nodes, full.nodes)
        np.testing.assert_array_equal(found.edges, full.edges)
    with pytest.raises(TooLargeError):
        treewidth.marginals(model, plan=wanted, memory_limit=3 * one - 1)


def test_cold_models_need_room_for_exponents(rng):
    model = IsingModel(grid(9, 9).edges, 400 * rng.normal(size=144), rng.normal(size=81))
    wanted = treewidth.plan_elimination(model, kind="frontier")
    one = 8 * 2**wanted.width
    exact = treewidth.marginals(model, plan=wanted)
    with pytest.raises(TooLargeError, match="exponents of their own") as caught:
        treewidth.marginals(model, plan=wanted, memory_limit=6 * one)
    found = treewidth.marginals(model, plan=wanted, memory_limit=caught.value.bytes_needed)
    np.testing.assert_array_equal(found.nodes, exact.nodes)


def test_searches_for_orders_end_where_one_is_good_enough(monkeypatch):
    """Restarts are counted: none where the first order will do, few where none will."""
    tried = []
    found = plan.elimination.elimination_order

    def counted(*arguments, **options):
        tried.append(options.get("seed", 0))
        return found(*arguments, **options)

    monkeypatch.setattr(plan.elimination, "elimination_order", counted)

    def orders(good_enough):
        tried.clear()
        treewidth.plan_elimination(
            grid(17, 17), kind="clusters", search_seconds=1e9, good_enough=good_enough
        )
        return len(tried)

    assert orders(1e6) == 1  # min-degree
    assert orders(1e-9) == 1 + plan.FIRST_ORDERS + 1


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_clusters_of_many_pieces_agree_with_a_frontier(size):
    rng = np.random.default_rng(4)
    model = IsingModel.from_image(rng.normal(0, size, (13, 15)), size, size)
    clusters, table = (
        treewidth.marginals(model, plan=treewidth.plan_elimination(model, kind=kind))
        for kind in ("clusters", "frontier")
    )
    assert np.abs(clusters.nodes - table.nodes).max() <= clusters.error + table.error
    assert np.abs(clusters.edges - table.edges).max() <= clusters.error + table.error
    assert clusters.proved
    assert clusters.error < 1e-9


def fill_in(around: dict[int, set[int]], v: int) -> int:
    return sum(b not in around[a] for a, b in combinations(sorted(around[v]), 2))


@pytest.mark.parametrize("min_fill", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_greedy_orders_take_the_first_of_the_best(min_fill, seed):
    rng = np.random.default_rng(seed)
    n = 40
    edges = {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(90)}
    model = IsingModel(sorted(edges), 1.0, np.zeros(n))
    order, bits, _ = elimination_order(to_factor_arrays(model), min_fill=min_fill)
    around = {v: {u for edge in edges if v in edge for u in edge} - {v} for v in range(n)}
    leaves, widest = True, 0
    for v in order.tolist():
        leaves = leaves and min(map(len, around.values())) < 2

        def rank(u: int) -> tuple[int, ...]:
            return (fill_in(around, u), len(around[u]), u) if min_fill else (len(around[u]), u)

        assert len(around[v]) < 2 if leaves else rank(v) == min(map(rank, around))
        widest = max(widest, len(around[v]) + 1)
        near = around.pop(v)
        for u in near:
            around[u] = (around[u] | near) - {u, v}
    assert not around
    assert bits == widest
