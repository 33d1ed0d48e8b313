from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import strategies
from helpers.planar_graphs import on_segment, turn
from planaris.embed.handles import embedding_with_handles
from planaris.errors import MethodError

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


def circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


@given(strategies.connected_or_not(10))
def test_plane_drawings_stay_as_they_are(graph):
    embedding = embedding_with_handles(graph.edges, graph.positions)
    assert embedding.genus == 0
    np.testing.assert_array_equal(embedding.face_of, graph.embedding.face_of)


@given(strategies.plane_graphs(10))
def test_planar_graphs_come_out_plane(graph):
    embedding = embedding_with_handles(graph.edges, num_vertices=graph.num_vertices)
    assert embedding.genus == 0


def meet(one, two, points):
    """Whether two edges have a point in common that is not one shared end, in integers."""
    a, b, c, d = (points[v] for v in (*one, *two))
    if turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0:
        return True
    touching = [v for v in two if v not in one and on_segment(a, b, points[v])]
    touching += [v for v in one if v not in two and on_segment(c, d, points[v])]
    return bool(touching)


POINTS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=8, unique=True
)


@given(POINTS, st.data())
def test_genus_is_at_most_the_number_of_crossings(points, data):
    everything = list(combinations(range(len(points)), 2))
    edges = data.draw(st.lists(st.sampled_from(everything), unique=True, max_size=14))
    crossings = sum(meet(one, two, points) for one, two in combinations(edges, 2))
    embedding = embedding_with_handles(edges, points)
    assert embedding.genus <= crossings
    np.testing.assert_array_equal(embedding.edges, np.reshape(edges, (-1, 2)))
    free = embedding_with_handles(edges, num_vertices=len(points))
    np.testing.assert_array_equal(free.edges, np.reshape(edges, (-1, 2)))


@pytest.mark.parametrize(("n", "genus"), [(3, 0), (4, 0), (5, 1), (6, 1), (7, 3), (8, 4)])
@pytest.mark.parametrize("drawn", [True, False])
def test_complete_graphs(n, genus, drawn):
    edges = list(combinations(range(n), 2))
    embedding = embedding_with_handles(edges, circle(n) if drawn else None)
    assert np.ceil((n - 3) * (n - 4) / 12) <= embedding.genus  # Ringel and Youngs
    assert embedding.genus <= genus


@pytest.mark.parametrize(
    ("edges", "positions"),
    [
        ([(0, 1), (2, 3)], [(0, 0), (2, 0), (1, 0), (1, 1)]),  # an end on the other edge
        ([(0, 1), (2, 3)], [(0, 0), (2, 0), (1, 0), (3, 0)]),  # overlap on a line
        ([(0, 1), (0, 2)], [(0, 0), (2, 0), (1, 0)]),  # overlap from a common end
        ([(0, 1), (0, 1)], [(0, 0), (2, 0)]),  # parallel edges
        ([(0, 1), (1, 2), (2, 0)], [(1, 1), (1, 1), (1, 1)]),  # all in one place
        ([(0, 1), (2, 3)], [(0, 0), (1e-200, 1e-200), (0, 1e-200), (1e-200, 0)]),
        ([(0, 1), (2, 3)], [(0, 0), (1e200, 1e200), (0, 1e200), (1e200, 0)]),
    ],
)
def test_flawed_drawings_of_planar_graphs(edges, positions):
    assert embedding_with_handles(edges, positions).genus == 0


def test_nothing_to_do():
    assert embedding_with_handles([], []).num_vertices == 0
    assert embedding_with_handles([]).num_vertices == 0
    assert embedding_with_handles([], SQUARE).genus == 0


def test_one_handle_serves_many_edges():
    # A grid with two edges over it, side by side.
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
    assert embedding_with_handles(edges + bundle, points).genus == 1


def test_giving_up_says_which_edges_were_in_the_way():
    k8 = list(combinations(range(8), 2))
    for positions in (None, circle(8)):
        with pytest.raises(MethodError, match="more than 2 edges must be taken out") as error:
            embedding_with_handles(k8, positions, max_handles=2)
        assert len(error.value.edges) == 3
