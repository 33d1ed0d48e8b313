"""Lattices, spin glasses and random planar graphs, all seeded."""

from planaris.generate.glasses import image_grid, noisy_image, spin_glass
from planaris.generate.lattices import (
    Lattice,
    honeycomb_lattice,
    random_planar_graph,
    random_triangulation,
    square_lattice,
    triangular_lattice,
)
from planaris.generate.side_chains import side_chain_model

__all__ = [
    "Lattice",
    "honeycomb_lattice",
    "image_grid",
    "noisy_image",
    "random_planar_graph",
    "random_triangulation",
    "side_chain_model",
    "spin_glass",
    "square_lattice",
    "triangular_lattice",
]
