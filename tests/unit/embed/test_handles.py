from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from planaris.embed.handles import embedding_with_handles, find_crossings

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


@given(strategies.connected_or_not(10))
def test_plane_drawings_have_no_crossings(graph):
    assert len(find_crossings(graph.edges, graph.positions)) == 0
    embedding = embedding_with_handles(graph.edges, graph.positions)
    assert embedding.genus == 0
    np.testing.assert_array_equal(embedding.face_of, graph.embedding.face_of)


def crosses(a, b, c, d):
    """Whether open segments ab and cd meet in one point, by solving for it in integers."""
    turn = lambda p, q, r: (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])  # noqa: E731
    return turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=8, unique=True),
    st.data(),
)
def test_crossings_and_genus_of_any_drawing(points, data):
    everything = list(combinations(range(len(points)), 2))
    edges = data.draw(st.lists(st.sampled_from(everything), unique=True, max_size=14))
    found = {tuple(pair) for pair in find_crossings(edges, points).tolist()}
    for i, j in combinations(range(len(edges)), 2):
        ends = [points[v] for v in (*edges[i], *edges[j])]
        if crosses(*ends):
            assert (i, j) in found
    embedding = embedding_with_handles(edges, points)
    assert embedding.genus <= len(found)
    np.testing.assert_array_equal(embedding.edges, np.reshape(edges, (-1, 2)))


@pytest.mark.parametrize(("n", "genus"), [(3, 0), (4, 0), (5, 1), (6, 2), (7, 3)])
def test_complete_graphs(n, genus):
    edges = list(combinations(range(n), 2))
    embedding = embedding_with_handles(edges, circle(n))
    assert embedding.genus <= genus
    assert embedding.genus >= np.ceil((n - 3) * (n - 4) / 12)  # Ringel and Youngs


@pytest.mark.parametrize(
    ("edges", "positions"),
    [
        ([(0, 1), (2, 3)], [(0, 0), (2, 0), (1, 0), (1, 1)]),  # an end on the other edge
        ([(0, 1), (2, 3)], [(0, 0), (2, 0), (1, 0), (3, 0)]),  # overlap on a line
        ([(0, 1), (0, 2)], [(0, 0), (2, 0), (1, 0)]),  # overlap from a common end
        ([(0, 1), (0, 1)], [(0, 0), (2, 0)]),  # parallel edges
        ([(0, 1), (2, 3)], [(0, 0), (1e-200, 1e-200), (0, 1e-200), (1e-200, 0)]),
        ([(0, 1), (2, 3)], [(0, 0), (1e200, 1e200), (0, 1e200), (1e200, 0)]),
    ],
)
def test_odd_meetings_are_found(edges, positions):
    assert find_crossings(edges, positions).tolist() == [[0, 1]]
    assert embedding_with_handles(edges, positions).genus == 0


def test_nothing_to_do():
    assert find_crossings([], []).shape == (0, 2)
    assert embedding_with_handles([], []).num_vertices == 0
    assert embedding_with_handles([], SQUARE).genus == 0


def test_near_misses_are_decided_exactly():
    # 0.1 + 0.2 != 0.3: the third point lies a hair above the diagonal, or not.
    eps = np.spacing(0.5)
    for lift, expected in ((0.0, 1), (eps, 0)):
        points = [(0, 0), (1, 1), (0.5, 0.5 + lift), (0, 1)]
        assert len(find_crossings([(0, 1), (2, 3)], points)) == expected


def test_one_handle_serves_many_edges():
    # A grid with a bundle of edges over it: one handle carries them all.
    side = 6
    points = [(x, y) for x in range(side) for y in range(side)]
    index = {p: k for k, p in enumerate(points)}
    edges = [
        (index[p], index[q])
        for p in points
        for q in ((p[0] + 1, p[1]), (p[0], p[1] + 1))
        if q in index
    ]
    bundle = [(index[1, 1], index[4, 3]), (index[1, 2], index[3, 3])]
    embedding = embedding_with_handles(edges + bundle, points)
    assert len(find_crossings(edges + bundle, points)) == 4
    assert embedding.genus == 1
