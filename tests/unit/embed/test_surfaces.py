from __future__ import annotations

import numpy as np
import pytest

from planaris.embed.surfaces import torus_lattice
from planaris.errors import EmbeddingError


@pytest.mark.parametrize("rows", range(2, 6))
@pytest.mark.parametrize("columns", range(2, 6))
@pytest.mark.parametrize(("kind", "sides"), [("square", 4), ("triangular", 3)])
def test_every_torus_has_genus_one_and_regular_faces(rows, columns, kind, sides):
    lattice = torus_lattice(rows, columns, kind)
    assert lattice.genus == 1
    assert np.all(np.diff(lattice.face_offsets) == sides)
    assert np.all(np.diff(lattice.offsets) == (4 if kind == "square" else 6))


def test_edges_are_where_they_are_said_to_be():
    lattice = torus_lattice(2, 3, "triangular")
    assert lattice.edges[:3].tolist() == [[0, 1], [0, 3], [0, 4]]
    assert lattice.edges[-3:].tolist() == [[5, 3], [5, 2], [5, 0]]


@pytest.mark.parametrize("kind", ["square", "triangular"])
def test_one_site_wide(kind):
    assert torus_lattice(1, 1, kind).num_edges == 0
    line = torus_lattice(1, 4, kind)
    assert np.all(line.edges[:, 0] != line.edges[:, 1])
    assert line.num_edges == (4 if kind == "square" else 8)
    assert line.genus == (0 if kind == "square" else 1)
    across = torus_lattice(4, 1, kind)
    assert (across.num_edges, across.genus) == (line.num_edges, line.genus)


@pytest.mark.parametrize("arguments", [(0, 3), (3, 0), (2, 2, "hexagonal")])
def test_bad_arguments(arguments):
    with pytest.raises(EmbeddingError, match="must be"):
        torus_lattice(*arguments)
