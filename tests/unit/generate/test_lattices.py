"""Lattices: their sizes in every way to say them."""

import numpy as np
import pytest

from planaris import generate
from planaris.errors import ModelError

MAKERS = [
    generate.square_lattice,
    generate.triangular_lattice,
    generate.honeycomb_lattice,
    generate.cylinder,
    generate.torus,
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_shape_says_the_same_as_rows_and_columns(make):
    shape, sides = make((4, 5)), make(4, 5)
    assert np.array_equal(shape.edges, sides.edges)
    assert np.array_equal(shape.positions, sides.positions)
    assert make(np.int64(4)).num_vertices == make([4, 4]).num_vertices == 16


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "size", [("4", None), (4.5, None), ((4, 5, 6), None), ((4, 5), 6), (4, "5")]
)
def test_anything_else_is_refused_in_words(make, size):
    with pytest.raises(ModelError, match="rows"):
        make(*size)
