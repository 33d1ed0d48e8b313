"""Separation against the enumeration of all cycles of small graphs."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from planaris.budget import Budget
from planaris.kernels.relaxations import separate_cycles, separate_wheels
from planaris.relax.lp.facets import psd_rows, wheel_rows


def all_cycle_lengths(n, edges, x):
    """Smallest left side of any cycle inequality."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    index = {}
    for e, (u, v) in enumerate(edges.tolist()):
        graph.add_edge(u, v)
        index[u, v] = index[v, u] = e
    best = 1.0
    for cycle in nx.simple_cycles(graph):
        if len(cycle) < 3:
            continue
        values = np.array([x[index[u, v]] for u, v in itertools.pairwise([*cycle, cycle[0]])])
        # The best odd set: each edge at its nearer side, then repair the parity.
        flips = 1 - 2 * values
        total, odd = values.sum() + flips[flips < 0].sum(), np.count_nonzero(flips < 0) % 2
        best = min(best, total if odd else total + np.abs(flips).min())
    return best


def random_point(rng, n):
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int32)
    edges = np.ascontiguousarray(pairs[rng.random(len(pairs)) < rng.uniform(0.3, 1)])
    kind = rng.integers(3)
    if kind == 0:
        x = rng.random(len(edges))
    elif kind == 1:  # many integral edges
        x = rng.choice([0.0, 1.0, 0.5, 0.25], len(edges))
    else:  # near a mixture of cuts, so that violations are small or none
        states = rng.choice([-1, 1], (3, n))
        cuts = states[:, edges[:, 0]] != states[:, edges[:, 1]]
        x = rng.dirichlet(np.ones(3)) @ cuts + rng.normal(0, 0.02, len(edges)) * rng.integers(2)
    return edges, np.clip(x, 0, 1)


@pytest.mark.parametrize("budget", [0, 2, 48])
def test_a_violated_cycle_is_found_whenever_there_is_one(rng, budget):
    found_some = 0
    for _ in range(150):
        n = int(rng.integers(3, 8))
        edges, x = random_point(rng, n)
        cuts = separate_cycles(n, edges, x, max_settled=budget)
        violation = 1 - all_cycle_lengths(n, edges, x)
        assert (len(cuts) > 0) == (violation > 1e-6), (violation, edges, x)
        found_some += len(cuts) > 0
    assert 20 < found_some < 140


def test_cuts_are_simple_chordless_cycles_that_hold_for_every_state(rng):
    for _ in range(100):
        n = int(rng.integers(3, 9))
        edges, x = random_point(rng, n)
        states = np.array(list(itertools.product([-1, 1], repeat=n)))
        apart = (states[:, edges[:, 0]] != states[:, edges[:, 1]]).astype(float)
        cuts = separate_cycles(n, edges, x)
        for k in range(len(cuts)):
            part = slice(cuts.offsets[k], cuts.offsets[k + 1])
            cycle, odd = cuts.edges[part], cuts.odd[part].astype(bool)
            assert odd.sum() % 2 == 1
            spins, times = np.unique(edges[cycle], return_counts=True)
            assert len(spins) == len(cycle)
            assert np.all(times == 2)
            inside = np.isin(edges, spins).all(1)
            assert inside.sum() == len(cycle), "a chord is left"
            left = np.where(odd, 1 - apart[:, cycle], apart[:, cycle]).sum(1)
            assert left.min() >= 1
            here = np.where(odd, 1 - x[cycle], x[cycle]).sum()
            assert here == pytest.approx(1 - cuts.violation[k], abs=1e-12)
            assert here < 1


def test_threads_do_not_change_the_cuts(rng):
    edges = np.array(nx.grid_2d_graph(20, 20).number_of_edges() * [[0, 0]], dtype=np.int32)
    index = {v: k for k, v in enumerate(nx.grid_2d_graph(20, 20))}
    for e, (u, v) in enumerate(nx.grid_2d_graph(20, 20).edges):
        edges[e] = index[u], index[v]
    x = rng.choice([0.0, 1.0, 0.5], len(edges))
    one, two = (separate_cycles(400, edges, x, budget=Budget(threads=t)) for t in (1, 2))
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.offsets, two.offsets)


def test_no_edges_and_broken_arrays():
    none = np.zeros((0, 2), dtype=np.int32)
    assert len(separate_cycles(0, none, np.zeros(0))) == 0
    assert len(separate_cycles(5, none, np.zeros(0))) == 0
    with pytest.raises(ValueError, match="one value per edge"):
        separate_cycles(2, np.array([[0, 1]], dtype=np.int32), np.zeros(2))
    with pytest.raises(ValueError, match="no pair of spins"):
        separate_cycles(2, np.array([[0, 2]], dtype=np.int32), np.zeros(1))


def test_wheels_hold_for_every_state_and_cut_off_the_point(rng):
    found = 0
    for _ in range(60):
        n = int(rng.integers(5, 9))
        edges = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int32)
        edges = np.ascontiguousarray(edges[rng.random(len(edges)) < rng.choice([0.9, 1.0])])
        side = rng.choice([-1, 1], n)
        # Near a switching of the point 2/3, which satisfies all triangles and no wheel.
        x = np.where(side[edges[:, 0]] == side[edges[:, 1]], 2 / 3, 1 / 3)
        x = np.clip(x + rng.normal(0, 0.01, len(edges)), 0, 1)
        states = np.array(list(itertools.product([-1, 1], repeat=n)))
        apart = (states[:, edges[:, 0]] != states[:, edges[:, 1]]).astype(float)
        cuts = separate_wheels(n, edges, x)
        offsets, columns, values, sides = wheel_rows(cuts)
        for k in range(len(cuts)):
            here = slice(offsets[k], offsets[k + 1])
            assert (apart[:, columns[here]] @ values[here]).min() >= sides[k]
            assert x[columns[here]] @ values[here] < sides[k]
            assert cuts.rim[k] % 2 == 1
        found += len(cuts)
    assert found > 100


def test_semidefinite_cuts_hold_for_every_state(rng):
    n = 7
    edges = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int32)
    states = np.array(list(itertools.product([-1, 1], repeat=n)))
    apart = (states[:, edges[:, 0]] != states[:, edges[:, 1]]).astype(float)
    x = rng.random(len(edges))
    offsets, columns, values, sides = psd_rows(n, edges, x)
    assert len(sides) > 0
    for k in range(len(sides)):
        here = slice(offsets[k], offsets[k + 1])
        assert np.all(apart[:, columns[here]] @ values[here] >= sides[k])
        assert x[columns[here]] @ values[here] < sides[k]
