"""Lattices, networks, spin glasses, random planar graphs and masks, all seeded."""

from planaris.generate.glasses import image_grid, noisy_image, spin_glass
from planaris.generate.lattices import (
    Lattice,
    cylinder,
    honeycomb_lattice,
    random_planar_graph,
    random_triangulation,
    square_lattice,
    torus,
    triangular_lattice,
)
from planaris.generate.masks import noisy_mask, pink_noise, shape_mask
from planaris.generate.networks import random_regular_graph, road_network
from planaris.generate.side_chains import contact_graph, side_chain_model

__all__ = [
    "Lattice",
    "contact_graph",
    "cylinder",
    "honeycomb_lattice",
    "image_grid",
    "noisy_image",
    "noisy_mask",
    "pink_noise",
    "random_planar_graph",
    "random_regular_graph",
    "random_triangulation",
    "road_network",
    "shape_mask",
    "side_chain_model",
    "spin_glass",
    "square_lattice",
    "torus",
    "triangular_lattice",
]
