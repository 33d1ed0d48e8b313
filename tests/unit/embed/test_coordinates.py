from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from helpers.planar_graphs import delaunay, grid
from planaris.embed import Embedding
from planaris.errors import CrossingError, ModelError
from planaris.verify import check_plane


def refusal(edges, positions):
    with pytest.raises(CrossingError, match="`positions` must draw the graph") as caught:
        Embedding.from_coordinates(edges, positions)
    return caught.value


def test_a_crossing_is_named():
    error = refusal([(0, 1), (1, 2), (3, 1), (0, 2), (3, 0)], [(0, 0), (2, 0), (2, 2), (0, 2)])
    assert set(error.edges) == {2, 3}
    assert error.flaw == "crossing"
    assert "2 = (3, 1) and 3 = (0, 2) cross" in str(error)
    assert "planarity test" in str(error)


def test_overlapping_edges_are_named():
    error = refusal([(0, 1), (0, 2)], [(0, 0), (1, 1), (2, 2)])
    assert (error.edges, error.flaw) == ((0, 1), "overlap")
    error = refusal([(0, 1), (2, 1)], [(0, 0), (2, 2), (1, 1)])  # towards the left
    assert set(error.edges) == {0, 1}
    error = refusal([(0, 1), (2, 3)], [(0, 0), (2, 0), (1, 0), (3, 0)])
    assert set(error.edges) == {0, 1}


def test_an_edge_through_a_vertex_is_named():
    error = refusal([(0, 1), (2, 3)], [(0, 0), (2, 2), (1, 1), (3, 0)])
    assert (error.edges, error.flaw, error.vertices) == ((0, 1), "through-vertex", (2,))
    error = refusal([(0, 1), (2, 3)], [(0, 0), (2, 2), (1, 1), (0, 3)])  # comes from the left
    assert set(error.edges) == {0, 1}


def test_coincident_vertices_are_named():
    error = refusal([(0, 1), (2, 3)], [(0, 0), (1, 0), (5, 5), (1, 0)])
    assert (error.flaw, error.vertices, error.edges) == ("same-place", (1, 3), (0, 1))


@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("mirror", [1, -1])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize(
    "positions",
    [
        [(0, 0), (4, 4), (2, 2), (3, 0)],  # an end on the other edge
        [(0, 0), (4, 4), (2, 2), (0, 1)],
        [(0, 0), (4, 4), (2, 2), (5, 4)],
        [(0, 0), (4, 0), (2, 0), (2, 3)],
        [(0, 0), (4, 0), (2, 0), (3, 3)],
        [(0, 0), (4, 4), (1, 1), (2, 2)],  # one edge inside the other
        [(0, 0), (4, 4), (1, 1), (6, 6)],
        [(0, 0), (4, 0), (1, 0), (6, 0)],
        [(0, 0), (4, 4), (1, 2), (3, 2)],  # a proper crossing
        [(0, 0), (4, 0), (1, 2), (1, -2)],
    ],
)
def test_two_edges_that_meet_are_refused_in_every_direction(positions, flip, mirror, turn):
    at = np.array(positions) * [mirror, 1]
    for _ in range(turn):
        at = at @ [[0, 1], [-1, 0]]
    error = refusal([(0, 1), (3, 2) if flip else (2, 3)], at)
    assert set(error.edges) == {0, 1}


def test_minus_zero_is_zero():
    error = refusal([(0, 1), (2, 3)], [(0.0, 0.0), (1, 0), (-0.0, -0.0), (0, 1)])
    assert error.flaw == "same-place"


def test_vertices_without_edges_take_up_no_room():
    plane = Embedding.from_coordinates([(0, 1)], [(0, 0), (2, 0), (1, 0), (1, 0)])
    assert plane.num_vertices == 4


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ([(0, 0), (1, np.nan)], r"must be finite, got \[1.0, nan\] at spin 1"),
        ([(0, 0), (np.inf, 0)], "must be finite"),
        ([(0, 0, 0), (1, 1, 1)], r"must have shape \(2, 2\)"),
        ([0, 1], r"must have shape \(2, 2\)"),
        ([(0, 0)], r"must have shape \(2, 2\)"),
    ],
)
def test_positions_that_are_none_are_refused(positions, words):
    with pytest.raises(ModelError, match=f"`positions` {words}"):
        Embedding.from_coordinates([(0, 1)], positions, num_vertices=2)


def test_one_ulp_decides():
    # The middle vertex lies on, just above or just below the long edge.
    edges = [(0, 1), (2, 3), (2, 4)]
    for shift, crosses in ((np.inf, False), (-np.inf, True), (None, True)):
        y = 0.5 if shift is None else np.nextafter(0.5, shift)
        positions = [(12, 12), (-24, -24), (0.5, y), (0.0, 7.0), (1.0, 7.0)]
        if crosses:
            assert 0 in refusal(edges, positions).edges
        else:
            assert Embedding.from_coordinates(edges, positions).num_components == 2


def test_huge_and_tiny_coordinates_are_exact():
    big, tiny = 1.7e308, 5e-324
    plane = Embedding.from_coordinates(
        [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
        [(-big, -big), (big, -big), (0, big), (tiny, 0)],
    )
    assert plane.num_faces == 4
    assert refusal([(0, 1), (2, 3)], [(-big, -big), (big, big), (tiny, 0), (0, tiny)]).flaw


def test_nested_components_have_their_own_outer_faces():
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    positions = np.vstack([square * 10, square + 4])
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
    plane = Embedding.from_coordinates(np.vstack([edges, edges + 4]), positions)
    for face, vertices in zip(plane.outer_faces, ([0, 3, 2, 1], [4, 7, 6, 5]), strict=True):
        around = plane.face_vertices(face).tolist()
        at = around.index(vertices[0])
        assert around[at:] + around[:at] == vertices  # clockwise: the outside is on the left


def test_the_hull_is_the_outer_face(rng):
    edges, points = delaunay(500, rng)
    plane = Embedding.from_coordinates(edges, points)
    check_plane(plane)
    hull = set(ConvexHull(points).vertices.tolist())
    assert set(plane.face_vertices(plane.outer_faces[0]).tolist()) == hull
    inner = np.delete(plane.face_lengths, plane.outer_faces[0])
    assert set(inner.tolist()) == {3}


def test_a_swapped_pair_of_vertices_is_noticed(rng):
    edges, points = delaunay(2000, rng)
    for _ in range(20):
        a, b = rng.choice(2000, 2, replace=False)
        swapped = points.copy()
        swapped[[a, b]] = points[[b, a]]
        error = refusal(edges, swapped)
        assert set(edges[list(error.edges)].ravel().tolist()) & {int(a), int(b)}


def star(n):
    angle = np.arange(1, n) * (2 * np.pi / (n - 1))
    rim = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.column_stack([np.zeros(n - 1, int), np.arange(1, n)]), np.vstack([[0, 0], rim])


def thin(n):
    """Horizontal edges across the whole drawing, each with its own length."""
    y = np.arange(n // 2.0)
    left, right = np.column_stack([-y, y]), np.column_stack([y + 1, y])
    edges = np.column_stack([np.arange(n // 2), n // 2 + np.arange(n // 2)])
    return edges, np.vstack([left, right])


def vertical_comb(n):
    """Vertical edges between two rows of vertices; ties in both coordinates."""
    x = np.arange(n // 2.0)
    edges = np.column_stack([np.arange(n // 2), n // 2 + np.arange(n // 2)])
    return edges, np.vstack([np.column_stack([x, 0 * x]), np.column_stack([x, 0 * x + 1])])


@pytest.mark.parametrize("draw", [star, thin, vertical_comb, lambda n: grid(n // 300, 300)])
def test_large_drawings_of_every_kind(draw, rng):
    edges, positions = draw(300_000)
    n = len(positions)
    name = rng.permutation(n)
    moved = np.empty_like(positions)
    moved[name] = positions
    plane = Embedding.from_coordinates(name[edges], moved)
    assert plane.genus == 0
    assert plane.num_edges == len(edges)
