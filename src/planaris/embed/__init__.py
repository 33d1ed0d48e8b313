"""Plane graphs: rotation systems, planarity, faces, duals, genus, bias spins."""

from planaris.embed.bias import BiasedModel, closest_planar_model, join_bias_spin
from planaris.embed.embedding import Embedding, split_faces
from planaris.embed.genus import (
    LowGenus,
    low_genus_embedding,
    may_lie_on_torus,
    periodic_lattice,
    torus_shape,
)
from planaris.embed.handles import embedding_with_handles
from planaris.embed.homology import cycle_flips, homology_cycles, sign_structures
from planaris.embed.planarity import embed, prove_planarity, require_plane
from planaris.embed.short_faces import embedding_by_short_faces
from planaris.embed.surfaces import torus_lattice
from planaris.embed.torus_drawing import embedding_on_torus

__all__ = [
    "BiasedModel",
    "Embedding",
    "LowGenus",
    "closest_planar_model",
    "cycle_flips",
    "embed",
    "embedding_by_short_faces",
    "embedding_on_torus",
    "embedding_with_handles",
    "homology_cycles",
    "join_bias_spin",
    "low_genus_embedding",
    "may_lie_on_torus",
    "periodic_lattice",
    "prove_planarity",
    "require_plane",
    "sign_structures",
    "split_faces",
    "torus_lattice",
    "torus_shape",
]
