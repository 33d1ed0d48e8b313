"""More than two labels, noise per edge and node, and the constant of the upper bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planaris.errors import MethodError, ModelError
from planaris.generate import square_lattice
from planaris.recover import (
    MAP,
    CycleLP,
    HillClimbing,
    LabelMAP,
    LabelMarginal,
    LabelObservations,
    LabelTwoStep,
    LocalLP,
    Marginal,
    Observations,
    TwoStep,
    as_graph,
    estimate_noise,
    observe,
    observe_labels,
    polygon_areas,
    polygon_constant,
    posterior_model,
)

KINDS = ("difference", "equal")
SQUARE = (4, [(0, 1), (1, 2), (2, 3), (3, 0)])


def likelihoods(seen, p, q):
    """Return P(X | y) of every labelling, by the definition of the noise."""
    n, k = seen.graph.num_nodes, seen.num_labels
    p, q = np.broadcast_to(p, len(seen.edges)), np.broadcast_to(q, n)
    choices = k if seen.kind == "difference" else 2
    found = {}
    for y in itertools.product(range(k), repeat=n):
        value = 1.0
        for e, (u, v) in enumerate(seen.graph.edges.tolist()):
            shown = (y[v] - y[u]) % k
            shown = shown if seen.kind == "difference" else int(shown == 0)
            if seen.edges[e] >= 0:
                value *= 1 - p[e] if seen.edges[e] == shown else p[e] / (choices - 1)
        for v in range(n):
            if seen.nodes[v] >= 0:
                value *= 1 - q[v] if seen.nodes[v] == y[v] else q[v] / (k - 1)
        found[y] = value
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_map_and_marginals_follow_from_the_definition(rng, kind, k):
    p, q = rng.uniform(0.05, 0.4, 4), rng.uniform(0.05, 0.4, 4)
    seen = observe_labels(SQUARE, rng.integers(0, k, 4), k, p, q, rng, kind=kind)
    seen = LabelObservations(
        seen.graph, k, np.where([0, 0, 0, 1], -1, seen.edges), np.append(-1, seen.nodes[1:]), kind
    )
    weights = likelihoods(seen, p, q)
    total = sum(weights.values())
    beliefs = np.zeros((4, k))
    for y, value in weights.items():
        beliefs[np.arange(4), y] += value / total
    found = LabelMarginal(p, q).recover(seen)
    np.testing.assert_allclose(found.beliefs, beliefs, atol=1e-9)
    assert found.exact
    best = LabelMAP(p, q).recover(seen)
    assert weights[tuple(best.labels.tolist())] == pytest.approx(max(weights.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_two_steps_find_the_best_edges_and_then_the_best_names(rng, kind):
    for _ in range(5):
        seen = observe_labels(SQUARE, rng.integers(0, 3, 4), 3, 0.2, 0.4, rng, kind=kind)
        found = LabelTwoStep().recover(seen)
        states = np.array(list(itertools.product(range(3), repeat=4)))
        bad = np.array([seen.bad_edges(y).sum() for y in states])
        assert seen.bad_edges(found.labels).sum() == bad.min()
        # No renaming of its classes agrees with more nodes.
        names = (
            [(np.arange(3) + s) % 3 for s in range(3)]
            if kind == "difference"
            else [np.array(one) for one in itertools.permutations(range(3))]
        )
        wrong = [seen.bad_nodes(one[found.labels]).sum() for one in names]
        assert seen.bad_nodes(found.labels).sum() == min(wrong)


def test_two_labels_agree_with_the_estimators_of_spins(rng):
    grid = square_lattice(4)
    truth = rng.choice([-1, 1], 16)
    seen = observe(grid, truth, 0.1, 0.3, rng)
    edges = np.where(seen.edges > 0, 0, 1)
    nodes = (seen.nodes > 0).astype(int)
    labels = LabelObservations(seen.graph, 2, edges, nodes)
    ours = LabelMarginal(0.1, 0.3).recover(labels).beliefs[:, 1]
    np.testing.assert_allclose(ours, Marginal(0.1, 0.3).recover(seen).beliefs, atol=1e-9)


def test_ties_of_shifts_count_in_part():
    seen = LabelObservations(as_graph((2, [(0, 1)])), 3, [0], [-1, -1])
    found = LabelTwoStep().recover(seen)
    assert found.error([0, 0]) == pytest.approx(2 / 3)


def test_noise_per_edge_and_node_enters_every_estimator(rng):
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    p, q = rng.uniform(0.02, 0.45, 5), rng.uniform(0.05, 0.45, 4)
    seen = observe((4, pairs), rng.choice([-1, 1], 4), p, q, rng)
    states = np.array(list(itertools.product([-1, 1], repeat=4)), dtype=np.int8)
    weights = np.array(
        [
            np.prod(np.where(seen.bad_edges(y), p, 1 - p))
            * np.prod(np.where(seen.bad_nodes(y), q, 1 - q))
            for y in states
        ]
    )
    beliefs = weights @ (states > 0) / weights.sum()
    np.testing.assert_allclose(Marginal(p, q).recover(seen).beliefs, beliefs, atol=1e-9)
    best = states[np.argmax(weights)]
    np.testing.assert_array_equal(MAP(p, q).recover(seen).labels, best)
    for one in (LocalLP, CycleLP, HillClimbing):
        found = one(p, q).recover(seen, 0)
        if found.exact:
            np.testing.assert_array_equal(found.labels, best)
    two = TwoStep(p=p, q=q).recover(seen)
    odds = np.log((1 - p) / p)
    cost = [odds[seen.bad_edges(y)].sum() for y in states]
    assert odds[seen.bad_edges(two.labels)].sum() == pytest.approx(min(cost))
    votes = np.log((1 - q) / q)
    assert votes[seen.bad_nodes(two.labels)].sum() <= votes[seen.bad_nodes(-two.labels)].sum()
    with pytest.raises(ModelError, match="shape"):
        Marginal(p[:2], q).recover(seen)
    with pytest.raises(ModelError, match="between 0 and 1/2"):
        posterior_model(seen, np.full(5, 0.7), 0.1)


def test_certain_observations_among_noisy_ones_are_kept(rng):
    grid = square_lattice(3)
    p = np.where(rng.random(12) < 0.5, 0.0, 0.3)
    seen = observe(grid, 1, p, 0.2, rng)
    found = MAP(p, 0.2).recover(seen)
    assert not seen.bad_edges(found.labels)[p == 0].any()


def test_noise_of_groups_is_estimated_and_known_arrays_are_used(rng):
    grid = square_lattice(12)
    m, n = len(grid.edges), grid.num_vertices
    groups = (np.arange(m) % 2).astype(int)
    p = np.where(groups == 0, 0.02, 0.2)
    q = np.where(np.arange(n) % 2 == 0, 0.1, 0.4)
    seen = observe(grid, 1, p, q, rng)
    joint = estimate_noise(seen, edge_groups=groups, node_groups=np.arange(n) % 2, method="joint")
    assert joint.p.shape == (m,)
    assert joint.q.shape == (n,)
    assert abs(joint.p[0] - 0.02) < 4 * joint.p_error[0] + 0.01
    assert abs(joint.p[1] - 0.2) < 4 * joint.p_error[1] + 0.01
    assert abs(joint.q[0] - 0.1) < 4 * joint.q_error[0] + 0.01
    assert abs(joint.q[1] - 0.4) < 4 * joint.q_error[1] + 0.01
    edges = estimate_noise(seen, edge_groups=groups, method="edges")
    np.testing.assert_allclose(edges.p, joint.p, atol=0.04)
    given = estimate_noise(seen, p=p, method="edges")
    np.testing.assert_array_equal(given.p, p)
    assert 0.1 < given.q < 0.4
    assert estimate_noise(seen, node_groups=np.zeros(n, int), method="plug-in").q.shape == (n,)
    with pytest.raises(MethodError, match="node_groups"):
        estimate_noise(seen, node_groups=np.arange(n) % 2, method="edges")
    with pytest.raises(ModelError, match="edge_groups"):
        estimate_noise(seen, edge_groups=[0.5] * m)


def test_wrong_observations_are_refused():
    graph = as_graph((2, [(0, 1)]))
    with pytest.raises(ModelError, match="nodes"):
        LabelObservations(graph, 3, [0], [0, 3])
    with pytest.raises(ModelError, match="edges"):
        LabelObservations(graph, 3, [2], [0, 1], "equal")
    with pytest.raises(ModelError, match="kind"):
        LabelObservations(graph, 3, [0], [0, 1], "sum")
    with pytest.raises(ModelError, match="num_labels"):
        LabelObservations(graph, 1, [0], [0, 0])
    with pytest.raises(ModelError, match="says nothing"):
        observe_labels(graph, 0, 3, 0.9, 0.1, 0)
    with pytest.raises(ModelError, match="LabelObservations"):
        LabelMAP(0.1, 0.1).recover(Observations(graph, [1], [1, 1]))


def test_polygons_are_the_boundaries_of_polyominoes_without_holes():
    """Fixed polyominoes, grown cell by cell, whose boundary is one self-avoiding polygon."""
    most = 6
    shapes = {frozenset({(0, 0)})}
    found: dict[int, list[int]] = {}
    for area in range(1, most + 1):
        for cells in shapes:
            corners: dict[tuple[int, int], int] = {}
            perimeter = 0
            for x, y in cells:
                for dx, dy, ends in (
                    (1, 0, ((x + 1, y), (x + 1, y + 1))),
                    (-1, 0, ((x, y), (x, y + 1))),
                    (0, 1, ((x, y + 1), (x + 1, y + 1))),
                    (0, -1, ((x, y), (x + 1, y))),
                ):
                    if (x + dx, y + dy) not in cells:
                        perimeter += 1
                        for end in ends:
                            corners[end] = corners.get(end, 0) + 1
            if set(corners.values()) == {2}:
                total = found.setdefault(perimeter, [0, 0])
                total[0] += 1
                total[1] += area
        grown = set()
        for cells in shapes:
            for x, y in cells:
                for spot in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                    if spot not in cells:
                        bigger = cells | {spot}
                        left = min(a for a, _ in bigger)
                        low = min(b for _, b in bigger)
                        grown.add(frozenset((a - left, b - low) for a, b in bigger))
        shapes = grown
    listed = polygon_areas(10)
    # Perimeter 8 has areas up to 4, perimeter 10 up to 6.
    for perimeter in (4, 6, 8, 10):
        assert listed[perimeter] == tuple(found[perimeter])


def test_the_constant_of_the_upper_bound_is_eight():
    assert polygon_constant(0.017).upper <= 8.0
    assert polygon_constant(0.0186).lower > 8.0
    assert polygon_constant(1e-4).upper == pytest.approx(6.0, abs=0.02)
    with pytest.raises(ModelError):
        polygon_constant(0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_two_steps_fit_the_edges_where_renamings_are_tied(kind):
    rng = np.random.default_rng(4)
    grid = as_graph(square_lattice(2, 4))
    states = np.array(list(itertools.product(range(3), repeat=grid.num_nodes)))
    u, v = np.array(grid.edges).T
    difference = (states[:, v] - states[:, u]) % 3
    shown = difference if kind == "difference" else difference == 0
    for _ in range(10):
        seen = rng.integers(0, 3 if kind == "difference" else 2, len(u))
        nodes = np.where(rng.random(grid.num_nodes) < 0.3, rng.integers(0, 3, grid.num_nodes), -1)
        found = LabelTwoStep().recover(LabelObservations(grid, 3, seen, nodes, kind))
        agreeing = (shown == seen).sum(1)
        at = int(np.flatnonzero((states == found.labels).all(1))[0])
        assert found.exact
        assert agreeing[at] == agreeing.max()
        assert (found.beliefs[np.arange(grid.num_nodes), found.labels] > 0).all()


@pytest.mark.parametrize("kind", ["difference", "equal"])
def test_edges_that_say_nothing_do_not_tie_their_ends(kind):
    """An edge as noisy as a guess is none: its ends are named by their own nodes."""
    most = 2 / 3 if kind == "difference" else 1 / 2
    same = 0 if kind == "difference" else 1
    frame = as_graph((4, [(0, 1), (1, 2), (2, 3)]))
    seen = LabelObservations(frame, 3, edges=[same] * 3, nodes=[2, 2, 0, 0], kind=kind)
    found = LabelTwoStep(p=np.array([0.1, most, 0.1])).recover(seen)
    assert found.labels.tolist() == [2, 2, 0, 0]
    assert found.error([2, 2, 0, 0]) == 0.0
    assert LabelTwoStep(p=most).recover(seen).labels.tolist() == [2, 2, 0, 0]
