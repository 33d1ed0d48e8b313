from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.planar_graphs import complete, complete_bipartite
from planaris.embed import Embedding
from planaris.errors import VerificationError
from planaris.verify import check_kuratowski, check_plane

K5, K33 = complete(5), complete_bipartite(3, 3)
PRISM = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]


def test_the_two_graphs_and_their_subdivisions_pass():
    assert check_kuratowski(5, K5, range(10)) == "K5"
    assert check_kuratowski(6, K33, range(9)) == "K3,3"
    longer = np.vstack([K33[1:], [(0, 6), (6, 7), (7, 3)]])
    assert check_kuratowski(8, longer, range(11)) == "K3,3"
    assert check_kuratowski(9, np.vstack([K5, [(5, 6), (0, 8)]]), np.arange(10)) == "K5"


@pytest.mark.parametrize(
    ("n", "edges", "chosen", "words"),
    [
        (5, K5, range(9), "branching vertices"),
        (5, K5, [], "must name some"),
        (5, K5, [*range(9), 10], "must name some"),
        (5, K5, [*range(10), 3], "at most once"),
        (6, np.vstack([K5, [(0, 5)]]), range(11), "dead end"),
        (6, PRISM, range(9), "not as in K3,3"),
        (4, complete(4), range(6), "branching vertices"),
        (8, np.vstack([K5, [(5, 6), (6, 7), (7, 5)]]), range(13), "cycle hangs"),
        (6, [(0, 1)] * 3 + [(2, 3)] * 3 + [(4, 5)] * 3, range(9), "joined twice"),
        (7, np.vstack([complete(4), K5[:0], [(4, 5), (5, 6), (6, 4)]]), range(9), "branching"),
    ],
)
def test_what_proves_nothing_is_refused(n, edges, chosen, words):
    with pytest.raises(VerificationError, match=words):
        check_kuratowski(n, edges, chosen)


def test_a_path_from_a_vertex_to_itself_is_refused():
    # Five vertices of degree four, two of which carry a loop of degree-two vertices.
    edges = [(0, 5), (5, 6), (6, 0), (1, 7), (7, 8), (8, 1)]
    edges += [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (4, 9), (9, 10), (10, 4)]
    with pytest.raises(VerificationError, match="with itself"):
        check_kuratowski(11, edges, range(len(edges)))


def test_plane_rotations_pass():
    assert check_plane(Embedding.from_graph(PRISM, num_vertices=7)) == 6
    assert check_plane(Embedding.from_graph([], num_vertices=0)) == 0


def broken(**changes):
    edges = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1)])
    rotation = np.array([0, 2, 4, 1, 11, 6, 3, 7, 8, 5, 9, 10])
    parts = {"num_vertices": 4, "edges": edges, "rotation": rotation, "offsets": [0, 3, 6, 9, 12]}
    return SimpleNamespace(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rotation": np.array([0, 0, 4, 1, 11, 6, 3, 7, 8, 5, 9, 10])}, "once"),
        ({"rotation": np.array([1, 2, 4, 0, 11, 6, 3, 7, 8, 5, 9, 10])}, "does not leave"),
        ({"rotation": np.array([0, 4, 2, 1, 11, 6, 3, 7, 8, 5, 9, 10])}, "genus 1"),
        ({"offsets": [0, 3, 6, 12]}, "`offsets` must run"),
        ({"offsets": [0, 7, 6, 9, 12]}, "`offsets` must run"),
        ({"num_vertices": 3, "offsets": [0, 3, 6, 12]}, "`edges` must name"),
    ],
)
def test_what_is_no_plane_rotation_is_refused(changes, words):
    assert check_plane(broken()) == 4
    with pytest.raises(VerificationError, match=words):
        check_plane(broken(**changes))
