"""Drawings on a small integer grid, where every degenerate case occurs, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.planar_graphs import on_segment, turn
from helpers.trials import examples
from planaris.embed import Embedding, split_faces
from planaris.errors import CrossingError
from planaris.verify import check_plane


def clash(e, f, at):
    """Whether two edges share a point that is not a common end (integers: exact)."""
    if set(e) == set(f):
        return False
    common = set(e) & set(f)
    if common:
        (hub,) = common
        p = at[e[0] if e[1] == hub else e[1]]
        q = at[f[0] if f[1] == hub else f[1]]
        return on_segment(at[hub], p, q) or on_segment(at[hub], q, p)
    a, b, c, d = (at[v] for v in (*e, *f))
    if any((on_segment(a, b, c), on_segment(a, b, d), on_segment(c, d, a), on_segment(c, d, b))):
        return True
    return (turn(a, b, c) > 0) != (turn(a, b, d) > 0) and (turn(c, d, a) > 0) != (turn(c, d, b) > 0)


@st.composite
def drawings(draw, most_vertices=9):
    n = draw(st.integers(1, most_vertices))
    side = draw(st.integers(1, 4))
    coordinate = st.integers(0, side)
    at = draw(st.lists(st.tuples(coordinate, coordinate), min_size=n, max_size=n))
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=12))
    return n, at, [p for p in pairs if p[0] != p[1]]


def plane_part(at, edges):
    """Keep edges that clash with none kept before and touch no vertex; ends apart."""
    kept = []
    for e in edges:
        used = {v for f in kept for v in f} | set(e)
        places = [at[v] for v in used]
        if len(set(places)) < len(places):
            continue
        trial = [*kept, e]
        if not any(clash(f, g, at) for f in trial for g in trial if f is not g):
            kept = trial
    return kept


def check_drawing(n, at, edges):
    """Whether the drawing is refused exactly if it has a flaw, naming a pair at fault."""
    used = sorted({v for e in edges for v in e})
    apart = len({at[v] for v in used}) == len(used)
    pairs = [(i, j) for i in range(len(edges)) for j in range(i)]
    if apart and not any(clash(edges[i], edges[j], at) for i, j in pairs):
        check_plane(Embedding.from_coordinates(edges, at, num_vertices=n))
        return
    with pytest.raises(CrossingError, match="`positions` must") as refusal:
        Embedding.from_coordinates(edges, at, num_vertices=n)
    error = refusal.value
    if error.flaw == "same-place":
        a, b = error.vertices
        assert a != b
        assert at[a] == at[b]
        assert a in edges[error.edges[0]]
        assert b in edges[error.edges[1]]
    else:
        i, j = error.edges
        assert clash(edges[i], edges[j], at)


@examples(500)
@given(drawings())
def test_flawed_drawings_are_refused_with_the_pair(drawing):
    check_drawing(*drawing)


@examples(1500)
@given(drawings(), st.data())
def test_one_edge_too_many_is_noticed(drawing, data):
    # Plane but for the last edge: whatever it touches is the only flaw there is.
    n, at, edges = drawing
    vertex = st.integers(0, n - 1)
    u, v = data.draw(vertex), data.draw(vertex)
    check_drawing(n, at, plane_part(at, edges) + [(u, v)] * (u != v))


@examples(1000)
@given(drawings())
def test_rotation_is_by_angle_and_the_outer_face_is_outside(drawing):
    n, at, edges = drawing
    edges = plane_part(at, edges)
    plane = Embedding.from_coordinates(edges, at, num_vertices=n)
    check_plane(plane)
    assert plane.num_edges == len(edges)
    for v in range(n):
        around = plane.rotation[plane.offsets[v] : plane.offsets[v + 1]]
        steps = np.array(at)[plane.heads[around]] - at[v]
        angles = [math.atan2(y, x) for x, y in steps.tolist()]
        drops = sum(b < a - 1e-12 for a, b in zip(angles, angles[1:] + angles[:1], strict=True))
        assert drops <= 1, "angles must grow except once around"
    for face in range(plane.num_faces):
        corners = [at[v] for v in plane.face_vertices(face).tolist()]
        following = [*corners[1:], corners[0]]
        area = sum(x * y2 - x2 * y for (x, y), (x2, y2) in zip(corners, following, strict=True))
        between_parallels = len(corners) == 2
        if face in plane.outer_faces:
            assert area <= 0
        else:
            assert area > 0 or between_parallels


@examples(300)
@given(drawings(), st.integers(3, 9))
def test_splitting_keeps_edges_and_shortens_faces(drawing, max_length):
    n, at, edges = drawing
    plane = Embedding.from_coordinates(plane_part(at, edges), at, num_vertices=n)
    split = split_faces(plane, max_length)
    check_plane(split)
    np.testing.assert_array_equal(split.edges[: plane.num_edges], plane.edges)
    assert np.all(split.edges[:, 0] != split.edges[:, 1])
    assert split.num_faces == 0 or split.face_lengths.max() <= max_length
    np.testing.assert_array_equal(split.component_of, plane.component_of)
    kept = split.rotation[split.rotation < 2 * plane.num_edges]
    for v in range(n):  # the given edges keep their cyclic order
        begin, end = plane.offsets[v : v + 2]
        before, after = plane.rotation[begin:end].tolist(), kept[begin:end].tolist()
        assert any(before == after[k:] + after[:k] for k in range(max(len(after), 1)))


@given(drawings(), st.integers(-900, 900))
def test_scaling_by_powers_of_two_changes_nothing(drawing, power):
    n, at, edges = drawing
    edges = plane_part(at, edges)
    plain = Embedding.from_coordinates(edges, at, num_vertices=n)
    scaled = np.ldexp(np.array(at, dtype=float).reshape(n, 2), power)
    again = Embedding.from_coordinates(edges, scaled, num_vertices=n)
    np.testing.assert_array_equal(again.rotation, plain.rotation)
